"""The force and moment with which the ground holds a vehicle."""

from __future__ import annotations

from typing import Any

from kane.errors import ModelError
from kane.expression.collector import collector_paused
from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.formulation.equations import Equations
from kane.formulation.quantities.momentum import momentum
from kane.formulation.recursive.kinematics import orientations, origins
from kane.formulation.tree.spatial import ZERO, Vector, cross, dot, is_zero, minus, plus, times


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
        momenta = total_time_derivative(momentum(equations), motion(equations))
        F, T = _applied(equations)
        loads = equations.baked_in((*F, *T))
        return tuple(x - y for x, y in zip(momenta, loads, strict=True))


def motion(equations: Equations) -> dict[Expr, Expr]:
    """The rates of all coordinates and speeds; the leaves udot where constraints are embedded in numbers."""
    in_numbers = equations.constraints and equations.embedding is None
    udot = equations.udot if in_numbers else equations.forward
    return dict(zip((*equations.q, *equations.u), (*equations.kinematics, *udot), strict=True))


def _applied(equations: Equations) -> tuple[Vector, Vector]:
    """Weight and applied forces, and their moment about the origin of N."""
    system = equations.system
    R = orientations(system)
    p = origins(system, R)
    F, T = ZERO, ZERO
    for index in range(1, len(system.links)):
        mass = system.masses[index]
        weight = times(mass.m, system.gravity)
        first = plus(_turned(R[index], mass.mc), times(mass.m, p[index]))
        F, T = plus(F, weight), plus(T, cross(first, system.gravity))
        if index in equations.applied.wrenches:
            f, n = (_turned(R[index], v) for v in equations.applied.wrenches[index])
            F, T = plus(F, f), plus(T, plus(n, cross(p[index], f)))
    return F, T


def _turned(R: Any, v: Vector) -> Vector:
    return tuple(dot(row, v) for row in R)


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


def moved_moment(T: Vector, F: Vector, p: Vector) -> Vector:
    """The moment about the point p."""
    return minus(T, cross(p, F))
