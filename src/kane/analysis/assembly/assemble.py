"""assemble: a state that satisfies all constraints, found from a guess."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kane.analysis.assembly.closing import CLOSED_LOOP_TOLERANCE, close_loops, null_space, require_closed
from kane.analysis.assembly.integrability import integrable_rows
from kane.analysis.assembly.non_penetration import terms_with_gaps
from kane.array_types import StateLike
from kane.dynamics.build import build
from kane.dynamics.constraint_terms import Array, ConstraintTerms
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.expression.number_arguments import number, require, words
from kane.expression.traverse import leaves
from kane.formulation.equations import Equations
from kane.model.checks import require_known
from kane.simulation.state_layout import Layout

# A normalized row is redundant if its part orthogonal to earlier rows is shorter than this. At singular configurations
# the solutions of closed loops, and so these rows, are accurate only to the square root of round-off.
REDUNDANT_ROW_TOLERANCE = 1e-6
# A row is zero if its length, relative to the largest entry of all rows, is below this.
ZERO_ROW_TOLERANCE = 1e-13
# Relative difference of squared lengths that counts as round-off.
TIED = 1e-10
# Weight of held names in the choice of free names: a held name is chosen unless another pivot is this much larger.
PREFERRED = 1e3
MAX_PROJECTION_ITERATIONS = 50


@dataclass(frozen=True, eq=False)
class Assembly:
    """A state that satisfies the constraints; prints as a table.

    Attributes:
        q, u: coordinates and speeds, in the order of the equations.
        rank: number of independent constraint equations at this state.
        residual: largest residual of configuration and motion constraints, [m or rad] and [m/s or rad/s].
        redundant: names of the constraint equations that earlier ones imply at this state.
        free: names of independent coordinates, then of independent speeds, near this state. Held names, and the speeds
            of held coordinates, are preferred.
        integrable: names of the motion constraints that are integrable, so that they also restrict the configuration.
        tries: number of starts of the search.
        coordinates, speeds: names.
        units: units of the coordinates, then of the speeds.
    """

    q: Array
    u: Array
    rank: int
    residual: float
    redundant: tuple[str, ...]
    free: tuple[str, ...]
    integrable: tuple[str, ...]
    tries: int
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    units: tuple[str, ...]

    def __repr__(self) -> str:
        names = (*self.coordinates, *self.speeds)
        width, long = (max(map(len, words), default=0) for words in (names, self.units))
        values = zip(names, (*self.q, *self.u), self.units, strict=True)
        marks = dict.fromkeys(self.free, "  independent")
        rows = [f"{n:{width}}{x:18.9g} {unit:{long}}{marks.get(n, '')}".rstrip() for n, x, unit in values]
        rows.append(f"rank {self.rank}, residual {self.residual:.1e}, starts {self.tries}")
        lists = (("redundant", self.redundant), ("integrable", self.integrable))
        return "\n".join([*rows, *(f"{word}: {', '.join(names)}" for word, names in lists if names)])


def assemble(
    equations: Equations | Dynamics,
    *,
    q: StateLike | None = None,
    u: StateLike | None = None,
    fixed: Sequence[str] = (),
    t: float | None = None,
    parameters: Any = None,
) -> Assembly:
    """Find a state near a guess that satisfies all constraints and has no penetration.

    Coordinates move by small motions s of the speeds: J s = -phi with the exact Jacobian J of the residuals phi. Each
    step is a minimum-norm Levenberg step, with damping that vanishes with phi. If the guess does not lead to a
    solution, up to 39 other starts follow at increasing distances, the same ones in each call. Orientation constraints
    also vanish if bodies are turned by half a turn; such configurations, where A u + b is not dphi/dt, are rejected.
    Then the speeds change by the minimum-norm du with A (u + du) + b = 0.

    Negative gaps of contacts, stops and latches are residuals too: penetrating bodies move until they touch, together
    with the loops.

    Args:
        equations: Equations, or Dynamics built from them.
        q, u: initial guess: arrays, or dicts from some of the names to numbers; neutral and at rest for the others.
        fixed: names of coordinates and speeds that keep their values; all four of a quaternion.
        t: time [s]; required if constraints depend on it.
        parameters: array, or dict from some of the names to numbers; defaults for the others.

    Returns:
        The state, with the rank, residual and redundancy of the constraints.

    Raises:
        ModelError: a loop does not close, no speeds satisfy the motion constraints, or too many names are held. Also if
            a name is unknown or a required time is missing. The message names the constraint that is farthest from
            satisfied.

    Source: Levenberg 1944; Gillespie 2003, Eqs. 4-5 for the motion constraints.
    """
    require(equations, Equations | Dynamics, "assemble takes Equations or Dynamics, from kane.formulate or kane.build")
    dyn = equations if isinstance(equations, Dynamics) else build(equations)
    layout = Layout.of(dyn.equations)
    values = dyn.equations.parameter_bounds.given(parameters)
    time, (held, kept) = _time(dyn.equations, t), _held(layout, fixed)
    x = layout.initial_state(q, u)
    guess, speeds = x[: len(layout.coordinates)], x[len(layout.coordinates) :]
    terms = ConstraintTerms.of(dyn, guess, t=time, parameters=values)
    own, closing = terms.own, terms_with_gaps(terms).own
    closed, tries = close_loops(closing, guess, held)
    require_closed(closing, closed, guess, held)
    speeds = consistent_speeds(terms, closed.q, speeds, kept)
    found = terms.at(closed.q, speeds)
    residual, A = found.motion, found.A
    independent, redundant = split_rows(A if own is terms else own.at(closed.q).A)
    return Assembly(
        q=closed.q,
        u=speeds,
        rank=len(independent),
        residual=max(closed.residual, float(np.abs(residual).max(initial=0.0))),
        redundant=tuple(own.names[i] for i in redundant),
        free=free_names(terms, layout, closed.q, A[split_rows(A)[0]], fixed),
        integrable=integrable_rows(own, closed.q, independent),
        tries=tries,
        coordinates=layout.coordinates,
        speeds=layout.speeds,
        units=(*layout.coordinate_units, *layout.speed_units),
    )


def _time(equations: Equations, t: float | None) -> float:
    if t is not None:
        return number(t, "t", "seconds")
    rows = [x for row in equations.constraints for x in (row.configuration, row.motion) if x is not None]
    if equations.t in leaves(rows):
        raise ModelError(f"the constraints of {equations.name!r} depend on the time t; give t [s]")
    return 0.0


def _held(layout: Layout, fixed: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the indices of the held coordinates and of the held speeds."""
    fixed = words(fixed, "fixed", "names")
    names = (*layout.coordinates, *layout.speeds)
    for name in fixed:
        require_known(name, names, "coordinate or speed", " to hold")
    for start in layout.quaternions:
        group = layout.coordinates[start : start + 4]
        if 0 < sum(name in fixed for name in group) < 4:
            raise ModelError(f"a part of the quaternion ({', '.join(group)}) cannot be held; hold all four, or none")
    held = [i for i, name in enumerate(layout.coordinates) if name in fixed]
    return held, [j for j, name in enumerate(layout.speeds) if name in fixed]


