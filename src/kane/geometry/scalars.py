"""Scalars of geometry: a float, or an expression that is not a constant."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any, TypeAlias

from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT

Number: TypeAlias = "Expr | float"
# Lengths 3, 3x3 and 6; the types omit them, because type checkers lose lengths in zip and comprehensions.
Triple: TypeAlias = "tuple[Number, ...]"
NumberMatrix: TypeAlias = "tuple[tuple[Number, ...], ...]"
Six: TypeAlias = "tuple[Number, ...]"
AXIS_LETTERS = "xyz"
UNIT_VECTORS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
# ``plus`` and ``minus`` of ``formulation.tree.spatial`` recognize this object.
ZERO_VECTOR: Triple = (0.0, 0.0, 0.0)


def scalar(value: Any, what: str) -> Number:
    """Return ``value`` as a float if it is a number or a constant, else the expression itself.

    Raises:
        ModelError: the value is neither a finite number nor an expression; ``what`` describes it in the message.
    """
    if value.__class__ is Expr:
        return value.data if value.is_constant else value
    if isinstance(value, Real) or (getattr(value, "ndim", None) == 0 and value.dtype.kind != "c"):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if math.isfinite(number):
            return number + 0.0
    raise ModelError(f"{what} is {shown(value)}; give a finite number or an expression")


def _entries(values: Any) -> tuple[Any, ...]:
    single = isinstance(values, str) or getattr(values, "ndim", 1) == 0
    return () if single or not isinstance(values, Iterable) else tuple(values)


def triple(values: Any, what: str) -> Triple:
    """Return three scalars.

    Raises:
        ModelError: there are not three values, or one is neither a finite number nor an expression.
    """
    given = _entries(values)
    if len(given) != 3:
        raise ModelError(f"{what} is {shown(values)}; give three numbers or expressions")
    x, y, z = (scalar(v, f"{what}[{k}]") for k, v in enumerate(given))
    return x, y, z


def square(rows: Any, what: str) -> NumberMatrix:
    """Return three rows of three scalars.

    Raises:
        ModelError: the shape is not 3x3, or an entry is neither a finite number nor an expression.
    """
    given = _entries(rows)
    if len(given) != 3:
        raise ModelError(f"{what} is {shown(rows)}; give three rows of three numbers or expressions")
    first, second, third = (triple(row, f"row {k} of {what}") for k, row in enumerate(given))
    return first, second, third


def folded(values: Iterable[Number]) -> tuple[Number, ...]:
    """Return the scalars, with constant expressions as floats."""
    return tuple(x.data if x.__class__ is Expr and x.is_constant else x for x in values)


def is_number(value: Any) -> bool:
    """Check whether a scalar is a number or a constant expression."""
    return value.__class__ is not Expr or value.is_constant


def is_zero(x: Any) -> bool:
    """Check whether a scalar is known to be zero."""
    return bool(x.op == CONSTANT and x.data == 0.0 if x.__class__ is Expr else x == 0.0)


def negate(x: Number) -> Number:
    """Return -x, and 0.0 for zero."""
    return -x if x.__class__ is Expr or x else 0.0


def cross(a: Triple, b: Triple) -> Triple:
    """Return a x b for components in one frame; zeros cost no operations."""
    return (
        _difference(a[1], b[2], a[2], b[1]),
        _difference(a[2], b[0], a[0], b[2]),
        _difference(a[0], b[1], a[1], b[0]),
    )


def _difference(a: Number, b: Number, c: Number, d: Number) -> Number:
    """Return a b - c d."""
    left = 0.0 if is_zero(a) or is_zero(b) else a * b
    if is_zero(c) or is_zero(d):
        return left
    return left - c * d if left.__class__ is Expr or left != 0.0 else -(c * d)


def dot(a: Iterable[Any], b: Iterable[Any]) -> Any:
    """Return the sum of a[k] b[k] for any length; zeros cost no operations."""
    total: Any = 0.0
    for x, y in zip(a, b, strict=True):
        if not (is_zero(x) or is_zero(y)):
            term = x * y
            total = term if total.__class__ is not Expr and total == 0.0 else total + term
    return total


def add_vectors(a: Iterable[Any], b: Iterable[Any]) -> tuple[Any, ...]:
    """Return a + b for any length."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def subtract_vectors(a: Iterable[Any], b: Iterable[Any]) -> tuple[Any, ...]:
    """Return a - b for any length."""
    return tuple(x - y for x, y in zip(a, b, strict=True))


def scaled(factor: Any, v: Iterable[Any]) -> tuple[Any, ...]:
    """Return factor v for any length."""
    return tuple(factor * x for x in v)


def sum_vectors(*vectors: Iterable[Any]) -> tuple[Any, ...]:
    """Return the sum of vectors of one length."""
    return tuple(sum(column) for column in zip(*vectors, strict=True))
