"""Reasons, as text, why a parameter has no effect on any motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kane.analysis.random_states import RandomStates
from kane.dynamics.dynamics import Dynamics
from kane.expression.node import Expr
from kane.expression.traverse import leaves
from kane.model.body import Body

NO_INFLUENCE = "the motion does not depend on it"
NO_EFFECT_STATES = 20
# Size below which velocities of order one count as zero.
ZERO_VELOCITY_SIZE = 1e-9


def no_effect(dyn: Dynamics, names: Sequence[str]) -> list[str]:
    """Return the reason for each name.

    For mass properties, the reason may be that the body does not move, or turns about a fixed axis only.
    """
    states = RandomStates(dyn.equations, NO_EFFECT_STATES, seed=0) if names else None
    bodies = {symbol: b for b in dyn.equations.model.bodies for symbol in _symbols(b)}
    moving: dict[Body, str] = {}
    for name in names:
        body = bodies.get(name)
        if body is not None and states is not None and body not in moving:
            moving[body] = _motion_of(dyn, body, states)
    return [moving[bodies[name]] if name in bodies else NO_INFLUENCE for name in names]


def _motion_of(dyn: Dynamics, body: Body, states: RandomStates) -> str:
    moved = dyn.jacobian(body, states.q.T, t=np.zeros(NO_EFFECT_STATES))
    if max(np.abs(moved.angular).max(initial=0.0), np.abs(moved.linear).max(initial=0.0)) < ZERO_VELOCITY_SIZE:
        return f"{body.name} does not move"
    axes = moved.angular.transpose(0, 2, 1).reshape(-1, 3)
    if (
        np.abs(moved.linear).max(initial=0.0) < ZERO_VELOCITY_SIZE
        and np.linalg.matrix_rank(axes, tol=ZERO_VELOCITY_SIZE) == 1
    ):
        axis = axes[np.argmax(np.linalg.norm(axes, axis=1))]
        upright = np.linalg.norm(np.cross(axis, _gravity(dyn))) < ZERO_VELOCITY_SIZE * np.linalg.norm(axis)
        return f"{body.name} turns about a fixed axis{', which is vertical' if upright else ''}"
    return NO_INFLUENCE


def _gravity(dyn: Dynamics) -> np.ndarray:
    """Return the direction of gravity; NaN if it is zero or not constant, so that no axis counts as vertical."""
    g = np.array([x if isinstance(x, float) else np.nan for x in dyn.equations.model.gravity])
    return g / (np.linalg.norm(g) or np.nan)


def _symbols(body: Body) -> set[str]:
    first, inertia = body.moments or (body.com, body.inertia)
    given = [body.mass, *first, *(x for row in inertia for x in row)]
    return {leaf.name for leaf in leaves([x for x in given if isinstance(x, Expr)])}
