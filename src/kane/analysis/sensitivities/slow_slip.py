"""Slips in space at their beginning or end: slip directions, and short steps while the slip is slow.

Friction has the direction of the slip v, and the derivative of this direction by v across it is 1 / |v|. Both ends are
regular nevertheless: a slip begins along the direction e in which it accelerates, and at its end the components across
it vanish with |v|. The steps grow with the time from the end. They use the direction of v + w, with a small w along e
that matters in the shortest steps only.

The last part of a slip acts on a small change of the motion by impulses along the tangents, as in an impact. The rows
that stick afterwards determine these impulses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kane.analysis.sensitivities.contact_motions import SlidingSlopes
from kane.analysis.sensitivities.variations import Array, Leg, integrated
from kane.errors import ModelError
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.simulation.integrators.explicit import Explicit, scheme

# Shortest step relative to the piece, and w relative to the largest slip. Largest step relative to its distance from
# the end of the slip.
SHORTEST_STEP, STEP_GROWTH = 1e-9, 1.0 / 16.0
# Slip whose direction counts as the direction at the end: relative to the largest slip in the steps of the run, and
# relative to w in the short steps. Least cosine of the angle between both directions, and largest number of iterations.
DIRECTED_SLIP, FAST_SLIP, LEAST_COSINE, MOST_ITERATIONS = 1e-3, 10.0, 0.5, 4
# Newton iterations for directions: largest number, difference of angles for slopes [rad], and tolerance [rad].
NEWTON_STEPS, ANGLE_STEP, ANGLE_TOLERANCE = 30, 1e-6, 1e-11
# Acceleration, relative to the effect of friction, below which a slip starts too slowly.
SLOW_START = 1e-3


def graded(leg: Leg, method: Explicit, causes: Sequence[IntermittentEquations], *, begins: bool) -> Leg:
    """Return the steps of a piece in which slips in space start from rest, or else end.

    Raises:
        ModelError: a slip starts with almost no acceleration, or its direction is not found.
    """
    motion, h = leg.motion, leg.t[-1] - leg.t[0]
    assert isinstance(motion, SlidingSlopes)
    slow = np.array([any(friction.tangents[0] is c.tangents[0] for c in causes) for friction in motion.frictions])
    sizes, end = np.linalg.norm(motion.slips(leg.t, leg.x), axis=2)[:, slow].min(axis=1), 0 if begins else -1
    w = SHORTEST_STEP * sizes.max()
    e = _directions(motion, leg, _next_to(end, sizes > DIRECTED_SLIP * sizes.max(), leg))
    if begins:
        e = _accelerating(replace(motion, offsets=w * e), leg, slow, w)
    near = h * (1.0 + STEP_GROWTH) ** -np.arange(1.0, -np.log(SHORTEST_STEP) / np.log1p(STEP_GROWTH))
    times = np.union1d(leg.t, leg.t[0] + near if begins else leg.t[-1] - near)[:: 1 if h > 0.0 else -1]
    known = dict(zip(leg.t.tolist(), leg.x, strict=True))
    for _ in range(MOST_ITERATIONS):
        motion = replace(motion, offsets=np.where(slow[:, None], w * e, 0.0))
        found = integrated(motion, times, leg.x[0], scheme(method), known)
        speeds = np.linalg.norm(motion.slips(found.t, found.x), axis=2)[:, slow].min(axis=1)
        there = _directions(motion, found, _next_to(end, speeds > FAST_SLIP * w, leg))
        if ((there * e).sum(axis=1)[slow] > LEAST_COSINE).all():
            return found
        e = there
    raise ModelError(
        f"a slip in space {'begins' if begins else 'ends'} at t = {leg.t[end]:.9g} s along a direction that is not "
        "found; give the run smaller tolerances"
    )


def _next_to(end: int, fast: NDArray[np.bool_], leg: Leg) -> int:
    """Return the state near an end at which slips are fast enough to have directions."""
    if not fast.any():
        raise ModelError(
            f"contacts that slip in space at t = {leg.t[end]:.9g} s hardly move, and such slips are "
            "not derived; end the run before that time"
        )
    return int(np.flatnonzero(fast)[end])


def _directions(motion: SlidingSlopes, leg: Leg, place: int) -> Array:
    """Return the directions of the slips at a state, (frictions, 2)."""
    v = motion.slips(leg.t[place][None], leg.x[place][None])[0]
    return v / np.maximum(np.linalg.norm(v, axis=1), np.finfo(float).tiny)[:, None]


def _accelerating(motion: SlidingSlopes, leg: Leg, slow: Array, w: float) -> Array:
    """Return the directions in which slips accelerate from rest, starting from their directions a step later."""
    t, x = leg.t[:1], leg.x[:1]
    inputs = motion.inputs(t, t)
    assert motion.offsets is not None
    angles = np.arctan2(motion.offsets[:, 1], motion.offsets[:, 0])

    def turned(angles: Array) -> tuple[Array, Array, Array]:
        """Directions, and accelerations across and along them."""
        e = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        a = _slip_rates(replace(motion, offsets=w * e), t, x, inputs)
        return e, np.where(slow, e[:, 0] * a[:, 1] - e[:, 1] * a[:, 0], 0.0), (e * a).sum(axis=1)

    for _ in range(NEWTON_STEPS):
        e, across, along = turned(angles)
        J = np.array([(turned(angles + ANGLE_STEP * unit)[1] - across) / ANGLE_STEP for unit in np.eye(len(angles))]).T
        step = np.linalg.lstsq(J, across, rcond=1e-9)[0]
        angles = angles - step
        if np.abs(step).max() < ANGLE_TOLERANCE:
            break
    e, across, along = turned(angles)
    friction = np.abs(_slip_rates(replace(motion, offsets=-w * e), t, x, inputs)).max()
    if not (along[slow] > SLOW_START * friction).all():
        raise ModelError(
            f"a slip in space begins at t = {t[0]:.9g} s with no acceleration to speak of, and has no direction that "
            "can be derived; give static friction some per cent more than kinetic"
        )
    return e


def _slip_rates(motion: SlidingSlopes, t: Array, x: Array, inputs: Array) -> Array:
    """Return the accelerations of the slips, (frictions, 2)."""
    f = motion.rates(t, x, inputs)
    h = ANGLE_STEP / max(1.0, float(np.abs(f).max()))
    ends = [motion.slips(t + sign * h, x + sign * h * f)[0] for sign in (1.0, -1.0)]
    return (ends[0] - ends[1]) / (2.0 * h)
