"""Expressions as SymPy expressions: one constructor for each operation, with named intermediates on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kane.errors import ExpressionError, shown
from kane.expression import operations as ops
from kane.expression.node import Expr
from kane.expression.text import name_of
from kane.expression.traverse import reachable

# Constructor of each operation from SymPy's namespace and the arguments; none of them simplifies.
TO_SYMPY: dict[int, Callable[..., Any]] = {
    ops.ADD: lambda s, a, b: s.Add(a, b, evaluate=False),
    ops.SUB: lambda s, a, b: s.Add(a, s.Mul(-1, b, evaluate=False), evaluate=False),
    ops.MUL: lambda s, a, b: s.Pow(a, 2, evaluate=False) if a is b else s.Mul(a, b, evaluate=False),
    ops.DIV: lambda s, a, b: s.Mul(a, s.Pow(b, -1, evaluate=False), evaluate=False),
    ops.NEG: lambda s, a: s.Mul(-1, a, evaluate=False),
    ops.POW: lambda s, a, b: s.Pow(a, b, evaluate=False),
    ops.SQRT: lambda s, a: s.Pow(a, s.Rational(1, 2), evaluate=False),
    ops.SIN: lambda s, a: s.sin(a, evaluate=False),
    ops.COS: lambda s, a: s.cos(a, evaluate=False),
    ops.TAN: lambda s, a: s.tan(a, evaluate=False),
    ops.ASIN: lambda s, a: s.asin(a, evaluate=False),
    ops.ACOS: lambda s, a: s.acos(a, evaluate=False),
    ops.ATAN2: lambda s, a, b: s.atan2(a, b, evaluate=False),
    ops.EXP: lambda s, a: s.exp(a, evaluate=False),
    ops.LOG: lambda s, a: s.log(a, evaluate=False),
    ops.TANH: lambda s, a: s.tanh(a, evaluate=False),
    ops.ABS: lambda s, a: s.Abs(a, evaluate=False),
    ops.SIGN: lambda s, a: s.sign(a, evaluate=False),
    ops.MIN: lambda s, a, b: s.Min(a, b, evaluate=False),
    ops.MAX: lambda s, a, b: s.Max(a, b, evaluate=False),
    ops.LESS: lambda s, a, b: s.Piecewise((1, s.Lt(a, b, evaluate=False)), (0, True), evaluate=False),
    ops.LESS_EQUAL: lambda s, a, b: s.Piecewise((1, s.Le(a, b, evaluate=False)), (0, True), evaluate=False),
    ops.EQUAL: lambda s, a, b: s.Piecewise((1, s.Eq(a, b, evaluate=False)), (0, True), evaluate=False),
    ops.SELECT: lambda s, c, a, b: s.Piecewise((a, s.Ne(c, 0, evaluate=False)), (b, True), evaluate=False),
}


def sympy_expressions(
    sympy: Any, roots: Sequence[Expr], names: Mapping[Expr, str] | None = None
) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Return (symbol, expression) of the named nodes, each after the symbols that it contains, and the roots."""
    found: dict[Expr, Any] = {}
    replacements = []
    for node in reachable(roots):
        make = TO_SYMPY.get(node.op)
        found[node] = make(sympy, *(found[a] for a in node.args)) if make else sympy_leaf(sympy, node)
        if names and node in names:
            symbol = sympy.Symbol(names[node])
            replacements.append((symbol, found[node]))
            found[node] = symbol
    return replacements, [found[x] for x in roots]


def sympy_leaf(sympy: Any, node: Expr) -> Any:
    """Return the SymPy object of a leaf.

    Raises:
        ExpressionError: SymPy has none.
    """
    time = sympy.Symbol("t")
    if node.op == ops.CONSTANT:
        return sympy.Integer(int(node.data)) if node.data == int(node.data) else sympy.Float(node.data)
    if node.op == ops.TIME:
        return time
    if node.op == ops.PARAMETER:
        return sympy.Symbol(node.name)
    if node.op in (ops.COORDINATE, ops.SPEED, ops.INPUT):
        return sympy.Function(node.name)(time)
    if node.op in (ops.RATE, ops.ACCELERATION):
        return sympy.Derivative(sympy.Function(node.name)(time), time)
    raise ExpressionError(
        f"SymPy has no form of {shown(name_of(node))}, a {ops.OPERATIONS[node.op].name}; use expressions of "
        "coordinates, speeds, parameters and inputs"
    )
