"""Equations of reactions solved by elimination; of many solutions the shortest."""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.linear.factorizations import factor_positive, solve_factored

# A pivot under this share of the largest: rows repeat others.
DEPENDENT = 1e-11


@native_kernel
def solve_shortest(p: Any, count: int) -> None:
    """The shortest of the solutions of K step = x by elimination, K and x overwritten.

    Unknowns that have no pivot left are put last. With the others, y of x and B of those, each solution is y - B z, z.
    """
    K, x, order = p.K, p.x, p.pivots
    largest, rank, last = 0.0, 0, count
    for j in range(count):
        order[j] = j
    while rank < last:
        pivot = rank
        for i in range(rank + 1, count):
            if abs(K[i, rank]) > abs(K[pivot, rank]):
                pivot = i
        if not abs(K[pivot, rank]) > DEPENDENT * largest:
            last -= 1
            order[rank], order[last] = order[last], order[rank]
            for i in range(count):
                K[i, rank], K[i, last] = K[i, last], K[i, rank] if i < rank else 0.0
            continue
        largest = max(largest, abs(K[pivot, rank]))
        if pivot != rank:
            for j in range(rank, count):
                K[rank, j], K[pivot, j] = K[pivot, j], K[rank, j]
            x[rank], x[pivot] = x[pivot], x[rank]
        inverse = 1.0 / K[rank, rank]
        for i in range(rank + 1, count):
            share = K[i, rank] * inverse
            if share != 0.0:
                for j in range(rank + 1, count):
                    K[i, j] -= share * K[rank, j]
                x[i] -= share * x[rank]
        rank += 1
    for k in range(rank - 1, -1, -1):
        inverse = 1.0 / K[k, k]
        x[k] *= inverse
        for j in range(rank, count):
            K[k, j] *= inverse
        for i in range(k):
            share = K[i, k]
            x[i] -= share * x[k]
            for j in range(rank, count):
                K[i, j] -= share * K[k, j]
    if rank < count:
        _shorten(K, p.S, x, count, rank)
    for j in range(count):
        p.step[order[j]] = x[j]


@native_inline
def _shorten(K: Any, S: Any, x: Any, count: int, rank: int) -> None:
    """y - B z and z with the least sum of squares, which are (1 + B B^T)^-1 y and B^T times that."""
    for k in range(rank):
        for l in range(k + 1):
            total = 1.0 if l == k else 0.0
            for j in range(rank, count):
                total += K[k, j] * K[l, j]
            S[k, l] = total
    factor_positive(S, rank)
    solve_factored(S, rank, x)
    for j in range(rank, count):
        x[j] = 0.0
    for k in range(rank):
        for j in range(rank, count):
            x[j] += K[k, j] * x[k]
