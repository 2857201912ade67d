"""Embedding of constraints with many closed loops, front by front, so that the cost is linear in the number of loops.

Each front (``kane.formulation.constraints.fronts``) selects dependent speeds among its own columns by QR with column
pivoting, and solves for them. A pivot is delayed if a column beyond the front has a much larger norm. The rows and
columns without a pivot pass to the parent front, which factors them with its own. Each loop therefore finds its rank
and selection, and the next loop corrects an ill-conditioned selection. A front also eliminates independent speeds that
only M couples to later fronts. The matrices are dense arrays of the whole model. Each front has lists of its rows and
columns, so that fronts copy no matrix entries.

Source: the multifrontal method with delayed pivots, Duff & Reid 1983.
"""

from __future__ import annotations

import math
from typing import Any

from kane.deferred import NamedTuple
from kane.engine.call import native_inline, native_kernel
from kane.engine.linear.factorizations import RANK_TOLERANCE, ROUNDING
from kane.engine.memory.views import front_scratch_at

# Pivot size relative to the longest column beyond the front, below which row and column pass to the parent front.
WEAK = 0.125
# Size relative to the longest column, below which the remainder of a column or row is rounding error. It does not pass
# to the parent front.
ZERO_PIVOT = 64.0 * ROUNDING
# Offsets in the plan of a front: parent front or -1, number of own columns, of columns beyond, and of rows. The lists
# of own columns, columns beyond and rows follow.
PARENT, OWN_HERE, BEYOND, ROWS_OWN, LISTS = range(5)


class Fronts(NamedTuple):
    """Fronts of a model, and their factors from ``factor_fronts``.

    Attributes:
        A: constraint matrix, shape (m, n), output of the program "constraints"; ``factor_fronts`` overwrites it.
        plan: integers: number of column pairs that M couples, offset of each front in the plan, pairs, plans of fronts.
        number: number of fronts.
        lists, columns, own, rows, pivots, free, first_column, first_row, next_column, next_row, candidates, diag, beta:
            arrays of FrontScratch.
    """

    A: Any
    plan: Any
    number: int
    lists: Any
    columns: Any
    own: Any
    rows: Any
    pivots: Any
    free: Any
    first_column: Any
    first_row: Any
    next_column: Any
    next_row: Any
    candidates: Any
    diag: Any
    beta: Any


@native_inline
def fronts_at(A: Any, plan: Any, work: Any, start: int, number: int) -> Any:
    """Return the Fronts of A whose FrontScratch begins at ``start``."""
    s = front_scratch_at(work, start, number, A.shape[0], A.shape[1])
    return Fronts(
        A,
        plan,
        number,
        s.lists,
        s.columns,
        s.own,
        s.rows,
        s.pivots,
        s.free,
        s.first_column,
        s.first_row,
        s.next_column,
        s.next_row,
        s.candidates,
        s.diag,
        s.beta,
    )


@native_kernel
def factor_fronts(t: Any, A: Any) -> int:
    """Factor A in place and select dependent speeds among ``candidates``, each front before its parent.

    The pivot columns of A contain the reflectors. In the pivot rows, the other columns of the front contain D.

    Returns:
        Rank of A.
    """
    rank, longest = 0, 0.0
    for f in range(t.number):
        t.first_column[f] = t.first_row[f] = -1
    for f in range(t.number):
        _gather(t, A, f)
        longest = _pivot(t, A, f, longest)
        _pass_on(t, A, f, ZERO_PIVOT * longest)
        _solve_columns(t, A, f)
        rank += t.pivots[f]
    return rank


@native_kernel
def _gather(t: Any, A: Any, f: int) -> None:
    """Write the lists of a front: own columns, columns passed to it, columns beyond; own rows, rows passed to it."""
    m, n = A.shape
    at, base, k = t.plan[1 + f], f * (n + m), 0
    for i in range(t.plan[at + OWN_HERE]):
        t.lists[base + k] = t.plan[at + LISTS + i]
        k += 1
    column = t.first_column[f]
    while column >= 0:
        t.lists[base + k] = column
        column = t.next_column[column]
        k += 1
    t.own[f] = k
    start = at + LISTS + t.plan[at + OWN_HERE]
    for i in range(t.plan[at + BEYOND]):
        t.lists[base + k] = t.plan[start + i]
        k += 1
    t.columns[f], k = k, 0
    start += t.plan[at + BEYOND]
    for i in range(t.plan[at + ROWS_OWN]):
        t.lists[base + n + k] = t.plan[start + i]
        k += 1
    row = t.first_row[f]
    while row >= 0:
        t.lists[base + n + k] = row
        row = t.next_row[row]
        k += 1
    t.rows[f] = k


