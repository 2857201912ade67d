"""Sparse vectors over the speeds, indexed by places in the elimination order, and systems of their products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from kane.errors import ModelError
from kane.geometry.scalars import is_zero

# Entries by places in the order of elimination; missing entries are zero.
SparseVector: TypeAlias = dict[int, Any]


def added(a: SparseVector, b: SparseVector) -> SparseVector:
    """Return a + b."""
    return {i: a.get(i, 0.0) + b.get(i, 0.0) for i in sorted({*a, *b})}


def inner(a: SparseVector, b: SparseVector) -> Any:
    """Return a^T b."""
    return sum((x * b[i] for i, x in a.items() if i in b), 0.0)


def products(rows: Sequence[SparseVector], columns: Sequence[SparseVector], symmetric: bool) -> list[SparseVector]:
    """Return the products of rows and columns, by rows, without zeros; only the upper triangle if ``symmetric``."""
    found: list[SparseVector] = []
    for i, row in enumerate(rows):
        entries = {j: inner(row, columns[j]) for j in range(i if symmetric else 0, len(columns))}
        found.append({j: x for j, x in entries.items() if not is_zero(x)})
    return found


def eliminated_system(S: list[SparseVector], b: list[Any], *, symmetric: bool) -> tuple[list[Any], list[Any]]:
    """Solve S x = b by elimination without pivoting, in place; return x and the inverse of each pivot.

    Raises:
        ModelError: a pivot vanishes in every state.
    """
    m, inverses, x = len(b), [], [0.0] * len(b)
    for k in range(m):
        if k not in S[k]:
            raise ModelError("active constraint rows are redundant in every state; remove the redundant constraints")
        inverses.append(1.0 / S[k][k])
        for i in range(k + 1, m):
            entry = S[k].get(i) if symmetric else S[i].get(k)
            if entry is None:
                continue
            ratio = entry * inverses[k]
            for j, value in S[k].items():
                if j >= (i if symmetric else k + 1):
                    S[i][j] = S[i].get(j, 0.0) - ratio * value
            b[i] = b[i] - ratio * b[k]
    for k in range(m - 1, -1, -1):
        x[k] = (b[k] - sum((entry * x[j] for j, entry in S[k].items() if j > k), 0.0)) * inverses[k]
    return x, inverses
