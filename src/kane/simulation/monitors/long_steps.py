"""Time steps that turn bodies too far for their accuracy."""

from __future__ import annotations

import numpy as np

from kane.engine.memory.loop_arguments import Vector
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.state_layout import Layout

# Largest turn of a time step without a warning [rad], and the turn that the advice aims at.
LARGEST_TURN, ADVISED_TURN = 0.5, 0.1
# A quaternion turns by 0.4 rad at most if each of its entries moves by this.
SHORT_QUATERNION_MOVE = 0.1


def short_moves(layout: Layout) -> Vector:
    """Return the moves of the coordinates in a step, (nq,), up to which nothing turns by LARGEST_TURN [rad, m or 1]."""
    moves = np.where(np.array(layout.coordinate_units) == "rad", LARGEST_TURN, np.inf)
    for start in layout.quaternions:
        moves[start : start + 4] = SHORT_QUATERNION_MOVE
    return moves


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
