"""Projection onto the constraints by one speed selection, as expressions: a Newton step and the dependent speeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from kane.deferred import dataclass
from kane.expression.construct import build_absolute, build_maximum, build_sqrt
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.constraints.embed import embed_dependent
from kane.formulation.constraints.embedding import SymbolicEmbedding
from kane.formulation.constraints.near_state import NearState, pivot_columns
from kane.formulation.constraints.rows import Equation, shortest
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import Quantity
from kane.formulation.read_model import probe_of, snapshot
from kane.formulation.tree.sparse import solve, triangular_factor
from kane.model.speed_choice import Near

# Golden ratio. The fractional parts of its multiples follow no pattern and serve as test values of speeds.
GOLDEN = 0.618033988749895


@dataclass(frozen=True)
class ProjectedSelection:
    """Equations embedded symbolically by one selection of dependent speeds, with the projection in that selection.

    Attributes:
        open: equations before the selection; their rows are linear in the speeds.
        dependent: names of the dependent speeds.
        near: a state that satisfies the constraints; needed if rows are redundant.
    """

    open: Equations
    dependent: tuple[str, ...]
    near: Near | None = None

    @cached_property
    def equations(self) -> Equations:
        """The equations, embedded by this selection.

        Raises:
            ModelError: the constraints do not determine these speeds.
        """
        eqs, model = self.open, snapshot(self.open.model)
        model.speed_choice = replace(model.speed_choice, dependent=self.dependent, near=self.near)
        return replace(eqs, embedding=embed_dependent(eqs.constraints, eqs.system, model, self._probe, eqs.t))

    @property
    def embedding(self) -> SymbolicEmbedding:
        """The embedding by this selection."""
        found = self.equations.embedding
        assert isinstance(found, SymbolicEmbedding)
        return found

    @property
    def columns(self) -> tuple[int, ...]:
        """Columns of u of the dependent speeds."""
        return tuple(j for j, leaf in enumerate(self.open.u) if leaf.name in self.dependent)

    @cached_property
    def _probe(self) -> Any:
        return probe_of(self.open.model)

    @cached_property
    def _rows(self) -> list[Equation]:
        return [shortest(row, self.open.system.speeds, self._probe) for row in self.open.constraints]

    @cached_property
    def _closing(self) -> list[Equation]:
        """Rows that restrict the configuration, in the joints' own speeds."""
        own = self.open.own.system.speeds
        return [shortest(row, own, self._probe) for row in self.open.closing]

    def step(self) -> Quantity:
        """Return the largest residuals of configuration and motion, then [t, q, u] after one Newton step in q.

        The step s in the joints' own speeds is the minimum-norm solution of the linearized residual: s = A^T y, A A^T y
        = -phi.
        """
        eqs, own, rows = self.open, self.open.own, [self._closing[k] for k in self._independent]
        gram = _products([row.coefficients for row in rows])
        y = solve(gram, [-_residual(row) for row in rows], range(len(rows)), [row.name for row in rows])
        A = [row.coefficients for row in rows]
        s = [_sum(a[j] * x for a, x in zip(A, y, strict=True) if j in a) for j in range(len(own.u))]
        change = substitute_nodes(own.system.speeds.kinematics, dict(zip(own.u, map(self._lift, s), strict=True)))
        found = [self._largest(map(_residual, self._closing)), self._largest(row.motion for row in self._rows)]
        found += [eqs.t, *(q + x for q, x in zip(eqs.q, change, strict=True)), *eqs.u]
        return Quantity(_names("step", found), eqs.unconstrained.baked_in(found))

    def _lift(self, x: Any) -> Expr:
        return self.open.system.arena.lift(x)

    def _largest(self, values: Iterable[Any]) -> Expr:
        """Return max |x|; NaN if a value is NaN. Pairwise, so that a processor computes pairs in parallel lanes."""
        left = [build_absolute(self._lift(x)) for x in values] or [self._lift(0.0)]
        while len(left) > 1:
            left = [
                build_maximum(*pair) if len(pair) > 1 else pair[0]
                for pair in (left[k : k + 2] for k in range(0, len(left), 2))
            ]
        return left[0]

    @cached_property
    def _independent(self) -> list[int]:
        """Indices of the closing rows that are independent."""
        if self.near is None:
            return [*range(len(self._closing))]
        own, choice = self.open.own.system.speeds, replace(self.open.model.speed_choice, near=self.near)
        there = NearState(self._closing, own, choice, self._probe, self.open.t)
        return sorted(pivot_columns(np.ascontiguousarray(there.rows(there.q).T)))

    def consequences(self) -> Quantity:
        """Return measures of how well the selection suits a state, then [q, u] with the dependent speeds computed.

        There are four measures. The first is the largest configuration residual. The second is the smallest pivot of an
        orthogonal factorization of A_d over the length l of the longest column of A. The third is the largest entry of
        D. The fourth is the largest entry of A u over l, for test values of the independent speeds without a pattern.
        It vanishes if the divisors of D have lost no digits and the omitted rows are redundant.
        """
        eqs, embedding, n = self.open, self.embedding, len(self.open.u)
        rows = [row.coefficients for row in self._rows]
        columns = [{r: row[j] for r, row in enumerate(rows) if j in row} for j in range(n)]
        dependent = [columns[j] for j in embedding.D]
        names = [leaf.name for leaf in embedding.u]
        _, inverses = triangular_factor(_products(dependent), range(len(names))[::-1], names)
        longest = self._largest(_product(column, column) for column in columns)
        conditioning = 1.0 / build_sqrt(self._largest(inverses) * longest)
        speeds: list[Any] = [1.0 + GOLDEN * j % 1.0 for j in range(n)]
        for d, row in embedding.D.items():
            speeds[d] = _sum(x * speeds[i] for i, x in row.items())
        left = self._largest(_sum(a * speeds[j] for j, a in row.items()) for row in rows) / build_sqrt(longest)
        entries = self._largest(x for row in embedding.D.values() for x in row.values())
        found = [self._largest(map(_residual, self._closing)), conditioning, entries, left, *eqs.q]
        found += [embedding.u.get(leaf, leaf) for leaf in eqs.u]
        return Quantity(_names("settled", found), eqs.unconstrained.baked_in(found))


def _names(word: str, values: Sequence[Any]) -> list[str]:
    return [f"{word} {k + 1}" for k in range(len(values))]


def _residual(row: Equation) -> Expr:
    assert row.configuration is not None
    return row.configuration


def _products(vectors: Sequence[Mapping[int, Any]]) -> dict[tuple[int, int], Any]:
    """Return the products of each pair of vectors, as entries (i, j) with j <= i."""
    return {(i, j): _product(vectors[i], vectors[j]) for i in range(len(vectors)) for j in range(i + 1)}


def _product(a: Mapping[int, Any], b: Mapping[int, Any]) -> Any:
    return _sum(x * b[j] for j, x in a.items() if j in b)


def _sum(terms: Iterable[Any]) -> Any:
    return sum(terms, 0.0)
