"""Factors of small matrices and systems solved with them, in place."""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline


@native_inline
def factor(L: Any, triangle: Any) -> bool:
    """L with M = L L^T from the lower triangle of M by rows; whether M is positive."""
    n = L.shape[0]
    for i in range(n):
        for j in range(i + 1):
            total = triangle[i * (i + 1) // 2 + j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                L[i, i] = math.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
    return True


@native_inline
def solve(A: Any, x: Any) -> None:
    """x = A^-1 x by elimination, in place; A is positive definite but for a skew part, and needs no pivoting."""
    n = x.size
    for k in range(n):
        for i in range(k + 1, n):
            part = A[i, k] / A[k, k]
            for j in range(k, n):
                A[i, j] -= part * A[k, j]
            x[i] -= part * x[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            x[k] -= A[k, j] * x[j]
        x[k] /= A[k, k]


@native_inline
def lower(L: Any, x: Any) -> None:
    """x = L^-1 x."""
    for i in range(x.size):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]


@native_inline
def upper(L: Any, x: Any) -> None:
    """x = L^-T x."""
    for i in range(x.size - 1, -1, -1):
        for k in range(i + 1, x.size):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]
