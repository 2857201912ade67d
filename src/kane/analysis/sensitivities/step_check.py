"""Check that the derived equations reproduce the steps of the run.

The derived equations of a contact mode are built independently of the native engine, which determines active
constraints, slips and shared forces numerically. If both disagree, the derivatives would belong to another motion.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kane.analysis.sensitivities.contact_motions import SlidingSlopes
from kane.analysis.sensitivities.variations import Array, Leg, ModeSlopes
from kane.errors import ModelError
from kane.simulation.integrators.explicit import Explicit, scheme
from kane.simulation.integrators.slip_threshold import begun

# Tolerance relative to the change by accelerations in a step: rounding is 1e-10, and another mode differs far more.
STEP_TOLERANCE = 1e-8
# Tolerance relative to the largest speed, and to the effect of coordinates and speeds on each speed in the step: in
# short steps rounding is a large fraction of the change.
STEP_ROUNDING = 1e-11
# Rounding error of balanced forces on bodies at rest [m/s or rad/s].
AT_REST = 1e-14
# Slip in space, relative to the largest speed, below which rounding determines its direction.
UNDIRECTED_SLIP = 1e-8


def require_same_steps(leg: Leg, method: Explicit, mode: str) -> None:
    """Raise if the derived equations take steps to other states than the run.

    Args:
        leg: steps of the run.
        method: integrator of the steps.
        mode: description of the contact mode.

    Raises:
        ModelError: names the time, the mode and the speed.
    """
    table, (nq, _, _) = scheme(method), leg.motion.widths
    for part in leg.chunks():
        times, slopes, stages = part.values(table)
        h, value, ends = np.diff(part.t), slopes[:, : table.last], part.ends(table, slopes)
        missed, rounding = part.x[1:] - ends, _rounding(part)
        along = part.motion.projected(part.t[1:], part.x[1:])
        if along is not None:
            missed = (along.by_x @ missed[..., None])[..., 0]
            rounding = (np.abs(along.by_x) @ rounding[..., None])[..., 0]
        changes = np.abs(h)[:, None] * np.abs(value[:, :, nq:]).max(axis=1)
        allowed = STEP_TOLERANCE * changes.max(axis=1, initial=0.0)[:, None] + rounding[:, nq:]
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
    """Return the possible rounding error of each coordinate and speed in the steps.

    A coordinate counts by its effect on accelerations, h |f_x| |x|. The distance of a body on which no
    position-dependent load acts therefore has no effect.
    """
    t, size, nq = part.t[:-1], np.maximum(np.abs(part.x[:-1]), np.abs(part.x[1:])), part.motion.widths[0]
    h = np.diff(part.t)
    by_x, _ = part.motion.derivatives(t, part.x[:-1], part.motion.inputs(t, t + h / 2))
    moved = np.abs(h)[:, None] * (np.abs(by_x) @ size[..., None])[..., 0]
    size[:, nq:] = size[:, nq:].max(axis=1, initial=0.0)[:, None]
    return np.asarray(STEP_ROUNDING * (size + moved) + AT_REST)


def _directed(motion: ModeSlopes, method: Explicit, times: Array, stages: Array) -> NDArray[np.bool_]:
    """Return a mask of the steps in which slips in space are fast enough at all stages to have directions."""
    if not isinstance(motion, SlidingSlopes):
        return np.ones(len(times), bool)
    turning = [len(friction.tangents) == 2 for friction in motion.frictions]
    slips = motion.slips(times.ravel(), stages.reshape(-1, stages.shape[2]))[:, turning]
    fastest = np.abs(stages[..., motion.widths[0] :]).max(initial=0.0)
    least = max(UNDIRECTED_SLIP * fastest, begun(method.settings.get("atol", 0.0)))
    # Below it friction keeps part of its previous direction in the run, see ``slip_direction``.
    slow = np.linalg.norm(slips, axis=2).reshape(*times.shape, -1) <= least
    return ~slow.any(axis=(1, 2))
