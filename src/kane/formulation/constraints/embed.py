"""How the constraints of a model are embedded: on the graph, where dependent speeds can be chosen once for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kane.errors import ModelError
from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.expression.traverse import substitute
from kane.formulation.constraints.elimination import Elimination, LinearRow, eliminate
from kane.formulation.constraints.embedding import Embedding, InNumbers, NoConstraints, OnGraph, weighted_sum
from kane.formulation.constraints.near_state import NearState
from kane.formulation.constraints.rows import ROUNDING, Equation, shortest
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.speeds import Speeds
from kane.model.checks import near
from kane.model.model import Model


def embed(constraints: Sequence[Equation], speeds: Speeds, model: Model, probe: Probe, t: Expr) -> Embedding:
    """Embed constraints on the graph, if named dependent speeds or a state ask for it or no state-dependent divisor is
    needed, and else in numbers.

    Raises:
        ModelError: constraints contradict each other, the named speeds cannot be the dependent ones, or the state does
            not satisfy the constraints or is singular.
    """
    if not constraints:
        return NoConstraints()
    choice = model.speed_choice
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
        return InNumbers(model.name)
    rows = [_row(c, speeds) for c in constraints]
    if not dependent:
        found = eliminate(rows, range(len(names)), probe, exact=True)
        redundant = _redundant(found.left, names, probe, dependent)
        if redundant is not None:
            return _on_graph(found, redundant, speeds, t)
    if choice.near is not None:
        return _near(NearState([shortest(c, speeds, probe) for c in constraints], speeds, choice, probe, t))
    if not dependent:
        return InNumbers(model.name)
    found = eliminate(rows, [names.index(name) for name in dependent], probe)
    redundant = _redundant(found.left, names, probe, dependent)
    _require_all(dependent, [names[p] for p, _ in found.solved])
    return _on_graph(found, redundant or [], speeds, t)


def _near(state: NearState) -> OnGraph:
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
    embedding = _on_graph(found, left_out, speeds, state.t, remainder=last)
    return replace(embedding, divisors=tuple(there(embedding.fails_where).tolist()))


def _on_graph(
    found: Elimination, redundant: Sequence[str], speeds: Speeds, t: Expr, remainder: int | None = None
) -> OnGraph:
    """The embedding that an elimination gives; e_t stands in a column of its own, or is the derivative of u_d."""
    values, lift = found.values(), t.arena.lift
    rows = {p: {j: lift(c) for j, c in row.coefficients.items()} for p, row in sorted(values.items())}
    D = {p: {j: c for j, c in row.items() if j != remainder} for p, row in rows.items()}
    u = {speeds.u[p]: lift(weighted_sum(D[p], speeds.u, values[p].rest)) for p in D}
    if remainder is None:
        changes = dict(zip(speeds.q, speeds.kinematics, strict=True))
        changes |= {leaf: leaf.arena.zero for leaf in speeds.u} | {t: t.arena.one}
        ends = total_time_derivative(list(u.values()), changes)
    else:
        ends = substitute([row.get(remainder, t.arena.zero) for row in rows.values()], u)
    e_t = dict(zip(D, ends, strict=True))
    udot = {speeds.udot[p]: lift(weighted_sum(D[p], speeds.udot, e_t[p])) for p in D}
    names = tuple(leaf.name for leaf in speeds.u)
    return OnGraph(names, D, u, udot, e_t, tuple(redundant), tuple(found.pivots))


def _row(c: Equation, speeds: Speeds) -> LinearRow:
    """A u + b = 0."""
    return LinearRow(c.name, dict(c.coefficients), substitute([c.motion], {x: x.arena.zero for x in speeds.u})[0])


def _redundant(
    left: Sequence[LinearRow], names: Sequence[str], probe: Probe, dependent: Sequence[str]
) -> list[str] | None:
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
