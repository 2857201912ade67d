"""Reasons, as text, why a parameter has no effect on any motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kane.analysis.random_states import RandomStates
from kane.dynamics.dynamics import Dynamics
from kane.expression.node import Expr
from kane.expression.traverse import leaves
from kane.model.body import Body

NOTHING = "the motion does not depend on it"
STATES = 20
# Size below which velocities of order one count as zero.
STILL = 1e-9


def no_effect(dyn: Dynamics, names: Sequence[str]) -> list[str]:
    """Return the reason for each name.

    For mass properties, the reason may be that the body does not move, or turns about a fixed axis only.
    """
    states = RandomStates(dyn.equations, STATES, seed=0) if names else None
    bodies = {symbol: b for b in dyn.equations.model.bodies for symbol in _symbols(b)}
    moving: dict[Body, str] = {}
    for name in names:
        body = bodies.get(name)
        if body is not None and states is not None and body not in moving:
            moving[body] = _motion_of(dyn, body, states)
    return [moving[bodies[name]] if name in bodies else NOTHING for name in names]


def _motion_of(dyn: Dynamics, body: Body, states: RandomStates) -> str:
    moved = dyn.jacobian(body, states.q.T, t=np.zeros(STATES))
    if max(np.abs(moved.angular).max(initial=0.0), np.abs(moved.linear).max(initial=0.0)) < STILL:
        return f"{body.name} does not move"
    axes = moved.angular.transpose(0, 2, 1).reshape(-1, 3)
    if np.abs(moved.linear).max(initial=0.0) < STILL and np.linalg.matrix_rank(axes, tol=STILL) == 1:
        axis = axes[np.argmax(np.linalg.norm(axes, axis=1))]
        upright = np.linalg.norm(np.cross(axis, _gravity(dyn))) < STILL * np.linalg.norm(axis)
        return f"{body.name} turns about a fixed axis{', which is vertical' if upright else ''}"
    return NOTHING


def _gravity(dyn: Dynamics) -> np.ndarray:
    """Return the direction of gravity; NaN if it is zero or not constant, so that no axis counts as vertical."""
    g = np.array([x if isinstance(x, float) else np.nan for x in dyn.equations.model.gravity])
    return g / (np.linalg.norm(g) or np.nan)


def _symbols(body: Body) -> set[str]:
    first, inertia = body.moments or (body.com, body.inertia)
    given = [body.mass, *first, *(x for row in inertia for x in row)]
    return {leaf.name for leaf in leaves([x for x in given if isinstance(x, Expr)])}