def consistent_speeds(terms: ConstraintTerms, q: Array, guess: Array, kept: Sequence[int]) -> Array:
    """Return the speeds nearest to a guess that satisfy the motion constraints; ``kept`` speeds do not change.

    Raises:
        ModelError: no speeds satisfy the constraints.
    """
    moving = [j for j in range(len(guess)) if j not in kept]
    u = guess.copy()
    for _ in range(MAX_PROJECTION_ITERATIONS):
        here = terms.at(q, u)
        residual, A = here.motion, here.A
        if not len(residual):
            return u
        change = np.linalg.lstsq(A[:, moving], -residual, rcond=REDUNDANT_ROW_TOLERANCE**1.5)[0]
        u[moving] += change
        if np.abs(change).max(initial=0.0) <= 1e-15 * max(1.0, np.abs(u).max(initial=0.0)):
            break
    here = terms.at(q, u)
    residual, A = here.motion, here.A
    scale = (
        CLOSED_LOOP_TOLERANCE
        * max(1.0, float(np.abs(u).max(initial=0.0)))
        * max(1.0, float(np.abs(A).max(initial=0.0)))
    )
    if np.abs(residual).max(initial=0.0) <= 1e2 * scale:
        return u
    worst = terms.names[int(np.argmax(np.abs(residual)))]
    open_by = f"{np.abs(residual).max():.3g}"
    if kept:
        names = ", ".join(terms.equations.u[j].name for j in kept)
        consistent_speeds(terms, q, guess, ())
        raise ModelError(
            f"no speeds satisfy the constraint {worst!r} with {names} held: the residual is {open_by}; hold fewer "
            "speeds (fixed=)"
        )
    against = ", ".join(repr(terms.names[i]) for i in np.flatnonzero(np.abs(residual) > 0.1 * np.abs(residual).max()))
    raise ModelError(
        f"no speeds satisfy the constraint {worst!r} at this configuration: the residual is {open_by}. "
        f"{against} contradict each other or other constraints: remove one, or correct the prescribed motions"
    )


