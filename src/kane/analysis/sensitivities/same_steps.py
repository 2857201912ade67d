"""Whether what is derived is what ran: steps taken again with the derived equations end where those of the run did.

Equations of a mode with contacts are put together here by another way than in the native engine, which finds in numbers
what is in force, slips and shares forces. Where both do not agree a derivative would be of another motion.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kane.analysis.sensitivities.sliding import SlidingSlopes
from kane.analysis.sensitivities.variations import Array, Leg, ModeSlopes
from kane.errors import ModelError
from kane.simulation.integrators.explicit import Explicit, scheme
from kane.simulation.integrators.slip_threshold import begun

# Of what accelerations change in a step: rounding leaves 1e-10, and what another mode does is far above.
AGREED = 1e-8
# Of the largest speed, and of what coordinates and speeds do to each speed in the step: in short steps rounding is a
# large share of the change.
ROUNDING = 1e-11
# What rounding leaves of forces in balance on bodies at rest [m/s or rad/s].
AT_REST = 1e-14
# A slip in space below this share of the largest speed has a direction that rounding decides.
SLOW = 1e-8


def require_same_steps(leg: Leg, method: Explicit, mode: str) -> None:
    """Refuse steps that the derived equations take to other ends.

    Args:
        leg: the steps of the run.
        method: that took them.
        mode: what is in force, in words.

    Raises:
        ModelError: when, in which mode, and which speed.
    """
    table, (nq, _, _) = scheme(method), leg.motion.widths
    for part in leg.chunks():
        times, slopes, stages = part.values(table)
        h, value, weights = np.diff(part.t), slopes[:, : table.last], table.coefficients[table.last][: table.last]
        ends = part.x[:-1] + h[:, None] * np.einsum("j,kjx->kx", weights, value)
        missed, rounding = part.x[1:] - ends, _rounding(part)
        along = part.motion.projected(part.t[1:], part.x[1:])
        if along is not None:
            missed = (along.by_x @ missed[..., None])[..., 0]
            rounding = (np.abs(along.by_x) @ rounding[..., None])[..., 0]
        changes = np.abs(h)[:, None] * np.abs(value[:, :, nq:]).max(axis=1)
        allowed = AGREED * changes.max(axis=1, initial=0.0)[:, None] + rounding[:, nq:]
        off = np.abs(missed[:, nq:])
        wrong = ~(off <= allowed).all(axis=1) & _directed(part.motion, method, times, stages)
        for k in np.flatnonzero(wrong)[:1]:
            speed = int(np.argmax(off[k]))
            name = part.motion.dyn.equations.u[speed].name
            raise ModelError(
                f"the equations derived here are not those of the run at t = {part.t[k]:.9g} s{mode}: they change "
                f"{name} by {ends[k, nq + speed] - part.x[k, nq + speed]:.6g} in a step, and the run changed it by "
                f"{part.x[k + 1, nq + speed] - part.x[k, nq + speed]:.6g}; kane does not derive such a "
                "motion, though it should: end the run before that time, and report it"
            )


def _rounding(part: Leg) -> Array:
    """What rounding may change of each coordinate and speed in steps.

    A coordinate counts by the accelerations that it makes, h |f_x| |x|, so that it is of no account how far away a body
    is on which nothing acts that depends on its place.
    """
    t, size, nq = part.t[:-1], np.maximum(np.abs(part.x[:-1]), np.abs(part.x[1:])), part.motion.widths[0]
    h = np.diff(part.t)
    by_x, _ = part.motion.derivatives(t, part.x[:-1], part.motion.inputs(t, t + h / 2))
    moved = np.abs(h)[:, None] * (np.abs(by_x) @ size[..., None])[..., 0]
    size[:, nq:] = size[:, nq:].max(axis=1, initial=0.0)[:, None]
    return np.asarray(ROUNDING * (size + moved) + AT_REST)


def _directed(motion: ModeSlopes, method: Explicit, times: Array, stages: Array) -> NDArray[np.bool_]:
    """Of which steps the slips in space are fast enough at all stages to have directions."""
    if not isinstance(motion, SlidingSlopes):
        return np.ones(len(times), bool)
    turning = [len(drag.tangents) == 2 for drag in motion.drags]
    slips = motion.slips(times.ravel(), stages.reshape(-1, stages.shape[2]))[:, turning]
    fastest = np.abs(stages[..., motion.widths[0] :]).max(initial=0.0)
    least = max(SLOW * fastest, begun(method.settings.get("atol", 0.0)))
    # Below it the run keeps a share of the direction that friction had, see ``slip_direction``.
    slow = np.linalg.norm(slips, axis=2).reshape(*times.shape, -1) <= least
    return ~slow.any(axis=(1, 2))
