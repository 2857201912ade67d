"""Constructors of nodes: one plain function per operation, simplifying as it builds, never expanding.

Canonical forms that make equal things one node: constants first in sums and products; commutative arguments in order
of id; minus signs pulled out of products, quotients and odd functions, and absorbed by the next sum; x - y kept with the
older node first. All rules preserve value in real arithmetic (round-off may differ).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kane.errors import ExpressionError
from kane.expression.operations import (
    ABS,
    ACOS,
    ADD,
    ASIN,
    ATAN2,
    CONSTANT,
    COS,
    DIV,
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

# x**n with a constant integer n up to this size becomes products by repeated squaring.
LARGEST_UNROLLED_POWER = 64
# Offsets of an angle this close to a multiple of pi/2 are that multiple (double rounding of pi leaves 1e-16 n).
QUARTER_TURN_TOLERANCE = 1e-12


def add(a: Expr, b: Expr) -> Expr:
    """a + b."""
    if b.op == CONSTANT:
        a, b = b, a
    if a.op == CONSTANT:
        return _add_constant(a, b)
    if a is b:
        return mul(a.arena.constant(2.0), a)
    if a.op == NEG:
        return neg(add(a.args[0], b.args[0])) if b.op == NEG else sub(b, a.args[0])
    if b.op == NEG:
        return sub(a, b.args[0])
    if a.op == SUB and a.args[1] is b:
        return a.args[0]
    if b.op == SUB and b.args[1] is a:
        return b.args[0]
    if a.op == MUL and b.op == MUL:
        like = _add_products(a, b)
        if like is not None:
            return like
    elif a.op == MUL and a.args[0].op == CONSTANT and a.args[1] is b:
        return mul(a.arena.constant(a.args[0].data + 1.0), b)
    elif b.op == MUL and b.args[0].op == CONSTANT and b.args[1] is a:
        return mul(a.arena.constant(b.args[0].data + 1.0), a)
    if a.id > b.id:
        a, b = b, a
    return a.arena.binary(ADD, a, b)


def _add_constant(c: Expr, x: Expr) -> Expr:
    arena = x.arena
    if c.arena is not arena:
        arena.nary(ADD, (x, c))  # raises, naming both
    value = c.data
    if x.op == CONSTANT:
        return arena.constant(value + x.data)
    if value == 0.0:
        return x
    if x.op == NEG:
        return arena.binary(SUB, c, x.args[0])
    if x.op in (ADD, SUB) and x.args[0].op == CONSTANT:
        total = arena.constant(value + x.args[0].data)
        return add(total, x.args[1]) if x.op == ADD else sub(total, x.args[1])
    return arena.binary(ADD, c, x)


def _add_products(a: Expr, b: Expr) -> Expr | None:
    """c1 x + c2 x = (c1 + c2) x and k s^2 + k c^2 = k, where they apply."""
    a0, a1 = a.args
    b0, b1 = b.args
    if a1 is b1 and a0.op == CONSTANT and b0.op == CONSTANT:
        return mul(a.arena.constant(a0.data + b0.data), a1)
    found = _pythagoras(a, b)
    if found is not None:
        return found
    if a1.op == MUL and b1.op == MUL and a0 is b0 and _pythagoras(a1, b1) is not None:
        return a0
    for cofactor, square in ((a0, a1), (a1, a0)):
        other = b1 if b0 is cofactor else b0 if b1 is cofactor else None
        if other is not None and square.op == MUL and other.op == MUL and _pythagoras(square, other) is not None:
            return cofactor
    return None


def _pythagoras(a: Expr, b: Expr) -> Expr | None:
    x, y = a.args[0], b.args[0]
    if x is not a.args[1] or y is not b.args[1]:
        return None
    if {x.op, y.op} == {SIN, COS} and x.args[0] is y.args[0]:
        return a.arena.one
    return None


def sub(a: Expr, b: Expr) -> Expr:
    """a - b."""
    if a is b:
        return a.arena.zero
    if b.op == CONSTANT:
        return add(b.arena.constant(-b.data), a)
    if b.op == NEG:
        return add(a, b.args[0])
    if a.op == CONSTANT:
        return _subtract_from_constant(a, b)
    if a.op == NEG:
        return neg(add(a.args[0], b))
    if a.op == ADD:
        if a.args[0] is b:
            return a.args[1]
        if a.args[1] is b:
            return a.args[0]
    if a.op == MUL and b.op == MUL and a.args[1] is b.args[1]:
        if a.args[0].op == CONSTANT and b.args[0].op == CONSTANT:
            return mul(a.arena.constant(a.args[0].data - b.args[0].data), a.args[1])
    if a.id > b.id:
        return neg(a.arena.binary(SUB, b, a))
    return a.arena.binary(SUB, a, b)


def _subtract_from_constant(c: Expr, x: Expr) -> Expr:
    if c.data == 0.0:
        return neg(x)
    if x.op in (ADD, SUB) and x.args[0].op == CONSTANT:
        rest = x.arena.constant(c.data - x.args[0].data)
        return sub(rest, x.args[1]) if x.op == ADD else add(rest, x.args[1])
    return x.arena.binary(SUB, c, x)


def neg(a: Expr) -> Expr:
    """-a."""
    if a.op == NEG:
        return a.args[0]
    if a.op == CONSTANT:
        return a.arena.constant(-a.data)
    if a.op == SUB and a.args[0].op == CONSTANT:
        return add(a.arena.constant(-a.args[0].data), a.args[1])
    return a.arena.unary(NEG, a)


def mul(a: Expr, b: Expr) -> Expr:
    """a b."""
    if b.op == CONSTANT:
        a, b = b, a
    if a.op == CONSTANT:
        return _scale(a, b)
    if a.op == NEG:
        return mul(a.args[0], b.args[0]) if b.op == NEG else neg(mul(a.args[0], b))
    if b.op == NEG:
        return neg(mul(a, b.args[0]))
    if a.op == MUL and b.op == MUL and a.args[0].op == CONSTANT and b.args[0].op == CONSTANT:
        return mul(a.arena.constant(a.args[0].data * b.args[0].data), mul(a.args[1], b.args[1]))
    if a.op == DIV and a.args[1] is b:
        return a.args[0]
    if b.op == DIV and b.args[1] is a:
        return b.args[0]
    if a is b and a.op == SQRT:
        return a.args[0]
    if a.id > b.id:
        a, b = b, a
    return a.arena.binary(MUL, a, b)


def _scale(c: Expr, x: Expr) -> Expr:
    arena = x.arena
    if c.arena is not arena:
        arena.nary(MUL, (x, c))  # raises, naming both
    value = c.data
    if x.op == CONSTANT:
        return arena.constant(value * x.data)
    if value == 0.0:
        return arena.zero
    if x.op == NEG:
        return _scale(arena.constant(-value), x.args[0])
    if value == 1.0:
        return x
    if value < 0.0:
        return neg(x if value == -1.0 else _scale(arena.constant(-value), x))
    if x.op == MUL and x.args[0].op == CONSTANT:
        return mul(arena.constant(value * x.args[0].data), x.args[1])
    return arena.binary(MUL, c, x)


def div(a: Expr, b: Expr) -> Expr:
    """a / b."""
    if b.op == CONSTANT:
        if b.data == 0.0:
            raise ExpressionError(f"division of {a!r} by the constant zero")
        return mul(b.arena.constant(1.0 / b.data), a) if a.op != CONSTANT else a.arena.constant(a.data / b.data)
    if a is b:
        return a.arena.one
    if a.op == CONSTANT and a.data == 0.0:
        return a
    if b.op == NEG:
        return neg(div(a, b.args[0]))
    if a.op == NEG:
        return neg(div(a.args[0], b))
    if a.op == CONSTANT and a.data < 0.0:
        return neg(div(a.arena.constant(-a.data), b))
    if a.op == MUL and a.args[0] is b:
        return a.args[1]
    if a.op == MUL and a.args[1] is b:
        return a.args[0]
    return a.arena.binary(DIV, a, b)


def power(a: Expr, b: Expr) -> Expr:
    """a ** b; constant integer exponents become products, 1/2 a square root."""
    if b.op != CONSTANT:
        return a.arena.binary(POW, a, b)
    exponent = b.data
    if exponent == int(exponent) and abs(exponent) <= LARGEST_UNROLLED_POWER:
        whole = _integer_power(a, abs(int(exponent)))
        return whole if exponent >= 0 else div(a.arena.one, whole)
    if exponent == 0.5:
        return sqrt(a)
    if a.op == CONSTANT:
        if a.data < 0.0 or (a.data == 0.0 and exponent < 0.0):
            raise ExpressionError(f"{a.data!r} ** {exponent!r} is not a real number")
        return _folded(a, a.data**exponent, "pow")
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
        raise ExpressionError(f"{word} of the constant {a!r} is not a finite number")
    return a.arena.constant(value)


def _fold(a: Expr, function: Any, word: str) -> Expr:
    try:
        return _folded(a, function(a.data), word)
    except (ValueError, OverflowError):
        raise ExpressionError(f"{word} of the constant {a!r} is not a finite real number") from None


def _quarter_turns(a: Expr) -> tuple[int, Expr | None, bool]:
    """(n, x, reversed) with a = n pi/2 + x, or n pi/2 - x when reversed; x is None where no such form is seen."""
    if a.op in (ADD, SUB) and a.args[0].op == CONSTANT:
        turns = a.args[0].data / (math.pi / 2)
        whole = round(turns)
        if abs(turns - whole) < QUARTER_TURN_TOLERANCE:
            return whole, a.args[1], a.op == SUB
    return 0, None, False


def sin(a: Expr) -> Expr:
    """sin a, with a in rad."""
    if a.op == CONSTANT:
        return a.arena.constant(math.sin(a.data))
    if a.op == NEG:
        return neg(sin(a.args[0]))
    if a.op == ASIN:
        return a.args[0]
    turns, x, backwards = _quarter_turns(a)
    if x is not None:
        value = (sin, cos)[turns % 2](neg(x) if backwards else x)
        return value if turns % 4 < 2 else neg(value)
    return a.arena.unary(SIN, a)


def cos(a: Expr) -> Expr:
    """cos a, with a in rad."""
    if a.op == CONSTANT:
        return a.arena.constant(math.cos(a.data))
    if a.op == NEG:
        return cos(a.args[0])
    if a.op == ACOS:
        return a.args[0]
    turns, x, backwards = _quarter_turns(a)
    if x is not None:
        value = (cos, sin)[turns % 2](neg(x) if backwards else x)
        return value if turns % 4 in (0, 3) else neg(value)
    return a.arena.unary(COS, a)


def _odd(op: int, function: Any, word: str) -> Any:
    def constructor(a: Expr) -> Expr:
        if a.op == CONSTANT:
            return _fold(a, function, word)
        if a.op == NEG:
            return neg(constructor(a.args[0]))
        return a.arena.unary(op, a)

    constructor.__name__, constructor.__doc__ = word, f"{word} of a."
    return constructor


def _plain(op: int, function: Any, word: str) -> Any:
    def constructor(a: Expr) -> Expr:
        return _fold(a, function, word) if a.op == CONSTANT else a.arena.unary(op, a)

    constructor.__name__, constructor.__doc__ = word, f"{word} of a."
    return constructor


tan = _odd(TAN, math.tan, "tan")
asin = _odd(ASIN, math.asin, "asin")
tanh = _odd(TANH, math.tanh, "tanh")
sign = _odd(SIGN, lambda x: math.copysign(1.0, x) if x else 0.0, "sign")
acos = _plain(ACOS, math.acos, "acos")
exp = _plain(EXP, math.exp, "exp")
log = _plain(LOG, math.log, "log")
sqrt = _plain(SQRT, math.sqrt, "sqrt")


def absolute(a: Expr) -> Expr:
    """|a|."""
    if a.op == CONSTANT:
        return a.arena.constant(abs(a.data))
    if a.op == NEG:
        return absolute(a.args[0])
    return a if a.op in (ABS, SQRT, EXP) else a.arena.unary(ABS, a)


def atan2(a: Expr, b: Expr) -> Expr:
    """The angle in (-pi, pi] of the point with ordinate a and abscissa b."""
    if a.op == CONSTANT and b.op == CONSTANT:
        return a.arena.constant(math.atan2(a.data, b.data))
    return a.arena.binary(ATAN2, a, b)


def minimum(a: Expr, b: Expr) -> Expr:
    """The smaller of a and b; NaN if either is."""
    return _choice(MIN, min, a, b)


def maximum(a: Expr, b: Expr) -> Expr:
    """The larger of a and b; NaN if either is."""
    return _choice(MAX, max, a, b)


def _choice(op: int, function: Any, a: Expr, b: Expr) -> Expr:
    if a is b:
        return a
    if a.op == CONSTANT and b.op == CONSTANT:
        return a.arena.constant(function(a.data, b.data))
    if a.id > b.id:
        a, b = b, a
    return a.arena.binary(op, a, b)


def less(a: Expr, b: Expr) -> Expr:
    """1 where a < b, else 0."""
    if a.op == CONSTANT and b.op == CONSTANT:
        return a.arena.constant(float(a.data < b.data))
    return a.arena.zero if a is b else a.arena.binary(LESS, a, b)


def less_equal(a: Expr, b: Expr) -> Expr:
    """1 where a <= b, else 0 (NaN compares false, so that x <= x is not folded)."""
    if a.op == CONSTANT and b.op == CONSTANT:
        return a.arena.constant(float(a.data <= b.data))
    return a.arena.binary(LESS_EQUAL, a, b)


def equal(a: Expr, b: Expr) -> Expr:
    """1 where a = b, else 0."""
    if a.op == CONSTANT and b.op == CONSTANT:
        return a.arena.constant(float(a.data == b.data))
    return a.arena.binary(EQUAL, *((a, b) if a.id <= b.id else (b, a)))


def select(condition: Expr, a: Expr, b: Expr) -> Expr:
    """a where the condition differs from zero, else b."""
    if a is b:
        return a
    if condition.op == CONSTANT:
        return a if condition.data else b
    return condition.arena.nary(SELECT, (condition, a, b))


def spline(x: Expr, table: Any) -> Expr:
    """The piecewise polynomial ``table`` (see ``expression.spline``) at x."""
    return x.arena.constant(table.value(x.data)) if x.op == CONSTANT else x.arena.nary(SPLINE, (x,), table)
