"""Embeddings: elimination of dependent speeds. The abstract class and its three kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, final

from kane.engine.memory.constraint_codes import AFRESH, FIXED, KEPT, UNCHOSEN
from kane.errors import ModelError
from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.expression.traverse import count_operations
from kane.formulation.route import Route
from kane.formulation.tree.system import System
from kane.geometry.scalars import is_zero

if TYPE_CHECKING:
    from kane.formulation.recursive.coriolis import MatrixEntries
    from kane.formulation.tree.sparse import Sparse

# Embeddings with expressions: programs that give udot and qdot, and programs in tables of operation counts.
EVALUATED = ("forward", "kinematics")
COUNTED = ("inverse", "forward", "mass_matrix", "bias", "kinematics")


class Choice(NamedTuple):
    """Mode of the speed selection for native code; ``kane.engine.memory.constraint_codes`` defines the constants.

    Attributes:
        alone: mode of single calls outside of runs.
        in_runs: mode of calls within a run. With KEPT, the projection selects the dependent speeds, and evaluations of
            rhs use the same selection.
        rank: number of dependent speeds; UNCHOSEN if they are selected at each state.
    """

    alone: int
    in_runs: int
    rank: int


class Embedding(ABC):
    """Dependent speeds d in terms of the independent speeds i: u_d = D u_i + e, and udot_d = D udot_i + e_t.

    If there are no expressions, the methods raise a ModelError that says how to get them.

    Attributes:
        D: rows of D by dependent column, {independent column: coefficient}; empty if there is no permanent selection.
        u, udot: expressions of the dependent speeds and accelerations in the independent ones, by leaf.
        redundant: names of the redundant rows, which the other rows imply. If the selection was made near a state, they
            imply them at regular states only. A run records and checks the residuals of redundant rows, too.
        fails_where: divisors; where one of them vanishes, this speed selection fails.
        numerical: names of the programs without expressions, whose values native code computes at each state.
        evaluated: names of the programs that one evaluation of udot and qdot takes.
        counted: names of the programs in a table of operation counts.
        remark: phrase that qualifies these counts, or an empty string.

    Source: Gillespie 2003, Eqs. 4-5, 44-46; Wampler, Buffington & Shu-hui 1985.
    """

    D: Mapping[int, Mapping[int, Expr]]
    u: Mapping[Expr, Expr]
    udot: Mapping[Expr, Expr]
    redundant: tuple[str, ...]
    fails_where: tuple[Expr, ...]
    numerical: tuple[str, ...]
    evaluated: tuple[str, ...]
    counted: tuple[str, ...]
    remark: str

    @property
    @abstractmethod
    def choice(self) -> Choice:
        """Mode of the speed selection."""

    @property
    @abstractmethod
    def note(self) -> str:
        """Text for the user: how the constraints are embedded, and why."""

    @abstractmethod
    def forces(self, free: Sequence[Any]) -> list[Any]:
        """Return F_i + D^T F_d at the independent speeds, and zero at the dependent ones (Eq. 44)."""

    @abstractmethod
    def accelerations(self, udot: Sequence[Any]) -> Sequence[Any]:
        """Return all accelerations, given the independent ones."""

    @abstractmethod
    def mass(self, free: Sparse) -> Sparse:
        """Return [1 D^T] M [1; D] as entries (i, j) with j <= i (Eq. 45)."""

    @abstractmethod
    def coriolis(self, free: MatrixEntries, mass: Sparse, rates: Mapping[Expr, Expr]) -> MatrixEntries:
        """Return [1 D^T] (C [1; D] + M [0; Ddot]), given C and M of all speeds and the ``rates`` of q and t."""

    @abstractmethod
    def forward(self, route: Route) -> Sequence[Any]:
        """Return udot of all speeds as functions of the inputs."""

    @abstractmethod
    def known_accelerations(self, udot: Sequence[Expr], forward: Callable[[], Sequence[Expr]]) -> Sequence[Expr]:
        """Return ``forward()``, or the leaves ``udot`` if there are no expressions of it."""


@final
@dataclass(frozen=True)
class NoConstraints(Embedding):
    """All speeds are independent: there are no rows, or the user-defined speeds satisfy them identically."""

    choice = Choice(FIXED, FIXED, 0)
    D, u, udot = (MappingProxyType[Any, Any]({}) for _ in range(3))
    redundant, fails_where, numerical = (), (), ()
    evaluated, counted, remark = EVALUATED, COUNTED, ""
    note = "there are no constraints"

    def forces(self, free: Sequence[Any]) -> list[Any]:
        return list(free)

    def accelerations(self, udot: Sequence[Any]) -> Sequence[Any]:
        return udot

    def mass(self, free: Sparse) -> Sparse:
        return free

    def coriolis(self, free: MatrixEntries, mass: Sparse, rates: Mapping[Expr, Expr]) -> MatrixEntries:
        return free

    def forward(self, route: Route) -> Sequence[Any]:
        return route.forward()

    def known_accelerations(self, udot: Sequence[Expr], forward: Callable[[], Sequence[Expr]]) -> Sequence[Expr]:
        return forward()


@final
@dataclass(frozen=True)
class SymbolicEmbedding(Embedding):
    """Dependent speeds are selected once, symbolically: all quantities derived from them are expressions.

    Attributes:
        speeds: names of all speeds.
        D, u, udot, redundant, fails_where: as in every Embedding.
        remainders: e_t by dependent column.
        divisors: values of ``fails_where`` at the state near which the selection was made.
        based: a system with other dependent speeds in the same columns, and the same embedding in that system; None
            unless M and bias take fewer operations in it.
    """

    speeds: tuple[str, ...]
    D: Mapping[int, Mapping[int, Expr]]
    u: Mapping[Expr, Expr]
    udot: Mapping[Expr, Expr]
    remainders: Mapping[int, Expr]
    redundant: tuple[str, ...]
    fails_where: tuple[Expr, ...]
    divisors: tuple[float, ...] = ()
    based: tuple[System, SymbolicEmbedding] | None = None

    numerical = ()
    evaluated, counted, remark = EVALUATED, COUNTED, ""

    @property
    def choice(self) -> Choice:
        return Choice(FIXED, FIXED, len(self.D))

    @property
    def independent(self) -> tuple[int, ...]:
        """Columns of the independent speeds in u."""
        return tuple(j for j in range(len(self.speeds)) if j not in self.D)

    @property
    def note(self) -> str:
        found = f"symbolically, with the dependent speeds {', '.join(leaf.name for leaf in self.u)}"
        if self.divisors:
            values = ", ".join(f"{x:.3g}" for x in self.divisors)
            found += f"; the divisors (fails_where) are {values} at the state near which these were chosen"
        return found

    def forces(self, free: Sequence[Any]) -> list[Any]:
        total = [0.0 if j in self.D else x for j, x in enumerate(free)]
        for d, row in self.D.items():
            for i, c in row.items():
                total[i] = total[i] + c * free[d]
        return total

    def accelerations(self, udot: Sequence[Any]) -> Sequence[Any]:
        given = list(udot)
        for d, row in self.D.items():
            given[d] = weighted_sum(row, udot, self.remainders[d])
        return given

    def mass(self, free: Sparse) -> Sparse:
        from kane.codegen.programs.common_factors import factor

        present = {place: x for place, x in free.items() if not is_zero(x)}
        ways = [self._at_once(present), self._by_halves(present)]
        counts = [count_operations(factor([x for x in way.values() if isinstance(x, Expr)])) for way in ways]
        return ways[all(counts[1][kind] <= counts[0][kind] for kind in ("mul", "add"))]

    def _at_once(self, free: Sparse) -> Sparse:
        """Return the sums of D_ri M_rs D_sj: the fewest additions if few speeds are dependent."""
        total: Sparse = {}
        for (r, s), x in free.items():
            for i, a in self.D.get(r, {r: 1.0}).items():
                for j, b in self.D.get(s, {s: 1.0}).items():
                    for row, column in ((i, j), (j, i)) if r != s else ((i, j),):
                        if row >= column:
                            total[row, column] = total.get((row, column), 0.0) + a * b * x
        return total

    def _by_halves(self, free: Sparse) -> Sparse:
        """Form M [1; D] first: the fewest multiplications if many speeds are dependent."""
        half: Sparse = {}
        for (r, s), x in free.items():
            for row, column in ((r, s), (s, r)) if r != s else ((r, s),):
                for j, c in self.D.get(column, {column: 1.0}).items():
                    half[row, j] = half.get((row, j), 0.0) + c * x
        total: Sparse = {}
        for (row, j), x in half.items():
            for i, c in self.D.get(row, {row: 1.0}).items():
                if i >= j:
                    total[i, j] = total.get((i, j), 0.0) + c * x
        return total

    def coriolis(self, free: MatrixEntries, mass: Sparse, rates: Mapping[Expr, Expr]) -> MatrixEntries:
        from kane.formulation.recursive.coriolis import both_triangles, congruent

        rows = [self.D.get(j, {j: 1.0}) for j in range(len(self.speeds))]
        turned: list[dict[int, Any]] = [{} for _ in rows]
        for d, row in self.D.items():
            turned[d] = dict(zip(row, total_time_derivative(list(row.values()), rates), strict=True))
        return congruent(free, both_triangles(mass), rows, turned)

    def forward(self, route: Route) -> Sequence[Any]:
        from kane.formulation.tree.sparse import solve

        needed = self.forces(route.loaded(self.accelerations([0.0] * len(self.speeds))))
        udot = solve(self.mass(route.mass), [-x for x in needed], self.independent, self.speeds)
        return self.accelerations(udot)

    def known_accelerations(self, udot: Sequence[Expr], forward: Callable[[], Sequence[Expr]]) -> Sequence[Expr]:
        return forward()


@final
@dataclass(frozen=True)
class NumericalEmbedding(Embedding):
    """Dependent speeds are selected numerically at each state, by native code; there are no expressions.

    Attributes:
        model: name of the model.
    """

    model: str

    choice = Choice(AFRESH, KEPT, UNCHOSEN)
    D, u, udot = (MappingProxyType[Any, Any]({}) for _ in range(3))
    redundant, fails_where = (), ()
    numerical = ("rhs", *COUNTED, "whole_mass_matrix", "input_matrix", "energy", "momentum")
    evaluated, counted = (
        ("constraints", "unconstrained"),
        ("unconstrained", "constraints", "configuration", "kinematics"),
    )
    remark = "before constraints are embedded numerically"
    note = "any fixed choice of dependent speeds fails somewhere, or needs divisors that depend on the state"

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise ModelError(
            f"the constraints of {self.model!r} are embedded numerically at each state ({self.note}): there are no "
            "expressions; kane.formulate(model, near=kane.assemble(equations, q=..., fixed=[...])) derives "
            "expressions that are valid near a state, as does model.speeds(dependent=[...])"
        )

    forces = accelerations = mass = coriolis = forward = _refused

    def known_accelerations(self, udot: Sequence[Expr], forward: Callable[[], Sequence[Expr]]) -> Sequence[Expr]:
        return udot


def weighted_sum(coefficients: Mapping[int, Expr], values: Sequence[Any], rest: Any) -> Any:
    """Return rest + sum of c_j x_j."""
    total = rest
    for j, c in coefficients.items():
        total = total + c * values[j]
    return total
