"""Solution of the user's definitions of generalized speeds for the joints' own speeds, by symbolic elimination."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kane.deferred import dataclass
from kane.errors import ExpressionError, ModelError, shown
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.operations import SPEED
from kane.expression.traverse import substitute_nodes
from kane.formulation.constraints.elimination import LinearRow, eliminate
from kane.formulation.constraints.rows import Equation
from kane.formulation.recursive.measures import images
from kane.formulation.speeds.declared_velocities import declared_angular_velocities, declared_measures
from kane.formulation.speeds.turning_axes import turning_axes
from kane.formulation.tree.cost import cost
from kane.formulation.tree.declared_velocity import DeclaredVelocity
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.system import System
from kane.geometry.scalars import ZERO_VECTOR, is_zero


@dataclass(frozen=True)
class ChosenSpeeds:
    """The joints' own speeds as functions of the generalized speeds.

    Attributes:
        own: the joints' own speeds by name, linear in u.
        u: leaves of the generalized speeds.
        names: names of the generalized speeds.
        definitions: the generalized speeds as expressions in the joints' own speeds.
        completed: names of the motion constraints that complete the definitions.
        fails_where: divisors of the solution; it fails where one of them vanishes.
    """

    own: dict[str, Expr]
    u: tuple[Expr, ...]
    names: tuple[str, ...]
    definitions: tuple[Expr, ...]
    completed: tuple[str, ...]
    fails_where: tuple[Expr, ...]


def chosen_speeds(
    definitions: Mapping[str, Expr], system: System, constraints: Sequence[Equation], probe: Probe
) -> ChosenSpeeds:
    """Solve u = Y w + Z for w; with fewer speeds than w, motion constraints A w + b = 0 complete the equations.

    Args:
        definitions: expressions of the generalized speeds, by name.
        system: system in the joints' own speeds w.
        constraints: motion constraints in w.
        probe: random state at which ranks are computed.

    Raises:
        ModelError: a definition is not linear in w; the speeds depend on each other, or do not span the motion.

    Source: Kane & Levinson 1983, Eq. 1; Gillespie 2003, Eqs. 1-2, 51-57.
    """
    names = tuple(definitions)
    u = tuple(system.arena.leaf(SPEED, name) for name in names)
    w = [leaf.name for leaf in system.speeds.u]
    resolved = _resolved(definitions, system)
    plain = _plain_rows(resolved, u, system)
    _require_independent(plain, w, probe)
    rows = _structured(plain, definitions, u, system)
    completing = _completing(plain, constraints, system, probe)
    apart = [_with_speeds_apart(row, u, len(w)) for row in rows]
    solutions = [_solved([*some, *completing], u, len(w), probe) for some in (rows, apart)]
    values, pivots = min(solutions, key=lambda found: cost(found[0]))
    completed = tuple(row.name for row in completing)
    own = dict(zip(w, values, strict=True))
    return ChosenSpeeds(own, u, names, tuple(resolved.values()), completed, tuple(pivots))


def _solved(rows: Sequence[LinearRow], u: Sequence[Expr], n: int, probe: Probe) -> tuple[list[Expr], list[Expr]]:
    """Return the joints' own speeds from linear equations, and the divisors."""
    found = eliminate(rows, range(n), probe)
    values = found.values()
    return [_in_speeds(values[k], u, n) for k in range(n)], found.pivots


def _resolved(definitions: Mapping[str, Expr], system: System) -> dict[str, Expr]:
    """Return the definitions as expressions in coordinates, time and the joints' own speeds."""
    return {
        name: substitute_nodes([x], images(system, [x], f"the speed {name!r}"))[0] for name, x in definitions.items()
    }


def _plain_rows(definitions: Mapping[str, Expr], u: Sequence[Expr], system: System) -> list[LinearRow]:
    """Return the rows Y w + Z - u = 0, one for each speed."""
    rows, zero = [], system.arena.zero
    for (name, expression), leaf in zip(definitions.items(), u, strict=True):
        try:
            (Y,), (Z,) = linear_coefficients([expression], system.speeds.u)
        except ExpressionError as error:
            raise ModelError(f"the speed {name!r} is not linear in the rates of the coordinates: {error}") from None
        rows.append(LinearRow(name, {j: y for j, y in enumerate(Y) if y is not zero}, Z - leaf))
    return rows


def _with_speeds_apart(row: LinearRow, u: Sequence[Expr], n: int) -> LinearRow:
    """Move u_r to column n + r if the row is sum of c_j w_j - u_r = 0 with constant c_j, so that u_r can cancel."""
    speed = next((r for r, leaf in enumerate(u) if row.rest is -leaf), None)
    if speed is None or not all(c.is_constant for c in row.coefficients.values()):
        return row
    return LinearRow(row.name, {**row.coefficients, n + speed: -1.0}, 0.0)


