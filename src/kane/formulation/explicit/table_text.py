"""Tables of vectors and expressions as text and HTML, with names for long or common subexpressions."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from kane.codegen.emit.listing import emit_listing
from kane.deferred import dataclass
from kane.expression.node import Expr
from kane.geometry.scalars import is_zero
from kane.geometry.vector import Vector

Cell = Vector | Expr
_MARK = "cell "


@dataclass(frozen=True)
class Table:
    """Table with a title, column heads, and labelled rows of vectors or scalars."""

    title: str
    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]


def _scalars(table: Table) -> list[Expr]:
    cells = [cell for _, row in table.rows for cell in row]
    parts = [x for cell in cells for x in (cell.components if isinstance(cell, Vector) else (cell,))]
    return list(dict.fromkeys(x for x in parts if isinstance(x, Expr)))


def _written(table: Table) -> tuple[list[list[str]], list[str]]:
    """Return the cells as text, and the definitions to which they refer."""
    scalars = _scalars(table)
    lines = emit_listing([(f"{_MARK}{i}", x) for i, x in enumerate(scalars)]).splitlines()
    texts = dict(line.split(" = ", 1) for line in lines if line.startswith(_MARK))
    known = {x: texts[f"{_MARK}{i}"] for i, x in enumerate(scalars)}
    rows = [[label, *(_cell(cell, known) for cell in row)] for label, row in table.rows]
    return rows, [line for line in lines if not line.startswith(_MARK)]


def _cell(cell: Cell, known: dict[Expr, str]) -> str:
    if isinstance(cell, Expr):
        return "0" if is_zero(cell) else known[cell]
    text = ""
    for x, axis in zip(cell.components, "xyz", strict=True):
        if not is_zero(x):
            text += _term(known[x] if isinstance(x, Expr) else f"{x:.12g}", f"{cell.frame.name}.{axis}", bool(text))
    return text or "0"


def _term(factor: str, unit: str, follows: bool) -> str:
    """Return a measure number times a unit vector as text, with its sign."""
    negative = factor.startswith("-") and not _is_sum(factor)
    size = factor.removeprefix("-") if negative else f"({factor})" if _is_sum(factor) else factor
    body = unit if size == "1" else f"{size} {unit}"
    return (" - " if negative else " + ") + body if follows else ("-" if negative else "") + body


def _is_sum(factor: str) -> bool:
    """Check whether the text is a sum or difference outside of all parentheses."""
    depth = 0
    for before, x, after in zip(factor, factor[1:], factor[2:], strict=False):
        depth += (before == "(") - (before == ")")
        if depth == 0 and before == " " and x in "+-" and after == " ":
            return True
    return False


def format_tables(tables: Sequence[Table]) -> str:
    """Return tables as plain text: columns aligned, definitions below."""
    out = []
    for table in tables:
        rows, definitions = _written(table)
        grid = [["", *table.heads], *rows]
        widths = [max(len(row[j]) for row in grid) for j in range(len(grid[0]))]
        lines = ["  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in grid]
        out.append("\n".join([table.title, *lines, *(["with", *definitions] if definitions else [])]))
    return "\n\n".join(out)


def html_of(tables: Sequence[Table]) -> str:
    """Return tables as HTML."""
    out = []
    for table in tables:
        rows, definitions = _written(table)
        head = "".join(f"<th>{escape(h)}</th>" for h in ["", *table.heads])
        body = "".join("<tr>" + _html_row(row) + "</tr>" for row in rows)
        below = "<pre>" + escape("\n".join(definitions)) + "</pre>" if definitions else ""
        out.append(f"<table><caption>{escape(table.title)}</caption><tr>{head}</tr>{body}</table>{below}")
    return "".join(out)


def _html_row(row: Sequence[str]) -> str:
    return f"<th>{escape(row[0])}</th>" + "".join(f"<td>{escape(x)}</td>" for x in row[1:])