def split_rows(A: Array) -> tuple[list[int], list[int]]:
    """Return the indices of independent rows of A, and of rows that are linear combinations of earlier rows."""
    basis: list[Array] = []
    independent, implied = [], []
    vanishing = ZERO_ROW_TOLERANCE * float(np.abs(A).max(initial=0.0))
    for i, row in enumerate(A):
        length = float(np.linalg.norm(row))
        left = row / length if length > vanishing else 0.0 * row
        for _ in range(2):  # the second pass removes round-off of the first
            for e in basis:
                left = left - (left @ e) * e
        if np.linalg.norm(left) > REDUNDANT_ROW_TOLERANCE:
            basis.append(left / np.linalg.norm(left))
            independent.append(i)
        else:
            implied.append(i)
    return independent, implied


def free_names(terms: ConstraintTerms, layout: Layout, q: Array, A: Array, fixed: Sequence[str]) -> tuple[str, ...]:
    """Return the names of independent coordinates and speeds, which determine all others."""
    motions = null_space(A, len(layout.speeds))
    own = terms.own.at(q)
    Y, J = terms.at(q).Y, own.J
    displacements = own.Y @ null_space(J[split_rows(J)[0]], J.shape[1])
    held = np.array([name in fixed for name in layout.coordinates], dtype=bool)
    kept = np.array([name in fixed for name in layout.speeds], dtype=bool)
    first = _best_rows(displacements, PREFERRED * held)
    of_held, of_first = np.abs(Y[held]).sum(axis=0) > 0.0, np.abs(Y[first]).sum(axis=0) > 0.0
    then = _best_rows(motions, PREFERRED * (kept + 0.1 * of_held) + of_first)
    return (*(layout.coordinates[i] for i in first), *(layout.speeds[j] for j in then))


def _best_rows(basis: Array, preference: Array) -> list[int]:
    """Return the indices of rows of a basis that determine the other rows, in increasing order.

    Rows are selected by pivoting: the longest remainder first, and the first among equal ones. A preference x scales a
    row by 1 + x. SciPy's pivoted QR is not used, because its import takes half as long as that of kane.
    """
    left, chosen = (1.0 + preference)[:, None] * basis, []
    for _ in range(basis.shape[1]):
        squares = np.square(left).sum(axis=1)
        best = int(np.argmax(squares >= (1.0 - TIED) * squares.max()))
        direction = left[best] / math.sqrt(squares[best])
        left = left - np.outer(left @ direction, direction)
        left[best] = 0.0
        chosen.append(best)
    return sorted(chosen)
