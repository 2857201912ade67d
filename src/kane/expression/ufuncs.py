"""NumPy functions of expressions: the constructor for each NumPy name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.errors import ExpressionError, shown
from kane.expression import construct

if TYPE_CHECKING:
    from kane.expression.arena import Arena
    from kane.expression.node import Expr

UFUNCS: dict[str, Callable[..., Expr]] = {
    "add": construct.add,
    "subtract": construct.sub,
    "multiply": construct.mul,
    "divide": construct.div,
    "power": construct.build_power,
    "negative": construct.neg,
    "positive": lambda a: a,
    "square": lambda a: construct.mul(a, a),
    "absolute": construct.build_absolute,
    "fabs": construct.build_absolute,
    "sign": construct.build_sign,
    "minimum": construct.build_minimum,
    "maximum": construct.build_maximum,
    "less": construct.build_less,
    "less_equal": construct.build_less_equal,
    "greater": lambda a, b: construct.build_less(b, a),
    "greater_equal": lambda a, b: construct.build_less_equal(b, a),
    "sqrt": construct.build_sqrt,
    "exp": construct.build_exp,
    "log": construct.build_log,
    "sin": construct.build_sin,
    "cos": construct.build_cos,
    "tan": construct.build_tan,
    "tanh": construct.build_tanh,
    "arcsin": construct.build_asin,
    "arccos": construct.build_acos,
    "arctan2": construct.build_atan2,
}
# NumPy's == and != of expressions compare structure, as Python's do.
STRUCTURE = {"equal": lambda a, b: a is b, "not_equal": lambda a, b: a is not b}


def elementwise(function: Callable[..., Any], values: Sequence[Any]) -> Any:
    """Return the function of each entry of arrays, which broadcast; single values give a single value."""
    arrays = [np.asarray(value, dtype=object) for value in values]
    shapes = [array.shape for array in arrays]
    try:
        np.broadcast_shapes(*shapes)
        agree = all(array.ndim <= 32 for array in arrays)  # NumPy does not iterate over more dimensions
    except (ValueError, RuntimeError):  # NumPy raises RuntimeError above 32 dimensions
        agree = False
    if not agree:
        raise ExpressionError(f"the shapes {shown(shapes)} do not broadcast; make them agree")
    with np.errstate(all="ignore"):
        return np.frompyfunc(function, len(values), 1)(*arrays)


def apply(name: str, arena: Arena, values: Sequence[Any]) -> Any:
    """Apply the NumPy function of this name, entry by entry.

    Raises:
        ExpressionError: the function does not support expressions; the message lists the supported functions.
    """
    if name in STRUCTURE:
        return elementwise(STRUCTURE[name], values)
    if name not in UFUNCS:
        raise ExpressionError(
            f"NumPy's {name} is not defined for expressions; use one of {', '.join(UFUNCS)}, or kane.select"
        )
    return elementwise(lambda *entries: UFUNCS[name](*(arena.lift(x) for x in entries)), values)