@native_kernel
def _square(t: Any, A: Any, f: int, column: int, done: int) -> float:
    """Return the squared norm of a column in the rows of a front, without its first ``done`` rows."""
    base, total = f * (A.shape[0] + A.shape[1]) + A.shape[1], 0.0
    for i in range(done, t.rows[f]):
        x = A[t.lists[base + i], column]
        total += x * x
    return total


@native_kernel
def _pivot(t: Any, A: Any, f: int, longest: float) -> float:
    """Select the pivots of a front by column norm, and reflect its columns.

    Returns:
        Norm of the longest column in this front and in all earlier fronts.
    """
    m, n = A.shape
    base, own, columns = f * (n + m), t.own[f], t.columns[f]
    done = 0
    while True:
        best, chosen, other = 0.0, -1, 0.0
        for k in range(done, columns):
            column = t.lists[base + k]
            square = _square(t, A, f, column, done)
            if done == 0:
                longest = max(longest, math.sqrt(square))
            if t.candidates[column] == 1:
                if k >= own:
                    other = max(other, square)
                elif square > best:
                    best, chosen = square, k
        if chosen < 0 or math.sqrt(best) <= max(RANK_TOLERANCE * longest, WEAK * math.sqrt(other)):
            break
        t.lists[base + done], t.lists[base + chosen] = t.lists[base + chosen], t.lists[base + done]
        _reflect_columns(t, A, f, done)
        done += 1
    t.pivots[f] = done
    return longest


@native_kernel
def _reflect_columns(t: Any, A: Any, f: int, k: int) -> None:
    """Write the Householder vector of the k-th column of a front into this column; reflect all later columns."""
    m, n = A.shape
    base, rows = f * (n + m), t.rows[f]
    column, top = t.lists[base + k], t.lists[base + n + k]
    size = _square(t, A, f, column, k)
    norm = math.sqrt(size)
    t.beta[column] = beta = 1.0 / (size + norm * abs(A[top, column]))
    t.diag[column] = -math.copysign(norm, A[top, column])
    A[top, column] -= t.diag[column]
    for l in range(k + 1, t.columns[f]):
        j, total = t.lists[base + l], 0.0
        for i in range(k, rows):
            row = t.lists[base + n + i]
            total += A[row, column] * A[row, j]
        total *= beta
        for i in range(k, rows):
            row = t.lists[base + n + i]
            A[row, j] -= total * A[row, column]


@native_kernel
def _pass_on(t: Any, A: Any, f: int, zero: float) -> None:
    """Pass rows and columns without a pivot to the parent of a front.

    Own columns whose remainder is at most ``zero``, and all own columns of a front without a parent, become independent
    here. The list contains them directly after the pivots. Rows with a remainder of at most ``zero`` are redundant.
    """
    m, n = A.shape
    base = f * (n + m)
    parent, done, own = t.plan[t.plan[1 + f] + PARENT], t.pivots[f], t.own[f]
    free = done
    for k in range(done, own):
        column = t.lists[base + k]
        if parent >= 0 and math.sqrt(_square(t, A, f, column, done)) > zero:
            t.next_column[column], t.first_column[parent] = t.first_column[parent], column
        else:
            t.lists[base + k], t.lists[base + free] = t.lists[base + free], column
            free += 1
    t.free[f] = free - done
    for i in range(done, t.rows[f]):
        row, largest = t.lists[base + n + i], 0.0
        for k in range(free, t.columns[f]):
            largest = max(largest, abs(A[row, t.lists[base + k]]))
        if parent >= 0 and largest > zero:
            t.next_row[row], t.first_row[parent] = t.first_row[parent], row


@native_kernel
def _solve_columns(t: Any, A: Any, f: int) -> None:
    """Overwrite the columns of a front that have no pivot by D = -R^-1 times these columns, in the pivot rows."""
    m, n = A.shape
    base, done = f * (n + m), t.pivots[f]
    for l in range(done, t.columns[f]):
        j = t.lists[base + l]
        for k in range(done - 1, -1, -1):
            column, row = t.lists[base + k], t.lists[base + n + k]
            A[row, j] *= -1.0 / t.diag[column]
            for i in range(k):
                above = t.lists[base + n + i]
                A[above, j] += A[above, column] * A[row, j]


