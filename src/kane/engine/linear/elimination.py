"""Gaussian elimination with row pivots: LU factors of a square matrix, its rank, and solutions of least norm.

In: a square matrix A (n, n) and a right-hand side x (n,). Out: L and U in place of A, the list of exchanges, the rank,
and the solution in place of x. A column without a pivot is exchanged with the last column and counts as dependent. If
the rank r is below n, the first r unknowns are y - B z for any values z of the other unknowns, and z = B^T (y - B z)
gives the solution of least norm: y - B z = (1 + B B^T)^-1 y.

Source: Golub & Van Loan, Matrix Computations, 4th ed., sections 3.4 and 5.5.
"""

from __future__ import annotations

from kane.engine.call import native_inline, native_kernel
from kane.engine.linear.factorizations import factor_cholesky, solve_cholesky
from kane.engine.memory.loop_arguments import Indices, Matrix, Vector

# Rank tolerance: a pivot below this ratio of the largest pivot is rounding error. The solution of a system with a
# smaller pivot would have less than 5 correct digits of 16.
PIVOT_TOLERANCE = 1e-11


@native_kernel
def factor_rows(A: Matrix, n: int, exchanges: Indices, tolerance: float) -> int:
    """Factor A = L U in place with row exchanges; return the rank.

    Args:
        A: the matrix, (n, n) or larger; then U, and L below the diagonal, whose own diagonal is 1.
        n: order of the matrix.
        exchanges: row that was exchanged with each row before the rank; column that was exchanged with each column
            behind it, the last column first.
        tolerance: ratio to the largest pivot below which a pivot is zero; 0 if A is regular in theory.
    """
    largest, rank, last = 0.0, 0, n
    while rank < last:
        pivot = rank
        for i in range(rank + 1, n):
            if abs(A[i, rank]) > abs(A[pivot, rank]):
                pivot = i
        if not abs(A[pivot, rank]) > tolerance * largest:
            last -= 1
            exchanges[last] = rank
            for i in range(n):
                A[i, rank], A[i, last] = A[i, last], A[i, rank] if i < rank else 0.0
            continue
        largest = max(largest, abs(A[pivot, rank]))
        exchanges[rank] = pivot
        if pivot != rank:
            for j in range(n):
                A[rank, j], A[pivot, j] = A[pivot, j], A[rank, j]
        inverse = 1.0 / A[rank, rank]
        for i in range(rank + 1, n):
            factor = A[i, rank] * inverse
            A[i, rank] = factor
            if factor != 0.0:
                for j in range(rank + 1, n):
                    A[i, j] -= factor * A[rank, j]
        rank += 1
    return rank


@native_kernel
def solve_factored_rows(A: Matrix, n: int, exchanges: Indices, x: Vector) -> None:
    """Solve L U y = x in place, with the factors of a matrix of rank n."""
    _solve_lower_rows(A, n, exchanges, x)
    for k in range(n - 1, -1, -1):
        x[k] /= A[k, k]
        for i in range(k):
            x[i] -= A[i, k] * x[k]


@native_kernel
def solve_square(A: Matrix, n: int, exchanges: Indices, x: Vector) -> int:
    """Solve A y = x in place, A overwritten; return the rank. Below rank n, y is the solution of least norm."""
    rank = factor_rows(A, n, exchanges, PIVOT_TOLERANCE)
    if rank == n:
        solve_factored_rows(A, n, exchanges, x)
    else:
        _solve_least_norm(A, n, rank, exchanges, x)
    return rank


@native_inline
def _solve_lower_rows(A: Matrix, rank: int, exchanges: Indices, x: Vector) -> None:
    """Apply the row exchanges and L^-1 to x, whose entries behind the rank are not needed."""
    for k in range(rank):
        pivot = exchanges[k]
        x[k], x[pivot] = x[pivot], x[k]
    for k in range(rank):
        for i in range(k + 1, rank):
            x[i] -= A[i, k] * x[k]


@native_kernel
def _solve_least_norm(A: Matrix, n: int, rank: int, exchanges: Indices, x: Vector) -> None:
    """Solve L U y = x for the y of least norm, in place; A is overwritten by B and 1 + B B^T."""
    _solve_lower_rows(A, rank, exchanges, x)
    for k in range(rank - 1, -1, -1):
        inverse = 1.0 / A[k, k]
        x[k] *= inverse
        for j in range(rank, n):
            A[k, j] *= inverse
        for i in range(k):
            factor = A[i, k]
            x[i] -= factor * x[k]
            for j in range(rank, n):
                A[i, j] -= factor * A[k, j]
    for k in range(rank):
        for l in range(k + 1):
            total = 1.0 if l == k else 0.0
            for j in range(rank, n):
                total += A[k, j] * A[l, j]
            A[k, l] = total
    factor_cholesky(A, rank, 0.0)
    solve_cholesky(A, rank, x)
    for j in range(rank, n):
        x[j] = 0.0
    for k in range(rank):
        for j in range(rank, n):
            x[j] += A[k, j] * x[k]
    for j in range(rank, n):
        column = exchanges[j]
        x[j], x[column] = x[column], x[j]
