"""The force and moment with which the ground holds a vehicle."""

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
    """What the ground exerts on all bodies together, by the balance of momentum of the whole:

        F = dP/dt - m g - sum f,    T = dH/dt - p_cm x m g - sum (t + p x f).

    Returns:
        F (3) [N] and T (3) [N m] about the origin of N, along the axes of N, in q, u, t and the inputs, and in udot
        where constraints are embedded in numbers.

    Raises:
        ModelError: a load acts along a joint to the ground, whose reaction could not be told from those of contacts.
    """
    with collector_paused():
        _require_no_motor_on_ground(equations)
        system = equations.system
        momenta = total_time_derivative(equations.baked_in(momentum(system)), motion(equations))
        loads = equations.baked_in(outer_wrench(system, equations.applied.wrenches))
        return tuple(x - y for x, y in zip(momenta, loads, strict=True))


def motion(equations: Equations) -> dict[Expr, Expr]:
    """The rates of all coordinates and speeds; the leaves udot where constraints are embedded in numbers."""
    rates = (*equations.kinematics, *equations.known_accelerations)
    return dict(zip((*equations.q, *equations.u), rates, strict=True))


def _require_no_motor_on_ground(equations: Equations) -> None:
    system = equations.system
    for index, link in enumerate(system.links):
        if link.connection is None or link.parent:
            continue
        if not all(is_zero(equations.applied.efforts[k]) for k in system.columns(index)):
            raise ModelError(
                f"a load acts along joint {link.connection.name!r}, which holds the vehicle on the ground: its "
                "reaction is not that of a contact; use a kane.Force or kane.Torque on the body"
            )


def moved_moment(T: Triple, F: Triple, p: Triple) -> Triple:
    """The moment about the point p."""
    return minus(T, cross(p, F))
