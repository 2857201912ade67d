"""Linear and angular momentum, and the external forces that change them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kane.expression.functions import sqrt
from kane.formulation.recursive.inverse import LinkWrench
from kane.formulation.recursive.kinematics import angular_velocities, orientations, origin_velocities, origins
from kane.formulation.tree.spatial import inertia_of, plus, rotated, six_times, times
from kane.formulation.tree.system import System
from kane.geometry.scalars import ZERO_VECTOR, Triple, cross, dot


def momentum(system: System) -> tuple[Any, ...]:
    """Return the linear momentum P = sum m v_cm, and the angular momentum H about the origin of N, measured in N.

    Returns:
        P (3) [kg m/s], H (3) [kg m^2/s].

    Source: Kane & Levinson 1983, Eq. 134, for any tree.
    """
    w = angular_velocities(system)
    v = origin_velocities(system, w)
    total: list[tuple[Triple, Triple]] = []
    for mass, w_i, v_i in zip(system.masses, w, v, strict=True):
        P = plus(times(mass.m, v_i), cross(w_i, mass.mc))
        total.append((P, plus(six_times(inertia_of(mass.J), w_i), cross(mass.mc, v_i))))
    total[0] = ZERO_VECTOR, ZERO_VECTOR  # what is fixed in the ground does not move
    for index in range(len(total) - 1, 0, -1):
        step, (P, H) = system.steps[index], total[index]
        parent = system.links[index].parent
        H = step.R.apply(plus(H, cross(step.d, P)))
        P = step.R.apply(P)
        total[parent] = plus(total[parent][0], P), plus(total[parent][1], plus(H, cross(step.p, P)))
    return (*total[0][0], *total[0][1])


def outer_wrench(system: System, wrenches: Mapping[int, LinkWrench]) -> tuple[Any, ...]:
    """Return the resultant of weight and applied forces, measured in N.

    F = sum (m g + f); about the origin of N, T = sum (p_cm x m g + t + p x f).

    Args:
        system: links and speeds.
        wrenches: by link, force f and moment t about O_K in K; p is the position of O_K.

    Returns:
        F (3) [N], T (3) [N m].
    """
    R = orientations(system)
    p = origins(system, R)
    F, T = ZERO_VECTOR, ZERO_VECTOR
    for index in range(1, len(system.links)):
        mass = system.masses[index]
        first = plus(rotated(R[index], mass.mc), times(mass.m, p[index]))
        F, T = plus(F, times(mass.m, system.gravity)), plus(T, cross(first, system.gravity))
        if index in wrenches:
            f, t = (rotated(R[index], v) for v in wrenches[index])
            F, T = plus(F, f), plus(T, plus(t, cross(p[index], f)))
    return (*F, *T)


def momentum_sizes(system: System) -> tuple[Any, ...]:
    """Return sums of the magnitudes of each body's terms in ``momentum``; its round-off is proportional to them.

    Returns:
        sum |m v_cm| [kg m/s], sum (|I w| + |p| |m v_cm|) [kg m^2/s], with p from the origin of N.
    """
    w = angular_velocities(system)
    v = origin_velocities(system, w)
    p = origins(system, orientations(system))
    linear: Any = 0.0
    angular: Any = 0.0
    for index, mass in list(enumerate(system.masses))[1:]:
        P = plus(times(mass.m, v[index]), cross(w[index], mass.mc))
        H = plus(six_times(inertia_of(mass.J), w[index]), cross(mass.mc, v[index]))
        linear = linear + _magnitude(P)
        angular = angular + _magnitude(H) + _magnitude(p[index]) * _magnitude(P)
    return linear, angular


def _magnitude(v: Triple) -> Any:
    return sqrt(dot(v, v))
