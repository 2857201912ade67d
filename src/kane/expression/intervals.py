"""Interval arithmetic on arrays: the range of an expression over ranges of its leaves, by ``interpret``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kane.deferred import dataclass
from kane.expression.spline import PiecewiseCubic


@dataclass(frozen=True, eq=False)
class Interval:
    """Ranges [low, high], elementwise; bounds are rounded to nearest, and unknown bounds are infinite.

    Attributes:
        low, high: smallest and largest values, numbers or arrays of the same shape.
    """

    low: Any
    high: Any

    def __add__(self, other: Any) -> Interval:
        b = _interval(other)
        return _known(self.low + b.low, self.high + b.high)

    def __sub__(self, other: Any) -> Interval:
        b = _interval(other)
        return _known(self.low - b.high, self.high - b.low)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __mul__(self, other: Any) -> Interval:
        b = _interval(other)
        if self is other:  # a square: both factors have the same value
            ends = self.low * self.low, self.high * self.high
            return _known(np.where(_holds_zero(self), 0.0, np.minimum(*ends)), np.maximum(*ends))
        return _spanned(*(_product(x, y) for x in (self.low, self.high) for y in (b.low, b.high)))

    def __truediv__(self, other: Any) -> Interval:
        b = _interval(other)
        unbounded = _holds_zero(b)
        return self * _known(np.where(unbounded, -math.inf, 1.0 / b.high), np.where(unbounded, math.inf, 1.0 / b.low))

    def __pow__(self, other: Any) -> Interval:
        b = _interval(other)
        ends = [x**y for x in (self.low, self.high) for y in (b.low, b.high)]
        found, sure = _spanned(*ends), self.low > 0.0
        return Interval(np.where(sure, found.low, -math.inf), np.where(sure, found.high, math.inf))

    def __lt__(self, other: Any) -> Interval:
        b = _interval(other)
        return Interval((self.high < b.low) * 1.0, (self.low < b.high) * 1.0)

    def __le__(self, other: Any) -> Interval:
        b = _interval(other)
        return Interval((self.high <= b.low) * 1.0, (self.low <= b.high) * 1.0)

    def __eq__(self, other: object) -> Interval:  # type: ignore[override]
        b = _interval(other)
        surely = (self.low == self.high) & (b.low == b.high) & (self.low == b.low)
        return Interval(surely * 1.0, ((self.low <= b.high) & (b.low <= self.high)) * 1.0)

    def __ne__(self, other: object) -> Interval:  # type: ignore[override]
        equal = self == other
        return Interval(1.0 - equal.high, 1.0 - equal.low)

    __hash__ = None  # type: ignore[assignment]


class Intervals:
    """Namespace of elementary functions of intervals, for ``interpret``."""

    @staticmethod
    def number(x: Any) -> Interval:
        return _interval(x)

    @staticmethod
    def sin(a: Interval) -> Interval:
        return _wave(a, np.sin, 0.5 * math.pi)

    @staticmethod
    def cos(a: Interval) -> Interval:
        return _wave(a, np.cos, 0.0)

    @staticmethod
    def tan(a: Interval) -> Interval:
        return Intervals.sin(a) / Intervals.cos(a)

    @staticmethod
    def sqrt(a: Interval) -> Interval:
        return Interval(np.sqrt(np.maximum(a.low, 0.0)), np.sqrt(np.maximum(a.high, 0.0)))

    @staticmethod
    def exp(a: Interval) -> Interval:
        return Interval(np.exp(a.low), np.exp(a.high))

    @staticmethod
    def log(a: Interval) -> Interval:
        return Interval(np.log(np.maximum(a.low, 0.0)), np.log(np.maximum(a.high, 0.0)))

    @staticmethod
    def tanh(a: Interval) -> Interval:
        return Interval(np.tanh(a.low), np.tanh(a.high))

    @staticmethod
    def asin(a: Interval) -> Interval:
        return Interval(np.arcsin(np.clip(a.low, -1.0, 1.0)), np.arcsin(np.clip(a.high, -1.0, 1.0)))

    @staticmethod
    def acos(a: Interval) -> Interval:
        return Interval(np.arccos(np.clip(a.high, -1.0, 1.0)), np.arccos(np.clip(a.low, -1.0, 1.0)))

    @staticmethod
    def atan2(y: Interval, x: Interval) -> Interval:
        """Return the range of the corner values, or [-pi, pi] if the ranges contain a point of the negative x axis."""
        found = _spanned(*(np.arctan2(b, a) for b in (y.low, y.high) for a in (x.low, x.high)))
        cut = _holds_zero(y) & (x.low <= 0.0)
        return Interval(np.where(cut, -math.pi, found.low), np.where(cut, math.pi, found.high))

    @staticmethod
    def fabs(a: Interval) -> Interval:
        ends = np.abs(a.low), np.abs(a.high)
        return Interval(np.where(_holds_zero(a), 0.0, np.minimum(*ends)), np.maximum(*ends))

    @staticmethod
    def sign(a: Interval) -> Interval:
        return Interval(np.sign(a.low), np.sign(a.high))

    @staticmethod
    def minimum(a: Interval, b: Interval) -> Interval:
        return Interval(np.minimum(a.low, b.low), np.minimum(a.high, b.high))

    @staticmethod
    def maximum(a: Interval, b: Interval) -> Interval:
        return Interval(np.maximum(a.low, b.low), np.maximum(a.high, b.high))

    @staticmethod
    def where(condition: Interval, a: Interval, b: Interval) -> Interval:
        """Return the range of the possible branches: of both if the condition may be true or false."""
        first, second = condition.high > 0.0, condition.low < 1.0
        low = np.minimum(np.where(first, a.low, math.inf), np.where(second, b.low, math.inf))
        high = np.maximum(np.where(first, a.high, -math.inf), np.where(second, b.high, -math.inf))
        return Interval(low, high)

    @staticmethod
    def spline(table: PiecewiseCubic, a: Interval) -> Interval:
        """Return the range if the interval is in one or two adjacent pieces, else infinite bounds."""
        knots = np.array(table.knots)
        first, last = table.piece(a.low), table.piece(a.high)
        middle = np.where(first == last, a.high, knots[last])
        left = _in_piece(table, first, Interval(a.low, middle))
        right = _in_piece(table, last, Interval(np.where(first == last, a.low, middle), a.high))
        far = last > first + 1
        low, high = np.minimum(left.low, right.low), np.maximum(left.high, right.high)
        return _known(np.where(far, -math.inf, low), np.where(far, math.inf, high))


def _in_piece(table: PiecewiseCubic, i: Any, x: Interval) -> Interval:
    """Return bounds of the values on x in piece i: the midpoint value plus or minus slope and curvature terms."""
    knots, c = np.array(table.knots), np.array(table.coefficients)
    h, half = 0.5 * (x.low + x.high) - knots[i], 0.5 * (x.high - x.low)
    c0, c1, c2, c3 = c[i, 0], c[i, 1], c[i, 2], c[i, 3]
    value, slope = c0 + h * (c1 + h * (c2 + h * c3)), c1 + h * (2.0 * c2 + 3.0 * h * c3)
    curvature = 2.0 * np.abs(c2 + 3.0 * h * c3) + 6.0 * np.abs(c3) * half
    away = half * (np.abs(slope) + 0.5 * half * curvature)
    return Interval(value - away, value + away)


def _interval(x: Any) -> Interval:
    return x if isinstance(x, Interval) else Interval(x, x)


def _known(low: Any, high: Any) -> Interval:
    """Return the interval of two bounds; a NaN bound becomes infinite (unknown)."""
    return Interval(np.where(np.isnan(low), -math.inf, low), np.where(np.isnan(high), math.inf, high))


def _spanned(*values: Any) -> Interval:
    """Return the interval from the smallest to the largest of the values."""
    return _known(np.minimum.reduce(values), np.maximum.reduce(values))


def _product(x: Any, y: Any) -> Any:
    """Return x y; zero times an infinite bound is zero."""
    found = x * y
    return np.where(np.isnan(found) & ((x == 0.0) | (y == 0.0)), 0.0, found)


def _holds_zero(a: Interval) -> Any:
    return (a.low <= 0.0) & (a.high >= 0.0)


def _wave(a: Interval, function: Callable[[Any], Any], crest: float) -> Interval:
    """Return the range of a sine or cosine with maxima at ``crest`` plus whole turns."""
    turn, ends = 2.0 * math.pi, (function(a.low), function(a.high))
    high, low = (np.floor((a.high - at) / turn) >= np.ceil((a.low - at) / turn) for at in (crest, crest + math.pi))
    least, most = np.where(low, -1.0, np.minimum(*ends)), np.where(high, 1.0, np.maximum(*ends))
    return Interval(np.where(np.isnan(least), -1.0, least), np.where(np.isnan(most), 1.0, most))
