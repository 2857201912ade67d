"""Embedding of a model's constraints: symbolic if dependent speeds can be selected once, otherwise numerical."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kane.errors import ModelError
from kane.expression.derivative import linear_coefficients, total_time_derivative
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.constraints.embedding import (
    Embedding,
    NoConstraints,
    NumericalEmbedding,
    SymbolicEmbedding,
    weighted_sum,
)
from kane.formulation.constraints.rows import ROW_TOLERANCE, Equation, shortest
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.speeds import Speeds
from kane.formulation.tree.system import System
from kane.model.checks import require_known
from kane.model.model import Model

if TYPE_CHECKING:
    from kane.formulation.constraints.base_velocity import Based
    from kane.formulation.constraints.elimination import Elimination, LinearRow


def embed(constraints: Sequence[Equation], system: System, model: Model, probe: Probe, t: Expr) -> Embedding:
    """Embed constraints symbolically or numerically.

    They are embedded symbolically if no state-dependent divisor is needed, or if the model names dependent speeds or a
    state.

    Raises:
        ModelError: constraints contradict each other, the named speeds cannot be the dependent ones, or the state does
            not satisfy the constraints or is singular.
    """
    if not constraints:
        return NoConstraints()
    from kane.formulation.constraints.elimination import eliminate

    choice, speeds = model.speed_choice, system.speeds
    dependent = choice.dependent
    names = [leaf.name for leaf in speeds.u]
    for name in dependent:
        require_known(name, names, "speed", " to be dependent")
    if not all(row.linear for row in constraints):
        if dependent or choice.near:
            raise ModelError(
                "dependent speeds cannot be chosen once if a motion constraint is not linear in the speeds "
                f"({next(row.name for row in constraints if not row.linear)!r}); let kane choose them at each state"
            )
        return NumericalEmbedding(model.name)
    rows = [_row(c, speeds) for c in constraints]
    if not dependent:
        found = eliminate(rows, range(len(names)), probe, exact=True)
        redundant = _redundant(found.left, names, probe, dependent)
        if redundant is not None:
            return _on_graph(found, redundant, speeds, t)
    if choice.near is not None:
        return _near(constraints, system, model, probe, t)
    if not dependent:
        return NumericalEmbedding(model.name)
    found = eliminate(rows, [names.index(name) for name in dependent], probe)
    redundant = _redundant(found.left, names, probe, dependent)
    _require_all(dependent, [names[p] for p, _ in found.solved])
    return _on_graph(found, redundant or [], speeds, t)


def _near(constraints: Sequence[Equation], system: System, model: Model, probe: Probe, t: Expr) -> SymbolicEmbedding:
    """Return the embedding by the dependent speeds and the rows that are selected at a state."""
    from kane.formulation.constraints.base_velocity import least_base
    from kane.formulation.constraints.near_state import NearState

    rows = [shortest(c, system.speeds, probe) for c in constraints]
    state = NearState(rows, system.speeds, model.speed_choice, probe, t)
    chosen, there = state.choose(), state.at(state.q)
    kept = [rows[i] for i in chosen.rows]
    left_out = tuple(row.name for row in rows if row not in kept)
    based = least_base(kept, chosen.columns, system, model, probe)
    if based is None:
        found = _by_remainders(kept, chosen.columns, system.speeds, there, t)
    else:
        found = _by_base(based, chosen.columns, system.speeds, there, t)
    return replace(found, redundant=left_out, divisors=tuple(there(found.fails_where).tolist()))


def _by_base(based: Based, dependent: Sequence[int], speeds: Speeds, probe: Probe, t: Expr) -> SymbolicEmbedding:
    """Return the embedding in the joints' own speeds that follows from one with a base velocity."""
    its = based.system.speeds
    inner = _by_remainders(based.rows, dependent, its, probe, t)
    changes = [weighted_sum(row, its.udot, rest) for row, rest in zip(its.C, its.a_t, strict=True)]
    own = [next(iter(row)) for row in speeds.C]
    values = dict(zip(own, substitute_nodes(its.natural, inner.u), strict=True))
    rates = dict(zip(own, substitute_nodes(changes, {**inner.u, **inner.udot}), strict=True))
    u, udot = ({leaves[p]: found[p] for p in inner.D} for leaves, found in ((speeds.u, values), (speeds.udot, rates)))
    rows, _ = linear_coefficients(list(u.values()), speeds.u)
    _, e_t = linear_coefficients(list(udot.values()), speeds.udot)
    zero = t.arena.zero
    D = {p: {j: c for j, c in enumerate(row) if c is not zero} for p, row in zip(inner.D, rows, strict=True)}
    remainders = dict(zip(inner.D, e_t, strict=True))
    names = tuple(leaf.name for leaf in speeds.u)
    return SymbolicEmbedding(names, D, u, udot, remainders, (), inner.fails_where, based=(based.system, inner))


