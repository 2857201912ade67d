"""Linear and angular momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kane.expression.node import Expr
from kane.formulation.kinematics import angular_velocities, origin_velocities
from kane.formulation.spatial import ZERO, Vector, cross, inertia_of, plus, six_times, times

if TYPE_CHECKING:
    from kane.formulation.equations import Equations


def momentum(equations: Equations) -> tuple[Expr, ...]:
    """Linear momentum P = sum m v_cm and angular momentum H about the origin of N, measured in N.

    Returns:
        P (3) [kg m/s], H (3) [kg m^2/s].

    Source: Kane & Levinson 1983, Eq. 134, for any tree.
    """
    system = equations.system
    w = angular_velocities(system)
    v = origin_velocities(system, w)
    total: list[tuple[Vector, Vector]] = []
    for mass, w_i, v_i in zip(system.masses, w, v, strict=True):
        P = plus(times(mass.m, v_i), cross(w_i, mass.mc))
        total.append((P, plus(six_times(inertia_of(mass.J), w_i), cross(mass.mc, v_i))))
    total[0] = ZERO, ZERO  # what is fixed in the ground does not move
    for index in range(len(total) - 1, 0, -1):
        step, (P, H) = system.steps[index], total[index]
        parent = system.links[index].parent
        H = step.R.apply(plus(H, cross(step.d, P)))
        P = step.R.apply(P)
        total[parent] = plus(total[parent][0], P), plus(total[parent][1], plus(H, cross(step.p, P)))
    return equations.baked_in((*total[0][0], *total[0][1]))
