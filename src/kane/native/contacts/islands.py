"""Forces of many rows: those that move nothing in common are solved for apart, so that n times as many cost n times.

A row has a force for each column that it can move, its own and those of all that carries it; rows that have no column
in common have S = 0 between them. Rows that are tied so, over others too, are an island, of S of its own. What is found
is what the compiled solutions of ``kane.formulation.quantities.responses`` find.
"""

from __future__ import annotations

import math
from typing import Any

from kane.native.call import native_inline, native_kernel
from kane.native.contacts.blocks import ITEM, REACH, REMAINDER, SQUARE, B, record_size
from kane.native.contacts.header import (
    CHANGING,
    COULOMB,
    FRICTION,
    HELD,
    MANY_SPEEDS,
    NORMAL,
    NUMBERS,
    STATIC,
    STATUS,
    TABLE,
    TANGENT,
)
from kane.native.contacts.repeating import NONE, eliminate, shorten

# Of each group of rows (permanent, or of one candidate): where its records begin, how many rows and columns it has, its
# candidate, the group that it is tied to, and the next group of its island.
START, ROWS, WIDTH, OWNER, TIED, NEXT = range(ITEM)
# How rows in force were solved for: not at all; each force is determined; rows repeat others.
UNSOLVED, DETERMINED, REPEATING = range(3)
# What hardly pushes takes as much of redundant friction as if it pushed with this share of the largest force.
SHARED = 1e-6

