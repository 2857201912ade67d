"""Collocation methods: the points of an interval at which the equations of motion hold.

On an interval of length h from t, the rates are polynomials through their values f_j at the points t + c_j h:

    x(t + c_i h) = x(t) + h sum_j A_ij f_j,   x(t + h) = x(t) + h sum_j b_j f_j.

A_ij and b_j are integrals of Lagrange polynomials from 0 to c_i and to 1. A method is given by its points c.

Source: Hairer, Norsett & Wanner 1993, Solving ordinary differential equations I, section II.7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import polynomial

from kane.array_types import Array
from kane.engine.memory.loop_arguments import Vector


@dataclass(frozen=True)
class CollocationMethod:
    """A collocation method.

    Attributes:
        name: name in results.
        points: c, increasing, from 0 to 1.
        order: order of the error of the states at the ends of intervals.
    """

    name: str
    points: tuple[float, ...]
    order: int

    @property
    def begins(self) -> bool:
        """Whether the start of an interval is a point."""
        return self.points[0] == 0.0

    @property
    def ends(self) -> bool:
        """Whether the end of an interval is a point."""
        return self.points[-1] == 1.0

    @property
    def inner(self) -> list[int]:
        """Indices of the points between the ends of an interval."""
        return [i for i, c in enumerate(self.points) if 0.0 < c < 1.0]

    @cached_property
    def A(self) -> Array:
        """Integrals of the Lagrange polynomials from 0 to each point, (points, points)."""
        return self.integrals(np.array(self.points))

    @cached_property
    def b(self) -> Vector:
        """Integrals of the Lagrange polynomials from 0 to 1, (points,)."""
        return self.integrals(np.ones(1))[0]

    def integrals(self, at: Vector) -> Array:
        """Return the integrals of the Lagrange polynomials from 0 to fractions of an interval, (fractions, points)."""
        wholes = [polynomial.polyint(one) for one in self._lagrange]
        return np.stack([polynomial.polyval(at, whole) for whole in wholes], axis=-1)

    def interpolated(self, at: Vector) -> Array:
        """Return the Lagrange polynomials at fractions of an interval, (fractions, points)."""
        return np.stack([polynomial.polyval(at, one) for one in self._lagrange], axis=-1)

    @cached_property
    def _lagrange(self) -> list[Vector]:
        found = []
        for c in self.points:
            others = [x for x in self.points if x != c]
            scale = math.prod(c - x for x in others)
            found.append(np.asarray(polynomial.polyfromroots(others), dtype=float) / scale)
        return found


_ROOT = math.sqrt(6.0)
COLLOCATION_METHODS = {
    method.name: method
    for method in (
        CollocationMethod("backward euler", (1.0,), 1),
        CollocationMethod("midpoint", (0.5,), 2),
        CollocationMethod("trapezoid", (0.0, 1.0), 2),
        CollocationMethod("hermite-simpson", (0.0, 0.5, 1.0), 4),
        CollocationMethod("radau", ((4.0 - _ROOT) / 10.0, (4.0 + _ROOT) / 10.0, 1.0), 5),
    )
}
