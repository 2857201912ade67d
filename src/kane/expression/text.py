"""Expressions as text: one spelling per operation, with parentheses only if they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kane.expression import operations as ops
from kane.expression.written_sums import (
    ATOM,
    COMPARISON,
    PARENTHESES,
    POWER,
    SUM,
    TYPED_PRODUCTS,
    Piece,
    Spelling,
)

if TYPE_CHECKING:
    from kane.expression.node import Expr

# Number of operations that a text shows, the outermost first; an ellipsis replaces deeper operations.
SHOWN_OPERATIONS = 32


def function_row(word: str, parentheses: tuple[str, str] = PARENTHESES) -> Spelling:
    """Return the spelling word(a, b, ...) of a function."""
    return lambda *operands: Piece(word + ", ".join(operand.text for operand in operands).join(parentheses))


def infix_row(sign: str, binding: int) -> Spelling:
    """Return the spelling a + b, with parentheses that keep the order of operations: a - (b - c), a + (b + c)."""
    return lambda a, b: Piece(f"{a.within(binding)} {sign} {b.within(binding + 1)}", binding)


def comparison_row(sign: str, parentheses: tuple[str, str] = PARENTHESES) -> Spelling:
    """Return the spelling a < b of a comparison with the given sign, which may be the condition of a select."""

    def row(a: Piece, b: Piece) -> Piece:
        text = f"{a.within(SUM, parentheses)} {sign} {b.within(SUM, parentheses)}"
        return Piece(text, COMPARISON, condition=text)

    return row


# Spellings in Python's syntax, by operation.
TYPED_SPELLINGS: dict[int, Spelling] = {
    **TYPED_PRODUCTS.rows(),
    ops.POW: lambda a, b: Piece(f"{a.within(ATOM)}**{b.within(ATOM)}", POWER),
    ops.SQRT: function_row("sqrt"),
    ops.SIN: function_row("sin"),
    ops.COS: function_row("cos"),
    ops.TAN: function_row("tan"),
    ops.ASIN: function_row("asin"),
    ops.ACOS: function_row("acos"),
    ops.ATAN2: function_row("atan2"),
    ops.EXP: function_row("exp"),
    ops.LOG: function_row("log"),
    ops.TANH: function_row("tanh"),
    ops.ABS: function_row("abs"),
    ops.SIGN: function_row("sign"),
    ops.MIN: function_row("minimum"),
    ops.MAX: function_row("maximum"),
    ops.LESS: comparison_row("<"),
    ops.LESS_EQUAL: comparison_row("<="),
    ops.EQUAL: function_row("equal"),
    ops.SELECT: function_row("select"),
    ops.SPLINE: function_row("spline"),
}


def name_of(leaf: Expr) -> str:
    """Return the text of a leaf that is not a constant.

    Rates named after a coordinate and time derivatives of speeds get a prime. A joint's own speeds have different names
    from its coordinates and get none. Measures are written as typed. Reactions, whose names contain spaces, are
    written in brackets.
    """
    if not isinstance(leaf.data, str):
        return str(leaf.data)
    if leaf.op == ops.ACCELERATION or (leaf.op == ops.RATE and leaf.arena.has_leaf(ops.COORDINATE, leaf.data)):
        return f"{leaf.data}'"
    return f"[{leaf.data.strip()}]" if " " in leaf.data else leaf.data


def number_text(value: float) -> str:
    """Return a number in the fewest digits that reproduce it: 2 for 2.0."""
    text = repr(value)
    return text.removesuffix(".0")


class _Shown:
    """Occurrence of a node in a text, with its operands; None if they are not shown."""

    __slots__ = ("node", "operands")

    def __init__(self, node: Expr) -> None:
        self.node = node
        self.operands: list[_Shown] | None = None

    def piece(self) -> Piece:
        node = self.node
        if node.op == ops.CONSTANT:
            return TYPED_PRODUCTS.signed(node.data, lambda size: Piece(number_text(size)))
        if not node.args:
            return Piece(name_of(node))
        if self.operands is None:
            return Piece("...")
        pieces: list[Any] = [operand.piece() for operand in self.operands]
        if node.op == ops.MUL and node.args[0] is node.args[1]:
            pieces[1] = pieces[0]
        if node.data is not None:
            pieces.append(Piece(str(node.data)))
        return TYPED_SPELLINGS[node.op](*pieces)


def format_expression(root: Expr) -> str:
    """Return the expression as typed; a long one shows the outermost operations and an ellipsis for the rest."""
    whole = _Shown(root)
    waiting, left = [whole], SHOWN_OPERATIONS
    for shown in waiting:  # grows during the loop: outer operations before inner ones
        if shown.node.args and left:
            left -= 1
            shown.operands = [_Shown(a) for a in shown.node.args]
            waiting.extend(shown.operands)
    return whole.piece().text
