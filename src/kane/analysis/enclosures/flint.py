"""Ball arithmetic by python-flint (Arb): balls that contain the exact values of expressions, for ``interpret``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kane.errors import ModelError, pip_install
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.spline import PiecewiseCubic


def _flint() -> Any:
    try:
        import flint
    except ImportError:
        raise ModelError(f"ball arithmetic needs python-flint; {pip_install('certify')} installs it") from None
    return flint


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Context manager that sets the precision of ball arithmetic [bits].

    Raises:
        ModelError: python-flint is not installed.
    """
    context = _flint().ctx
    before, context.prec = context.prec, bits
    try:
        yield
    finally:
        context.prec = before


def enclosing_balls(roots: Sequence[Expr], values: Mapping[Expr, Any]) -> list[Ball]:
    """Return balls that contain the values of expressions; values of leaves are numbers or pairs (low, high)."""
    found: list[Ball] = interpret(roots, values, Balls)
    return found


def continuous_balls(roots: Sequence[Expr], values: Mapping[Expr, Any]) -> tuple[list[Ball], bool]:
    """Return the same balls, and whether no angle of ``atan2`` may jump from pi to -pi among these values."""
    functions = _CutBalls()
    found: list[Ball] = interpret(roots, values, functions)
    return found, not functions.cut


class Ball:
    """Real interval that contains an exact value.

    Attributes:
        x: the arb.
    """

    __slots__ = ("x",)
    __hash__ = None  # type: ignore[assignment]  # equality is a ball, so that balls are no keys

    def __init__(self, x: Any) -> None:
        self.x = x

    @classmethod
    def of(cls, value: Any) -> Ball:
        """Return the ball of a number, which is exact, or of a pair (low, high)."""
        if isinstance(value, Ball):
            return value
        arb = _flint().arb
        if isinstance(value, tuple):
            low, high = (arb(float(end)) for end in value)
            return cls(low.union(high))
        return cls(arb(float(value)))

    @property
    def low(self) -> float:
        """Lower bound, rounded down."""
        return math.nextafter(float(self.x.lower()), -math.inf)

    @property
    def high(self) -> float:
        """Upper bound, rounded up."""
        return math.nextafter(float(self.x.upper()), math.inf)

    @property
    def is_finite(self) -> bool:
        """Whether both bounds are finite."""
        return bool(self.x.is_finite())

    def meet(self, other: Ball) -> Ball:
        """Return the intersection of two balls that contain the same value."""
        if not other.is_finite or not self.is_finite:
            return self if self.is_finite else other
        return Ball(self.x.intersection(other.x))

    def hull(self, other: Ball) -> Ball:
        """Return a ball that contains both."""
        return Ball(self.x.union(other.x))

    def __add__(self, other: Any) -> Ball:
        return Ball(self.x + Ball.of(other).x)

    def __sub__(self, other: Any) -> Ball:
        return Ball(self.x - Ball.of(other).x)

    def __mul__(self, other: Any) -> Ball:
        if self is other:  # both factors have the same value, so that the square is not negative
            least, most = self.x.abs_lower(), self.x.abs_upper()
            return Ball((least * least).union(most * most))
        return Ball(self.x * Ball.of(other).x)

    def __truediv__(self, other: Any) -> Ball:
        return Ball(self.x / Ball.of(other).x)

    def __pow__(self, other: Any) -> Ball:
        return Ball(self.x ** Ball.of(other).x)

    def __neg__(self) -> Ball:
        return Ball(-self.x)

    def __lt__(self, other: Any) -> Ball:
        b = Ball.of(other).x
        return _truth(bool(self.x < b), bool(self.x >= b))

    def __le__(self, other: Any) -> Ball:
        b = Ball.of(other).x
        return _truth(bool(self.x <= b), bool(self.x > b))

    def __eq__(self, other: object) -> Ball:  # type: ignore[override]  # 0, 1 or unknown, for the interpreter
        b = Ball.of(other).x
        return _truth(bool(self.x.is_exact() and b.is_exact() and self.x == b), not self.x.overlaps(b))

    def __ne__(self, other: object) -> Ball:  # type: ignore[override]
        return Ball.of(1.0) - (self == other)


class Balls:
    """Namespace of elementary functions of balls, for ``interpret``."""

    number = staticmethod(Ball.of)
    sin = staticmethod(lambda a: Ball(a.x.sin()))
    cos = staticmethod(lambda a: Ball(a.x.cos()))
    tan = staticmethod(lambda a: Ball(a.x.tan()))
    asin = staticmethod(lambda a: Ball(a.x.asin()))
    acos = staticmethod(lambda a: Ball(a.x.acos()))
    exp = staticmethod(lambda a: Ball(a.x.exp()))
    log = staticmethod(lambda a: Ball(a.x.log()))
    tanh = staticmethod(lambda a: Ball(a.x.tanh()))
    sqrt = staticmethod(lambda a: Ball(a.x.sqrt()))
    fabs = staticmethod(lambda a: Ball(abs(a.x)))
    sign = staticmethod(lambda a: Ball(a.x.sgn()))
    minimum = staticmethod(lambda a, b: Ball(a.x.min(b.x)))
    maximum = staticmethod(lambda a, b: Ball(a.x.max(b.x)))
    atan2 = staticmethod(lambda y, x: Ball(_flint().arb.atan2(y.x, x.x)))

    @staticmethod
    def where(condition: Ball, a: Ball, b: Ball) -> Ball:
        """Return the branch that the condition takes, or the hull of both if it may be true or false."""
        low, high = condition.x.lower(), condition.x.upper()
        return a if low > 0 else b if high < 1 else a.hull(b)

    @staticmethod
    def spline(table: PiecewiseCubic, x: Ball) -> Ball:
        """Return the hull of the values on all pieces that the ball meets."""
        first, last = (int(table.piece(end)) for end in (x.low, x.high))
        ends = (-math.inf, *table.knots[1:], math.inf)
        found: Ball | None = None
        for i in range(first, last + 1):
            part = Ball.of((max(x.low, ends[i]), min(x.high, ends[i + 1]))) if last > first else x
            h = part - table.knots[i]
            c0, c1, c2, c3 = table.coefficients[i]
            value = Ball.of(c0) + h * (Ball.of(c1) + h * (Ball.of(c2) + h * c3))
            found = value if found is None else found.hull(value)
        assert found is not None
        return found


class _CutBalls(Balls):
    """The same functions, which note whether an argument of ``atan2`` meets the half line of its jump."""

    def __init__(self) -> None:
        self.cut = False

    def atan2(self, y: Ball, x: Ball) -> Ball:
        """Return the angle, and note a jump."""
        self.cut |= bool(y.x.contains(0)) and not bool(x.x > 0)
        return Balls.atan2(y, x)


def _truth(surely: bool, never: bool) -> Ball:
    """Return 1, 0, or the ball of both."""
    return Ball.of(1.0 if surely else 0.0) if surely or never else Ball.of((0.0, 1.0))
