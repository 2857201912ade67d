"""The one node type of the expression graph."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

from kane.errors import ExpressionError
from kane.expression.construct import (
    absolute,
    add,
    div,
    less,
    less_equal,
    mul,
    neg,
    power,
    sub,
)
from kane.expression.operations import CONSTANT, OPERATIONS
from kane.expression.text import text_of

if TYPE_CHECKING:
    from kane.expression.arena import Arena

Scalar: TypeAlias = "Expr | float | int"


class Expr:
    """A scalar expression: an operation applied to earlier expressions of the same arena, or a leaf.

    Equal expressions of one arena are one object, so ``is`` compares structure, and ``id`` numbers them in an order in
    which arguments come first. Arithmetic operators build new expressions; comparisons build expressions worth 1 or 0.

    Attributes:
        op: index into OPERATIONS.
        args: the argument nodes.
        data: value of a constant, name of a leaf, table of a spline.
        id: position in the arena.
        arena: where the node lives.
    """

    __slots__ = ("arena", "args", "data", "id", "op")
    __array_ufunc__ = None  # NumPy scalars defer to our reflected operators

    def __init__(self, arena: Arena, op: int, args: tuple[Expr, ...], data: Any, id: int) -> None:
        self.arena = arena
        self.op = op
        self.args = args
        self.data = data
        self.id = id

    def __add__(self, other: Scalar) -> Expr:
        return add(self, other if other.__class__ is Expr else self.arena.lift(other))

    def __radd__(self, other: Scalar) -> Expr:
        return add(self.arena.lift(other), self)

    def __sub__(self, other: Scalar) -> Expr:
        return sub(self, other if other.__class__ is Expr else self.arena.lift(other))

    def __rsub__(self, other: Scalar) -> Expr:
        return sub(self.arena.lift(other), self)

    def __mul__(self, other: Scalar) -> Expr:
        if other.__class__ is Expr:
            return mul(self, other)
        return NotImplemented if _scales_itself(other) else mul(self, self.arena.lift(other))

    def __rmul__(self, other: Scalar) -> Expr:
        return mul(self.arena.lift(other), self)

    def __truediv__(self, other: Scalar) -> Expr:
        return div(self, self.arena.lift(other))

    def __rtruediv__(self, other: Scalar) -> Expr:
        return div(self.arena.lift(other), self)

    def __pow__(self, other: Scalar) -> Expr:
        return power(self, self.arena.lift(other))

    def __rpow__(self, other: Scalar) -> Expr:
        return power(self.arena.lift(other), self)

    def __neg__(self) -> Expr:
        return neg(self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return absolute(self)

    def __lt__(self, other: Scalar) -> Expr:
        return less(self, self.arena.lift(other))

    def __le__(self, other: Scalar) -> Expr:
        return less_equal(self, self.arena.lift(other))

    def __gt__(self, other: Scalar) -> Expr:
        return less(self.arena.lift(other), self)

    def __ge__(self, other: Scalar) -> Expr:
        return less_equal(self.arena.lift(other), self)

    def __bool__(self) -> bool:
        raise ExpressionError(
            f"the expression {self!r} has no truth value before numbers are put in; "
            "use kane.select(condition, a, b) instead of if/else, and `is` to compare structure"
        )

    def __float__(self) -> float:
        if self.op == CONSTANT:
            return float(self.data)
        raise ExpressionError(f"the expression {self!r} is not a constant; kane.evaluate gives its value")

    @property
    def is_constant(self) -> bool:
        """Whether the value is known now."""
        return self.op == CONSTANT

    @property
    def name(self) -> str:
        """Name of a leaf, else the word of the operation."""
        return self.data if isinstance(self.data, str) else OPERATIONS[self.op].name

    def __repr__(self) -> str:
        return text_of(self)


def _scales_itself(other: Any) -> bool:
    """Whether ``other`` is a vector or the like, with a product with scalars of its own."""
    return hasattr(other, "__rmul__") and not isinstance(other, Real) and not hasattr(other, "ndim")
