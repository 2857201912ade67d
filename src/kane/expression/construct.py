"""Constructors of nodes: one function per operation, which simplifies when it builds and never expands.

Canonical forms let equal expressions be one node. Constants are first in sums and products, and commutative arguments
are in the order of ids. Minus signs are pulled out of products, quotients and odd functions; the next sum absorbs them.
Differences have the older node first.

The rules assume identities of real arithmetic. These hold up to round-off wherever the original expression is a finite
real number. Elsewhere the simplified form may be defined although the original was not:

    x - x = 0,  0 x = 0,  0 / x = 0,  x / x = 1,  (x / y) y = x,  (x y) / y = x,
    (x + y) - y = x,  x - (x + y) = -y,  (x - y) + y = x,  (x - y) - x = -y,  x - (x - y) = y,
    x**0 = 1,  sqrt(x) sqrt(x) = x,  sin(asin x) = x,  cos(acos x) = x,  x**0.5 = sqrt(x),
    k sin(x)**2 + k cos(x)**2 = k,  sqrt(1 - sin(x)**2) = cos(x) sign(cos(x)),  y / sign(x) = y sign(x),
    (x sign(x)) sign(x) = x,  select(c, a, a) = a,  (x < x) = 0,
    sin(x + n pi/2) and cos(x + n pi/2) are sines or cosines of x, where doubles near n pi/2 count as n pi/2.

Infinities are therefore not tracked: 0 x is 0 even if x is infinite. If a variable is NaN, every expression in which it
still appears is NaN. The exceptions follow IEEE 754: the branch that a select does not take, comparisons (false), and
powers (x**0 = 1**y = 1). A variable that has cancelled has no effect.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kane.errors import ExpressionError, shown
from kane.expression.arithmetic import add, div, mul, neg, sub
from kane.expression.operations import (
    ABS,
    ACOS,
    ADD,
    ASIN,
    ATAN2,
    CONSTANT,
    COS,
    EQUAL,
    EXP,
    LESS,
    LESS_EQUAL,
    LOG,
    MAX,
    MIN,
    MUL,
    NEG,
    POW,
    SELECT,
    SIGN,
    SIN,
    SPLINE,
    SQRT,
    SUB,
    TAN,
    TANH,
)

if TYPE_CHECKING:
    from kane.expression.node import Expr

__all__ = [
    "add", "build_absolute", "build_acos", "build_asin", "build_atan2", "build_cos", "build_equal", "build_exp",
    "build_less", "build_less_equal", "build_log", "build_maximum", "build_minimum", "build_power", "build_select",
    "build_sign", "build_sin", "build_spline", "build_sqrt", "build_tan", "build_tanh", "div", "mul", "neg", "sub",
]  # fmt: skip

# Powers with a constant integer exponent up to this magnitude become products, by repeated squaring.
LARGEST_UNROLLED_POWER = 64
# A constant in an angle within this tolerance [quarter turns] of n pi/2, n != 0, counts as n pi/2. The second value is
# the largest such |n|. The rounding of larger multiples (1e-16 n) could reach the tolerance.
QUARTER_TURN_TOLERANCE = 1e-12
LARGEST_QUARTER_TURNS = 4096


def build_power(a: Expr, b: Expr) -> Expr:
    """Return a ** b; constant integer exponents give products, and the exponent 1/2 gives a square root."""
    if b.op != CONSTANT:
        return a.arena.binary(POW, a, b)
    exponent = b.data
    if exponent == int(exponent) and abs(exponent) <= LARGEST_UNROLLED_POWER:
        whole = _integer_power(a, abs(int(exponent)))
        return whole if exponent >= 0 else div(a.arena.one, whole)
    if exponent == 0.5:
        return build_sqrt(a)
    if a.op == CONSTANT:
        return _fold(a, lambda x: math.pow(x, exponent), f"the power {exponent!r}")
    return a.arena.binary(POW, a, b)


def _integer_power(a: Expr, n: int) -> Expr:
    result, square = a.arena.one, a
    while n:
        if n & 1:
            result = mul(result, square)
        n >>= 1
        if n:
            square = mul(square, square)
    return result


def _folded(a: Expr, value: float, word: str) -> Expr:
    if math.isnan(value) or math.isinf(value):
        raise ExpressionError(f"{word} of the constant {shown(a)} is not a finite number")
    return a.arena.constant(value)


def _fold(a: Expr, function: Any, word: str) -> Expr:
    try:
        return _folded(a, function(a.data), word)
    except (ValueError, OverflowError):
        raise ExpressionError(f"{word} of the constant {shown(a)} is not a finite real number") from None


def _quarter_turns(a: Expr) -> tuple[int, Expr | None, bool]:
    """Return (n, x, reversed) with a = n pi/2 + x, or n pi/2 - x if reversed; x is None if a has neither form."""
    if a.op in (ADD, SUB) and a.args[0].op == CONSTANT:
        turns = a.args[0].data / (math.pi / 2)
        whole = round(turns)
        if 0 < abs(whole) <= LARGEST_QUARTER_TURNS and abs(turns - whole) < QUARTER_TURN_TOLERANCE:
            return whole, a.args[1], a.op == SUB
    return 0, None, False


def build_sin(a: Expr) -> Expr:
    """Return sin a; a in rad."""
    if a.op == CONSTANT:
        return a.arena.constant(math.sin(a.data))
    if a.op == NEG:
        return neg(build_sin(a.args[0]))
    if a.op == ASIN:
        return a.args[0]
    turns, x, backwards = _quarter_turns(a)
    if x is not None:
        value = (build_sin, build_cos)[turns % 2](neg(x) if backwards else x)
        return value if turns % 4 < 2 else neg(value)
    return a.arena.unary(SIN, a)


def build_cos(a: Expr) -> Expr:
    """Return cos a; a in rad."""
    if a.op == CONSTANT:
        return a.arena.constant(math.cos(a.data))
    if a.op == NEG:
        return build_cos(a.args[0])
    if a.op == ACOS:
        return a.args[0]
    turns, x, backwards = _quarter_turns(a)
    if x is not None:
        value = (build_cos, build_sin)[turns % 2](neg(x) if backwards else x)
        return value if turns % 4 in (0, 3) else neg(value)
    return a.arena.unary(COS, a)


def _odd(op: int, function: Any, word: str) -> Any:
    def constructor(a: Expr) -> Expr:
        if a.op == CONSTANT:
            return _fold(a, function, word)
        if a.op == NEG:
            return neg(constructor(a.args[0]))
        return a.arena.unary(op, a)

    constructor.__name__, constructor.__doc__ = word, f"Return {word} of a."
    return constructor


def _plain(op: int, function: Any, word: str) -> Any:
    def constructor(a: Expr) -> Expr:
        return _fold(a, function, word) if a.op == CONSTANT else a.arena.unary(op, a)

    constructor.__name__, constructor.__doc__ = word, f"Return {word} of a."
    return constructor


build_tan = _odd(TAN, math.tan, "tan")
build_asin = _odd(ASIN, math.asin, "asin")
build_tanh = _odd(TANH, math.tanh, "tanh")
build_sign = _odd(SIGN, lambda x: math.copysign(1.0, x) if x else 0.0, "sign")
build_acos = _plain(ACOS, math.acos, "acos")
build_exp = _plain(EXP, math.exp, "exp")
build_log = _plain(LOG, math.log, "log")
_sqrt = _plain(SQRT, math.sqrt, "sqrt")


def build_sqrt(a: Expr) -> Expr:
    """Return the nonnegative root of a; sqrt(1 - sin(x)**2) is cos(x) sign(cos(x)), with a short derivative."""
    if a.op == SUB and a.args[0] is a.arena.one and a.args[1].op == MUL:
        x, y = a.args[1].args
        if x is y and x.op in (SIN, COS):
            other = (build_cos if x.op == SIN else build_sin)(x.args[0])
            return mul(other, build_sign(other))
    return _sqrt(a)


def build_absolute(a: Expr) -> Expr:
    """Return |a|."""
    if a.op == CONSTANT:
        return a.arena.constant(abs(a.data))
    if a.op == NEG:
        return build_absolute(a.args[0])
    return a if a.op in (ABS, SQRT, EXP) else a.arena.unary(ABS, a)


def build_atan2(a: Expr, b: Expr) -> Expr:
    """Return the angle in (-pi, pi] of the point with ordinate a and abscissa b."""
    if a.op == CONSTANT and b.op == CONSTANT:
        return a.arena.constant(math.atan2(a.data, b.data))
    return a.arena.binary(ATAN2, a, b)


def build_minimum(a: Expr, b: Expr) -> Expr:
    """Return the smaller of a and b; NaN if either is NaN."""
    return _choice(MIN, min, a, b)


def build_maximum(a: Expr, b: Expr) -> Expr:
    """Return the larger of a and b; NaN if either is NaN."""
    return _choice(MAX, max, a, b)


def _choice(op: int, function: Any, a: Expr, b: Expr) -> Expr:
    if a is b:
        return a
    if a.op == CONSTANT and b.op == CONSTANT:
        return a.arena.constant(function(a.data, b.data))
    if a.id > b.id:
        a, b = b, a
    return a.arena.binary(op, a, b)


def build_less(a: Expr, b: Expr) -> Expr:
    """Return 1 if a < b, else 0."""
    if a.op == CONSTANT and b.op == CONSTANT:
        return a.arena.constant(float(a.data < b.data))
    return a.arena.zero if a is b else a.arena.binary(LESS, a, b)


def build_less_equal(a: Expr, b: Expr) -> Expr:
    """Return 1 if a <= b, else 0; x <= x is not folded, because it is false for NaN."""
    if a.op == CONSTANT and b.op == CONSTANT:
        return a.arena.constant(float(a.data <= b.data))
    return a.arena.binary(LESS_EQUAL, a, b)


def build_equal(a: Expr, b: Expr) -> Expr:
    """Return 1 if a = b, else 0."""
    if a.op == CONSTANT and b.op == CONSTANT:
        return a.arena.constant(float(a.data == b.data))
    if a.id > b.id:
        a, b = b, a
    return a.arena.binary(EQUAL, a, b)


def build_select(condition: Expr, a: Expr, b: Expr) -> Expr:
    """Return a if the condition differs from zero, else b."""
    if a is b:
        return a
    if condition.op == CONSTANT:
        return a if condition.data else b
    return condition.arena.nary(SELECT, (condition, a, b))


def build_spline(x: Expr, table: Any) -> Expr:
    """Return the piecewise polynomial ``table`` (see ``expression.spline``) at x."""
    if table.constant is not None:
        return x.arena.constant(table.constant)
    return x.arena.constant(table.value(x.data)) if x.op == CONSTANT else x.arena.nary(SPLINE, (x,), table)
