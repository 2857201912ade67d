"""Slow interpreter: the reference definition of the value of an expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.errors import ExpressionError, KaneError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import numbers, require
from kane.expression.operations import CONSTANT, MEASURE, OPERATIONS, SPLINE
from kane.expression.text import name_of
from kane.expression.traverse import leaves, reachable


class _NumPy:
    """Namespace of elementary functions for numbers and arrays."""

    sin, cos, tan, sqrt, exp, log, tanh = np.sin, np.cos, np.tan, np.sqrt, np.exp, np.log, np.tanh
    asin, acos, atan2, fabs, sign = np.arcsin, np.arccos, np.arctan2, np.fabs, np.sign
    minimum, maximum, where = np.minimum, np.maximum, np.where

    @staticmethod
    def number(x: Any) -> Any:
        """Return x as a NumPy number, which divides by zero and overflows to infinity, unlike Python's numbers."""
        return np.float64(x) if isinstance(x, (int, float, np.integer)) else x


def interpret(
    roots: Sequence[Expr], values: Mapping[Expr, Any], functions: Any = _NumPy, known: dict[Expr, Any] | None = None
) -> list[Any]:
    """Return the values of the roots by evaluating one node after another.

    Args:
        roots: expressions.
        values: a number or an array for every leaf that the roots depend on.
        functions: namespace with sin, cos, ..., sqrt, fabs, sign, minimum, maximum, where; NumPy by default.
            An optional ``number`` converts given values, constants and spline values. An optional ``spline`` evaluates
            a table.
        known: values of nodes in earlier calls; those of further nodes are added.

    Raises:
        ExpressionError: a leaf has no value.
    """
    number = getattr(functions, "number", lambda x: x)
    spline = getattr(functions, "spline", lambda table, x: number(table.value(x)))
    found: dict[Expr, Any] = {} if known is None else known
    found.update({node: number(value) for node, value in values.items() if node not in found})
    with np.errstate(all="ignore"):
        for node in reachable(roots, found):
            if node.op == CONSTANT:
                found[node] = number(node.data)
            elif not node.args:
                raise ExpressionError(f"no value was given for the {OPERATIONS[node.op].name} {name_of(node)}")
            elif node.op == SPLINE:
                found[node] = spline(node.data, found[node.args[0]])
            else:
                meaning = OPERATIONS[node.op].meaning
                assert meaning is not None
                found[node] = meaning(functions, *[found[a] for a in node.args])
    return [found[root] for root in roots]


def evaluate(expression: Expr, values: Mapping[str, Any]) -> Any:
    """Return the value of an expression from the values of its leaves: ``kane.evaluate(M[0][0], {"q1": 0.3})``.

    A leaf has its printed name: q1' is the rate of q1, and u1' the time derivative of the speed u1.

    Args:
        expression: expression to evaluate.
        values: numbers or arrays that broadcast, by the names of the leaves.

    Raises:
        ExpressionError: a leaf has no value, a name is not a leaf of the expression, or shapes do not broadcast.
        ModelError: the expression is not an expression, or a value is not numerical.
    """
    require(expression, Expr, "evaluate takes an expression")
    require(values, Mapping, "evaluate takes a dict of values by the names of leaves")
    found = {name_of(leaf): leaf for leaf in leaves([expression])}
    unknown = [shown(name) for name in values if name not in found]
    if unknown:
        measured = any(leaf.op == MEASURE for leaf in found.values())
        cure = "; measures have values in dyn.derivatives(expression, wrt=())(q, u).value" if measured else ""
        raise ExpressionError(
            f"the expression does not depend on {', '.join(unknown)}; it depends on {', '.join(found)}{cure}"
        )
    given = {
        found[name]: numbers(value, f"the value of {name!r} must be a number")[()] for name, value in values.items()
    }
    try:
        return interpret([expression], given)[0]
    except KaneError:
        raise
    except ValueError as error:
        shapes = ", ".join(f"{np.shape(value)} of {leaf.name!r}" for leaf, value in given.items())
        raise ExpressionError(f"the values {shapes} do not broadcast; make their shapes agree") from error
