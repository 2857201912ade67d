"""The classical Runge-Kutta method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kane.simulation.integrators.integrator import Integrator, Slope
from kane.simulation.march import March, Vector


@dataclass(frozen=True)
class RK4(Integrator):
    """The classical Runge-Kutta method with fixed steps: order four, four evaluations a step.

    x1 = x0 + h/6 (k1 + 2 k2 + 2 k3 + k4), k1 = f(t, x0), k2 = f(t + h/2, x0 + h/2 k1), k3 = f(t + h/2, x0 + h/2 k2),
    k4 = f(t + h, x0 + h k3). Stable on undamped oscillations up to h times angular frequency = 2.8.
    """

    order: ClassVar[int] = 4

    def step(self, slope: Slope, t: float, x: Vector, h: float) -> Vector:
        k1 = slope(t, x)
        k2 = slope(t + h / 2, x + h / 2 * k1)
        k3 = slope(t + h / 2, x + h / 2 * k2)
        k4 = slope(t + h, x + h * k3)
        return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def advance(self, march: March, steps: int) -> bool:
        from kane.simulation.native_rk4 import march_rk4  # imports numba, for 0.3 s that only a simulation should pay

        first, last = march.done, min(march.done + steps, march.grid.steps)
        scratch = [np.empty_like(march.x) for _ in range(3)]
        march.done = march_rk4(march.system, march.tables, march.grid, (first, last), (march.x, *scratch, march.rows))
        return march.done == last
