"""Dense linear algebra of the embedding, without allocation: Householder QR with column pivoting, Cholesky.

``factor`` works in place: of a matrix A whose columns have been put in the order found, A[:k, k] is then R above its
diagonal, which is ``diag``, and A[k:, k] the k-th reflector; columns beyond the rank are Q^T applied to them. Sums run
along rows, where the processor adds several columns at a time, and rows that hold zero are passed over: those of loops
that share few coordinates mostly do.

Source: Golub & Van Loan, Matrix Computations, 4th ed., sections 4.2 and 5.4.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.memory.constraint_codes import UNCHOSEN
from kane.engine.memory.loop_arguments import Matrix, Vector

# Ratio to the largest pivot below which a pivot counts as zero: a division by it would lose more than half of the
# digits. Pivots of redundant rows are errors of the configuration, which are far smaller at projected states.
RANK_TOLERANCE = 2.0**-26
ROUNDING = 2.0**-52
# A pivot of A A^T under this share of its diagonal entry, times the rows: a row that repeats others.
REPEATED = 64.0 * ROUNDING
# A squared norm that has lost this share of itself by subtraction is summed anew.
CANCELLED = 1e-3
# A column is preferred to those before it when it is longer by more than rounding.
LONGER = 1.0 + 1e-10


@native_kernel
def factor(f: Any, rank: int) -> int:
    """QR of the first ``rank`` columns as they stand, or with UNCHOSEN of those chosen by pivoting.

    Args:
        f: FactorScratch, A and order filled.
        rank: how many columns, or UNCHOSEN.

    Returns:
        How many columns were factored: with pivoting the rank.
    """
    A, beta, w = f.A, f.beta, f.w
    m, n = A.shape
    pivoting = rank == UNCHOSEN
    if pivoting:
        for j in range(n):
            _sum_norm(f, j, 0)
    for k in range(min(m, n) if pivoting else rank):
        if pivoting and not _bring_longest(f, k):
            return k
        _make_reflector(f, k)
        for j in range(k + 1, n):
            w[j] = 0.0
        for i in range(k, m):
            v = A[i, k]
            if v != 0.0:
                for j in range(k + 1, n):
                    w[j] += v * A[i, j]
        for i in range(k, m):
            v = beta[k] * A[i, k]
            if v != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= v * w[j]
        if pivoting:
            for j in range(k + 1, n):
                f.norms[0, j] -= A[k, j] * A[k, j]
                if f.norms[0, j] <= CANCELLED * f.norms[1, j]:
                    _sum_norm(f, j, k + 1)
    return min(m, n) if pivoting else rank


@native_inline
def _sum_norm(f: Any, j: int, first: int) -> None:
    """The squared norm of column j from a row on."""
    total = 0.0
    for i in range(first, f.A.shape[0]):
        total += f.A[i, j] * f.A[i, j]
    f.norms[0, j] = f.norms[1, j] = total


@native_inline
def _bring_longest(f: Any, k: int) -> bool:
    """Exchange column k for the longest of those left; whether it counts as more than zero."""
    chosen = k
    for j in range(k + 1, f.A.shape[1]):
        if f.norms[0, j] > LONGER * f.norms[0, chosen]:
            chosen = j
    if math.sqrt(f.norms[0, chosen]) <= RANK_TOLERANCE * (abs(f.diag[0]) if k > 0 else 0.0):
        return False
    if chosen != k:
        f.order[k], f.order[chosen] = f.order[chosen], f.order[k]
        for i in range(f.A.shape[0]):
            f.A[i, k], f.A[i, chosen] = f.A[i, chosen], f.A[i, k]
        for i in range(2):
            f.norms[i, chosen] = f.norms[i, k]
    return True


@native_inline
def _make_reflector(f: Any, k: int) -> None:
    """Reflector 1 - beta v v^T that leaves of column k only its entry k, in place."""
    A, size = f.A, 0.0
    for i in range(k, A.shape[0]):
        size += A[i, k] * A[i, k]
    norm = math.sqrt(size)
    f.beta[k], f.diag[k] = 0.0, 0.0
    if norm > 0.0:
        f.beta[k] = 1.0 / (size + norm * abs(A[k, k]))
        f.diag[k] = -math.copysign(norm, A[k, k])
        A[k, k] -= f.diag[k]


@native_inline
def _reflect(f: Any, k: int, x: Any) -> None:
    total = 0.0
    for i in range(k, x.size):
        total += f.A[i, k] * x[i]
    total *= f.beta[k]
    if total != 0.0:
        for i in range(k, x.size):
            x[i] -= total * f.A[i, k]


@native_inline
def to_q(f: Any, rank: int, x: Any) -> None:
    """x = Q^T x."""
    for k in range(rank):
        _reflect(f, k, x)


@native_kernel
def from_q(f: Any, rank: int, x: Any) -> None:
    """x = Q x."""
    for k in range(rank - 1, -1, -1):
        _reflect(f, k, x)


@native_inline
def solve_upper(f: Any, rank: int, x: Any) -> None:
    """R y = x, in place, with zero where the pivot counts as zero."""
    tiny = RANK_TOLERANCE * largest_pivot(f, rank)
    for k in range(rank - 1, -1, -1):
        x[k] = x[k] / f.diag[k] if abs(f.diag[k]) > tiny else 0.0
        for i in range(k):
            x[i] -= f.A[i, k] * x[k]


@native_kernel
def solve_columns(f: Any, rank: int) -> None:
    """-R^-1 of the columns beyond the rank, in place, with zero where the pivot counts as zero."""
    A, n = f.A, f.A.shape[1]
    tiny = RANK_TOLERANCE * largest_pivot(f, rank)
    for k in range(rank - 1, -1, -1):
        share = -1.0 / f.diag[k] if abs(f.diag[k]) > tiny else 0.0
        for j in range(rank, n):
            A[k, j] *= share
        for i in range(k):
            c = A[i, k]
            if c != 0.0:
                for j in range(rank, n):
                    A[i, j] += c * A[k, j]


@native_kernel
def solve_lower(f: Any, rank: int, x: Any) -> None:
    """R^T y = x, in place."""
    for k in range(rank):
        total = x[k]
        for i in range(k):
            total -= f.A[i, k] * x[i]
        x[k] = total / f.diag[k]


@native_kernel
def longest_column(A: Any, squares: Any) -> float:
    """Return the length of the longest column of A, (m, n); ``squares`` is scratch, (n,)."""
    n, longest = squares.size, 0.0
    for j in range(n):
        squares[j] = 0.0
    for i in range(A.shape[0]):
        for j in range(n):
            squares[j] += A[i, j] * A[i, j]
    for j in range(n):
        longest = max(longest, squares[j])
    return math.sqrt(longest)


@native_inline
def largest_pivot(f: Any, rank: int) -> float:
    """The largest |R_kk|."""
    largest = 0.0
    for k in range(rank):
        largest = max(largest, abs(f.diag[k]))
    return largest


@native_inline
def smallest_pivot(f: Any, rank: int) -> float:
    """The smallest |R_kk|; infinity where there is none."""
    smallest = math.inf
    for k in range(rank):
        smallest = min(smallest, abs(f.diag[k]))
    return smallest


@native_kernel
def factor_positive(M: Matrix, n: int) -> bool:
    """Factor M = L L^T in place; return whether M is positive definite beyond rounding, else its pivots become NaN."""
    positive = bool(factor_cholesky(M, n, ROUNDING) == n)
    for k in range(0 if positive else n):
        M[k, k] = math.nan
    return positive


@native_kernel
def factor_cholesky(M: Matrix, n: int, tolerance: float) -> int:
    """Factor M = L L^T in place by Cholesky's method; return the rank.

    Args:
        M: symmetric matrix, (n, n) or larger; its lower triangle is read, and replaced by L. A zero pivot is stored as
            infinity, so that the unknown is zero.
        n: order of the matrix.
        tolerance: ratio of a pivot to n times its diagonal entry below which the pivot is zero.
    """
    rank = 0
    for k in range(n):
        pivot = M[k, k]
        for i in range(k):
            pivot -= M[k, i] * M[k, i]
        # The difference carries the rounding error of the diagonal entry.
        regular = pivot > tolerance * n * M[k, k]
        M[k, k] = math.sqrt(pivot) if regular else math.inf
        rank += 1 if regular else 0
        for i in range(k + 1, n):
            factor = M[i, k] / M[k, k]
            M[i, k] = factor
            if factor != 0.0:
                for j in range(k + 1, i):
                    M[i, j] -= factor * M[j, k]
    return rank


@native_kernel
def solve_cholesky(L: Matrix, n: int, x: Vector) -> None:
    """Solve L L^T y = x in place, y zero where the pivot is zero."""
    solve_lower_factor(L, n, x)
    solve_upper_factor(L, n, x)


@native_inline
def solve_lower_factor(L: Matrix, n: int, x: Vector) -> None:
    """Solve L y = x in place."""
    for k in range(n):
        x[k] /= L[k, k]
        if x[k] != 0.0:
            for j in range(k + 1, n):
                x[j] -= L[j, k] * x[k]


@native_inline
def solve_upper_factor(L: Matrix, n: int, x: Vector) -> None:
    """Solve L^T y = x in place."""
    for k in range(n - 1, -1, -1):
        x[k] /= L[k, k]
        if x[k] != 0.0:
            for j in range(k):
                x[j] -= L[k, j] * x[k]


@native_inline
def factor_triangle(triangle: Vector, L: Matrix) -> bool:
    """Factor M = L L^T from the lower triangle of M by rows; return whether M is positive definite."""
    n = L.shape[0]
    for i in range(n):
        for j in range(i + 1):
            L[i, j] = triangle[i * (i + 1) // 2 + j]
    return bool(factor_cholesky(L, n, 0.0) == n)
