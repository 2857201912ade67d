"""Elementary functions for users: of expressions they build nodes, of numbers they give numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from numbers import Real
from typing import Any

import numpy as np

from kane.errors import ExpressionError, shown
from kane.expression import construct
from kane.expression import operations as ops
from kane.expression.arguments import numbers
from kane.expression.interpret import _NumPy
from kane.expression.node import Expr, Scalar
from kane.expression.spline import PiecewiseCubic
from kane.expression.ufuncs import elementwise


def _public(op: int, constructor: Callable[..., Expr], doc: str) -> Callable[..., Any]:
    """A function of expressions, numbers, and arrays of both."""
    name, arity, meaning = ops.OPERATIONS[op].name, ops.OPERATIONS[op].arity, ops.OPERATIONS[op].meaning
    assert meaning is not None
    of_numbers = meaning

    def function(*args: Any) -> Any:
        if len(args) != arity:
            raise TypeError(f"{name}() takes {arity} argument{'s' * (arity > 1)}, not {len(args)}")
        for a in args:
            if isinstance(a, np.ndarray) and a.ndim:
                found = elementwise(function, args)
                return found if any(isinstance(x, Expr) for x in found.flat) else found.astype(float)
        for a in args:
            if isinstance(a, Expr):
                return constructor(*(a.arena.lift(x) for x in args))
        with np.errstate(all="ignore"):
            return float(of_numbers(_NumPy, *(_number(x, name) for x in args)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    words = ("condition", "a", "b")[-arity:] if arity == 3 else ("y", "x")[-arity:]
    places = [Parameter(word, Parameter.POSITIONAL_ONLY) for word in words]
    function.__signature__ = Signature(places)  # type: ignore[attr-defined]
    return function


def _number(x: Any, name: str) -> np.float64:
    try:
        if isinstance(x, Real) or (isinstance(x, np.ndarray) and x.dtype.kind in "fiub"):
            return np.float64(x)
    except (OverflowError, ValueError, TypeError):
        pass
    raise ExpressionError(f"{name} is of numbers, expressions and arrays of them, not of {shown(x)}")


sin = _public(ops.SIN, construct.build_sin, "sin x, x in rad.")
cos = _public(ops.COS, construct.build_cos, "cos x, x in rad.")
tan = _public(ops.TAN, construct.build_tan, "tan x, x in rad.")
asin = _public(ops.ASIN, construct.build_asin, "arcsin x in [-pi/2, pi/2] rad.")
acos = _public(ops.ACOS, construct.build_acos, "arccos x in [0, pi] rad.")
atan2 = _public(ops.ATAN2, construct.build_atan2, "atan2(y, x): angle in (-pi, pi] rad of the point (x, y).")
exp = _public(ops.EXP, construct.build_exp, "e to the power x.")
log = _public(ops.LOG, construct.build_log, "Natural logarithm of x.")
sqrt = _public(ops.SQRT, construct.build_sqrt, "Square root of x.")
tanh = _public(ops.TANH, construct.build_tanh, "Hyperbolic tangent of x.")
absolute = _public(ops.ABS, construct.build_absolute, "|x|.")
sign = _public(ops.SIGN, construct.build_sign, "-1, 0 or 1 with the sign of x.")
minimum = _public(ops.MIN, construct.build_minimum, "The smaller of x and y; NaN if either is.")
maximum = _public(ops.MAX, construct.build_maximum, "The larger of x and y; NaN if either is.")
equal = _public(ops.EQUAL, construct.build_equal, "1 where x = y, else 0 (Python's == compares structure).")
select = _public(
    ops.SELECT, construct.build_select, "select(condition, a, b): a where the condition is not zero, else b."
)


def spline(x: Scalar, abscissae: Sequence[float], ordinates: Sequence[float]) -> Any:
    """Cubic-spline lookup y(x), twice continuously differentiable, continued by its end tangents.

    Args:
        x: where; an expression or a number.
        abscissae: strictly increasing, at least two.
        ordinates: as many values.

    Raises:
        ExpressionError: the table is not a table of two or more finite points with increasing abscissae.
    """
    table = PiecewiseCubic.through(abscissae, ordinates)
    if isinstance(x, Expr):
        return construct.build_spline(x, table)
    found = table.value(numbers(x, "a spline is looked up at numbers"))
    return found if np.ndim(found) else float(found)
