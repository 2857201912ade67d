"""Forces of many rows: those that move nothing in common are solved for apart, so that n times as many cost n times.

A row has a force for each column that it can move, its own and those of all that carries it; rows that have no column
in common have S = 0 between them. Rows that are tied so, over others too, are an island, of S of its own. What is found
is what the compiled solutions of ``kane.formulation.quantities.responses`` find.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.linear.redundant_rows import NONE, eliminate, shorten
from kane.engine.memory.contact_codes import COULOMB, MANY_SPEEDS, STICKING
from kane.engine.memory.views import record_tail_at, record_tail_size, row_record_at, row_record_size

# How rows in force were solved for: not at all; each force is determined; rows repeat others.
UNSOLVED, DETERMINED, REPEATING = range(3)
# What hardly pushes takes as much of redundant friction as if it pushed with this share of the largest force.
SHARED = 1e-6


@native_kernel
def solve_islands(k: Any, groups: int, shortest: bool, limits: Any) -> Any:
    """Forces into ``found`` behind the speeds, v of udot = L^-1 v in the place of z / D.

    Args:
        k: a Quick with the records of the rows in force.
        groups: of how many groups.
        shortest: whether forces are to be the shortest, which makes a difference to friction that slips alone.
        limits: shares of the squares of rows by which they are independent, and repeat others; by how much forces may
            amplify accelerations; the share of the accelerations of rows that is rounding.

    Returns:
        UNSOLVED where rows are nearly dependent, or contradict each other, DETERMINED or REPEATING; and the least share
        of its square that a row which repeats no others has left.
    """
    _tie(k, groups)
    found, least = DETERMINED, 1.0
    for i in range(groups):
        if k.group_root[i] == i:
            solved, share = _solve_island(k, i, shortest, limits)
            if solved == UNSOLVED:
                return UNSOLVED, 0.0
            found, least = max(found, solved), min(least, share)
    return found, least


@native_kernel
def share_friction(k: Any, rows: int, gaps: Any, limits: Any) -> bool:
    """Redundant friction of what sticks shared out as its bounds, in each island: the least sum of f^2 / (mu N).

    With g = f / sqrt(mu N) that is the shortest g that makes what friction makes.

    Args:
        k: a Quick whose islands are solved.
        rows: how many are in force.
        gaps: GapTerms.
        limits: as of ``solve_islands``.

    Returns:
        False where it is not clear which rows repeat others.
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
            for own in range(_first_row(k, i, True), k.group_rows[i]):
                k.force[k.slot[i] + own] = k.b[r] * k.reach[r]
                r += 1
            i = k.group_next[i]
    return True


@native_kernel
def answer_islands(k: Any, groups: int, G: Any, island: Any) -> None:
    """S of each island into G by the numbers of all rows; of each candidate the first one of its island.

    Args:
        k: a Quick with the records of candidates that are held.
        groups: of how many.
        G: (m, m) of all rows; what is not of one island is not written.
        island: of all candidates; that of the others is not written.
    """
    _tie(k, groups)
    for first in range(groups):
        if k.group_root[first] != first:
            continue
        columns = _number_columns(k, first)
        m, _ = _load(k, first, columns)
        _fill(k, m, columns)
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
def note_group(k: Any, group: int, candidate: int, place: int, rows: int, width: int) -> int:
    """A group of rows whose records have been put at a place, behind the list of their columns; where they end."""
    start = place + width if k.n > MANY_SPEEDS else place
    k.group_place[group], k.group_rows[group], k.group_width[group] = start, rows, width
    k.group_constraint[group], k.slot[group] = candidate, 0
    if group > 0:
        k.slot[group] = k.slot[group - 1] + k.group_rows[group - 1]
    for r in range(rows):
        k.tail[k.slot[group] + r] = start + (r + 1) * row_record_size(width) - record_tail_size()
    return int(start + rows * row_record_size(width))


@native_inline
def record_of(k: Any, group: int, r: int) -> Any:
    """Return the RowRecord of the r-th row of a group."""
    width = k.group_width[group]
    return row_record_at(k.given.records, k.group_place[group] + r * row_record_size(width), width)


@native_inline
def take_friction_out(k: Any, groups: int) -> None:
    """D^-1 y of every row in the place of D^-1 x."""
    for i in range(groups):
        for r in range(k.group_rows[i]):
            row = record_of(k, i, r)
            for j in range(k.group_width[i]):
                row.w[j] = row.y[j] * k.given.inverse[column_of(k, i, j)]


@native_inline
def column_of(k: Any, group: int, j: int) -> int:
    """The j-th column of a group."""
    return int(k.given.records[k.group_place[group] - k.group_width[group] + j]) if k.n > MANY_SPEEDS else j


@native_inline
def _tie(k: Any, groups: int) -> None:
    """Chains of the groups that have columns in common, each from the first on; of each column the first group."""
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
def _moves(k: Any, group: int, j: int) -> bool:
    """Whether a group has anything in its j-th column."""
    found = False
    for r in range(k.group_rows[group]):
        row = record_of(k, group, r)
        found = found or row.y[j] != 0.0 or row.w[j] != 0.0
    return bool(found)