native_inline(record_size)


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
        if k.items[i * ITEM + TIED] == i:
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
        gaps: what the program "gaps" gives.
        limits: as of ``solve_islands``.

    Returns:
        False where it is not clear which rows repeat others.
    """
    first, counted = -1, 0
    while counted < rows:
        first += 1
        counted += k.items[first * ITEM + ROWS]
        if k.items[first * ITEM + TIED] != first:
            continue
        m = _fill_friction(k, first, gaps)
        rank = eliminate(k.S, k.pivot, k.square, k.b, k.loose, m, limits)
        if rank == NONE or (rank < m and not shorten(k.S, k.pivot, rank, k.b, m, limits)):
            return False
        _bring_back(k, m)
        i, r = first, 0
        while i != NONE and rank < m:
            for own in range(_first_row(k, i, True), k.items[i * ITEM + ROWS]):
                k.found[k.n + k.slot[i] + own] = k.b[r] * k.reach[r]
                r += 1
            i = k.items[i * ITEM + NEXT]
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
        if k.items[first * ITEM + TIED] != first:
            continue
        columns = _number_columns(k, first)
        m, _ = _load(k, first, columns)
        _fill(k, m, columns)
        i, r = first, 0
        while i != NONE:
            c = k.items[i * ITEM + OWNER]
            island[c] = k.items[first * ITEM + OWNER]
            normal, tangent = k.table[c * TABLE + NORMAL], k.table[c * TABLE + TANGENT]
            for own in range(k.items[i * ITEM + ROWS]):
                k.row[r] = (tangent if normal == NONE else normal) + own
                r += 1
            i = k.items[i * ITEM + NEXT]
        for r in range(m):
            for s in range(m):
                G[k.row[r], k.row[s]] = k.S[r, s]


@native_inline
def note_group(k: Any, group: int, candidate: int, place: int, rows: int, width: int) -> int:
    """A group of rows whose records have been put at a place, behind the list of their columns; where they end."""
    item, start = group * ITEM, place + width if k.n > MANY_SPEEDS else place
    k.items[item + START], k.items[item + ROWS], k.items[item + WIDTH] = start, rows, width
    k.items[item + OWNER], k.slot[group] = candidate, 0
    if group > 0:
        k.slot[group] = k.slot[group - 1] + k.items[item - ITEM + ROWS]
    for r in range(rows):
        k.tail[k.slot[group] + r] = start + r * record_size(width) + 2 * width
    return int(start + rows * record_size(width))


@native_inline
def take_friction_out(k: Any, groups: int) -> None:
    """D^-1 y of every row in the place of D^-1 x."""
    inverses = k.given[k.at.inverse : k.at.inverse + k.n]
    for i in range(groups):
        item, width = i * ITEM, k.items[i * ITEM + WIDTH]
        for r in range(k.items[item + ROWS]):
            at = k.tail[k.slot[i] + r] - width
            y, w = k.given[at - width : at], k.given[at : at + width]
            for j in range(width):
                w[j] = y[j] * inverses[column_of(k, item, j)]


@native_inline
def column_of(k: Any, item: int, j: int) -> int:
    """The j-th column of a group."""
    start, width = k.items[item + START], k.items[item + WIDTH]
    return int(k.given[start - width + j]) if k.n > MANY_SPEEDS else j


@native_inline
def _tie(k: Any, groups: int) -> None:
    """Chains of the groups that have columns in common, each from the first on; of each column the first group."""
    for j in range(k.n):
        k.owner[j] = NONE
    for i in range(groups):
        k.items[i * ITEM + TIED], k.items[i * ITEM + NEXT] = i, NONE
        for j in range(k.items[i * ITEM + WIDTH]):
            if k.n > MANY_SPEEDS or _moves(k, i * ITEM, j):
                column = column_of(k, i * ITEM, j)
                if k.owner[column] == NONE:
                    k.owner[column] = i
                else:
                    first, second = _root(k, k.owner[column]), _root(k, i)
                    k.items[max(first, second) * ITEM + TIED] = min(first, second)
    for i in range(groups - 1, -1, -1):
        root = _root(k, i)
        if root != i:
            k.items[i * ITEM + TIED] = root
            k.items[i * ITEM + NEXT], k.items[root * ITEM + NEXT] = k.items[root * ITEM + NEXT], i
    for j in range(k.n):
        if k.owner[j] != NONE:
            k.owner[j] = k.items[k.owner[j] * ITEM + TIED]


@native_inline
def _moves(k: Any, item: int, j: int) -> bool:
    """Whether a group has anything in its j-th column."""
    size, found = record_size(k.items[item + WIDTH]), False
    at = k.items[item + START] + j
    for r in range(k.items[item + ROWS]):
        found = found or k.given[at + r * size] != 0.0 or k.given[at + r * size + k.items[item + WIDTH]] != 0.0
    return bool(found)


@native_inline
def _root(k: Any, i: int) -> int:
    while k.items[i * ITEM + TIED] != i:
        i = k.items[i * ITEM + TIED]
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
        others = max(others, abs(k.given[k.at.scaled + k.column[j]]))
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
    if shortest and rank < m and not shorten(k.S, k.pivot, rank, k.b, m, limits):
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
    c = k.items[i * ITEM + OWNER]
    return bool(c != NONE and k.table[c * TABLE + FRICTION] == COULOMB and k.changing[c * CHANGING + STATUS] == HELD)


@native_inline
def _first_row(k: Any, i: int, friction: bool) -> int:
    """Of which rows of a group are looked at the first: of all, or of friction that sticks; else none is."""
    return (1 if _sticks(k, i) else int(k.items[i * ITEM + ROWS])) if friction else 0


@native_inline
def _number_columns(k: Any, first: int) -> int:
    """The columns of an island, one after the other, each with its number there; how many there are."""
    i, columns = first, 0
    while i != NONE:
        for j in range(k.items[i * ITEM + WIDTH]):
            place = column_of(k, i * ITEM, j)
            if k.owner[place] == first:
                k.owner[place], k.number[place], k.column[columns] = _mark(first), columns, place
                columns += 1
        i = k.items[i * ITEM + NEXT]
    return columns


@native_inline
def _count_columns(k: Any, first: int) -> int:
    """How many columns have a number in an island."""
    i, columns = first, 0
    while i != NONE:
        for j in range(k.items[i * ITEM + WIDTH]):
            place = column_of(k, i * ITEM, j)
            if k.owner[place] == _mark(first):
                columns = max(columns, k.number[place] + 1)
        i = k.items[i * ITEM + NEXT]
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
        for r in range(k.items[i * ITEM + ROWS]):
            at = k.tail[k.slot[i] + r]
            _pack(k, first, columns, i, r, m, 1.0)
            k.b[m], k.square[m], k.reach[m] = k.given[at + B], k.given[at + SQUARE], k.given[at + REACH]
            moving = moving or k.given[at + REMAINDER] != 0.0
            m += 1
        i = k.items[i * ITEM + NEXT]
    return m, moving


@native_inline
def _pack(k: Any, first: int, columns: int, group: int, own: int, r: int, scale: float) -> None:
    """y and w of a row of a group, scaled, by the columns of its island: the r-th row of Y, the r-th column of W."""
    item, width = group * ITEM, k.items[group * ITEM + WIDTH]
    y = k.items[item + START] + own * record_size(width)
    for j in range(columns):
        k.Y[r, j] = k.W[j, r] = 0.0
    for j in range(width):
        place = column_of(k, item, j)
        if k.owner[place] == _mark(first):
            k.Y[r, k.number[place]], k.W[k.number[place], r] = scale * k.given[y + j], scale * k.given[y + width + j]


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
        for own in range(k.items[i * ITEM + ROWS]):
            least = max(least, SHARED * abs(k.found[k.n + k.slot[i] + own]))
        i = k.items[i * ITEM + NEXT]
    i = first
    while i != NONE and least > 0.0:
        item = i * ITEM
        for own in range(_first_row(k, i, True), k.items[item + ROWS]):
            bound = gaps[k.items[item + OWNER] * NUMBERS + STATIC] * k.found[k.n + k.slot[i]]
            k.reach[m] = math.sqrt(max(bound, least))
            _pack(k, first, columns, i, own, m, k.reach[m])
            k.square[m] = k.given[k.tail[k.slot[i] + own] + SQUARE] * k.reach[m] * k.reach[m]
            k.b[m] = k.found[k.n + k.slot[i] + own] / k.reach[m]
            m += 1
        i = k.items[item + NEXT]
    _fill(k, m, columns)
    return m


@native_inline
def _push(k: Any, first: int, columns: int, fixed: bool) -> None:
    """Forces where they belong, and v by them: zero where rows leave nothing free and nothing moves."""
    i, r = first, 0
    while i != NONE:
        for own in range(k.items[i * ITEM + ROWS]):
            k.found[k.n + k.slot[i] + own] = k.b[r]
            r += 1
        i = k.items[i * ITEM + NEXT]
    for j in range(columns):
        place = k.at.scaled + k.column[j]
        pushed = k.given[place]
        for s in range(r):
            pushed += k.W[j, s] * k.b[s]
        k.given[place] = 0.0 if fixed else pushed
