"""Dense linear algebra of the embedding, without allocation: Householder QR with column pivoting, Cholesky.

A matrix is held by columns: row k of the array F is column k. After ``factor`` the first ``rank`` columns are, in the
order found, R above the diagonal (F[k, :k], with diag[k] on it) and the reflectors (F[k, k:]); all others are Q^T
applied to them.

Source: Golub & Van Loan, Matrix Computations, 4th ed., sections 4.2 and 5.4.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.codegen.native_call import native_kernel

# A pivot under this share of the largest counts as zero: less than half of the digits would be left in what is divided
# by it, and rows that repeat others are left with pivots of the size of the error of the configuration, which at
# states that were assembled or settled lies far below.
RANK_TOLERANCE = 2.0**-26
ROUNDING = 2.0**-52


class Factors(NamedTuple):
    """Columns and what ``factor`` finds.

    Attributes:
        F: the columns, (n, m).
        order: which column of the matrix row k of F is, (n,).
        diag: of R, (n,).
        beta: 2 / v^T v of the reflectors, (n,).
        ends: one past the last entry of the reflectors that is not zero, (n,).
    """

    F: Any
    order: Any
    diag: Any
    beta: Any
    ends: Any


@native_kernel
def factor(f: Any, rank: int) -> int:
    """QR of the first ``rank`` columns as they stand, or where it is negative of those chosen by pivoting.

    Args:
        f: Factors, F and order filled.
        rank: how many columns, or -1.

    Returns:
        How many columns were factored: with pivoting the rank.
    """
    F, order = f.F, f.order
    n, m = F.shape
    limit = min(m, n) if rank < 0 else rank
    for k in range(limit):
        if rank < 0:
            best, chosen = -1.0, k
            for j in range(k, n):
                size = 0.0
                for i in range(k, m):
                    size += F[j, i] * F[j, i]
                # Equal columns stay in their order, whatever the rounding.
                if size > best * (1.0 + 1e-10):
                    best, chosen = size, j
            if math.sqrt(best) <= RANK_TOLERANCE * (abs(f.diag[0]) if k > 0 else 0.0):
                return k
            if chosen != k:
                order[k], order[chosen] = order[chosen], order[k]
                for i in range(m):
                    F[k, i], F[chosen, i] = F[chosen, i], F[k, i]
        _make_reflector(f, k)
        for j in range(k + 1, n):
            _reflect(f, k, F[j])
    return limit


@native_kernel
def _make_reflector(f: Any, k: int) -> None:
    """Reflector 1 - beta v v^T that leaves of column k only its entry k, in place."""
    x = f.F[k]
    end = x.size
    while end > k and x[end - 1] == 0.0:
        end -= 1
    size = 0.0
    for i in range(k, end):
        size += x[i] * x[i]
    norm = math.sqrt(size)
    f.ends[k], f.beta[k], f.diag[k] = end, 0.0, 0.0
    if norm > 0.0:
        f.beta[k] = 1.0 / (size + norm * abs(x[k]))
        f.diag[k] = -math.copysign(norm, x[k])
        x[k] -= f.diag[k]


@native_kernel
def _reflect(f: Any, k: int, x: Any) -> None:
    v, end = f.F[k], f.ends[k]
    total = 0.0
    for i in range(k, end):
        total += v[i] * x[i]
    total *= f.beta[k]
    if total != 0.0:
        for i in range(k, end):
            x[i] -= total * v[i]


@native_kernel
def to_q(f: Any, rank: int, x: Any) -> None:
    """x = Q^T x."""
    for k in range(rank):
        _reflect(f, k, x)


@native_kernel
def from_q(f: Any, rank: int, x: Any) -> None:
    """x = Q x."""
    for k in range(rank - 1, -1, -1):
        _reflect(f, k, x)


@native_kernel
def solve_upper(f: Any, rank: int, x: Any) -> None:
    """R y = x, in place, with zero where the pivot counts as zero."""
    tiny = RANK_TOLERANCE * largest_pivot(f, rank)
    for k in range(rank - 1, -1, -1):
        y = x[k] / f.diag[k] if abs(f.diag[k]) > tiny else 0.0
        x[k] = y
        if y != 0.0:
            for i in range(k):
                x[i] -= y * f.F[k, i]


@native_kernel
def solve_lower(f: Any, rank: int, x: Any) -> None:
    """R^T y = x, in place."""
    for k in range(rank):
        total = x[k]
        for i in range(k):
            total -= f.F[k, i] * x[i]
        x[k] = total / f.diag[k]


@native_kernel
def largest_pivot(f: Any, rank: int) -> float:
    """The largest |R_kk|."""
    largest = 0.0
    for k in range(rank):
        largest = max(largest, abs(f.diag[k]))
    return largest


@native_kernel
def conditioning(f: Any, rank: int) -> float:
    """The smallest |R_kk| over the largest; 1 where nothing is factored."""
    largest = largest_pivot(f, rank)
    smallest = largest
    for k in range(rank):
        smallest = min(smallest, abs(f.diag[k]))
    return smallest / largest if largest > 0.0 else (1.0 if rank == 0 else 0.0)


@native_kernel
def solve_positive(M: Any, n: int, x: Any) -> None:
    """M y = x by Cholesky, M and x overwritten; NaN where M, symmetric, is not positive beyond rounding."""
    singular = False
    for k in range(n):
        pivot = M[k, k]
        for i in range(k):
            pivot -= M[k, i] * M[k, i]
        # What is subtracted carries the rounding of the diagonal entry it is subtracted from.
        singular = singular or not pivot > n * ROUNDING * M[k, k]
        M[k, k] = math.sqrt(max(pivot, 0.0))
        for j in range(k + 1, n):
            total = M[j, k]
            for i in range(k):
                total -= M[j, i] * M[k, i]
            M[j, k] = total / M[k, k]
    for k in range(n):
        for i in range(k):
            x[k] -= M[k, i] * x[i]
        x[k] /= M[k, k]
    for k in range(n - 1, -1, -1):
        for i in range(k + 1, n):
            x[k] -= M[i, k] * x[i]
        x[k] /= M[k, k]
    if singular:
        for k in range(n):
            x[k] = math.nan
