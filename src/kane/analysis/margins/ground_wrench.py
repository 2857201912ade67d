"""Resultant force and moment of the ground on a vehicle."""

from __future__ import annotations

from kane.errors import ModelError
from kane.expression.collector import collector_paused
from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.formulation.equations import Equations
from kane.formulation.quantities.momentum import momentum, outer_wrench
from kane.formulation.tree.spatial import minus
from kane.geometry.scalars import Triple, cross, is_zero


def ground_wrench(equations: Equations) -> tuple[Expr, ...]:
    """Return the resultant wrench of the ground on all bodies, by the momentum balance of the whole system:

        F = dP/dt - m g - sum f,    T = dH/dt - p_cm x m g - sum (t + p x f).

    Returns:
        F (3) [N] and T (3) [N m] about the origin of N, along N. They depend on q, u, t and inputs; on udot as well if
        constraints are embedded numerically.

    Raises:
        ModelError: a load acts along a joint to the ground, so that contact forces cannot be separated from its
            reaction.
    """
    with collector_paused():
        _require_no_motor_on_ground(equations)
        system = equations.system
        momenta = total_time_derivative(equations.baked_in(momentum(system)), motion(equations))
        loads = equations.baked_in(outer_wrench(system, equations.applied.wrenches))
        return tuple(x - y for x, y in zip(momenta, loads, strict=True))


def motion(equations: Equations) -> dict[Expr, Expr]:
    """Return the rates of all coordinates and speeds; udot remain symbols if constraints are embedded numerically."""
    rates = (*equations.kinematics, *equations.known_accelerations)
    return dict(zip((*equations.q, *equations.u), rates, strict=True))


def _require_no_motor_on_ground(equations: Equations) -> None:
    system = equations.system
    for index, link in enumerate(system.links):
        if link.connection is None or link.parent:
            continue
        if not all(is_zero(equations.applied.efforts[k]) for k in system.columns(index)):
            raise ModelError(
                f"a load acts along joint {link.connection.name!r} between vehicle and ground: its "
                "reaction is not a contact force; use a kane.Force or kane.Torque on the body"
            )


def moved_moment(T: Triple, F: Triple, p: Triple) -> Triple:
    """Return the moment about the point p."""
    return minus(T, cross(p, F))
