"""Selection of features by number during a run: the nearest corner, face or edge, and its constants.

The number of the selected feature is piecewise constant in the state. Rates therefore belong to the selected feature.
"""

from __future__ import annotations

from collections.abc import Sequence

from kane.expression.construct import build_spline
from kane.expression.functions import minimum, select
from kane.expression.node import Expr, Scalar
from kane.expression.spline import PiecewiseCubic
from kane.geometry.scalars import Triple


def select_least(values: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
    """Return the index of the smallest value, the first if several are equal, and the value."""
    number, best = 0.0, values[0]
    for k, value in enumerate(values[1:], start=1):
        number, best = select(value < best, float(k), number), minimum(best, value)
    return number, best


def looked_up(number: Scalar, values: Sequence[float]) -> Scalar:
    """Return values[number]."""
    return build_spline(number, PiecewiseCubic.steps(values)) if isinstance(number, Expr) else values[int(number)]


def look_up_row(number: Scalar, rows: Sequence[Sequence[float]]) -> Triple:
    """Return rows[number]."""
    return tuple(looked_up(number, column) for column in zip(*rows, strict=True))
