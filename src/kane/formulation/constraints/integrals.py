"""Integrals of motion rows: a configuration expression whose time derivative is the row.

Coordinate rates and point velocities along fixed directions are derivatives of coordinates and positions. The rest of a
row, such as an angular velocity about an axis of fixed direction, may be a sum of rates. Every integral is checked: at
a random state its time derivative must equal the row. A row without an integral constrains the motion alone. Such a row
is nonholonomic, or its integral has another form, or it is integrable only together with other rows (angular velocity
in space).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kane.expression.collector import collector_paused
from kane.expression.derivative import gradient
from kane.expression.node import Expr
from kane.expression.operations import MEASURE, PARAMETER, RATE, TIME
from kane.expression.traverse import leaves, substitute_nodes
from kane.formulation.constraints.rows import ROW_TOLERANCE, Equation, row_equation
from kane.formulation.tree.probe import Probe
from kane.formulation.tree.system import System
from kane.model.body import CONFIGURATION_KINDS, POSITION, VELOCITY
from kane.model.constraints import Row

# Factors of rates are fitted at sample states, then rounded to this number of decimals.
DECIMALS = 12


def integral_of_row(row: Row, equation: Equation, system: System, probe: Probe) -> Expr | None:
    """Find an expression of q, t and parameters whose time derivative is the motion of a row; None if none is found.

    Args:
        row: as declared. Its configuration, if any, is the integral if the motion is its derivative everywhere.
        equation: the same row in the speeds of the system, in which it is linear.
        system: links and speeds of the model.
        probe: probe of the model.
    """
    with collector_paused():
        if row.configuration is not None:
            found, rate = _derived(row.configuration, system)
        else:
            assert row.motion is not None
            found, rate = _derived(_of_leaves(row.motion, system), system)
            found, rate = _derived(found + _of_rates(equation.motion - rate, system, probe), system)
        left = probe.anywhere([equation.motion - rate])[0]
    return found if abs(left) <= ROW_TOLERANCE else None


def _derived(x: Expr, system: System) -> tuple[Expr, Expr]:
    """Return an expression of the configuration in terms of q and t, and its time derivative."""
    made = row_equation(Row("integral", configuration=x), "integral", system)
    assert made.configuration is not None
    return made.configuration, made.motion


def _of_leaves(motion: Expr, system: System) -> Expr:
    """Integrate the terms of a motion that have constant factors: rates, velocities of points and the constant part."""
    arena, speeds = motion.arena, system.speeds
    coordinates = dict(zip(speeds.kinematics, speeds.q, strict=True))  # a joint's speed may be a coordinate's rate
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
    rest = substitute_nodes([motion], dict.fromkeys(moving, arena.zero))[0]
    return found + rest * arena.leaf(TIME, "t") if _is_constant(rest) else found


def _is_constant(x: Expr) -> bool:
    """Return whether an expression contains no leaves but parameters."""
    return all(leaf.op == PARAMETER for leaf in leaves([x]))


def _of_rates(motion: Expr, system: System, probe: Probe) -> Expr:
    """Return the sum of c_i q_i whose rate is closest to a motion, with constants c_i fitted at sample states."""
    speeds, arena = system.speeds, system.arena
    used = set(leaves([motion]))
    near = [(q, rate) for q, rate in zip(speeds.q, speeds.kinematics, strict=True) if used & {*leaves([rate])}]
    if not near:
        return arena.zero
    wanted = [motion, *(rate for _, rate in near)]
    places = [Probe({}, probe.quaternions, seed=k) for k in range(1, 2 + len(near))]
    values = np.array([place(wanted) for place in places])
    if not np.isfinite(values).all():  # a root or a quotient without a finite value at a sample state
        return arena.zero
    factors = np.linalg.lstsq(values[:, 1:], values[:, 0], rcond=None)[0]
    return arena.lift(sum(round(float(x), DECIMALS) * q for x, (q, _) in zip(factors, near, strict=True)))
