"""Sums, differences, products and quotients, simplified when built; ``construct`` lists the assumed identities."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from kane.errors import ExpressionError, shown
from kane.expression.operations import ADD, CONSTANT, COS, DIV, MUL, NEG, SIGN, SIN, SQRT, SUB

if TYPE_CHECKING:
    from kane.expression.node import Expr


def add(a: Expr, b: Expr) -> Expr:
    """Return a + b, simplified."""
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
        arena.nary(ADD, (x, c))  # raises an error that names both
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
    """Return the sum by c1 x + c2 x = (c1 + c2) x or k s^2 + k c^2 = k; None if neither applies."""
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
    """Return a - b, simplified."""
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
    if a.op == SUB and a.args[0] is b:
        return neg(a.args[1])
    if b.op == SUB and b.args[0] is a:
        return b.args[1]
    if b.op == ADD and a in b.args:
        return neg(b.args[1] if b.args[0] is a else b.args[0])
    if a.op == MUL and b.op == MUL and a.args[1] is b.args[1]:
        if a.args[0].op == CONSTANT and b.args[0].op == CONSTANT:
            return mul(a.arena.constant(a.args[0].data - b.args[0].data), a.args[1])
    if a.id > b.id:
        return neg(b.arena.binary(SUB, b, a))
    return a.arena.binary(SUB, a, b)


def _subtract_from_constant(c: Expr, x: Expr) -> Expr:
    if c.arena is not x.arena:
        x.arena.nary(SUB, (x, c))  # raises an error that names both
    if c.data == 0.0:
        return neg(x)
    if x.op in (ADD, SUB) and x.args[0].op == CONSTANT:
        rest = x.arena.constant(c.data - x.args[0].data)
        return sub(rest, x.args[1]) if x.op == ADD else add(rest, x.args[1])
    return x.arena.binary(SUB, c, x)


def neg(a: Expr) -> Expr:
    """Return -a, simplified."""
    if a.op == NEG:
        return a.args[0]
    if a.op == CONSTANT:
        return a.arena.constant(-a.data)
    if a.op == SUB and a.args[0].op == CONSTANT:
        return add(a.arena.constant(-a.args[0].data), a.args[1])
    return a.arena.unary(NEG, a)


def mul(a: Expr, b: Expr) -> Expr:
    """Return a b, simplified."""
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
    if a.op == SIGN and b.op == MUL and a.args[0] in b.args and a in b.args:
        return a.args[0]
    if b.op == SIGN and a.op == MUL and b.args[0] in a.args and b in a.args:
        return b.args[0]
    if a.id > b.id:
        a, b = b, a
    return a.arena.binary(MUL, a, b)


def _scale(c: Expr, x: Expr) -> Expr:
    arena = x.arena
    if c.arena is not arena:
        arena.nary(MUL, (x, c))  # raises an error that names both
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
    """Return a / b, simplified."""
    if b.op == CONSTANT:
        if b.data == 0.0:
            raise ExpressionError(f"division of {shown(a)} by the constant zero")
        if a.op == CONSTANT:
            return a.arena.constant(a.data / b.data)
        reciprocal = 1.0 / b.data
        return mul(b.arena.constant(reciprocal), a) if isfinite(reciprocal) else a.arena.binary(DIV, a, b)
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
    if b.op == SIGN:
        return mul(a, b)
    if b.op == MUL and SIGN in (b.args[0].op, b.args[1].op):
        sign, x = b.args if b.args[0].op == SIGN else b.args[::-1]
        return mul(sign, div(a, x))
    if a.op == MUL and a.args[0] is b:
        return a.args[1]
    if a.op == MUL and a.args[1] is b:
        return a.args[0]
    return a.arena.binary(DIV, a, b)
