"""Equations as an analyst would read them: Z1 = ..., Z2 = ..., then the outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kane.codegen.intermediates import (
    ATOM,
    COMPARISON,
    POWER,
    PRODUCT,
    SIGNED,
    SUM,
    Notation,
    Piece,
    Row,
    equations,
    function_row,
    intermediate_names,
    intermediates,
    name_of,
    named_pairs,
    numbers_first,
)
from kane.expression import operations as ops
from kane.expression.node import Expr
from kane.expression.traverse import leaves, reachable


def _sum(a: Piece, b: Piece) -> Piece:
    if a.binding == SIGNED:  # a negative constant, which stands first in the graph, reads better last
        return Piece(f"{b.within(SUM)} - {a.text[1:]}", SUM)
    return Piece(f"{a.within(SUM)} + {b.within(SUM)}", SUM)


def _difference(a: Piece, b: Piece) -> Piece:
    text, opposite = (f"{x.within(SUM)} - {y.within(PRODUCT)}" for x, y in ((a, b), (b, a)))
    return Piece(text, SUM, opposite=opposite)


def _product(a: Piece, b: Piece) -> Piece:
    if a is b:
        return Piece(f"{a.within(ATOM)}**2", POWER)
    a, b = numbers_first(a, b)
    return Piece(f"{a.within(PRODUCT)}*{b.within(PRODUCT)}", PRODUCT)


def _comparison(sign: str) -> Row:
    return lambda a, b: Piece(f"{a.within(SUM)} {sign} {b.within(SUM)}", COMPARISON)


ROWS: dict[int, Row] = {
    ops.ADD: _sum,
    ops.SUB: _difference,
    ops.MUL: _product,
    ops.DIV: lambda a, b: Piece(f"{a.within(PRODUCT)}/{b.within(SIGNED)}", PRODUCT),
    ops.NEG: lambda a: Piece(a.opposite or f"-{a.within(PRODUCT)}", SUM),
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
    ops.MIN: function_row("min"),
    ops.MAX: function_row("max"),
    ops.LESS: _comparison("<"),
    ops.LESS_EQUAL: _comparison("<="),
    ops.EQUAL: _comparison("=="),
    ops.SELECT: function_row("select"),
    ops.SPLINE: lambda a, table: Piece(f"{table}({a.text})"),
}


def _leaf(node: Expr) -> Piece:
    if node.op == ops.CONSTANT:
        return Piece(f"{node.data:.12g}", SIGNED if node.data < 0 else ATOM)
    return Piece(name_of(node))


def emit_listing(named_outputs: Mapping[str, Expr] | Iterable[tuple[str, Expr]]) -> str:
    """The outputs as text, one equation a line, what is used more than once under a name of its own.

    A spline is written spline1(x), and its table is summed up in a remark at the end. Constants show 12 digits.

    Args:
        named_outputs: name and expression of every output, in order.

    Raises:
        ExpressionError: an output is not an expression.
    """
    pairs = named_pairs(named_outputs)
    roots = [node for _, node in pairs]
    order = [node for node in reachable(roots) if node.args]
    taken = [*(name for name, _ in pairs), *map(name_of, leaves(roots))]
    tables: dict[Any, str] = {}
    notation = Notation(ROWS, _leaf, str, lambda table: tables.setdefault(table, f"spline{len(tables) + 1}"))
    names = intermediate_names(intermediates(order, roots), taken)
    lines, results = equations(order, roots, names, notation)
    text = [f"{name} = {value}" for name, value in lines]
    text += [f"{name} = {value}" for (name, _), value in zip(pairs, results, strict=True)]
    text += [
        f"# {name}: cubic spline of {len(table.knots) - 1} points from {table.knots[0]:.12g} to {table.knots[-1]:.12g}"
        for table, name in tables.items()
    ]
    return "".join(line + "\n" for line in text)
