"""Small operations on vectors: lengths, unit quaternions, checks for finite entries."""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel


@native_kernel
def length(x: float, y: float) -> float:
    """Of a vector in the plane."""
    return math.sqrt(x * x + y * y)


@native_inline
def normalise(x: Any, quaternions: Any) -> None:
    """Scale each quaternion of x to length one.

    Its length is a constant of the exact motion, so that this moves x by no more than the error of the step: the order
    of the method stays.
    """
    for start in quaternions:
        length = 0.0
        for i in range(start, start + 4):
            length += x[i] * x[i]
        length = math.sqrt(length)
        for i in range(start, start + 4):
            x[i] /= length


@native_inline
def is_finite(x: Any) -> bool:
    """Whether no component of x is NaN or infinite."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * 0.0
    return total == 0.0
