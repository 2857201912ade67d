"""Laws of nature as expressions: energy and power, momentum and force."""

from __future__ import annotations

from collections.abc import Sequence

from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.expression.traverse import leaves
from kane.formulation.equations import Equations
from kane.formulation.quantities.energy import energy
from kane.formulation.quantities.momentum import momentum
from kane.formulation.recursive.applied import Applied, applied_loads
from kane.formulation.recursive.kinematics import angular_velocities, orientations, origin_velocities, origins
from kane.formulation.tree.spatial import ZERO, Vector, cross, dot, plus, times
from kane.model.loads.load import Load


def prescribes_motion(equations: Equations) -> bool:
    """Whether a joint moves as time says."""
    return equations.t in leaves([equations.system.arena.lift(x) for x in equations.system.speeds.natural]) or any(
        equations.t in leaves(c.coordinates) for c in equations.system.speeds.motion
    )


def energy_rate(equations: Equations) -> Expr:
    """d/dt of the kinetic energy and the potential energy of gravity [W], along the motion; springs are loads here."""
    kinetic, potential = energy(equations)
    total = kinetic + potential - equations.baked_in((equations.applied.potential,))[0]
    (rate,) = total_time_derivative([total], _motion(equations))
    return rate


def load_power(equations: Equations, load: Load) -> Expr:
    """The power of one load of the model [W]; a spring's as well."""
    return equations.baked_in((power(equations, applied_loads([load.effect()], equations.system)),))[0]


def power(equations: Equations, applied: Applied) -> Expr:
    """Sum of efforts times natural speeds and of f.v + n.w over links [W]."""
    system = equations.system
    w = angular_velocities(system)
    v = origin_velocities(system, w)
    total = dot(applied.efforts, system.speeds.natural)
    for link, (f, n) in applied.wrenches.items():
        total = total + dot(f, v[link]) + dot(n, w[link])
    return system.arena.lift(total)


def is_floating(equations: Equations) -> bool:
    """Whether nothing hangs on the ground but by six freedoms, and nothing is prescribed."""
    system = equations.system
    roots = [i for i, link in enumerate(system.links) if i and link.parent == 0]
    return all(len(system.steps[i].w_u) == 6 for i in roots) and not prescribes_motion(equations)


def momentum_rates(equations: Equations) -> tuple[Sequence[Expr], Sequence[Expr]]:
    """d/dt of linear and angular momentum, and the outer force and moment about the origin of N, all in N."""
    rates = total_time_derivative(momentum(equations), _motion(equations))
    system = equations.system
    R = orientations(system)
    p = origins(system, R)
    force, moment = ZERO, ZERO
    for i, mass in list(enumerate(system.masses))[1:]:
        f, n = equations.applied.wrenches.get(i, (ZERO, ZERO))
        f_N, n_N = _turned(R[i], f), _turned(R[i], n)
        weight = times(mass.m, system.gravity)
        force = plus(force, plus(f_N, weight))
        about_O = plus(n_N, cross(_turned(R[i], mass.mc), system.gravity))
        moment = plus(moment, plus(about_O, cross(p[i], plus(f_N, weight))))
    return rates, equations.baked_in((*force, *moment))


def _turned(rows: Sequence[Vector], v: Vector) -> Vector:
    return tuple(dot(row, v) for row in rows)


def _motion(equations: Equations) -> dict[Expr, Expr]:
    return dict(zip((*equations.q, *equations.u), (*equations.kinematics, *equations.forward), strict=True))
