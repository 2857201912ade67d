"""Laws of mechanics as expressions: energy and power, momentum and force."""

from __future__ import annotations

from collections.abc import Sequence

from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.expression.traverse import leaves
from kane.formulation.equations import Equations
from kane.formulation.quantities.energy import energy
from kane.formulation.quantities.momentum import momentum, outer_wrench
from kane.formulation.recursive.applied import Applied, applied_loads
from kane.formulation.recursive.kinematics import angular_velocities, origin_velocities
from kane.geometry.scalars import dot
from kane.model.loads.load import Load


def prescribes_motion(equations: Equations) -> bool:
    """Check whether a joint's motion is prescribed in time."""
    return equations.t in leaves([equations.system.arena.lift(x) for x in equations.system.speeds.natural]) or any(
        equations.t in leaves(c.coordinates) for c in equations.system.speeds.motion
    )


def energy_rate(equations: Equations) -> Expr:
    """Return d/dt of the kinetic energy plus the potential energy of gravity [W]; the energy of springs is omitted."""
    zero = equations.system.arena.zero
    kinetic, potential = equations.baked_in(energy(equations.system, zero))
    (rate,) = total_time_derivative([kinetic + potential], _motion(equations))
    return rate


def load_power(equations: Equations, load: Load) -> Expr:
    """Return the power of one load of the model, springs included [W]."""
    return equations.baked_in((applied_power(equations, applied_loads([load.effect()], equations.system)),))[0]


def applied_power(equations: Equations, applied: Applied) -> Expr:
    """Return the sum of efforts times natural speeds, plus the sum of f.v + n.w over links [W]."""
    system = equations.system
    w = angular_velocities(system)
    v = origin_velocities(system, w)
    total = dot(applied.efforts, system.speeds.natural)
    for link, (f, n) in applied.wrenches.items():
        total = total + dot(f, v[link]) + dot(n, w[link])
    return system.arena.lift(total)


def is_floating(equations: Equations) -> bool:
    """Check whether all joints to the ground have six freedoms, and no motion is prescribed in time."""
    system = equations.system
    roots = [i for i, link in enumerate(system.links) if i and link.parent == 0]
    return all(len(system.steps[i].w_u) == 6 for i in roots) and not prescribes_motion(equations)


def momentum_rates(equations: Equations) -> tuple[Sequence[Expr], Sequence[Expr]]:
    """Return d/dt of linear and angular momentum, and the external force and moment, about the origin of N along N."""
    rates = total_time_derivative(equations.baked_in(momentum(equations.system)), _motion(equations))
    return rates, equations.baked_in(outer_wrench(equations.system, equations.applied.wrenches))


def _motion(equations: Equations) -> dict[Expr, Expr]:
    return dict(zip((*equations.q, *equations.u), (*equations.kinematics, *equations.forward), strict=True))
