"""Forces of rows of which some repeat others, by elimination that takes the rows in the order of what is left of them.

Where rows A of an island repeat others, S = A M^-1 (A + F)^T, F of friction that slips, has as many vectors k with
S k = 0 and n with n^T A = 0: of the forces f + k z that hold all rows the ones with n^T f = 0 are taken, which are
those of least norm. They are found by elimination, which ends where nothing is left of the rows that it has not taken.

In the order given, a row might hardly differ from those before it, and rounding be all that is left of others behind
it: feet side by side, corners of a box turned by a hair from the tangents of the floor.

Source: Campbell & Meyer, Generalized Inverses of Linear Transformations, 1979, chapter 7 (the group inverse); Golub &
Van Loan, Matrix Computations, 4th ed., section 4.2.8 (pivots on the diagonal).
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.linear.elimination import solve_square

NONE = -1
# A row is preferred to one before it when more is left of it by more than rounding.
LONGER = 1.0 + 1e-10


@native_inline
def eliminate(S: Any, pivots: Any, square: Any, f: Any, order: Any, m: int, limits: Any) -> int:
    """S = L U, rows and columns in the order of what is left of the squares of rows, the largest share first.

    S, the squares and f are put into that order, and which row stands where is listed. Below the diagonal S keeps what
    is to be multiplied by the inverse pivots, which are zero of the rows behind.

    Returns:
        The rank: the rows behind repeat those before. NONE where that is not clear.
    """
    independent, repeated, _, _ = limits
    for r in range(m):
        order[r], pivots[r] = r, 0.0
    for i in range(m):
        chosen, most = NONE, independent
        for r in range(i, m):
            share = S[r, r] / square[r] if square[r] > 0.0 else 0.0
            if share > most:
                chosen, most = r, LONGER * share
        if chosen == NONE:
            return i if _is_nothing_left(S, square, i, m, repeated) else NONE
        if chosen != i:
            _exchange(S, i, chosen, m)
            square[i], square[chosen] = square[chosen], square[i]
            f[i], f[chosen] = f[chosen], f[i]
            order[i], order[chosen] = order[chosen], order[i]
        pivots[i] = 1.0 / S[i, i]
        for r in range(i + 1, m):
            share = S[r, i] * pivots[i]
            if share != 0.0:
                for j in range(i + 1, m):
                    S[r, j] -= share * S[i, j]
    return m


@native_inline
def _is_nothing_left(S: Any, square: Any, first: int, m: int, repeated: float) -> bool:
    """Whether rounding is all that is left of the rows from the first on."""
    nothing = True
    for r in range(first, m):
        for j in range(first, m):
            nothing = nothing and S[r, j] * S[r, j] <= repeated * repeated * square[r] * square[j]
    return bool(nothing)


@native_inline
def _exchange(S: Any, i: int, r: int, m: int) -> None:
    for j in range(m):
        S[i, j], S[r, j] = S[r, j], S[i, j]
    for j in range(m):
        S[j, i], S[j, r] = S[j, r], S[j, i]


@native_kernel
def shorten(S: Any, pivots: Any, rank: int, f: Any, m: int, exchanges: Any) -> bool:
    """f + k z with n^T f = 0, from what ``eliminate`` has left of S, which is overwritten; whether z is determined.

    Each row d behind the rank has an n, which is put into the row, and a k, into the column, both 1 at d. With
    P of what n has of the rows before, and K of what k has, f - K f_d has no forces of these rows d; the shortest is
    t = (1 + K P)^-1 (f - K f_d), and -P t of these rows.
    """
    for d in range(rank, m):
        _find_null(S, pivots, d, rank, f)
    for i in range(rank):
        for j in range(rank):
            S[i, j] = 1.0 if i == j else 0.0
        for d in range(rank, m):
            share = S[i, d]
            if share != 0.0:
                for j in range(rank):
                    S[i, j] += share * S[d, j]
    if solve_square(S, rank, exchanges, f) < rank:
        return False
    for d in range(rank, m):
        f[d] = 0.0
        for j in range(rank):
            f[d] -= S[d, j] * f[j]
    return True


@native_inline
def _find_null(S: Any, pivots: Any, d: int, rank: int, f: Any) -> None:
    """n and k of the row d; what it transmits is taken over by those before the rank."""
    find_left_null(S, pivots, d, rank)
    for i in range(rank - 1, -1, -1):
        for j in range(i + 1, rank):
            S[i, d] += S[i, j] * S[j, d]
        S[i, d] *= -pivots[i]
        f[i] -= S[i, d] * f[d]


@native_inline
def find_left_null(S: Any, pivots: Any, d: int, rank: int) -> None:
    """Replace the row d of an eliminated S by n, with n^T A = 0 and n_d = 1."""
    for i in range(rank):
        S[d, i] = -S[d, i] * pivots[i]
    for i in range(rank - 1, -1, -1):
        for j in range(i):
            S[d, j] -= S[d, i] * S[i, j] * pivots[j]
