"""Accelerations and forces in a mode whose rows are independent: by how the tree responds to forces of the rows.

The programs of ``kane.formulation.quantities.responses``, compiled for the model: one for the tree, one for the rows
of each candidate, one for those of a contact that slides, and one that solves for so many rows in force. Here is only
who is called; of many rows, or speeds, ``kane.native.contacts.islands`` takes the place of the last. Rows that are
nearly dependent make that lose digits; they are left to the embedding of ``kane.native.contacts.motion``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.native.call import call_program, integers_at, matrix_at, native_inline, native_kernel, vector_at
from kane.native.contacts.blocks import ITEM, SQUARE, answer_places, quick_places, record_size, solution_places
from kane.native.contacts.header import (
    ALONG,
    ALWAYS,
    ANSWER,
    BEGUN,
    BLOCK,
    CANDIDATES,
    CAPACITIES,
    CHANGING,
    COLUMNS,
    FACTOR,
    MANY_SPEEDS,
    NONE,
    NORMAL,
    OPEN,
    PERMANENT,
    SLIDE,
    SLIDING,
    SOLUTIONS,
    STATUS,
    SUBSTITUTION,
    TABLE,
    TANGENTS,
    WIDTH,
    block_at,
    changing_at,
    table_at,
)
from kane.native.contacts.impact import length
from kane.native.contacts.islands import DETERMINED, UNSOLVED, note_group, solve_islands
from kane.native.header import COORDINATES, HEADER, ROWS, SPEEDS

# A row whose square, without what the rows before it share with it, is less than this share of itself is nearly
# dependent on them: the digits lost then would be missed. Less than the second share is rounding, by which solutions
# leave rows out: such a row repeats those before it, and its force is indeterminate.
INDEPENDENT, REPEATED = 1e-4, 1e-13
# What is left of the acceleration of such a row, over the largest that has been taken away, is rounding.
KEPT_TOO = 1e-9
# Forces that make accelerations so many times larger than there are without them, and than are left, have lost the
# digits in between: those on what is very light beside the rest.
AMPLIFIED = 1e4
LIMITS = (INDEPENDENT, REPEATED, AMPLIFIED, KEPT_TOO)
# Slip slower than this [m/s or rad/s] is none: rounding of speeds of 1 km/s.
SLOW = 1e-13
# Friction turns slip in space the faster the slower it is: no step from rest would be short enough. Of slip that has
# less than this [m/s or rad/s] along the direction that it had, friction has the direction as if it had this much; the
# further it has turned back beyond, as at stages of a step that goes past the end of the slip, the less it turns
# friction. Steps whose errors are allowed to be larger ask for more, in what changes in a run.
LEAST_BEGUN = 1e-9
# What is across, up to this share of what is missing along, is rounding and errors of steps: its square turns friction.
BLURRED = 1e-3


class Quick(NamedTuple):
    """What is known of the candidates in a call, and scratch; all vectors are flat.

    Attributes:
        block, table, changing, along: of the header; ``along`` is ``changing`` read as doubles.
        given, found, slip, row, S, pivot, b, square, reach, owner, items, slot, tail, loose, Y, W, number, column,
            mode, velocity: of ``QuickPlaces``.
        at: the AnswerPlaces of ``given``.
        n, nq: sizes.
        rows_at, changing_at: where the table and what changes begin in the stage.
        given_at, found_at, velocity_at: where these begin in the scratch. By the pointer to all, what lies from a place
            on costs less than a slice, whose ends numba looks at, and constants as indices of it cost nothing: of
            others numba makes sure, with three instructions each, that they are not negative.
    """

    block: Any
    table: Any
    changing: Any
    along: Any
    given: Any
    found: Any
    slip: Any
    row: Any
    S: Any
    pivot: Any
    b: Any
    square: Any
    reach: Any
    owner: Any
    items: Any
    slot: Any
    tail: Any
    loose: Any
    Y: Any
    W: Any
    number: Any
    column: Any
    mode: Any
    velocity: Any
    at: Any
    n: Any
    nq: Any
    rows_at: Any
    changing_at: Any
    given_at: Any
    found_at: Any
    velocity_at: Any


for places in (answer_places, quick_places, record_size, solution_places, table_at):
    native_inline(places)


@native_inline
def quick_of(stage: Any, work: Any) -> Any:
    """The Quick of a call."""
    head = integers_at(stage, 0, HEADER)
    m, n, nq = head[ROWS], head[SPEEDS], head[COORDINATES]
    block = integers_at(stage, block_at(head), BLOCK)
    nc = block[CANDIDATES]
    at, table, changing = quick_places(head, block), table_at(head), changing_at(head, nc)
    return Quick(
        block,
        integers_at(stage, table, TABLE * nc),
        integers_at(stage, changing, CHANGING * nc),
        vector_at(stage, changing, CHANGING * nc),
        vector_at(work, at.given, at.found - at.given),
        vector_at(work, at.found, at.slip - at.found),
        vector_at(work, at.slip, 3 * nc),
        integers_at(work, at.row, m),
        matrix_at(work, at.S, m, m),
        vector_at(work, at.rows, m),
        vector_at(work, at.rows + m, m),
        vector_at(work, at.rows + 2 * m, m),
        vector_at(work, at.rows + 3 * m, m),
        integers_at(work, at.owner, n),
        integers_at(work, at.items, ITEM * (nc + 1)),
        integers_at(work, at.slot, nc + 1),
        integers_at(work, at.tail, m),
        integers_at(work, at.tail + m, m),
        matrix_at(work, at.packed, m, n),
        matrix_at(work, at.packed + m * n, n, m),
        integers_at(work, at.number, n),
        integers_at(work, at.number + n, n),
        integers_at(work, at.mode, 1),
        vector_at(work, at.velocity, 2 * m),
        answer_places(block, n, nq),
        n,
        nq,
        table,
        changing,
        at.given,
        at.found,
        at.velocity,
    )


@native_inline
def status_of(k: Any, c: int, stage: Any) -> int:
    """The status of a candidate."""
    return int(integers_at(stage, k.changing_at + c * CHANGING, CHANGING)[STATUS])


@native_inline
def call_block(k: Any, which: int, state: Any, rest: Any, out: Any, stage: Any, work: Any) -> None:
    """Call a program of the block."""
    call_program(k.block[which], state, rest, vector_at(stage, k.block[which + 1], 0), out, vector_at(work, 0, 0))


@native_inline
def rows_in_force(k: Any, stage: Any) -> Any:
    """How many rows are in force, whether contacts slide with friction, whether friction slips without any, and a key
    of the model and its mode.
    """
    m, slides, sticks, key = k.block[PERMANENT], False, False, k.block[FACTOR]
    for c in range(k.block[CANDIDATES]):
        status = status_of(k, c, stage)
        key = 3 * key + status
        if status != OPEN:
            row = integers_at(stage, k.rows_at + c * TABLE, TABLE)
            normals, tangents = 1 if row[NORMAL] != NONE else 0, row[TANGENTS]
            m += normals if status == SLIDING else normals + tangents
            slides = slides or (status == SLIDING and normals == 1 and tangents > 0)
            sticks = sticks or (status == SLIDING and normals == 0)
    return m, slides, sticks, key


@native_kernel
def slip_direction(changing: Any, k: int, tangents: int, vx: float, vy: float) -> Any:
    """The direction of slip of a sliding candidate with this slip velocity; ``changing`` is read as doubles.

    Of one tangent the one it had, beyond the end of the slip too; of two that of the slip, see BEGUN. That of the slip
    where there has been none yet, as in a stage whose statuses are set from outside.
    """
    x, y = changing[k * CHANGING + ALONG], changing[k * CHANGING + ALONG + 1]
    if tangents == 2:
        along = vx * x + vy * y
        begun = changing[k * CHANGING + BEGUN]
        missing, ahead = max(begun - along, 0.0), max(along, begun)
        vx, vy = vx - along * x, vy - along * y
        square, blur = vx * vx + vy * vy, BLURRED * missing
        across = begun * square / ((begun + missing) * (square + blur * blur + SLOW * SLOW))
        vx, vy = across * vx + ahead * x, across * vy + ahead * y
    elif x != 0.0:
        return x, y
    speed = length(vx, vy)
    return (vx / speed, vy / speed) if speed > SLOW else (x, y)


@native_inline
def slip_left(x: Any, y: Any, vx: Any, vy: Any) -> Any:
    """What is left of a slip in space that had the direction x, y; none where it goes back more than across.

    Slow slip which a load turns goes across while friction follows, however little it goes on. That is no end of it.
    """
    return x * vx + y * vy + abs(x * vy - y * vx)


@native_inline
def accelerate_quickly(k: Any, counted: Any, state: Any, rest: Any, stage: Any, work: Any, forces: bool) -> int:
    """udot and the forces of the rows in force into ``found``, those behind the speeds; how they were found.

    UNSOLVED where rows are nearly dependent or contradict each other. Where they repeat each other the forces are those
    of least norm, in each island of rows, if they are asked for or make friction.

    Args:
        k: a Quick.
        counted: what ``rows_in_force`` says.
        state, rest, stage, work: of the call.
        forces: whether they are asked for.
    """
    m, slides, sticks, key = counted
    which, capacity = solution_for(k, m, slides)
    few = which != NONE
    if not few and k.block[SUBSTITUTION] == 0:
        return UNSOLVED
    call_block(k, FACTOR, state, vector_at(rest, 0, 0), k.given, stage, work)
    if sticks:
        _load_friction(k, state, stage, work)
    load_records(k, state, stage, work)
    k.mode[0], found = 0, UNSOLVED
    if few and _solve_few(k, m, which, capacity, forces or slides, state, stage, work):
        found = DETERMINED
        k.mode[0] = 0 if slides or sticks else key
    elif k.block[SUBSTITUTION] != 0:
        found, _ = solve_islands(k, note_groups(k, stage), forces or slides, LIMITS)
        call_block(k, SUBSTITUTION, state, k.given, k.found, stage, work)
    return int(found)


@native_inline
def _solve_few(k: Any, m: int, which: int, capacity: int, unique: bool, state: Any, stage: Any, work: Any) -> bool:
    """Accelerations and forces by a compiled solution; whether they are good."""
    size = record_size(k.n)
    clear(vector_at(work, k.given_at + k.at.records + m * size, (capacity - m) * size))
    call_block(k, which, state, k.given, k.found, stage, work)
    good = k.found[solution_places(capacity, k.n).good] == m and m < k.n
    return bool(good or _is_good(k, m, capacity, unique))


@native_inline
def clear(x: Any) -> None:
    """Zero."""
    for i in range(x.size):
        x[i] = 0.0


@native_inline
def solution_for(k: Any, m: int, slides: bool) -> Any:
    """The solution for so many rows, NONE where there is none, and for how many it is."""
    kind, capacity = 2, CAPACITIES[2]
    if m <= CAPACITIES[0]:
        kind, capacity = 0, CAPACITIES[0]
    elif m <= CAPACITIES[1]:
        kind, capacity = 1, CAPACITIES[1]
    which = SOLUTIONS + 4 * kind + (2 if slides else 0)
    return (which if m <= capacity and k.block[which] != 0 else NONE), capacity


@native_inline
def _load_friction(k: Any, state: Any, stage: Any, work: Any) -> None:
    """Friction that needs no normal force into z / D, before rows read it."""
    for c in range(k.block[CANDIDATES]):
        if slips(k, c) and k.table[c * TABLE + NORMAL] == NONE:
            out, scaled = (
                vector_at(work, k.given_at + k.at.friction, k.n + 3),
                vector_at(work, k.given_at + k.at.scaled, k.n),
            )
            _call_slide(k, c, state, out, stage, work)
            for i in range(k.n):
                scaled[i] = out[i]
            _keep_slip(k, c, vector_at(work, k.given_at + k.at.friction + k.n, 3))


@native_inline
def load_records(k: Any, state: Any, stage: Any, work: Any) -> None:
    """The records of the rows in force, one after the other."""
    place = k.at.records
    if k.block[PERMANENT] > 0:
        call_block(k, ALWAYS, state, k.given, vector_at(work, k.given_at + place, 0), stage, work)
        place += _length(k, k.block[PERMANENT], k.block[COLUMNS])
    for c in range(k.block[CANDIDATES]):
        status = status_of(k, c, stage)
        if status == OPEN:
            continue
        row = integers_at(stage, k.rows_at + c * TABLE, TABLE)
        normals = 1 if row[NORMAL] != NONE else 0
        if status != SLIDING or row[TANGENTS] == 0:
            part = vector_at(stage, row[ANSWER + 1], 0)
            call_program(
                row[ANSWER], state, k.given, part, vector_at(work, k.given_at + place, 0), vector_at(work, 0, 0)
            )
            place += _length(k, normals + row[TANGENTS], row[WIDTH])
        elif normals == 1:
            _call_slide(k, c, state, vector_at(work, k.given_at + place, 0), stage, work)
            place += _length(k, 1, row[WIDTH])
            _keep_slip(k, c, vector_at(work, k.given_at + place, 3))


@native_inline
def _length(k: Any, rows: int, width: int) -> int:
    """Of the records of so many rows, with the list of their columns."""
    return int(rows * record_size(width) + (width if k.n > MANY_SPEEDS else 0))


@native_kernel
def note_groups(k: Any, stage: Any) -> int:
    """The records that are loaded, as items of ``kane.native.contacts.islands``; how many groups they have."""
    groups, place = 0, k.at.records
    if k.block[PERMANENT] > 0:
        place = note_group(k, 0, NONE, place, k.block[PERMANENT], k.block[COLUMNS])
        groups = 1
    for c in range(k.block[CANDIDATES]):
        row, status = integers_at(stage, k.rows_at + c * TABLE, TABLE), status_of(k, c, stage)
        normals, tangents = 1 if row[NORMAL] != NONE else 0, row[TANGENTS]
        rows = normals if status == SLIDING else normals + tangents
        if status != OPEN and rows > 0:
            place = note_group(k, groups, c, place, rows, row[WIDTH])
            groups += 1
    return groups


@native_inline
def _keep_slip(k: Any, c: int, found: Any) -> None:
    k.slip[3 * c], k.slip[3 * c + 1], k.slip[3 * c + 2] = found[0], found[1], found[2]


@native_inline
def slips(k: Any, c: int) -> bool:
    """Whether friction of a candidate slips."""
    return bool(k.changing[c * CHANGING + STATUS] == SLIDING and k.table[c * TABLE + TANGENTS] > 0)


@native_inline
def _call_slide(k: Any, c: int, state: Any, out: Any, stage: Any, work: Any) -> None:
    """Call the program of friction that slips, which reads what the factor gives, the direction that there was, and
    BEGUN.
    """
    row, to = integers_at(stage, k.rows_at + c * TABLE, TABLE), vector_at(work, k.given_at + k.at.along, 3)
    along = vector_at(stage, k.changing_at + c * CHANGING + ALONG, 3)
    to[0], to[1], to[2] = along[0], along[1], along[2]
    call_program(row[SLIDE], state, k.given, vector_at(stage, row[SLIDE + 1], 0), out, vector_at(work, 0, 0))


@native_inline
def _is_good(k: Any, m: int, capacity: int, unique: bool) -> bool:
    """Whether rows were independent or, where it makes no difference, repeated others.

    Where rows leave nothing free, embedding gives zero where there is no motion, and no difference of large forces.
    """
    at, size, rank = solution_places(capacity, k.n), record_size(k.n), 0
    largest, repeated = 0.0, 0.0
    for r in range(m):
        pivot, square = k.found[at.pivot + r], k.given[k.at.records + r * size + 2 * k.n + SQUARE]
        left = k.found[at.left + r] * k.found[at.left + r] / square
        if pivot > INDEPENDENT * square:
            rank += 1
            largest = max(largest, left)
        elif not abs(pivot) <= REPEATED * square or unique:
            return False
        else:
            repeated = max(repeated, left)
    if rank == k.n or not repeated <= KEPT_TOO * KEPT_TOO * largest or not math.isfinite(largest):
        return False
    pushed, others = 0.0, 0.0
    for i in range(k.n):
        total = 0.0
        for r in range(m):
            total += abs(k.given[k.at.records + r * size + k.n + i] * k.found[at.force + r])
        pushed = max(pushed, total)
        others = max(others, max(abs(k.found[i]), abs(k.given[k.at.scaled + i])))
    return bool(pushed <= AMPLIFIED * others)