def embed_dependent(
    constraints: Sequence[Equation], system: System, model: Model, probe: Probe, t: Expr
) -> SymbolicEmbedding:
    """Embed constraints that are linear in the speeds, with the dependent speeds that the model names.

    If some rows imply others, the state near which the selection is made determines the rows to leave out.

    Raises:
        ModelError: no state is given although rows are redundant, or as ``NearState.choose``.
    """
    choice, speeds = model.speed_choice, system.speeds
    if choice.near is not None:
        return _near(constraints, system, model, probe, t)
    rows = [shortest(c, speeds, probe) for c in constraints]
    if len(rows) != len(choice.dependent):
        raise ModelError(
            f"{len(choice.dependent)} dependent speeds of {model.name!r} do not match {len(rows)} constraint rows; "
            "name as many speeds or, if some rows are redundant, give near=kane.assemble(equations, ...)"
        )
    names = [leaf.name for leaf in speeds.u]
    columns = [names.index(name) for name in choice.dependent]
    found = _by_remainders(rows, columns, speeds, probe, t)
    _require_all(choice.dependent, [names[p] for p in found.D])
    return found


def _by_remainders(
    kept: Sequence[Equation], dependent: Sequence[int], speeds: Speeds, probe: Probe, t: Expr
) -> SymbolicEmbedding:
    """Return the embedding in which these rows determine the dependent speeds.

    The elimination also transforms the remainders of the rows, as an additional column, into e_t. This e_t is shorter
    than the time derivatives of D and e, which are quotients.
    """
    from kane.formulation.constraints.elimination import eliminate

    last = len(speeds.u)
    rows = [_row(c, speeds) for c in kept]
    for row, c in zip(rows, kept, strict=True):
        row.coefficients[last] = c.remainder
    return _on_graph(eliminate(rows, dependent, probe), [], speeds, t, remainder=last)


def _on_graph(
    found: Elimination, redundant: Sequence[str], speeds: Speeds, t: Expr, remainder: int | None = None
) -> SymbolicEmbedding:
    """Return the embedding of an elimination; e_t is the column ``remainder``, or else the derivative of u_d."""
    values, lift = found.values(), t.arena.lift
    rows = {p: {j: lift(c) for j, c in row.coefficients.items()} for p, row in sorted(values.items())}
    D = {p: {j: c for j, c in row.items() if j != remainder} for p, row in rows.items()}
    u = {speeds.u[p]: lift(weighted_sum(D[p], speeds.u, values[p].rest)) for p in D}
    if remainder is None:
        changes = dict(zip(speeds.q, speeds.kinematics, strict=True))
        changes |= {leaf: leaf.arena.zero for leaf in speeds.u} | {t: t.arena.one}
        ends = total_time_derivative(list(u.values()), changes)
    else:
        ends = substitute_nodes([row.get(remainder, t.arena.zero) for row in rows.values()], u)
    e_t = dict(zip(D, ends, strict=True))
    udot = {speeds.udot[p]: lift(weighted_sum(D[p], speeds.udot, e_t[p])) for p in D}
    names = tuple(leaf.name for leaf in speeds.u)
    return SymbolicEmbedding(names, D, u, udot, e_t, tuple(redundant), tuple(found.pivots))


def _row(c: Equation, speeds: Speeds) -> LinearRow:
    """Return A u + b = 0 as a row to be eliminated."""
    from kane.formulation.constraints.elimination import LinearRow

    return LinearRow(c.name, dict(c.coefficients), substitute_nodes([c.motion], {x: x.arena.zero for x in speeds.u})[0])


def _redundant(
    left: Sequence[LinearRow], names: Sequence[str], probe: Probe, dependent: Sequence[str]
) -> list[str] | None:
    """Return the names of redundant rows, which have no unknowns; None if a row still restricts a speed."""
    implied = []
    for row in left:
        others = [j for j, c in row.coefficients.items() if not abs(probe.anywhere([c])[0]) <= ROW_TOLERANCE]
        if others and not dependent:
            return None
        if others:
            raise ModelError(
                f"the speeds {', '.join(dependent)} are too few dependent speeds: the constraint "
                f"{row.name!r} still restricts {', '.join(names[j] for j in others)}; name one of these, too"
            )
        if abs(probe([row.rest])[0]) > ROW_TOLERANCE:
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
            f"the constraints do not determine {', '.join(spare)} as dependent speeds; leave out speeds that can be "
            "chosen freely"
        )
