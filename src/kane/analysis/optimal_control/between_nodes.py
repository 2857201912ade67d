"""States, inputs and errors of a collocation between its nodes.

Between nodes x(t + c h) = x + h sum_j I_j(c) f_j, with the integrals I_j of the method's Lagrange polynomials. The
error of an interval is the integral of |x' - f(x, inputs)| over it, by Boole's rule, relative to the largest |x| plus
one.

Source: Betts 2010, Practical methods for optimal control and estimation, section 4.7.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kane.analysis.optimal_control.collocation import Collocation
from kane.array_types import Array
from kane.engine.memory.loop_arguments import Vector

# Fractions of an interval, and the weights of Boole's rule.
FRACTIONS, WEIGHTS = np.linspace(0.0, 1.0, 5), np.array([7.0, 32.0, 12.0, 32.0, 7.0]) / 90.0


@dataclass(frozen=True)
class BetweenNodes:
    """Values of a collocation at FRACTIONS of each interval."""

    collocation: Collocation

    @cached_property
    def times(self) -> Array:
        """Times [s], (intervals, fractions)."""
        c = self.collocation
        return c.time[:-1, None] + self._lengths[:, None] * FRACTIONS

    @cached_property
    def states(self) -> Array:
        """States [q, u], (intervals, fractions, states)."""
        c, integrals = self.collocation, self.collocation.mesh.method.integrals(FRACTIONS)
        moved = np.einsum("sp,kpx->ksx", integrals, self._point_rates)
        return c.solution.z[c.mesh.node_states][:-1, None, :] + self._lengths[:, None, None] * moved

    @cached_property
    def inputs(self) -> Array:
        """All inputs, (intervals, fractions, inputs)."""
        c, weights = self.collocation, self.collocation.mesh.method.interpolated(FRACTIONS)
        return c.all_inputs(self.times, self.states, np.einsum("sp,kpi->ksi", weights, c.point_inputs[self._points]))

    @cached_property
    def errors(self) -> Vector:
        """Relative error of each interval, (intervals,)."""
        c, weights = self.collocation, self.collocation.mesh.method.interpolated(FRACTIONS)
        rates = np.einsum("sp,kpx->ksx", weights, self._point_rates)
        rhs = c.problem.dyn.function("rhs")
        given = np.concatenate([self.times[..., None], self.states], axis=2)
        off = np.abs(rates - rhs(given, self.inputs, rhs.stage(c.parameter_values)))
        sizes = 1.0 + np.abs(c.solution.z[c.mesh.node_states]).max(axis=0)
        return np.asarray((self._lengths[:, None] * np.einsum("s,ksx->kx", WEIGHTS, off) / sizes).max(axis=1))

    def integrals(self, values: Array) -> Vector:
        """Return the integrals over the intervals of values at the fractions, (intervals, fractions)."""
        return self._lengths * (values @ WEIGHTS)

    def integral(self, values: Array) -> float:
        """Return the integral over the duration of values at the fractions, (intervals, fractions)."""
        return float(self.integrals(values).sum())

    @property
    def _points(self) -> NDArray[np.int64]:
        return self.collocation.mesh.interval_points

    @property
    def _lengths(self) -> Vector:
        return np.diff(self.collocation.time)

    @cached_property
    def _point_rates(self) -> Array:
        """Rates [qdot, udot] at the points of each interval, (intervals, points, states)."""
        c = self.collocation
        states = np.column_stack([c.point_time, c.solution.z[c.mesh.point_states]])
        kinematics = c.problem.dyn.function("kinematics")
        qdot = kinematics(states, np.zeros(kinematics.n_rest), kinematics.stage(c.parameter_values))
        return np.column_stack([qdot, c.solution.z[c.mesh.accelerations]])[self._points]
