"""Time steps that turn bodies too far for their accuracy."""

from __future__ import annotations

import numpy as np

from kane.simulation.integrator_state import IntegratorState

# Largest turn of a time step without a warning [rad], and the turn that the advice aims at.
LARGEST_TURN, ADVISED_TURN = 0.5, 0.1
# If no coordinate moves further than this [rad, m or 1], no joint and no body turns by LARGEST_TURN. A quaternion turns
# by 0.4 rad if each of its entries moves by 0.1.
SMALL_MOVE = 0.1


def describe_long_steps(integration: IntegratorState) -> str:
    """Describe time steps that turn a joint or a body by more than LARGEST_TURN; else return an empty text.

    Turns are means over the steps between two records.
    """
    if not integration.drifts:
        return ""
    layout, states, dt = integration.problem.layout, integration.states(), abs(integration.course.step)
    steps = np.maximum(1.0, np.round(np.abs(np.diff(states[:, 0])) / dt))
    found = {}
    for k, (name, unit) in enumerate(zip(layout.coordinates, layout.coordinate_units, strict=True)):
        if unit == "rad":
            found[name] = np.max(np.abs(np.diff(states[:, 1 + k])) / steps, initial=0.0)
        elif k in layout.quaternions:
            p = states[:, 1 + k : 5 + k]
            cosine = np.minimum(1.0, np.abs(np.vecdot(p[1:], p[:-1])))
            found[name] = np.max(2.0 * np.arccos(cosine) / steps, initial=0.0)
    name, turn = max(found.items(), key=lambda each: each[1], default=("", 0.0))
    if not turn > LARGEST_TURN:
        return ""
    return (
        f"time steps of dt = {dt:.6g} s turn {name!r} of {layout.model!r} by up to {turn:.3g} rad each, which is too "
        f"far for an accurate motion; give dt = {dt * ADVISED_TURN / turn:.1g} or less"
    )
