"""Ground with given heights over a grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from kane.deferred import NamedTuple, dataclass
from kane.errors import ModelError, shown
from kane.expression.construct import build_spline
from kane.expression.node import Expr, Scalar
from kane.expression.number_arguments import numbers
from kane.expression.spline import PiecewiseCubic
from kane.geometry.scalars import Triple, add_vectors, dot, subtract_vectors
from kane.model.body import Point
from kane.model.shapes.part import TUBE_FORM, Part
from kane.model.shapes.shape import Shape
from kane.model.vector_arguments import require_points, upright

LEAST_GRID_LINES = 4  # number of grid lines that a not-a-knot cubic spline needs
GRID_LINE_THICKNESS = 0.002  # thickness of drawn lines, as a fraction of the longer side


class Level(NamedTuple):
    """Height and its first and second derivatives at one place."""

    h: Scalar
    hx: Scalar
    hy: Scalar
    hxx: Scalar
    hxy: Scalar
    hyy: Scalar


@dataclass(frozen=True)
class HeightField(Shape):
    """Surface z = h(x, y) over a grid, along the axes of a body B; features touch it from above.

    The function h is the tensor product of cubic splines through the heights, twice continuously differentiable. Beyond
    the grid it is continued by the tangents at the edges.

    Attributes:
        point: O, of B, from which x, y and z are measured.
        x, y: positions of the grid lines, increasing, at least four each [m].
        heights: one row for each x, with one number for each y [m].
    """

    point: Point
    x: Sequence[float]
    y: Sequence[float]
    heights: Any

    def __post_init__(self) -> None:
        require_points("a HeightField", self.point)
        grid = {}
        for word in ("x", "y"):
            values = numbers(getattr(self, word), f"{word} of a HeightField are numbers that increase")
            if values.ndim != 1 or len(values) < LEAST_GRID_LINES or not (np.diff(values) > 0).all():
                raise ModelError(
                    f"{word} of a HeightField are at least {LEAST_GRID_LINES} numbers that increase, "
                    f"not {shown(values)}"
                )
            grid[word] = tuple(float(v) for v in values)
        heights = numbers(self.heights, "heights of a HeightField are numbers")
        wanted = len(grid["x"]), len(grid["y"])
        if heights.shape != wanted or not np.isfinite([*heights.flat, *grid["x"], *grid["y"]]).all():
            raise ModelError(
                f"heights of a HeightField are finite numbers, {wanted[0]} rows for x of {wanted[1]} for y; these have "
                f"the shape {heights.shape}"
            )
        rows = tuple(tuple(float(v) for v in row) for row in heights)
        for word, value in (*grid.items(), ("heights", rows)):
            object.__setattr__(self, word, value)

    @property
    def origin(self) -> Point:
        """The point O."""
        return self.point

    @cached_property
    def _splines(self) -> list[tuple[PiecewiseCubic, PiecewiseCubic]]:
        """For each y_j: the spline of its heights over x, and the spline over y that is 1 at y_j and 0 elsewhere."""
        columns = np.array(self.heights).T
        ones = np.eye(len(self.y))
        return [
            (PiecewiseCubic.through(self.x, list(column)), PiecewiseCubic.through(self.y, list(one)))
            for column, one in zip(columns, ones, strict=True)
        ]

    def level(self, x: Expr, y: Expr) -> Level:
        """Return h and its derivatives at expressions x and y [m]."""
        along, across = ([orders(table, at) for table in tables] for tables, at in zip(zip(*self._splines), (x, y)))
        parts = ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
        return Level(*(sum(a[i] * b[j] for a, b in zip(along, across, strict=True)) for i, j in parts))

    def parts(self) -> tuple[Part, ...]:
        """Return the lines of the grid."""
        places = [
            [add_vectors(self.point.position_in_body, (x, y, z)) for y, z in zip(self.y, row)]
            for x, row in zip(self.x, self.heights, strict=True)
        ]
        thick = GRID_LINE_THICKNESS * max(self.x[-1] - self.x[0], self.y[-1] - self.y[0])
        lines = [*places, *(list(column) for column in zip(*places, strict=True))]
        return tuple(part for line in lines for part in self._rods(line, thick))

    def _rods(self, line: Sequence[Triple], thick: float) -> Iterator[Part]:
        for a, b in pairwise(line):
            along = subtract_vectors(b, a)
            middle = tuple(0.5 * (p + q) for p, q in zip(a, b, strict=True))
            turn = upright(self.point.body.direction(along))
            yield Part(TUBE_FORM, (thick, thick, float(dot(along, along)) ** 0.5), middle, turn)


def orders(table: PiecewiseCubic, at: Expr) -> tuple[Expr, Expr, Expr]:
    """Return a piecewise polynomial and its first two derivatives at a place."""
    first = table.derivative()
    return build_spline(at, table), build_spline(at, first), build_spline(at, first.derivative())
