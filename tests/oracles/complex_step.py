"""Derivatives by complex numbers: f(x + i h d) = f(x) + i h df, exact to rounding for h = 1e-30.

They go through the slow interpreter, which defines what expressions mean, and know no rule of differentiation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.expression.interpret import interpret
from kane.expression.node import Expr

STEP = 1e-30


def slopes(roots: Sequence[Expr], values: Mapping[Expr, Any], direction: Mapping[Expr, float]) -> np.ndarray:
    """The derivative of every root along a direction, for values of all leaves."""
    moved = {leaf: complex(x, STEP * direction.get(leaf, 0.0)) for leaf, x in values.items()}
    return np.array([np.imag(x) / STEP for x in interpret(roots, moved)])


def columns(
    roots: Sequence[Expr], values: Mapping[Expr, Any], directions: Sequence[Mapping[Expr, float]]
) -> np.ndarray:
    """One column for each direction, (roots, directions)."""
    found = [slopes(roots, values, direction) for direction in directions]
    return np.array(found).reshape(len(found), len(roots)).T