def _in_speeds(row: LinearRow, u: Sequence[Expr], n: int) -> Expr:
    """Return a solved joint speed as an expression, with u_r in the place of column n + r."""
    total = row.rest
    for j, c in sorted(row.coefficients.items()):
        total = total + c * u[j - n]
    return u[0].arena.lift(total)


def _matrix(rows: Sequence[LinearRow], n: int, probe: Probe) -> np.ndarray:
    """Return the coefficients at the probe's state; entries without a finite value become arbitrary nonzero numbers."""
    out = np.zeros((len(rows), n))
    for r, row in enumerate(rows):
        out[r, list(row.coefficients)] = probe(list(row.coefficients.values()))
    return np.where(np.isfinite(out), out, 0.5 + np.arange(n))


def _require_independent(rows: Sequence[LinearRow], w: Sequence[str], probe: Probe) -> None:
    """Raise ModelError if the speeds are linearly dependent."""
    Y = _matrix(rows, len(w), probe)
    if len(rows) == np.linalg.matrix_rank(Y):
        return
    _, _, V = np.linalg.svd(Y.T)
    combination = V[-1]
    names = [row.name for row, x in zip(rows, combination, strict=True) if abs(x) > 1e-9]
    raise ModelError(
        f"the speeds {', '.join(names)} depend on each other in every state: a linear combination of them contains no "
        "rate; replace one of them"
        if len(names) > 1
        else f"the speed {shown(names[0])} does not depend on the motion; define it by rates that change"
    )


def _completing(
    rows: Sequence[LinearRow], constraints: Sequence[Equation], system: System, probe: Probe
) -> list[LinearRow]:
    """Return the motion constraints that determine the joint speeds together with the generalized speeds.

    Raises:
        ModelError: some joint speeds remain undetermined; the message names them.
    """
    w = [leaf.name for leaf in system.speeds.u]
    still = {leaf: leaf.arena.zero for leaf in system.speeds.u}
    chosen, rank = list(rows), len(rows)
    for c in constraints:
        if rank == len(w):
            break
        row = LinearRow(c.name, dict(c.coefficients), substitute_nodes([c.motion], still)[0])
        if c.linear and np.linalg.matrix_rank(_matrix([*chosen, row], len(w), probe)) > rank:
            chosen, rank = [*chosen, row], rank + 1
    if rank == len(w):
        return chosen[len(rows) :]
    _, _, V = np.linalg.svd(_matrix(chosen, len(w), probe))
    free = [name for name, x in zip(w, np.abs(V[rank:]).max(axis=0), strict=True) if x > 1e-9]
    raise ModelError(
        f"{_listed(rows)} not span the motion: {', '.join(free)} can change while {_all(rows)} zero; define "
        f"{len(w) - rank} more, or motion constraints that determine the rest"
    )


def _listed(rows: Sequence[LinearRow]) -> str:
    names = ", ".join(row.name for row in rows)
    return f"the speeds {names} do" if len(rows) > 1 else f"the speed {names} does"


def _all(rows: Sequence[LinearRow]) -> str:
    return "all of them are" if len(rows) > 1 else "it is"


def _structured(
    rows: list[LinearRow], definitions: Mapping[str, Expr], u: Sequence[Expr], system: System
) -> list[LinearRow]:
    """Return the rows, with a whole angular velocity written along the axes that give the simplest coefficients.

    The angular velocity w_NB = sum of axes e_j w_j is declared along the axes of one frame. It is transformed to the
    frame in which most measure numbers of the e_j are numbers. The elimination then needs no identity such as sin^2 +
    cos^2 = 1.
    """
    done: set[int] = set()
    found: list[LinearRow] = []
    for link, known in declared_angular_velocities(declared_measures(definitions), system).items():
        speeds = {r for row in known.rows for r in row or {}}
        if not known.whole or (known.frame != link and len(speeds) != 3) or speeds & done:
            continue
        done |= speeds
        names = [rows[r].name for r in sorted(speeds)]
        found.extend(_along_best_axes(system, link, known, u, names))
    return [*(row for r, row in enumerate(rows) if r not in done), *found]


def _along_best_axes(
    system: System, link: int, known: DeclaredVelocity, u: Sequence[Expr], names: Sequence[str]
) -> Iterator[LinearRow]:
    best = min(turning_axes(system, link, known.frame, known.mixed(ZERO_VECTOR, u)), key=lambda found: found.complexity)
    for i, name in enumerate(names):
        entries = {j: v[i] for j, v in best.axes.items() if not is_zero(v[i])}
        yield LinearRow(name, entries, best.rest[i] - best.value[i])
