"""Constraints embedded on the graph: dependent speeds, partial velocities and forces by the independent ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kane.errors import ModelError
from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.expression.traverse import substitute
from kane.formulation.constraints.elimination import Elimination, Row, eliminate
from kane.formulation.constraints.near_state import NearState
from kane.formulation.constraints.rows import ROUNDING, Equation, shortest
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.sparse import Sparse
from kane.formulation.tree.spatial import is_zero
from kane.formulation.tree.speeds import Speeds
from kane.model.checks import near
from kane.model.speed_choice import SpeedChoice


@dataclass(frozen=True)
class Embedding:
    """u_d = D u_i + e, and udot_d = D udot_i + e_t.

    Attributes:
        independent: columns of u that remain.
        D: rows of D by dependent column, {independent column: coefficient}.
        u, udot: dependent speeds and accelerations, by their leaves, in independent ones.
        remainders: e_t by dependent column.
        redundant: names of the rows that the others imply; where the choice was made near a state, as long as it is
            regular: a run records and checks what is left of these rows too.
        fails_where: expressions that were divided by; where one vanishes this choice of dependent speeds fails.
        divisors: their values at the state near which the choice was made.

    Source: Gillespie 2003, Eqs. 4-5, 44-46; Wampler, Buffington & Shu-hui 1985.
    """

    independent: tuple[int, ...]
    D: dict[int, dict[int, Expr]]
    u: dict[Expr, Expr]
    udot: dict[Expr, Expr]
    remainders: dict[int, Expr]
    redundant: tuple[str, ...]
    fails_where: tuple[Expr, ...]
    divisors: tuple[float, ...] = ()

    def forces(self, free: Sequence[Any]) -> list[Any]:
        """F_i + D^T F_d on the independent speeds, zero at the dependent ones (Eq. 44)."""
        total = [x if j in self.independent else 0.0 for j, x in enumerate(free)]
        for d, row in self.D.items():
            for i, c in row.items():
                total[i] = total[i] + c * free[d]
        return total

    def accelerations(self, udot: Sequence[Any]) -> list[Any]:
        """All accelerations, from those of the independent speeds."""
        given = list(udot)
        for d, row in self.D.items():
            given[d] = _sum(row, udot, self.remainders[d])
        return given

    def mass(self, free: Sparse) -> Sparse:
        """[1 D^T] M [1; D], entries (i, j) with j <= i (Eq. 45)."""
        total: Sparse = {}
        for (r, s), x in free.items():
            if is_zero(x):
                continue
            for i, a in self.D.get(r, {r: 1.0}).items():
                for j, b in self.D.get(s, {s: 1.0}).items():
                    for row, column in ((i, j), (j, i)) if r != s else ((i, j),):
                        if row >= column:
                            total[row, column] = total.get((row, column), 0.0) + a * b * x
        return total


def embed(
    constraints: Sequence[Equation], speeds: Speeds, choice: SpeedChoice, probe: Probe, t: Expr
) -> Embedding | None:
    """Embed constraints, if named dependent speeds or a state ask for it or no state-dependent divisor is needed.

    Returns:
        None where nothing asks for it and the choice of dependent speeds depends on the state.

    Raises:
        ModelError: constraints contradict each other, the named speeds cannot be the dependent ones, or the state does
            not satisfy the constraints or is singular.
    """
    dependent = choice.dependent
    names = [leaf.name for leaf in speeds.u]
    for name in dependent:
        if name not in names:
            raise ModelError(f"there is no speed {name!r} to be dependent; {near(name, names)}")
    if not all(row.linear for row in constraints):
        if dependent or choice.near:
            raise ModelError(
                "dependent speeds cannot be chosen once for all where a motion constraint is not linear in the speeds "
                f"({next(row.name for row in constraints if not row.linear)!r}); leave their choice to each state"
            )
        return None
    rows = [_row(c, speeds) for c in constraints]
    if not dependent:
        found = eliminate(rows, range(len(names)), probe, exact=True)
        redundant = _redundant(found.left, names, probe, dependent)
        if redundant is not None:
            return _embedding(found, redundant, speeds, t)
    if choice.near is not None:
        return _near(NearState([shortest(c, speeds, probe) for c in constraints], speeds, choice, probe, t))
    if not dependent:
        return None
    found = eliminate(rows, [names.index(name) for name in dependent], probe)
    redundant = _redundant(found.left, names, probe, dependent)
    _require_all(dependent, [names[p] for p, _ in found.solved])
    return _embedding(found, redundant or [], speeds, t)


def _near(state: NearState) -> Embedding:
    """The embedding by the dependent speeds and the rows that are chosen at a state.

    The rows' remainders go through the same elimination, as a column of their own: shorter than the derivatives of its
    quotients.
    """
    chosen, speeds = state.choose(), state.speeds
    last = len(speeds.u)
    kept = [state.constraints[i] for i in chosen.rows]
    rows = [_row(c, speeds) for c in kept]
    for row, c in zip(rows, kept, strict=True):
        row.coefficients[last] = c.remainder
    there = state.at(state.q)
    found = eliminate(rows, chosen.columns, there)
    left_out = [c.name for c in state.constraints if c not in kept]
    embedding = _embedding(found, left_out, speeds, state.t, remainder=last)
    return replace(embedding, divisors=tuple(there(embedding.fails_where).tolist()))


def _embedding(
    found: Elimination, redundant: Sequence[str], speeds: Speeds, t: Expr, remainder: int | None = None
) -> Embedding:
    """The embedding that an elimination gives; e_t stands in a column of its own, or is the derivative of u_d."""
    values, lift = found.values(), t.arena.lift
    rows = {p: {j: lift(c) for j, c in row.coefficients.items()} for p, row in sorted(values.items())}
    D = {p: {j: c for j, c in row.items() if j != remainder} for p, row in rows.items()}
    u = {speeds.u[p]: lift(_sum(D[p], speeds.u, values[p].rest)) for p in D}
    if remainder is None:
        changes = dict(zip(speeds.q, speeds.kinematics, strict=True))
        changes |= {leaf: leaf.arena.zero for leaf in speeds.u} | {t: t.arena.one}
        ends = total_time_derivative(list(u.values()), changes)
    else:
        ends = substitute([row.get(remainder, t.arena.zero) for row in rows.values()], u)
    e_t = dict(zip(D, ends, strict=True))
    udot = {speeds.udot[p]: lift(_sum(D[p], speeds.udot, e_t[p])) for p in D}
    independent = tuple(j for j in range(len(speeds.u)) if j not in D)
    return Embedding(independent, D, u, udot, e_t, tuple(redundant), tuple(found.pivots))


def _row(c: Equation, speeds: Speeds) -> Row:
    """A u + b = 0."""
    return Row(c.name, dict(c.coefficients), substitute([c.motion], {x: x.arena.zero for x in speeds.u})[0])


def _sum(coefficients: dict[int, Expr], values: Sequence[Any], rest: Any) -> Any:
    total = rest
    for j, c in coefficients.items():
        total = total + c * values[j]
    return total


def _redundant(left: Sequence[Row], names: Sequence[str], probe: Probe, dependent: Sequence[str]) -> list[str] | None:
    """Names of rows without unknowns, which the others imply; None where a row still restricts a speed."""
    implied = []
    for row in left:
        others = [j for j, c in row.coefficients.items() if not abs(probe.anywhere([c])[0]) <= ROUNDING]
        if others and not dependent:
            return None
        if others:
            raise ModelError(
                f"the speeds {', '.join(dependent)} are not enough to be the dependent ones: the constraint "
                f"{row.name!r} still restricts {', '.join(names[j] for j in others)}; name one of these too"
            )
        if abs(probe([row.rest])[0]) > ROUNDING:
            raise ModelError(
                f"the constraint {row.name!r} contradicts the others: no speeds satisfy all of them; take one out, or "
                "correct its right-hand side"
            )
        implied.append(row.name)
    return implied


def _require_all(dependent: Sequence[str], solved: Sequence[str]) -> None:
    spare = [name for name in dependent if name not in solved]
    if spare:
        raise ModelError(
            f"the constraints do not determine {', '.join(spare)} as dependent speeds; leave out what can be chosen "
            "freely"
        )
