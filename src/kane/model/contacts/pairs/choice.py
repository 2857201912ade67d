"""Features chosen by number while a run goes on: which corner, face or edge it is, and what is known of it.

A choice is piecewise constant, and so is all that is looked up by it: rates of contacts are those of one feature.
"""

from __future__ import annotations

from collections.abc import Sequence

from kane.expression.construct import spline
from kane.expression.functions import minimum, select
from kane.expression.node import Expr, Scalar
from kane.expression.spline import PiecewiseCubic
from kane.geometry.scalars import Triple


def least(values: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
    """The number of the least of some values, the first where several are, and that value."""
    number, best = 0.0, values[0]
    for k, value in enumerate(values[1:], start=1):
        number, best = select(value < best, float(k), number), minimum(best, value)
    return number, best


def looked_up(number: Scalar, values: Sequence[float]) -> Scalar:
    """values[number]."""
    return spline(number, PiecewiseCubic.steps(values)) if isinstance(number, Expr) else values[int(number)]


def row_of(number: Scalar, rows: Sequence[Sequence[float]]) -> Triple:
    """rows[number]."""
    return tuple(looked_up(number, column) for column in zip(*rows, strict=True))