@native_kernel
def particular(t: Any, A: Any, x: Any, e: Any) -> None:
    """Compute e of v_d = D v_i + e for A v + x = 0, front by front.

    In each front, v_i are all columns without a pivot in this front; later fronts may make some of them dependent.

    Args:
        t, A: factors from ``factor_fronts``.
        x: shape (m,), in units of the rows; overwritten.
        e: shape (n,), in units of v; written, zero for columns without a pivot.
    """
    m, n = A.shape
    for k in range(n):
        e[k] = 0.0
    for f in range(t.number):
        base = f * (n + m)
        done, rows = t.pivots[f], t.rows[f]
        for k in range(done):
            column, total = t.lists[base + k], 0.0
            for i in range(k, rows):
                row = t.lists[base + n + i]
                total += A[row, column] * x[row]
            total *= t.beta[column]
            for i in range(k, rows):
                row = t.lists[base + n + i]
                x[row] -= total * A[row, column]
        for k in range(done - 1, -1, -1):
            column, row = t.lists[base + k], t.lists[base + n + k]
            e[column] = -x[row] / t.diag[column]
            for i in range(k):
                above = t.lists[base + n + i]
                x[above] += A[above, column] * e[column]


@native_kernel
def reduce_fronts(t: Any, A: Any, M: Any, h: Any, e: Any, whole: Any) -> bool:
    """Compute M~ = R^T M R and h~ = R^T (h + M e) in place, and eliminate the independent speeds of each front.

    Args:
        t, A: factors from ``factor_fronts``.
        M: mass matrix, shape (n, n), both triangles; overwritten.
        h: shape (n,), in units of M udot; overwritten.
        e: shape (n,), in units of udot, from ``particular``.
        whole: scratch, shape (n,), zero on entry; largest values of the diagonal of M~ during the elimination.

    Returns:
        True if each pivot of M~ exceeds n * ROUNDING times the largest value of its diagonal entry.
    """
    m, n = A.shape
    positive = True
    for f in range(t.number):
        base = f * (n + m)
        done, free, columns = t.pivots[f], t.free[f], t.columns[f]
        _reduce_front(t, A, M, h, e, f)
        for k in range(done, done + free):
            i = t.lists[base + k]
            whole[i] = max(whole[i], M[i, i])
            positive = positive and M[i, i] > n * ROUNDING * whole[i]
            for l in range(k + 1, columns):
                j = t.lists[base + l]
                whole[j] = max(whole[j], M[j, j])
                share = M[i, j] / M[i, i]
                h[j] -= share * h[i]
                for o in range(k + 1, columns):
                    c = t.lists[base + o]
                    M[j, c] -= share * M[i, c]
    return positive


@native_kernel
def _reduce_front(t: Any, A: Any, M: Any, h: Any, e: Any, f: int) -> None:
    """Substitute the dependent speeds of a front in M and h: columns first, then rows."""
    m, n = A.shape
    base, done, columns = f * (n + m), t.pivots[f], t.columns[f]
    for o in range(columns):
        i = t.lists[base + o]
        for k in range(done):
            d, row = t.lists[base + k], t.lists[base + n + k]
            share = M[i, d]
            if share != 0.0:
                h[i] += share * e[d]
                for l in range(done, columns):
                    j = t.lists[base + l]
                    M[i, j] += share * A[row, j]
    for k in range(done):
        d, row = t.lists[base + k], t.lists[base + n + k]
        for o in range(done, columns):
            i = t.lists[base + o]
            share = A[row, i]
            if share != 0.0:
                h[i] += share * h[d]
                for l in range(done, columns):
                    j = t.lists[base + l]
                    M[i, j] += share * M[d, j]


@native_kernel
def back(t: Any, A: Any, e: Any, v: Any) -> None:
    """Compute v_d = D v_i + e from the last front to the first; v, shape (n,), contains v_i on entry."""
    m, n = A.shape
    for f in range(t.number - 1, -1, -1):
        base, done = f * (n + m), t.pivots[f]
        for k in range(done):
            column, row = t.lists[base + k], t.lists[base + n + k]
            v[column] = e[column]
            for l in range(done, t.columns[f]):
                j = t.lists[base + l]
                v[column] += A[row, j] * v[j]


@native_kernel
def accelerations(t: Any, A: Any, M: Any, h: Any, e: Any, udot: Any) -> None:
    """Solve M~ udot_i = -h~ and udot_d = D udot_i + e for udot, shape (n,); M and h are from ``reduce_fronts``."""
    m, n = A.shape
    for f in range(t.number - 1, -1, -1):
        base = f * (n + m)
        done, free, columns = t.pivots[f], t.free[f], t.columns[f]
        for k in range(done + free - 1, done - 1, -1):
            i = t.lists[base + k]
            total = h[i]
            for l in range(k + 1, columns):
                j = t.lists[base + l]
                total += M[i, j] * udot[j]
            udot[i] = -total / M[i, i]
        for k in range(done):
            column, row = t.lists[base + k], t.lists[base + n + k]
            udot[column] = e[column]
            for l in range(done, columns):
                j = t.lists[base + l]
                udot[column] += A[row, j] * udot[j]
