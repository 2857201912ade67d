"""Piecewise cubic polynomials, the tables of spline nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.errors import ExpressionError, ModelError
from kane.expression.number_arguments import numbers

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline


@dataclass(frozen=True)
class PiecewiseCubic:
    """Piecewise polynomial y(x) = sum_k coefficients[i][k] (x - knots[i])^k for knots[i] <= x < knots[i+1].

    The first piece is also used below the first knot, and the last piece above the last knot.

    Attributes:
        knots: left ends of the pieces, not decreasing, (n,).
        coefficients: four coefficients of each piece, the constant first, (n, 4).
    """

    knots: tuple[float, ...]
    coefficients: tuple[tuple[float, float, float, float], ...]

    def __post_init__(self) -> None:
        sizes = {len(piece) for piece in self.coefficients}
        falls = any(not a <= b for a, b in pairwise(self.knots))
        if not self.knots or len(self.knots) != len(self.coefficients) or sizes != {4} or falls:
            raise ExpressionError("a piecewise cubic needs increasing knots, and four coefficients for each knot")
        if not all(math.isfinite(x) for row in (self.knots, *self.coefficients) for x in row):
            raise ExpressionError("the knots and coefficients of a piecewise cubic must be finite")

    def __str__(self) -> str:
        return f"{len(self.knots) - 1} points from {self.knots[0]:.12g} to {self.knots[-1]:.12g}"

    @classmethod
    def through(cls, x: Sequence[float], y: Sequence[float]) -> PiecewiseCubic:
        """Return the not-a-knot spline through points, twice continuously differentiable, extended by its end tangents.

        Args:
            x: abscissae, strictly increasing, at least 2.
            y: ordinates.

        Raises:
            ExpressionError: there are fewer than two points, lengths differ, values are not finite numbers, abscissae
                do not increase, or the points are too close or too far apart for double precision.
        """
        try:
            xs, ys = (
                numbers(x, "the abscissae of a spline must be numbers"),
                numbers(y, "the ordinates of a spline must be numbers"),
            )
        except ModelError as error:
            raise ExpressionError(str(error)) from None
        if xs.ndim != 1 or xs.shape != ys.shape or len(xs) < 2:
            raise ExpressionError(
                f"a spline needs two or more points and as many ordinates; got shapes {xs.shape} and {ys.shape}"
            )
        if not (np.isfinite(xs).all() and np.isfinite(ys).all() and (np.diff(xs) > 0).all()):
            raise ExpressionError(
                "the abscissae of a spline must be finite and strictly increasing, its ordinates finite"
            )
        fit = _not_a_knot(xs, ys)
        inner = [tuple(float(c) for c in fit.c[::-1, i]) for i in range(len(xs) - 1)]
        slope0, slope1 = float(fit(xs[0], 1)), float(fit(xs[-1], 1))
        # The piece below the first knot is the tangent there, with the first knot as its origin.
        pieces = [(float(ys[0]), slope0, 0.0, 0.0), *inner, (float(ys[-1]), slope1, 0.0, 0.0)]
        return cls((float(xs[0]), *map(float, xs)), tuple(pieces))  # type: ignore[arg-type]

    @classmethod
    def steps(cls, values: Sequence[float]) -> PiecewiseCubic:
        """Return the step function with y(i) = values[i], by which expressions index a list."""
        knots = (0.0, *(k - 0.5 for k in range(1, len(values))))
        return cls(knots, tuple((float(y), 0.0, 0.0, 0.0) for y in values))

    @cached_property
    def constant(self) -> float | None:
        """Value of a constant polynomial; None if it is not constant."""
        same = set(self.coefficients) == {(self.coefficients[0][0], 0.0, 0.0, 0.0)}
        return self.coefficients[0][0] if same else None

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(self.knots), np.asarray(self.coefficients)

    def piece(self, x: Any) -> Any:
        """Return the index of the piece at x: the number of knots[1:] that are <= x."""
        return np.searchsorted(self._arrays[0][1:], x, side="right")

    def value(self, x: Any) -> Any:
        """Return y(x) elementwise, in the arithmetic of x if x is not in double precision; NaN gives NaN."""
        knots, c = self._arrays
        at = np.asarray(x)
        other_arithmetic = at.dtype == object
        at = at if other_arithmetic else at.astype(float)
        i = self.piece(at)
        with np.errstate(all="ignore"):  # overflow gives infinity, as in all functions
            h = at - knots[i]
            result = c[i, 0] + h * (c[i, 1] + h * (c[i, 2] + h * c[i, 3]))
        return result if at.ndim or other_arithmetic else float(result)

    def derivative(self) -> PiecewiseCubic:
        """Return dy/dx as a piecewise polynomial."""
        return PiecewiseCubic(self.knots, tuple((c1, 2 * c2, 3 * c3, 0.0) for _, c1, c2, c3 in self.coefficients))


def _not_a_knot(xs: np.ndarray, ys: np.ndarray) -> CubicSpline:
    from kane.files.scipy import load_scipy  # imported late: few models have splines

    interpolate = load_scipy("interpolate")
    try:
        with np.errstate(all="ignore"):
            fit = interpolate.CubicSpline(xs, ys)
    except ValueError:  # SciPy's error for slopes that overflow
        fit = None
    if fit is None or not np.isfinite(fit.c).all():
        raise ExpressionError("the points of a spline are too close together or too far apart for double precision")
    return fit
