"""Route of equations that were given as matrices: M udot = forcing, whoever derived them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.route import Route
from kane.formulation.tree.loads import per_input, without_inputs
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.sparse import Sparse, solve

if TYPE_CHECKING:
    from kane.formulation.equations import Equations


@dataclass(frozen=True)
class GivenMatrices:
    """M udot = forcing in q, u, t, parameters and inputs; called with ``Equations``, it returns their route.

    Attributes:
        mass: M by rows, n x n.
        forcing: n expressions.
        symmetric: whether M equals its transpose at random states.
    """

    mass: tuple[tuple[Expr, ...], ...]
    forcing: tuple[Expr, ...]
    symmetric: bool

    def __call__(self, equations: Equations) -> MatrixRoute:
        return MatrixRoute(self, equations)


class MatrixRoute(Route):
    """Route to M, bias and udot by substitution of controllers in given matrices, and elimination."""

    name = "given matrices"

    def __init__(self, given: GivenMatrices, equations: Equations) -> None:
        self._given, self._equations, self.symmetric = given, equations, given.symmetric

    @cached_property
    def mass(self) -> Sparse:
        rows = self._given.mass
        return {(i, j): x for i, row in enumerate(rows) for j, x in enumerate(row) if j <= i or not self.symmetric}

    @cached_property
    def _forcing(self) -> list[Expr]:
        return substitute_nodes(self._given.forcing, self._equations.controllers)

    def passive(self, udot: Sequence[Any]) -> list[Any]:
        forcing = without_inputs(lambda zeros: substitute_nodes(self._forcing, zeros), self._equations.inputs)
        return self._needed(udot, forcing)

    def loaded(self, udot: Sequence[Any]) -> list[Any]:
        return self._needed(udot, self._forcing)

    def _needed(self, udot: Sequence[Any], forcing: Sequence[Expr]) -> list[Any]:
        return [
            sum((m * a for m, a in zip(row, udot, strict=True) if m is not m.arena.zero), 0.0) - f
            for row, f in zip(self._given.mass, forcing, strict=True)
        ]

    def forward(self) -> list[Any]:
        """Return udot by L^T D L, or by elimination with pivots that random states select if M is not symmetric."""
        names = [leaf.name for leaf in self._equations.u]
        if self.symmetric:
            return list(solve(self.mass, self._forcing, range(len(names)), names))
        from kane.formulation.constraints.elimination import LinearRow, eliminate

        zero = self._equations.t.arena.zero
        rows = [
            LinearRow(name, {j: m for j, m in enumerate(row) if m is not zero}, -f)
            for name, row, f in zip(names, self._given.mass, self._forcing, strict=True)
        ]
        found = eliminate(rows, range(len(names)), Probe(self._equations.defaults)).values()
        return [found[j].rest for j in range(len(names))]

    def input_columns(self) -> list[list[Any]]:
        return [list(column) for column in per_input(self._forcing, self._equations.inputs)]


def has_bodies(equations: Any) -> bool:
    """Check whether equations are those of a model with bodies, not given as matrices."""
    return not isinstance(equations.route_of, GivenMatrices)


def require_bodies(equations: Any, what: str) -> None:
    """Raise ModelError, naming a quantity, if equations were given as matrices and therefore have no bodies."""
    if not has_bodies(equations):
        raise ModelError(
            f"{what} of {equations.name!r} needs bodies, but its equations were given as matrices; "
            "kane.model_from_sympy(system) reads a model with bodies"
        )
