"""Accelerations and forces in a mode whose rows are independent: by how the tree responds to forces of the rows.

The programs of ``kane.formulation.quantities.responses``, compiled for the model: one for the tree, one for the rows
of each candidate, and one that solves for so many rows in force. Rows that are nearly dependent make that lose digits;
they are left to the embedding of ``kane.native.contacts.motion``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.native.call import call_program, integers_at, native_inline, native_kernel, vector_at
from kane.native.contacts.blocks import answer_places, quick_places, solution_places
from kane.native.contacts.header import (
    ALONG,
    ALWAYS,
    ANSWER,
    BLOCK,
    CANDIDATES,
    CAPACITIES,
    CHANGING,
    FACTOR,
    MOST,
    NONE,
    NORMAL,
    OPEN,
    PERMANENT,
    SLIDING,
    SOLUTIONS,
    STATUS,
    TABLE,
    TANGENT,
    TANGENTS,
    block_at,
    changing_at,
    table_at,
)
from kane.native.contacts.impact import length
from kane.native.header import COORDINATES, HEADER, SPEEDS

# A row whose square, without what the rows before it share with it, is less than this share of itself is nearly
# dependent on them: the digits lost then would be missed. Less than the second share is rounding, by which solutions
# leave rows out: such a row repeats those before it, and its force is indeterminate.
INDEPENDENT, REPEATED = 1e-4, 1e-13
# What is left of the acceleration of such a row, over the largest that has been taken away, is rounding.
KEPT_TOO = 1e-9
# Forces that make accelerations so many times larger than there are without them, and than are left, have lost the
# digits in between: those on what is very light beside the rest.
AMPLIFIED = 1e4
# Slip slower than this [m/s or rad/s] is none: rounding of speeds of 1 km/s.
SLOW = 1e-13


class Quick(NamedTuple):
    """What is known of the candidates in a call, and scratch; all vectors are flat.

    Attributes:
        block, table, changing, along: of the header; ``along`` is ``changing`` read as doubles.
        given, found, row: see ``QuickPlaces``.
        at: the AnswerPlaces of ``given``.
        n, nq: sizes.
    """

    block: Any
    table: Any
    changing: Any
    along: Any
    given: Any
    found: Any
    row: Any
    at: Any
    n: Any
    nq: Any


for places in (answer_places, quick_places, solution_places, table_at):
    native_inline(places)


@native_inline
def quick_of(stage: Any, work: Any) -> Any:
    """The Quick of a call."""
    head = integers_at(stage, 0, HEADER)
    n, nq = head[SPEEDS], head[COORDINATES]
    block = integers_at(stage, block_at(head), BLOCK)
    nc = block[CANDIDATES]
    at, changing = quick_places(head, nc), changing_at(head, nc)
    return Quick(
        block,
        integers_at(stage, table_at(head), TABLE * nc),
        integers_at(stage, changing, CHANGING * nc),
        vector_at(stage, changing, CHANGING * nc),
        vector_at(work, at.given, at.found - at.given),
        vector_at(work, at.found, at.row - at.found),
        integers_at(work, at.row, MOST),
        answer_places(n, nq),
        n,
        nq,
    )


@native_inline
def call_block(k: Any, which: int, state: Any, rest: Any, out: Any, stage: Any, work: Any) -> None:
    """Call a program of the block."""
    call_program(k.block[which], state, rest, vector_at(stage, k.block[which + 1], 0), out, vector_at(work, 0, 0))


@native_inline
def rows_in_force(k: Any) -> Any:
    """How many rows are in force, and whether contacts slide with friction."""
    m, slides = k.block[PERMANENT], False
    for c in range(k.block[CANDIDATES]):
        row, status = c * TABLE, k.changing[c * CHANGING + STATUS]
        if status != OPEN:
            normals, tangents = 1 if k.table[row + NORMAL] != NONE else 0, k.table[row + TANGENTS]
            m += normals if status == SLIDING else normals + tangents
            slides = slides or (status == SLIDING and normals == 1 and tangents > 0)
    return m, slides


@native_kernel
def slip_direction(changing: Any, k: int, tangents: int, vx: float, vy: float) -> Any:
    """The direction of slip of a sliding candidate with this slip velocity; ``changing`` is read as doubles.

    Of one tangent the one it had, beyond the end of the slip too; of two that of the slip, where it goes on as it went.
    That of the slip where there has been none yet, as in a stage whose statuses are set from outside.
    """
    x, y = changing[k * CHANGING + ALONG], changing[k * CHANGING + ALONG + 1]
    unknown = x == 0.0 and y == 0.0
    if unknown or tangents == 2:
        speed = length(vx, vy)
        if speed > SLOW and (unknown or vx * x + vy * y > 0.0):
            return vx / speed, vy / speed
    return x, y


@native_inline
def accelerate_quickly(k: Any, state: Any, rest: Any, stage: Any, work: Any, forces: bool) -> int:
    """udot and the forces of the rows in force into ``found``; how many these are.

    NONE where rows are too many or nearly dependent, contradict each other, or repeat each other in a way that makes a
    difference: to forces that are asked for, or to friction.
    """
    m, slides = rows_in_force(k)
    kind = 0
    while kind < len(CAPACITIES) and CAPACITIES[kind] < m:
        kind += 1
    which = SOLUTIONS + 4 * kind + (2 if slides else 0)
    if kind == len(CAPACITIES) or k.block[which] == 0:
        return NONE
    call_block(k, FACTOR, state, vector_at(rest, 0, 0), k.given, stage, work)
    count = k.block[PERMANENT]
    if count > 0:
        call_block(k, ALWAYS, state, k.given, k.given[k.at.y :], stage, work)
        for r in range(count):
            k.row[r], k.given[k.at.remainder + r] = r, k.given[k.at.y + count * k.n + r]
    for c in range(k.block[CANDIDATES]):
        if k.changing[c * CHANGING + STATUS] != OPEN:
            answer = vector_at(stage, k.table[c * TABLE + ANSWER + 1], 0)
            out = k.given[k.at.y + count * k.n :]
            call_program(k.table[c * TABLE + ANSWER], state, k.given, answer, out, vector_at(work, 0, 0))
            count = _take_rows(k, c, count)
    _fill(k, m, CAPACITIES[kind], slides)
    call_block(k, which, state, k.given, k.found, stage, work)
    return m if _is_good(k, m, CAPACITIES[kind], forces or slides) else NONE


@native_kernel
def _take_rows(k: Any, c: int, m: int) -> int:
    """The rows of a candidate that are in force, whose answers lie behind the first m; how many there are then."""
    row, n, start = c * TABLE, k.n, k.at.y + m * k.n
    normals, tangents = 1 if k.table[row + NORMAL] != NONE else 0, k.table[row + TANGENTS]
    count, slides = normals + tangents, k.changing[c * CHANGING + STATUS] == SLIDING
    first = k.table[row + NORMAL] if normals == 1 else k.table[row + TANGENT]
    taken = normals if slides else count
    for r in range(taken):
        k.row[m + r], k.given[k.at.remainder + m + r] = first + r, k.given[start + count * n + r]
    if not slides or tangents == 0:
        return int(m + taken)
    slip, friction = start + count * (n + 1) + normals, k.given[start + count * (n + 2)]
    x, y = slip_direction(k.along, c, tangents, k.given[slip], k.given[slip + 1] if tangents == 2 else 0.0)
    to = k.at.x + m * n if normals == 1 else k.at.z
    for i in range(n):
        value = friction * x * k.given[start + normals * n + i]
        if tangents == 2:
            value += friction * y * k.given[start + (normals + 1) * n + i]
        k.given[to + i] = (k.given[start + i] if normals == 1 else k.given[to + i]) - value
    if normals == 1:
        k.row[m] = -1 - first
    return int(m + taken)


@native_kernel
def _fill(k: Any, m: int, capacity: int, slides: bool) -> None:
    """Rows beyond the m-th are zero; the force of what does not slide acts along its row."""
    n = k.n
    for r in range(m, capacity):
        k.given[k.at.remainder + r] = 0.0
    for i in range(m * n, capacity * n):
        k.given[k.at.y + i] = 0.0
    if not slides:
        return
    for r in range(capacity):
        if r < m and k.row[r] < 0:
            k.row[r] = -1 - k.row[r]
        else:
            for i in range(r * n, (r + 1) * n):
                k.given[k.at.x + i] = k.given[k.at.y + i]


@native_kernel
def _is_good(k: Any, m: int, capacity: int, unique: bool) -> bool:
    """Whether rows were independent or, where it makes no difference, repeated others.

    Where rows leave nothing free, embedding gives zero where there is no motion, and no difference of large forces.
    """
    at, largest, repeated, rank = solution_places(capacity, k.n), 0.0, 0.0, 0
    for r in range(m):
        pivot, square = k.found[at.pivot + r], k.found[at.square + r]
        if pivot > INDEPENDENT * square:
            rank += 1
            largest = max(largest, k.found[at.left + r] * k.found[at.left + r] / square)
        elif not abs(pivot) <= REPEATED * square or unique:
            return False
        else:
            repeated = max(repeated, k.found[at.left + r] * k.found[at.left + r] / square)
    if rank == k.n or not repeated <= KEPT_TOO * KEPT_TOO * largest or not math.isfinite(largest):
        return False
    pushed, others = 0.0, 0.0
    for i in range(k.n):
        pushed = max(pushed, abs(k.found[at.pushed + i]))
        others = max(others, max(abs(k.found[i]), abs(k.given[k.at.z + i] * k.given[k.at.inverse + i])))
    return bool(pushed <= AMPLIFIED * others)
