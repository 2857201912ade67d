"""NumPy's functions for expressions: by NumPy's name, the constructor that means the same."""

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
# Python's == of expressions compares structure, and so do NumPy's.
STRUCTURE = {"equal": lambda a, b: a is b, "not_equal": lambda a, b: a is not b}


def elementwise(function: Callable[..., Any], values: Sequence[Any]) -> Any:
    """A function of each entry of arrays, which broadcast; of single values its value."""
    arrays = [np.asarray(value, dtype=object) for value in values]
    shapes = [array.shape for array in arrays]
    try:
        np.broadcast_shapes(*shapes)
        agree = all(array.ndim <= 32 for array in arrays)  # more NumPy does not walk through
    except (ValueError, RuntimeError):  # more than 32 dimensions are a RuntimeError of NumPy's
        agree = False
    if not agree:
        raise ExpressionError(f"the shapes {shown(shapes)} do not broadcast; make them agree")
    with np.errstate(all="ignore"):
        return np.frompyfunc(function, len(values), 1)(*arrays)


def apply(name: str, arena: Arena, values: Sequence[Any]) -> Any:
    """NumPy's function of that name, entry by entry.

    Raises:
        ExpressionError: it has no meaning for expressions; those that have one are listed.
    """
    if name in STRUCTURE:
        return elementwise(STRUCTURE[name], values)
    if name not in UFUNCS:
        raise ExpressionError(
            f"NumPy's {name} is not defined for expressions; those that are: {', '.join(UFUNCS)}, and kane.select"
        )
    return elementwise(lambda *entries: UFUNCS[name](*(arena.lift(x) for x in entries)), values)
