"""What a row of the motion is the time derivative of: what it holds in the configuration, but for a constant.

Rates of coordinates and velocities of points along fixed directions are derivatives of coordinates and positions. What
is left of a row without these, such as an angular velocity about an axis that does not turn, may be a sum of rates.
Whatever is found is checked: its time derivative is the row, at a state picked at random. Where nothing is found a row
holds the motion alone: it is nonholonomic, or integrable together with others only, as angular velocities in space are,
or its integral is of another form.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kane.expression.collector import collector_paused
from kane.expression.derivative import gradient
from kane.expression.node import Expr
from kane.expression.operations import MEASURE, PARAMETER, RATE, TIME
from kane.expression.traverse import leaves, substitute
from kane.formulation.constraints.rows import ROUNDING, Equation, row_equation
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.system import System
from kane.model.body import CONFIGURATION_KINDS, POSITION, VELOCITY
from kane.model.constraints import Row

# Factors of rates are found from values at states: short decimal numbers.
DECIMALS = 12


def integral(row: Row, equation: Equation, system: System, probe: Probe) -> Expr | None:
    """An expression of q, t and parameters of which the motion of a row is the time derivative; None if none is found.

    Args:
        row: as declared. A configuration that it has is the integral if the motion is its derivative everywhere.
        equation: the row in the speeds of the system, in which it is linear.
        system, probe: of the model.
    """
    with collector_paused():
        if row.configuration is not None:
            found, rate = _derived(row.configuration, system)
        else:
            assert row.motion is not None
            found, rate = _derived(_of_leaves(row.motion, system), system)
            found, rate = _derived(found + _of_rates(equation.motion - rate, system, probe), system)
        left = probe.anywhere([equation.motion - rate])[0]
    return found if abs(left) <= ROUNDING else None


def _derived(x: Expr, system: System) -> tuple[Expr, Expr]:
    """An expression of the configuration in q and t, and its time derivative."""
    made = row_equation(Row("integral", configuration=x), "integral", system)
    assert made.configuration is not None
    return made.configuration, made.motion


def _of_leaves(motion: Expr, system: System) -> Expr:
    """The sum of the coordinates and positions whose rates and velocities have constant factors, and what is constant
    by itself, times t.
    """
    arena, speeds = motion.arena, system.speeds
    coordinates = dict(zip(speeds.kinematics, speeds.q, strict=True))  # a joint's speed may be the rate of one
    rates = [x for x in leaves([motion]) if x.op == RATE]
    moving = [*rates, *(x for x in leaves([motion]) if x.op == MEASURE and x.data.kind not in CONFIGURATION_KINDS)]
    found = arena.zero
    for leaf, factor in zip(moving, gradient(motion, moving), strict=True):
        if not _is_constant(factor):
            continue
        if leaf.op == RATE:
            found = found + factor * coordinates.get(speeds.rates[leaf], arena.zero)
        elif leaf.data.kind == VELOCITY:
            found = found + factor * arena.leaf(MEASURE, replace(leaf.data, kind=POSITION))
    rest = substitute([motion], dict.fromkeys(moving, arena.zero))[0]
    return found + rest * arena.leaf(TIME, "t") if _is_constant(rest) else found


def _is_constant(x: Expr) -> bool:
    """Whether nothing but parameters stands in an expression."""
    return all(leaf.op == PARAMETER for leaf in leaves([x]))


def _of_rates(motion: Expr, system: System, probe: Probe) -> Expr:
    """The sum of coordinates, times numbers, whose rate is closest to a motion in the speeds."""
    speeds, arena = system.speeds, system.arena
    used = set(leaves([motion]))
    near = [(q, rate) for q, rate in zip(speeds.q, speeds.kinematics, strict=True) if used & {*leaves([rate])}]
    if not near:
        return arena.zero
    wanted = [motion, *(rate for _, rate in near)]
    places = [Probe({}, probe.quaternions, seed=k) for k in range(1, 2 + len(near))]
    values = np.array([place(wanted) for place in places])
    if not np.isfinite(values).all():  # a root or a quotient that is no number there
        return arena.zero
    factors = np.linalg.lstsq(values[:, 1:], values[:, 0], rcond=None)[0]
    return arena.lift(sum(round(float(x), DECIMALS) * q for x, (q, _) in zip(factors, near, strict=True)))
