"""Emit equations as text: intermediates Z1 = ..., Z2 = ..., then the outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kane.codegen.emit.intermediates import Notation, named_equations, named_pairs
from kane.expression import operations as ops
from kane.expression.node import Expr
from kane.expression.text import ATOM, SIGNED, Piece, Spelling, comparison_row, function_row, name_of
from kane.expression.text import TYPED_SPELLINGS as TYPED

# Operations whose listing differs from the text that a user types.
ROWS: dict[int, Spelling] = {
    **TYPED,
    ops.MIN: function_row("min"),
    ops.MAX: function_row("max"),
    ops.EQUAL: comparison_row("=="),
    ops.SPLINE: lambda a, table: Piece(f"{table}({a.text})"),
}


def _leaf(node: Expr) -> Piece:
    if node.op == ops.CONSTANT:
        return Piece(f"{node.data:.12g}", SIGNED if node.data < 0 else ATOM)
    return Piece(name_of(node))


def emit_listing(named_outputs: Mapping[str, Expr] | Iterable[tuple[str, Expr]]) -> str:
    """Return the outputs as text, one equation per line; subexpressions with several uses are named intermediates.

    A spline is written spline1(x), and a remark at the end summarizes its table. Constants show 12 digits.

    Args:
        named_outputs: name and expression of every output, in order.

    Raises:
        ExpressionError: an output is not an expression.
    """
    pairs = named_pairs(named_outputs)
    tables: dict[Any, str] = {}
    notation = Notation(ROWS, _leaf, str, lambda table: tables.setdefault(table, f"spline{len(tables) + 1}"))
    lines, results = named_equations(pairs, notation)
    text = [f"{name} = {value}" for name, value in lines]
    text += [f"{name} = {value}" for (name, _), value in zip(pairs, results, strict=True)]
    text += [f"# {name}: cubic spline of {table}" for table, name in tables.items()]
    return "".join(line + "\n" for line in text)
