"""The implicit midpoint rule."""

from __future__ import annotations

from typing import ClassVar

from kane.deferred import dataclass
from kane.simulation.integrators.explicit import Tableau
from kane.simulation.integrators.implicit import Implicit

TABLEAU = Tableau(nodes=(0.0, 0.5, 1.0), rows=({}, {1: 0.5}, {1: 1.0}), last=2)


@dataclass(frozen=True)
class Midpoint(Implicit):
    """x1 = x0 + h f(t + h/2, (x0 + x1)/2) with fixed steps: order two, symmetric, without energy drift.

    Source: Hairer, Lubich & Wanner, Geometric Numerical Integration, II.1 and VI.4.
    """

    order: ClassVar[int] = 2

    @property
    def tableau(self) -> Tableau:
        return TABLEAU
