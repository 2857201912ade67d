"""Gauss's method with two stages."""

from __future__ import annotations

import math
from typing import ClassVar

from kane.deferred import dataclass
from kane.simulation.integrators.explicit import Tableau
from kane.simulation.integrators.implicit import Implicit

ROOT = math.sqrt(3.0) / 6.0
TABLEAU = Tableau(
    nodes=(0.0, 0.5 - ROOT, 0.5 + ROOT, 1.0),
    rows=({}, {1: 0.25, 2: 0.25 - ROOT}, {1: 0.25 + ROOT, 2: 0.25}, {1: 0.5, 2: 0.5}),
    last=3,
)


@dataclass(frozen=True)
class Gauss4(Implicit):
    """Gauss's method with two stages and fixed steps: order four, symmetric, without energy drift.

    Source: Hairer, Lubich & Wanner, Geometric Numerical Integration, II.1 and VI.4.
    """

    order: ClassVar[int] = 4

    @property
    def tableau(self) -> Tableau:
        return TABLEAU