@native_inline
def _root(k: Any, i: int) -> int:
    while k.group_root[i] != i:
        i = k.group_root[i]
    return int(i)


@native_inline
def _solve_island(k: Any, first: int, shortest: bool, limits: Any) -> Any:
    """The forces of the rows of one island, and what they make of v; how they were found, and the least share."""
    _, _, amplified, kept = limits
    columns = _number_columns(k, first)
    m, moving = _load(k, first, columns)
    _fill(k, m, columns)
    others = 0.0
    for j in range(columns):
        others = max(others, abs(k.given.scaled[k.column[j]]))
    rank = eliminate(k.S, k.pivot, k.square, k.b, k.loose, m, limits)
    if rank == NONE:
        return UNSOLVED, 0.0
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
        return UNSOLVED, 0.0
    _bring_back(k, m)
    for r in range(m):
        pushed += abs(k.b[r]) * k.reach[r]
    _push(k, first, columns, rank == columns and not moving and others > 0.0)
    if pushed > amplified * others or left_over > kept * kept * largest or not math.isfinite(largest + pushed):
        return UNSOLVED, 0.0
    return (DETERMINED if rank == m else REPEATING), least


@native_inline
def _bring_back(k: Any, m: int) -> None:
    """b in the order of the rows, out of that of elimination."""
    for r in range(m):
        k.pivot[k.loose[r]] = k.b[r]
    for r in range(m):
        k.b[r] = k.pivot[r]


@native_inline
def _sticks(k: Any, i: int) -> bool:
    """Whether a group is a contact whose friction holds by its normal force."""
    c = k.group_constraint[i]
    return bool(c != NONE and k.table.friction[c] == COULOMB and k.state.status[c] == STICKING)


@native_inline
def _first_row(k: Any, i: int, friction: bool) -> int:
    """Of which rows of a group are looked at the first: of all, or of friction that sticks; else none is."""
    return (1 if _sticks(k, i) else int(k.group_rows[i])) if friction else 0


@native_inline
def _number_columns(k: Any, first: int) -> int:
    """The columns of an island, one after the other, each with its number there; how many there are."""
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
def _count_columns(k: Any, first: int) -> int:
    """How many columns have a number in an island."""
    i, columns = first, 0
    while i != NONE:
        for j in range(k.group_width[i]):
            place = column_of(k, i, j)
            if k.owner[place] == _mark(first):
                columns = max(columns, k.number[place] + 1)
        i = k.group_next[i]
    return columns


@native_inline
def _mark(first: int) -> int:
    """The owner of columns that have a number in an island."""
    return NONE - 1 - first


@native_inline
def _load(k: Any, first: int, columns: int) -> Any:
    """b and sizes of the rows of an island, and these packed; how many there are, whether one has a remainder."""
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
def _pack(k: Any, first: int, columns: int, group: int, own: int, r: int, scale: float) -> None:
    """y and w of a row of a group, scaled, by the columns of its island: the r-th row of Y, the r-th column of W."""
    row = record_of(k, group, own)
    for j in range(columns):
        k.Y[r, j] = k.W[j, r] = 0.0
    for j in range(k.group_width[group]):
        place = column_of(k, group, j)
        if k.owner[place] == _mark(first):
            k.Y[r, k.number[place]], k.W[k.number[place], r] = scale * row.y[j], scale * row.w[j]


@native_inline
def _fill(k: Any, m: int, columns: int) -> None:
    """S of the rows that are packed."""
    for r in range(m):
        for s in range(m):
            k.S[r, s] = 0.0
        for j in range(columns):
            y = k.Y[r, j]
            if y != 0.0:
                for s in range(m):
                    k.S[r, s] += y * k.W[j, s]


@native_inline
def _fill_friction(k: Any, first: int, gaps: Any) -> int:
    """S of the rows of friction that sticks, each times the root of its bound, and g; how many there are."""
    i, m, columns, least = first, 0, _count_columns(k, first), 0.0
    while i != NONE:
        for own in range(k.group_rows[i]):
            least = max(least, SHARED * abs(k.force[k.slot[i] + own]))
        i = k.group_next[i]
    i = first
    while i != NONE and least > 0.0:
        for own in range(_first_row(k, i, True), k.group_rows[i]):
            bound = gaps.static[k.group_constraint[i]] * k.force[k.slot[i]]
            k.reach[m] = math.sqrt(max(bound, least))
            _pack(k, first, columns, i, own, m, k.reach[m])
            k.square[m] = record_of(k, i, own).square[0] * k.reach[m] * k.reach[m]
            k.b[m] = k.force[k.slot[i] + own] / k.reach[m]
            m += 1
        i = k.group_next[i]
    _fill(k, m, columns)
    return m


@native_inline
def _push(k: Any, first: int, columns: int, fixed: bool) -> None:
    """Forces where they belong, and v by them: zero where rows leave nothing free and nothing moves."""
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
