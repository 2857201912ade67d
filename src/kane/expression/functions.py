"""Elementary functions for users: they return nodes for expressions, and numbers for numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from numbers import Real
from typing import Any

import numpy as np

from kane.errors import ExpressionError, shown
from kane.expression import construct
from kane.expression import operations as ops
from kane.expression.interpret import _NumPy
from kane.expression.node import Expr, Scalar
from kane.expression.number_arguments import numbers
from kane.expression.ufuncs import elementwise


def _public(op: int, constructor: Callable[..., Expr], doc: str) -> Callable[..., Any]:
    """Return the public function of an operation, which accepts expressions, numbers and arrays of both."""
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
    raise ExpressionError(f"{name} takes numbers, expressions and arrays of them, not {shown(x)}")


sin = _public(ops.SIN, construct.build_sin, "Return sin x; x in rad.")
cos = _public(ops.COS, construct.build_cos, "Return cos x; x in rad.")
tan = _public(ops.TAN, construct.build_tan, "Return tan x; x in rad.")
asin = _public(ops.ASIN, construct.build_asin, "Return arcsin x in [-pi/2, pi/2] rad.")
acos = _public(ops.ACOS, construct.build_acos, "Return arccos x in [0, pi] rad.")
atan2 = _public(ops.ATAN2, construct.build_atan2, "Return the angle in (-pi, pi] rad of the point (x, y).")
exp = _public(ops.EXP, construct.build_exp, "Return e to the power x.")
log = _public(ops.LOG, construct.build_log, "Return the natural logarithm of x.")
sqrt = _public(ops.SQRT, construct.build_sqrt, "Return the square root of x.")
tanh = _public(ops.TANH, construct.build_tanh, "Return the hyperbolic tangent of x.")
absolute = _public(ops.ABS, construct.build_absolute, "|x|.")
sign = _public(ops.SIGN, construct.build_sign, "Return -1, 0 or 1 with the sign of x.")
minimum = _public(ops.MIN, construct.build_minimum, "Return the smaller of x and y; NaN if either is NaN.")
maximum = _public(ops.MAX, construct.build_maximum, "Return the larger of x and y; NaN if either is NaN.")
equal = _public(ops.EQUAL, construct.build_equal, "Return 1 if x = y, else 0 (Python's == compares structure).")
select = _public(ops.SELECT, construct.build_select, "Return a if the condition is not zero, else b.")


def spline(x: Scalar, abscissae: Sequence[float], ordinates: Sequence[float]) -> Any:
    """Return the cubic spline y(x) of a table, twice continuously differentiable and extended by its end tangents.

    Args:
        x: argument of the spline: an expression, a number or an array of numbers.
        abscissae: at least two strictly increasing numbers.
        ordinates: value of y at each abscissa.

    Raises:
        ExpressionError: the table does not consist of two or more finite points with strictly increasing abscissae.
        ModelError: x is neither an expression nor numbers.
    """
    from kane.expression.spline import PiecewiseCubic

    table = PiecewiseCubic.through(abscissae, ordinates)
    if isinstance(x, Expr):
        return construct.build_spline(x, table)
    found = table.value(numbers(x, "the argument of a spline must be an expression or numbers"))
    return found if np.ndim(found) else float(found)
