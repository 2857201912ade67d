"""Derivatives by complex steps: f(x + i h d) = f(x) + i h df, exact to rounding for h = 1e-30.

They use the slow interpreter, which defines the values of expressions, and no rules of differentiation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.expression.interpret import interpret
from kane.expression.node import Expr

STEP = 1e-30


class _Functions:
    """NumPy's functions, except that sign uses the real part: NumPy's x / |x| of a complex x has a slope."""

    sin, cos, tan, sqrt, exp, log, tanh = np.sin, np.cos, np.tan, np.sqrt, np.exp, np.log, np.tanh
    asin, acos, atan2, where = np.arcsin, np.arccos, np.arctan2, np.where
    minimum, maximum = np.minimum, np.maximum

    @staticmethod
    def sign(x: Any) -> Any:
        return np.sign(np.real(x))

    @staticmethod
    def number(x: Any) -> Any:
        """Return a NumPy number, which divides by zero and overflows to infinity."""
        return np.complex128(x)


def slopes(roots: Sequence[Expr], values: Mapping[Expr, Any], direction: Mapping[Expr, float]) -> np.ndarray:
    """Return the derivative of every root along a direction, at the given values of all leaves."""
    moved = {leaf: complex(x, STEP * direction.get(leaf, 0.0)) for leaf, x in values.items()}
    return np.array([np.imag(x) / STEP for x in interpret(roots, moved, _Functions)])


def columns(
    roots: Sequence[Expr], values: Mapping[Expr, Any], directions: Sequence[Mapping[Expr, float]]
) -> np.ndarray:
    """Return the derivatives along several directions, (roots, directions)."""
    found = [slopes(roots, values, direction) for direction in directions]
    return np.array(found).reshape(len(found), len(roots)).T
