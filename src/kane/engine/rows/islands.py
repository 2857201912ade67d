"""The row problem island by island: S lambda = b by elimination, with minimum norm where rows are redundant.

In: the records of the active rows in a RowProblem, grouped by constraint. Out: their forces in ``force``, and
v = D^-1 z + W lambda in the place of z / D. A force moves the columns (speeds) of its own bodies and of the bodies that
carry them. Rows without a common column have S = 0 between them. Rows that are coupled, also through other rows, form
an island, so that the cost grows linearly with the number of islands. The results equal those of the compiled solutions
of ``kane.formulation.quantities.responses``.

Source: Golub & Van Loan, Matrix Computations, 4th ed., sections 4.2 and 5.5.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.linear.products import multiply
from kane.engine.linear.redundant_rows import NONE, eliminate, shorten
from kane.engine.memory.contact_codes import COULOMB, MANY_SPEEDS, STICKING
from kane.engine.memory.loop_arguments import Indices, Matrix
from kane.engine.memory.views import (
    GapTerms,
    RowRecord,
    record_tail_at,
    record_tail_size,
    row_record_at,
    row_record_size,
)
from kane.engine.rows.row_problem import DEPENDENT, LEAST_BOUND, NO_SOLUTION, SOLVED, RowProblem


@native_kernel
def solve_islands(k: RowProblem, groups: int, shortest: bool, limits: tuple[float, float, float, float]) -> Any:
    """Compute the forces in ``force``, and v of udot = L^-1 v in the place of z / D.

    Args:
        k: RowProblem with the records of the active rows.
        groups: number of groups of rows.
        shortest: whether redundant forces must have the least norm; this matters for sliding friction.
        limits: INDEPENDENT, REDUNDANT, AMPLIFIED and CONSISTENT of ``tree_response``.

    Returns:
        SOLVED, DEPENDENT, or NO_SOLUTION if rows are nearly dependent or contradict each other. Then the least ratio of
        its square that remains of an independent row.
    """
    _tie(k, groups)
    found, least = SOLVED, 1.0
    for i in range(groups):
        if k.group_root[i] == i:
            solved, share = _solve_island(k, i, shortest, limits)
            if solved == NO_SOLUTION:
                return NO_SOLUTION, 0.0
            found, least = max(found, solved), min(least, share)
    return found, least


@native_kernel
def tie_islands(k: RowProblem, groups: int) -> None:
    """Chain the groups to islands. The first group of an island is its own root."""
    _tie(k, groups)
    for first in range(groups):
        if k.group_root[first] == first:
            _number_columns(k, first)


@native_kernel
def load_island(k: RowProblem, first: int) -> int:
    """Load y and w of the rows of an island, and their S = A M^-1 A^T; return the number of rows.

    Args:
        k: RowProblem after ``tie_islands``.
        first: first group of the island.
    """
    columns = _list_columns(k, first)
    m, _ = _load(k, first, columns)
    multiply(k.Y, k.W, m, columns, m, k.S)
    return int(m)


@native_kernel
def push_island(k: RowProblem, first: int) -> None:
    """Add W lambda of the loaded island to v; ``b`` holds the forces or impulses lambda of its rows."""
    _push(k, first, _list_columns(k, first), False)


@native_kernel
def share_friction(k: RowProblem, rows: int, gaps: GapTerms, limits: tuple[float, float, float, float]) -> bool:
    """Share redundant friction of sticking contacts by their bounds in each island: minimize sum f^2 / (mu N).

    With g = f / sqrt(mu N), the shares are the g of least norm with the same generalized forces.

    Args:
        k: RowProblem with solved islands.
        rows: number of active rows.
        gaps: GapTerms with the friction coefficients.
        limits: see ``solve_islands``.

    Returns:
        False if some rows are nearly dependent.
    """
    first, counted = -1, 0
    while counted < rows:
        first += 1
        counted += k.group_rows[first]
        if k.group_root[first] != first:
            continue
        m = _fill_friction(k, first, gaps)
        rank = eliminate(k.S, k.pivot, k.square, k.b, k.loose, m, limits)
        if rank == NONE or (rank < m and not shorten(k.S, k.pivot, rank, k.b, m, k.exchanges)):
            return False
        _bring_back(k, m)
        i, r = first, 0
        while i != NONE and rank < m:
            for own in range(_first_friction_row(k, i), k.group_rows[i]):
                k.force[k.slot[i] + own] = k.b[r] * k.reach[r]
                r += 1
            i = k.group_next[i]
    return True


@native_kernel
def answer_islands(k: RowProblem, groups: int, G: Matrix, island: Indices) -> None:
    """Compute S of each island in G, by the numbers of all rows, and the first constraint of each island.

    Args:
        k: RowProblem with the records of sticking constraints.
        groups: number of groups of rows.
        G: Delassus matrix of all rows, (m, m); entries between islands are not written.
        island: number of the first constraint of the island, (nc,); entries of other constraints are not written.
    """
    _tie(k, groups)
    for first in range(groups):
        if k.group_root[first] != first:
            continue
        columns = _number_columns(k, first)
        m, _ = _load(k, first, columns)
        multiply(k.Y, k.W, m, columns, m, k.S)
        i, r = first, 0
        while i != NONE:
            c = k.group_constraint[i]
            island[c] = k.group_constraint[first]
            normal, tangent = k.table.normal[c], k.table.tangent[c]
            for own in range(k.group_rows[i]):
                k.row[r] = (tangent if normal == NONE else normal) + own
                r += 1
            i = k.group_next[i]
        for r in range(m):
            for s in range(m):
                G[k.row[r], k.row[s]] = k.S[r, s]


@native_inline
def note_group(k: RowProblem, group: int, candidate: int, place: int, rows: int, width: int) -> int:
    """Store a group of rows, whose records follow the list of their columns at a place; return their end."""
    start = place + width if k.n > MANY_SPEEDS else place
    k.group_place[group], k.group_rows[group], k.group_width[group] = start, rows, width
    k.group_constraint[group], k.slot[group] = candidate, 0
    if group > 0:
        k.slot[group] = k.slot[group - 1] + k.group_rows[group - 1]
    for r in range(rows):
        k.tail[k.slot[group] + r] = start + (r + 1) * row_record_size(width) - record_tail_size()
    return int(start + rows * row_record_size(width))


@native_inline
def record_of(k: RowProblem, group: int, r: int) -> RowRecord:
    """Return the RowRecord of the r-th row of a group."""
    width = k.group_width[group]
    return row_record_at(k.given.records, k.group_place[group] + r * row_record_size(width), width)


@native_inline
def take_friction_out(k: RowProblem, groups: int) -> None:
    """Replace D^-1 x by D^-1 y in each record, so that no friction acts."""
    for i in range(groups):
        for r in range(k.group_rows[i]):
            row = record_of(k, i, r)
            for j in range(k.group_width[i]):
                row.w[j] = row.y[j] * k.given.inverse[column_of(k, i, j)]


@native_inline
def column_of(k: RowProblem, group: int, j: int) -> int:
    """Return the j-th column of a group."""
    return int(k.given.records[k.group_place[group] - k.group_width[group] + j]) if k.n > MANY_SPEEDS else j


@native_inline
def _tie(k: RowProblem, groups: int) -> None:
    """Chain the groups with common columns to islands; store the first group of the island of each column."""
    for j in range(k.n):
        k.owner[j] = NONE
    for i in range(groups):
        k.group_root[i], k.group_next[i] = i, NONE
        for j in range(k.group_width[i]):
            if k.n > MANY_SPEEDS or _moves(k, i, j):
                column = column_of(k, i, j)
                if k.owner[column] == NONE:
                    k.owner[column] = i
                else:
                    first, second = _root(k, k.owner[column]), _root(k, i)
                    k.group_root[max(first, second)] = min(first, second)
    for i in range(groups - 1, -1, -1):
        root = _root(k, i)
        if root != i:
            k.group_root[i] = root
            k.group_next[i], k.group_next[root] = k.group_next[root], i
    for j in range(k.n):
        if k.owner[j] != NONE:
            k.owner[j] = k.group_root[k.owner[j]]


@native_inline
def _moves(k: RowProblem, group: int, j: int) -> bool:
    """Check whether a group has a nonzero entry in its j-th column."""
    found = False
    for r in range(k.group_rows[group]):
        row = record_of(k, group, r)
        found = found or row.y[j] != 0.0 or row.w[j] != 0.0
    return bool(found)


@native_inline
def _root(k: RowProblem, i: int) -> int:
    """Return the first group of the island of a group."""
    while k.group_root[i] != i:
        i = k.group_root[i]
    return int(i)


@native_inline
def _solve_island(k: RowProblem, first: int, shortest: bool, limits: tuple[float, float, float, float]) -> Any:
    """Solve one island and add its forces to v; return the result of the solver and the least remaining ratio."""
    _, _, amplified, kept = limits
    columns = _number_columns(k, first)
    m, moving = _load(k, first, columns)
    multiply(k.Y, k.W, m, columns, m, k.S)
    others = 0.0
    for j in range(columns):
        others = max(others, abs(k.given.scaled[k.column[j]]))
    rank = eliminate(k.S, k.pivot, k.square, k.b, k.loose, m, limits)
    if rank == NONE:
        return NO_SOLUTION, 0.0
    largest, left_over, pushed, least = 0.0, 0.0, 0.0, 1.0
    for r in range(m):
        for i in range(min(r, rank)):
            k.b[r] -= k.S[r, i] * k.pivot[i] * k.b[i]
        size = k.b[r] * k.b[r] / k.square[r]
        if r < rank:
            largest, least = max(largest, size), min(least, 1.0 / (k.pivot[r] * k.square[r]))
        else:
            left_over = max(left_over, size)
    for r in range(m - 1, -1, -1):
        total = k.b[r]
        for j in range(r + 1, rank):
            total -= k.S[r, j] * k.b[j]
        k.b[r] = total * k.pivot[r]
    if shortest and rank < m and not shorten(k.S, k.pivot, rank, k.b, m, k.exchanges):
        return NO_SOLUTION, 0.0
    _bring_back(k, m)
    for r in range(m):
        pushed += abs(k.b[r]) * k.reach[r]
    _push(k, first, columns, rank == columns and not moving and others > 0.0)
    if pushed > amplified * others or left_over > kept * kept * largest or not math.isfinite(largest + pushed):
        return NO_SOLUTION, 0.0
    return (SOLVED if rank == m else DEPENDENT), least


@native_inline
def _bring_back(k: RowProblem, m: int) -> None:
    """Return b from the order of elimination to the order of the rows."""
    for r in range(m):
        k.pivot[k.loose[r]] = k.b[r]
    for r in range(m):
        k.b[r] = k.pivot[r]


@native_inline
def _first_friction_row(k: RowProblem, i: int) -> int:
    """Return the first friction row of a group that is a sticking Coulomb contact, else its number of rows."""
    c = k.group_constraint[i]
    sticks = c != NONE and k.table.friction[c] == COULOMB and k.state.status[c] == STICKING
    return 1 if sticks else int(k.group_rows[i])


@native_inline
def _number_columns(k: RowProblem, first: int) -> int:
    """Number the columns of an island consecutively; return their number."""
    i, columns = first, 0
    while i != NONE:
        for j in range(k.group_width[i]):
            place = column_of(k, i, j)
            if k.owner[place] == first:
                k.owner[place], k.number[place], k.column[columns] = _mark(first), columns, place
                columns += 1
        i = k.group_next[i]
    return columns


@native_inline
def _list_columns(k: RowProblem, first: int) -> int:
    """List the numbered columns of an island in ``column``; return their number."""
    i, columns = first, 0
    while i != NONE:
        for j in range(k.group_width[i]):
            place = column_of(k, i, j)
            if k.owner[place] == _mark(first):
                k.column[k.number[place]] = place
                columns = max(columns, k.number[place] + 1)
        i = k.group_next[i]
    return columns


@native_inline
def _mark(first: int) -> int:
    """Return the owner that marks the numbered columns of an island."""
    return NONE - 1 - first


@native_inline
def _load(k: RowProblem, first: int, columns: int) -> Any:
    """Load b, squares, reaches and packed records; return the number of rows, and whether a remainder is nonzero."""
    i, m, moving = first, 0, False
    while i != NONE:
        for r in range(k.group_rows[i]):
            tail = record_tail_at(k.given.records, k.tail[k.slot[i] + r])
            _pack(k, first, columns, i, r, m, 1.0)
            k.b[m], k.square[m], k.reach[m] = tail.b[0], tail.square[0], tail.reach[0]
            moving = moving or tail.remainder[0] != 0.0
            m += 1
        i = k.group_next[i]
    return m, moving


@native_inline
def _pack(k: RowProblem, first: int, columns: int, group: int, own: int, r: int, scale: float) -> None:
    """Copy y and w of a row, scaled, to row r of Y and column r of W, by the numbers of the columns."""
    row = record_of(k, group, own)
    for j in range(columns):
        k.Y[r, j] = k.W[j, r] = 0.0
    for j in range(k.group_width[group]):
        place = column_of(k, group, j)
        if k.owner[place] == _mark(first):
            k.Y[r, k.number[place]], k.W[k.number[place], r] = scale * row.y[j], scale * row.w[j]


@native_inline
def _fill_friction(k: RowProblem, first: int, gaps: GapTerms) -> int:
    """Compute S and g of the friction rows of sticking contacts, scaled by sqrt(mu N); return their number."""
    i, m, columns, least = first, 0, _list_columns(k, first), 0.0
    while i != NONE:
        for own in range(k.group_rows[i]):
            least = max(least, LEAST_BOUND * abs(k.force[k.slot[i] + own]))
        i = k.group_next[i]
    i = first
    while i != NONE and least > 0.0:
        for own in range(_first_friction_row(k, i), k.group_rows[i]):
            bound = gaps.static[k.group_constraint[i]] * k.force[k.slot[i]]
            k.reach[m] = math.sqrt(max(bound, least))
            _pack(k, first, columns, i, own, m, k.reach[m])
            k.square[m] = record_of(k, i, own).square[0] * k.reach[m] * k.reach[m]
            k.b[m] = k.force[k.slot[i] + own] / k.reach[m]
            m += 1
        i = k.group_next[i]
    multiply(k.Y, k.W, m, columns, m, k.S)
    return m


@native_inline
def _push(k: RowProblem, first: int, columns: int, fixed: bool) -> None:
    """Store the forces by row and add W lambda to v; v is zero if the rows leave no freedom and have no motion."""
    i, r = first, 0
    while i != NONE:
        for own in range(k.group_rows[i]):
            k.force[k.slot[i] + own] = k.b[r]
            r += 1
        i = k.group_next[i]
    for j in range(columns):
        pushed = k.given.scaled[k.column[j]]
        for s in range(r):
            pushed += k.W[j, s] * k.b[s]
        k.given.scaled[k.column[j]] = 0.0 if fixed else pushed
