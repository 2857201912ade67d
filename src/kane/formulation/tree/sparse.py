"""Sparse symmetric matrices over the speeds of a tree, and their factorization without fill-in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from kane.errors import ModelError
from kane.expression.node import Expr
from kane.geometry.scalars import is_zero

# Entries (i, j) with j <= i of a symmetric matrix; missing entries are zero.
Sparse: TypeAlias = dict[tuple[int, int], Any]
# The factors of M = L^T D L: L by rows, and the inverse of D.
TriangularFactor: TypeAlias = tuple[list[dict[int, Any]], list[Any]]


def triangular_factor(M: Sparse, order: Sequence[int], names: Sequence[str]) -> TriangularFactor:
    """Return L and the inverse of D of M = L^T D L, eliminating in reverse of ``order``.

    On a tree, an order with parents first causes no fill-in.

    Args:
        M: entries (i, j), j <= i; missing entries and constant zeros are skipped.
        order: an order of the unknowns in which those of parents precede those of children.
        names: names of the speeds that belong to the unknowns, for messages.

    Returns:
        Rows of L below its diagonal of ones, {place in order: entry}, and 1 / D, by places in order.

    Raises:
        ModelError: M is singular in every state.

    Source: the branch-induced sparsity of Featherstone 2005, found here from the zeros.
    """
    place = {unknown: p for p, unknown in enumerate(order)}
    rows: list[dict[int, Any]] = [{} for _ in order]
    for (i, j), x in M.items():
        p, q = sorted((place[i], place[j]))
        if not is_zero(x):
            rows[q][p] = x
    inverses: list[Any] = [None] * len(order)
    for k in range(len(order) - 1, -1, -1):
        row = rows[k]
        pivot = row.pop(k, 0.0)
        if is_zero(pivot):
            raise ModelError(
                f"the mass matrix is singular in every state: the speed {names[order[k]]!r} can change without "
                "moving any inertia; give inertia to the bodies beyond its joint, or remove a redundant "
                "joint"
            )
        inverses[k] = 1 / pivot
        scaled = {i: m * inverses[k] for i, m in row.items()}
        for i, m in scaled.items():
            for j in (j for j in row if j <= i):
                rows[i][j] = rows[i].get(j, 0.0) - m * row[j]
        rows[k] = scaled
    return rows, inverses


def solve(M: Sparse, b: Sequence[Any], order: Sequence[int], names: Sequence[str]) -> list[Expr]:
    """Solve M x = b by M = L^T D L.

    Args:
        M, order, names: as for ``triangular_factor``, which raises ModelError if M is singular.
        b: right-hand side; x is zero at unknowns that are not in the order.
    """
    return solved(triangular_factor(M, order, names), b, order)


def solved(factor: TriangularFactor, b: Sequence[Any], order: Sequence[int]) -> list[Any]:
    """Solve M x = b with the factor of M that ``triangular_factor`` returned for an order."""
    rows, inverses = factor
    x = [y * inverse for y, inverse in zip(eliminated(rows, b, order), inverses, strict=True)]
    for k in range(len(order)):
        for i, m in rows[k].items():
            x[k] = x[k] - m * x[i]
    out: list[Any] = [0.0] * len(b)
    for p, unknown in enumerate(order):
        out[unknown] = x[p]
    return out


def eliminated(L: Sequence[dict[int, Any]], b: Sequence[Any], order: Sequence[int]) -> list[Any]:
    """Return L^-T b, by places in order."""
    x = [b[unknown] for unknown in order]
    for k in range(len(order) - 1, -1, -1):
        if not is_zero(x[k]):
            for i, m in L[k].items():
                x[i] = x[i] - m * x[k]
    return x
