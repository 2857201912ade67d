"""Emit equations as text: intermediates Z1 = ..., Z2 = ..., then the outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kane.codegen.emit.intermediates import Notation, named_equations, named_pairs
from kane.codegen.emit.typesetting import PLAIN, Typesetting
from kane.expression import operations as ops
from kane.expression.node import Expr
from kane.expression.text import TYPED_SPELLINGS as TYPED
from kane.expression.text import comparison_row, function_row, name_of
from kane.expression.written_sums import TYPED_PRODUCTS, Piece, Spelling

# Operations whose listing differs from the text that a user types.
ROWS: dict[int, Spelling] = {
    **TYPED,
    ops.MIN: function_row("min"),
    ops.MAX: function_row("max"),
    ops.EQUAL: comparison_row("=="),
    ops.SPLINE: lambda a, table: Piece(f"{table}({a.text})"),
}


def _leaf(node: Expr, style: Typesetting) -> Piece:
    if node.op == ops.CONSTANT:
        return TYPED_PRODUCTS.number(node.data, lambda size: Piece(style.number(size)))
    return Piece(style.name(name_of(node)))


def emit_listing(named_outputs: Mapping[str, Expr] | Iterable[tuple[str, Expr]], *, style: Typesetting = PLAIN) -> str:
    """Return the outputs as text, one equation per line; subexpressions with several uses are named intermediates.

    A spline is written spline1(x), and a remark at the end summarizes its table. Constants with many digits that are
    short fractions are written as fractions. Equations with two equal sides are omitted.

    Args:
        named_outputs: name and expression of every output, in order.
        style: digits, other names, columns.

    Raises:
        ExpressionError: an output is not an expression.
    """
    pairs = named_pairs(named_outputs)
    tables: dict[Any, str] = {}
    notation = Notation(
        ROWS,
        lambda node: _leaf(node, style),
        str,
        lambda table: tables.setdefault(table, f"spline{len(tables) + 1}"),
        powers=True,
    )
    lines, results = named_equations(pairs, notation, style.names.values())
    named = [(style.name(name), value) for (name, _), value in zip(pairs, results, strict=True)]
    rows = style.rows([f"{name} = {value}" for name, value in [*lines, *named] if name != value])
    widths = [max(map(len, column)) + 3 for column in zip(*rows, strict=True)]
    text = ["".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    text += [f"# {name}: cubic spline of {table}" for table, name in tables.items()]
    return "".join(line + "\n" for line in text)
