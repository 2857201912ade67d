"""Node type of the expression graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number, Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kane.errors import ExpressionError, shown
from kane.expression.construct import (
    add,
    build_absolute,
    build_less,
    build_less_equal,
    build_power,
    div,
    mul,
    neg,
    sub,
)
from kane.expression.operations import CONSTANT, OPERATIONS
from kane.expression.text import format_expression
from kane.expression.ufuncs import UFUNCS, apply

if TYPE_CHECKING:
    from kane.expression.arena import Arena

Scalar: TypeAlias = "Expr | float | int"


class Expr:
    """Scalar expression: a leaf, or an operation applied to earlier expressions of the same arena.

    Equal expressions of an arena are one object, so that ``is`` compares structure. Arguments have smaller ids than
    their users. Arithmetic operators build new expressions; comparisons build expressions with the value 1 or 0.

    Attributes:
        op: index into OPERATIONS.
        args: argument nodes.
        data: value of a constant, name of a leaf, description of a measure, table of a spline; else None.
        id: position in the arena.
        arena: arena that contains the node.
    """

    __slots__ = ("arena", "args", "data", "id", "op")

    def __init__(self, arena: Arena, op: int, args: tuple[Expr, ...], data: Any, id: int) -> None:
        self.arena = arena
        self.op = op
        self.args = args
        self.data = data
        self.id = id

    def __add__(self, other: Scalar) -> Expr:
        return add(self, other) if other.__class__ is Expr else _with(add, self, other)

    def __radd__(self, other: Scalar) -> Expr:
        return add(self.arena.lift(other), self)

    def __sub__(self, other: Scalar) -> Expr:
        return sub(self, other) if other.__class__ is Expr else _with(sub, self, other)

    def __rsub__(self, other: Scalar) -> Expr:
        return sub(self.arena.lift(other), self)

    def __mul__(self, other: Scalar) -> Expr:
        return mul(self, other) if other.__class__ is Expr else _with(mul, self, other)

    def __rmul__(self, other: Scalar) -> Expr:
        return mul(self.arena.lift(other), self)

    def __truediv__(self, other: Scalar) -> Expr:
        return _with(div, self, other)

    def __rtruediv__(self, other: Scalar) -> Expr:
        return div(self.arena.lift(other), self)

    def __pow__(self, other: Scalar) -> Expr:
        return _with(build_power, self, other)

    def __rpow__(self, other: Scalar) -> Expr:
        return build_power(self.arena.lift(other), self)

    def __neg__(self) -> Expr:
        return neg(self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return build_absolute(self)

    def __lt__(self, other: Scalar) -> Expr:
        return _with(build_less, self, other)

    def __le__(self, other: Scalar) -> Expr:
        return _with(build_less_equal, self, other)

    def __gt__(self, other: Scalar) -> Expr:
        return _with(lambda a, b: build_less(b, a), self, other)

    def __ge__(self, other: Scalar) -> Expr:
        return _with(lambda a, b: build_less_equal(b, a), self, other)

    def __bool__(self) -> bool:
        raise ExpressionError(
            f"the expression {shown(self)} has no truth value until its variables have values; "
            "use kane.select(condition, a, b) instead of if/else, and `is` to compare structure"
        )

    def __float__(self) -> float:
        if self.op == CONSTANT:
            return float(self.data)
        raise ExpressionError(
            f"the expression {shown(self)} is not a number; for expressions use kane.sin instead of math.sin, and "
            "kane.evaluate to compute the value from values of its leaves"
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        """Apply a NumPy function entry by entry: np.sin(q), array * q."""
        wished = ", ".join(options) or method.strip("_")
        plain = wished == "call"
        found = apply(ufunc.__name__ if plain else f"{ufunc.__name__} with {wished}", self.arena, inputs)
        if out is None:
            return found
        out[0][...] = found
        return out[0]

    def __getattr__(self, word: str) -> Any:
        """Return the method that NumPy calls on each entry of an object array: np.sin(array) calls ``sin``."""
        if word in UFUNCS:
            return lambda *others: apply(word, self.arena, (self, *others))
        raise AttributeError(f"an expression has no attribute {word!r}")

    @property
    def operation(self) -> str:
        """Name of the operation, such as "add", "mul" or "sin"; of a leaf its kind, such as "coordinate".

        The names are stable; the numbers in ``op`` are not.
        """
        return OPERATIONS[self.op].name

    @property
    def arguments(self) -> tuple[Expr, ...]:
        """Arguments of the operation, which are expressions; empty for a leaf. Equal expressions are one object."""
        return self.args

    @property
    def is_constant(self) -> bool:
        """True if the expression is a constant."""
        return self.op == CONSTANT

    @property
    def name(self) -> str:
        """Name of a leaf, else name of the operation."""
        return self.data if isinstance(self.data, str) else OPERATIONS[self.op].name

    def __repr__(self) -> str:
        return format_expression(self)


def _with(constructor: Callable[[Expr, Expr], Expr], a: Expr, b: Any) -> Expr:
    """Return constructor(a, b) for any right operand b; arrays and vectors apply their own operators instead."""
    if b.__class__ is Expr or isinstance(b, Real):
        return constructor(a, a.arena.lift(b))
    arrays = isinstance(b, np.ndarray) and b.ndim
    return NotImplemented if arrays or (constructor is mul and _scales_itself(b)) else constructor(a, a.arena.lift(b))


def _scales_itself(other: Any) -> bool:
    """Check whether ``other`` has its own product with scalars, such as a vector."""
    return hasattr(other, "__rmul__") and not isinstance(other, Number | Sequence | np.ndarray | np.generic)
