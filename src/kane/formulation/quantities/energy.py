"""Kinetic and potential energy."""

from __future__ import annotations

from kane.expression.node import Expr
from kane.formulation.recursive.kinematics import angular_velocities, orientations, origin_velocities, origins
from kane.formulation.tree.spatial import inertia_of, six_times
from kane.formulation.tree.system import System
from kane.geometry.scalars import cross, dot, is_zero


def energy(system: System, springs: Expr) -> tuple[Expr, Expr]:
    """Return kinetic and potential energy.

    K = 1/2 sum (m v.v + 2 v.(w x mc) + w.I w) [J], and V = -sum g.(m p + R mc) + springs [J]. Without springs V is zero
    if every mass centre is at the origin of N.

    Args:
        system: links and speeds.
        springs: potential energy of the loads [J].
    """
    w = angular_velocities(system)
    v = origin_velocities(system, w)
    R = orientations(system)
    p = origins(system, R)
    kinetic, potential = system.arena.zero, springs
    for mass, w_i, v_i, R_i, p_i in list(zip(system.masses, w, v, R, p, strict=True))[1:]:
        spin = dot(w_i, six_times(inertia_of(mass.J), w_i))
        double = dot(v_i, cross(w_i, mass.mc))
        kinetic = kinetic + 0.5 * (mass.m * dot(v_i, v_i) + spin) + double
        for g, height, row in zip(system.gravity, p_i, R_i, strict=True):
            if not is_zero(g):
                potential = potential - g * (mass.m * height + dot(row, mass.mc))
    return kinetic, potential
