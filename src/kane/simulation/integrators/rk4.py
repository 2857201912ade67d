"""The classical Runge-Kutta method."""

from __future__ import annotations

from typing import ClassVar

from kane.deferred import dataclass
from kane.simulation.integrators.explicit import Explicit, Tableau

TABLEAU = Tableau(
    nodes=(0.0, 0.5, 0.5, 1.0, 1.0),
    rows=({}, {0: 0.5}, {1: 0.5}, {2: 1.0}, {0: 1 / 6, 1: 1 / 3, 2: 1 / 3, 3: 1 / 6}),
    last=4,
)


@dataclass(frozen=True)
class RK4(Explicit):
    """Classical Runge-Kutta method with fixed steps: order four, four evaluations per step.

    x1 = x0 + h/6 (k1 + 2 k2 + 2 k3 + k4), k1 = f(t, x0), k2 = f(t + h/2, x0 + h/2 k1), k3 = f(t + h/2, x0 + h/2 k2),
    k4 = f(t + h, x0 + h k3). It is stable on undamped oscillations up to h times angular frequency = 2.8. Its
    interpolant is the cubic through the states and slopes at both ends, of order four.
    """

    order: ClassVar[int] = 4
    fixed: ClassVar[bool] = True

    @property
    def tableau(self) -> Tableau:
        return TABLEAU
