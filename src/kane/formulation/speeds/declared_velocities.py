"""Angular velocities and velocities that definitions of speeds and their completing constraints declare directly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from kane.expression.node import Expr
from kane.expression.operations import MEASURE
from kane.formulation.recursive.measures import position_in_K
from kane.formulation.tree.declared_velocity import DeclaredVelocity
from kane.formulation.tree.system import System
from kane.geometry.scalars import ZERO_VECTOR, Triple
from kane.model.body import ANGULAR_VELOCITY, VELOCITY, Measure

# Tolerance within which the cosine between a direction and an axis counts as 0, 1 or -1, because rotations leave
# round-off of this size.
ALIGNED_COSINE_TOLERANCE = 1e-12

# Column and measure: a measure that is the generalized speed of this column, or, with None, a measure that a constraint
# holds at zero.
Declaration: TypeAlias = "tuple[int | None, Measure]"
# The column or None, and the direction of the measure, in the frame L of the link in which the direction is fixed.
DeclaredDirection: TypeAlias = "tuple[int | None, Triple]"


def declared_measures(definitions: Mapping[str, Expr], zeros: Iterable[Expr | None] = ()) -> list[Declaration]:
    """Return the measures among definitions of speeds, and among motions that constraints hold at zero."""
    found: list[Declaration] = [(r, x.data) for r, x in enumerate(definitions.values()) if x.op == MEASURE]
    return found + [(None, x.data) for x in zeros if x is not None and x.op == MEASURE]


def declared_angular_velocities(declared: Iterable[Declaration], system: System) -> dict[int, DeclaredVelocity]:
    """Return the declared components of angular velocities, by link."""
    places: dict[tuple[int, int], list[DeclaredDirection]] = {}
    for r, measure in declared:
        if measure.kind == ANGULAR_VELOCITY:
            link, frame, along = _place(measure, system)
            if link:
                places.setdefault((link, frame), []).append((r, along))
    found: dict[int, DeclaredVelocity] = {}
    for (link, frame), measures in places.items():
        found[link] = _joined(system, link, {frame: measures}, found.get(link) or _nothing(link, ZERO_VECTOR))
    return {link: known for link, known in found.items() if _says(known)}


def declared_point_velocities(declared: Iterable[Declaration], system: System) -> dict[int, DeclaredVelocity]:
    """Return the declared velocity of one point per link: the point with the most declared components."""
    places: dict[tuple[int, Triple], dict[int, list[DeclaredDirection]]] = {}
    for r, measure in declared:
        if measure.kind == VELOCITY:
            link, frame, along = _place(measure, system)
            if link:
                point = tuple(position_in_K(system, measure.body, measure.point))
                places.setdefault((link, point), {}).setdefault(frame, []).append((r, along))
    found: dict[int, DeclaredVelocity] = {}
    for (link, point), frames in places.items():
        known = _joined(system, link, frames, _nothing(link, point))
        if _says(known) > (_says(found[link]) if link in found else 0):
            found[link] = known
    return found


def _place(measure: Measure, system: System) -> tuple[int, int, Triple]:
    """Return the measure's link, its direction's link, and the direction in the latter's frame L."""
    along = system.places[measure.direction_body]
    return system.places[measure.body].link, along.link, along.R_LB.apply(measure.direction)


def _nothing(link: int, point: Triple) -> DeclaredVelocity:
    return DeclaredVelocity(link, (None, None, None), point)


def _says(known: DeclaredVelocity) -> int:
    """Return the number of declared components."""
    return sum(row is not None for row in known.rows)


def _joined(
    system: System, link: int, frames: Mapping[int, Sequence[DeclaredDirection]], known: DeclaredVelocity
) -> DeclaredVelocity:
    """Return a whole vector if three measures along one frame are declared, else the components along its own axes."""
    for frame, measures in frames.items():
        whole = _whole(system, frame, measures, known.point)
        if whole is not None:
            return whole
        if not known.whole:
            known = _components(system, link, frame, measures, known)
    return known


def _whole(system: System, frame: int, measures: Sequence[DeclaredDirection], point: Triple) -> DeclaredVelocity | None:
    """Return the vector whose measure numbers along three independent constant directions are declared, or None."""
    along = [tuple(system.steps[frame].R_LK.apply_inverse(v)) for _, v in measures]
    if len(along) != 3 or any(x.__class__ is Expr for v in along for x in v):
        return None
    directions = np.array(along, float)
    if np.linalg.cond(directions) > 1.0 / ALIGNED_COSINE_TOLERANCE:
        return None
    inverse = np.linalg.inv(directions)
    rows = []
    for i in range(3):
        exact = {r: _rounded(float(inverse[i, k])) for k, (r, _) in enumerate(measures)}
        rows.append({r: c for r, c in exact.items() if c and r is not None})
    return DeclaredVelocity(frame, tuple(rows), point)


def _components(
    system: System, link: int, frame: int, measures: Sequence[DeclaredDirection], old: DeclaredVelocity
) -> DeclaredVelocity:
    """Return ``old`` with further components along the link's own axes.

    They are the components along axes with which a declared direction is aligned in every state.
    """
    rows = list(old.rows)
    for r, v in measures:
        for axis, sign in _axis(system.carried(frame, link, system.steps[frame].R_LK.apply_inverse(v))):
            rows[axis] = {} if r is None else {r: sign}
    return DeclaredVelocity(link, tuple(rows), old.point)


def _axis(v: Triple) -> Iterator[tuple[int, float]]:
    if any(x.__class__ is Expr for x in v):
        return
    rounded = [_rounded(float(x)) for x in v]
    for i, x in enumerate(rounded):
        if abs(x) == 1.0 and rounded.count(0.0) == 2:
            yield i, x


def _rounded(x: float) -> float:
    return float(round(x)) if abs(x - round(x)) < ALIGNED_COSINE_TOLERANCE else x
