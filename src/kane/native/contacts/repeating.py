"""Forces of rows of which some repeat others, by elimination that passes over what nothing is left of.

Where rows A of an island repeat others, S = A M^-1 (A + F)^T, F of friction that slips, has as many vectors k with
S k = 0 and n with n^T A = 0: of the forces f + k z that hold all rows the ones with n^T f = 0 are taken, which are
those of least norm. They are found by elimination: rows are passed over where nothing is left of them.

Source: Campbell & Meyer, Generalized Inverses of Linear Transformations, 1979, chapter 7 (the group inverse).
"""

from __future__ import annotations

from typing import Any

from kane.native.call import native_inline, native_kernel

NONE = -1


@native_kernel
def eliminate(S: Any, pivots: Any, square: Any, repeating: Any, m: int, limits: Any) -> int:
    """S = L U by rows in the order given; those of which nothing is left are passed over, in rows and in columns.

    Inverse pivots are zero there; below the diagonal S keeps what is to be multiplied by them.

    Returns:
        How many rows repeat others; which these are is listed. NONE where it is not clear.
    """
    independent, repeated, _, _ = limits
    loose = 0
    for r in range(m):
        for i in range(r):
            share = S[r, i] * pivots[i]
            if share != 0.0:
                for j in range(i + 1, m):
                    S[r, j] -= share * S[i, j]
                d = 0
                while d < loose and repeating[d] < i:
                    S[r, repeating[d]] -= share * S[i, repeating[d]]
                    d += 1
        if S[r, r] > independent * square[r]:
            pivots[r] = 1.0 / S[r, r]
            continue
        for j in range(r, m):
            if not S[r, j] * S[r, j] <= repeated * repeated * square[r] * square[j]:
                return NONE
        pivots[r], repeating[loose] = 0.0, r
        loose += 1
    return loose


@native_kernel
def shorten(S: Any, pivots: Any, rows: Any, loose: int, f: Any, m: int, limits: Any) -> bool:
    """f + k z with n^T f = 0, from what ``eliminate`` has left of S, which is overwritten; whether z is determined.

    Each row d that repeats others has an n, which is put into the row, and a k, into the column, both 1 at d. With
    P of what n has of the other rows, and K of what k has, f - K f_d has no forces of these rows d; the shortest is
    t = (1 + K P)^-1 (f - K f_d), and -P t of these rows.

    Args:
        S, pivots, f, m, limits: of the island.
        rows: those that repeat others, so many of them; the others are listed behind.
        loose: how many repeat others.
    """
    rank = 0
    for r in range(m):
        if pivots[r] != 0.0:
            rows[loose + rank] = r
            rank += 1
    for e in range(loose):
        _find_null(S, pivots, rows[e], rows[loose : loose + rank], f)
    for a in range(rank):
        i = rows[loose + a]
        for b in range(rank):
            S[i, rows[loose + b]] = 1.0 if a == b else 0.0
        for e in range(loose):
            share = S[i, rows[e]]
            if share != 0.0:
                for b in range(rank):
                    S[i, rows[loose + b]] += share * S[rows[e], rows[loose + b]]
    if not _solve_among(S, rows[loose : loose + rank], f, limits[0]):
        return False
    for e in range(loose):
        f[rows[e]] = 0.0
        for b in range(rank):
            f[rows[e]] -= S[rows[e], rows[loose + b]] * f[rows[loose + b]]
    return True


@native_inline
def _find_null(S: Any, pivots: Any, d: int, others: Any, f: Any) -> None:
    """n and k of the row d; what it transmits is taken over by the others."""
    for i in others:
        S[d, i] = -S[d, i] * pivots[i] if i < d else 0.0
    for a in range(others.size - 1, -1, -1):
        i = others[a]
        for j in others[:a]:
            S[d, j] -= S[d, i] * S[i, j] * pivots[j]
        for j in others[a + 1 :]:
            S[i, d] += S[i, j] * S[j, d]
        S[i, d] *= -pivots[i]
        f[i] -= S[i, d] * f[d]


@native_inline
def _solve_among(S: Any, rows: Any, f: Any, least: float) -> bool:
    """The equations of S and f of these rows by elimination; whether no pivot, 1 and more but for friction, is less."""
    for a in range(rows.size):
        i = rows[a]
        if not S[i, i] > least:
            return False
        for other in rows[a + 1 :]:
            share = S[other, i] / S[i, i]
            f[other] -= share * f[i]
            for j in rows[a + 1 :]:
                S[other, j] -= share * S[i, j]
    for a in range(rows.size - 1, -1, -1):
        i = rows[a]
        for j in rows[a + 1 :]:
            f[i] -= S[i, j] * f[j]
        f[i] /= S[i, i]
    return True
