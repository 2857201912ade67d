"""Modes of constraints that come and go with equations of their own, as native programs over the numeric ones' stage.

Where the statuses are those of a mode that is compiled, its programs take the place of those in ``programs``; else
these are called, at the same stage. ``change`` is numeric always, and so is what becomes of a guard that is negative or
no number: it is asked for again in numbers, so that these alone decide when a mode ends and what follows. What settles
a state says whether the compiled mode keeps its digits there; where it does not, the run goes on in numbers.

A block of 64-bit integers lies behind that of ``kane.native.contacts.header``: its own, then a row for each mode.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kane.native.call import call_program, integers_at, native_inline, native_program, vector_at
from kane.native.choices import (
    DEPENDENT,
    MASK,
    choice_places,
    is_choice,
    normalise,
    settle_by_choice,
    settled_by,
)
from kane.native.contacts.blocks import quick_places
from kane.native.contacts.header import (
    ALONG,
    ARMED,
    BEGUN,
    BILATERAL,
    BLOCK,
    CANDIDATES,
    CHANGING,
    CLOSINGS,
    ENDED,
    OPEN,
    SLIDING,
    STATUS,
    TABLE,
    TANGENTS,
    TIMED,
    block_at,
    changing_at,
    held_at,
    table_at,
)
from kane.native.contacts.impulses import TOUCHING
from kane.native.contacts.quick import AMPLIFIED, INDEPENDENT, slip_direction
from kane.native.header import COORDINATES, HEADER, QUATERNIONS, RESIDUALS, ROWS, SPEEDS
from kane.native.settle import ROUNDED

# The block's own: addresses of the numeric programs; how many modes are compiled, the number of the one in force, or
# NONE; how many inputs there are.
RHS, SETTLE, GUARDS, REACTIONS, MODES, CHOSEN, INPUTS = range(7)
AHEAD = 7
NONE = -1
# A row: addresses and places of the stages of its programs; then the status of each candidate; then the row of the
# choice of dependent speeds that has compiled settling, as ``kane.native.choices`` has them, or IN_NUMBERS speeds.
OWN_RHS, OWN_GUARDS, OWN_SIGHT, STATUSES = 0, 2, 4, 6
IN_NUMBERS = -2
# What the last of these programs gives: the largest square of a row over its pivot; what forces make by themselves, and
# what there is without them or with all; then slips along both tangents of each candidate that slides.
DEPENDENCE, PUSHED, OTHERS, SLIPS = range(4)


class Ahead(NamedTuple):
    """What is known of the compiled modes in a call.

    Attributes:
        head: the header.
        block, own: of the candidates, and of the compiled modes.
        table, changing: of the candidates.
        along: ``changing`` read as doubles.
        row, choice: of the mode in force; of no meaning without one.
        given: what programs read besides t, q and u.
        found: guards and the forces of all rows, or what is seen at a state.
    """

    head: Any
    block: Any
    own: Any
    table: Any
    changing: Any
    along: Any
    row: Any
    choice: Any
    given: Any
    found: Any


for places in (block_at, table_at, changing_at, held_at, quick_places):
    native_inline(places)


def ahead_at(head: Any, block: Any) -> Any:
    """Where the block of compiled modes starts."""
    return held_at(head, block[CANDIDATES]) + 2 * block[CLOSINGS]


def row_length(candidates: Any, speeds: Any) -> Any:
    """Integers of a row."""
    return STATUSES + candidates + MASK + speeds


def room(inputs: Any, candidates: Any, rows: Any) -> Any:
    """How many doubles of scratch compiled modes need."""
    return inputs + 6 * candidates + SLIPS + rows


native_inline(ahead_at)
native_inline(row_length)


@native_inline
def ahead_of(stage: Any, work: Any) -> Any:
    """The Ahead of a call."""
    head = integers_at(stage, 0, HEADER)
    block = integers_at(stage, block_at(head), BLOCK)
    nc, n = block[CANDIDATES], head[SPEEDS]
    at, changing = ahead_at(head, block), changing_at(head, nc)
    given = quick_places(head, block).end
    own = integers_at(stage, at, AHEAD)
    row = at + AHEAD + max(own[CHOSEN], 0) * row_length(nc, n)
    found = given + own[INPUTS] + 3 * nc
    return Ahead(
        head,
        block,
        own,
        integers_at(stage, table_at(head), TABLE * nc),
        integers_at(stage, changing, CHANGING * nc),
        vector_at(stage, changing, CHANGING * nc),
        integers_at(stage, row, STATUSES + nc),
        integers_at(stage, row + STATUSES + nc, MASK + n),
        vector_at(work, given, own[INPUTS] + 3 * nc),
        vector_at(work, found, SLIPS + 3 * nc + head[ROWS]),
    )


@native_inline
def _is_mode(row: Any, changing: Any, nc: int) -> bool:
    """Whether the statuses are those of the row."""
    k = 0
    while k < nc and row[STATUSES + k] == changing[k * CHANGING + STATUS]:
        k += 1
    return k == nc


@native_inline
def _is_in_force(c: Any) -> bool:
    """Whether the mode that was chosen is the one in force still."""
    return bool(c.own[CHOSEN] != NONE and _is_mode(c.row, c.changing, c.block[CANDIDATES]))


@native_inline
def _numeric(c: Any, which: int, state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    given, place, result = vector_at(rest, 0, 0), vector_at(stage, 0, 0), vector_at(out, 0, 0)
    call_program(c.own[which], vector_at(state, 0, 0), given, place, result, vector_at(work, 0, 0))


@native_inline
def _call_own(c: Any, which: int, state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """Call a program of the mode in force."""
    _give(c, vector_at(rest, 0, c.own[INPUTS]))
    place = vector_at(stage, c.row[which + 1], 0)
    call_program(c.row[which], state, c.given, place, out, vector_at(work, 0, 0))


@native_inline
def _give(c: Any, inputs: Any) -> None:
    """Inputs, then the direction of slip of what slides, and BEGUN."""
    at = inputs.size
    for i in range(at):
        c.given[i] = inputs[i]
    for k in range(c.block[CANDIDATES]):
        if c.row[STATUSES + k] == SLIDING:
            c.given[at], c.given[at + 1] = c.along[k * CHANGING + ALONG], c.along[k * CHANGING + ALONG + 1]
            c.given[at + 2] = c.along[k * CHANGING + BEGUN]
            at += 3


@native_program
def rhs(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """qdot and udot in the mode of the stage."""
    c = ahead_of(stage, work)
    if _is_in_force(c):
        _call_own(c, OWN_RHS, vector_at(state, 0, 0), rest, stage, vector_at(out, 0, 0), work)
    else:
        _numeric(c, RHS, state, rest, stage, out, work)


@native_program
def guards(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """Two numbers for each candidate, negative where the mode ends, then what ``rhs`` gives; all that is negative is
    found in numbers.
    """
    c = ahead_of(stage, work)
    if _is_in_force(c):
        _call_own(c, OWN_GUARDS, vector_at(state, 0, 0), rest, stage, c.found, work)
        first = 2 * c.block[CANDIDATES]
        result = vector_at(out, 0, first)
        for i in range(first):
            result[i] = c.found[i]
        if goes_on(c.block, c.table, c.changing, result):
            _call_own(c, OWN_RHS, vector_at(state, 0, 0), rest, stage, vector_at(out, first, 0), work)
            return
    _numeric(c, GUARDS, state, rest, stage, out, work)


@native_program
def reactions(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """The force of every row in the mode of the stage, as ``kane.native.contacts.programs.reactions``."""
    c = ahead_of(stage, work)
    if not _is_in_force(c):
        _numeric(c, REACTIONS, state, rest, stage, out, work)
        return
    _call_own(c, OWN_GUARDS, vector_at(state, 0, 0), rest, stage, c.found, work)
    first, result = 2 * c.block[CANDIDATES], vector_at(out, 0, c.head[ROWS])
    for i in range(result.size):
        result[i] = c.found[first + i]


@native_inline
def goes_on(block: Any, table: Any, changing: Any, result: Any) -> bool:
    """Turn those guards round that do not count until they have been the other way; whether none is negative then.

    Args:
        block, table, changing: of the candidates.
        result: two numbers for each candidate.
    """
    for k in range(block[CANDIDATES]):
        row, at = k * TABLE, k * CHANGING
        timed = table[row + TIMED] == 1 and changing[at + STATUS] == OPEN
        ends = table[row + ENDED] == 1 and changing[at + STATUS] != OPEN
        if table[row + BILATERAL] == 1 and changing[at + ARMED] == 0:
            if timed or ends:
                result[2 * k] = -result[2 * k] if result[2 * k] < 0.0 else -1.0
            elif changing[at + STATUS] == OPEN:
                result[2 * k] = TOUCHING - result[2 * k]
    k = 0
    while k < result.size and result[k] >= 0.0:
        k += 1
    return k == result.size


@native_program
def settle(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """As ``kane.native.contacts.programs.settle``; then the mode in force is looked for among the compiled ones."""
    c = ahead_of(stage, work)
    if not _is_in_force(c) or not _settle_in_mode(c, state, rest, stage, out, work):
        _numeric(c, SETTLE, state, rest, stage, out, work)
        if not _is_in_force(c):
            _choose(c, stage)
    c = ahead_of(stage, work)
    if c.own[CHOSEN] == NONE:
        return
    n, nq = c.head[SPEEDS], c.head[COORDINATES]
    x, settled = vector_at(work, choice_places(c.head).state, 1 + nq + n), vector_at(out, 0, nq + n)
    x[0] = vector_at(state, 0, 1)[0]
    for i in range(nq + n):
        x[1 + i] = settled[i]
    _call_own(c, OWN_SIGHT, x, rest, stage, c.found, work)
    _take_sight(c)
    # Rows are independent, and no force has lost digits on what is very light beside the rest.
    if not (INDEPENDENT * c.found[DEPENDENCE] < 1.0 and c.found[PUSHED] <= AMPLIFIED * c.found[OTHERS]):
        c.own[CHOSEN] = NONE


@native_inline
def _choose(c: Any, stage: Any) -> None:
    """The compiled mode with the statuses in force, if there is one."""
    nc, length = c.block[CANDIDATES], row_length(c.block[CANDIDATES], c.head[SPEEDS])
    first = ahead_at(c.head, c.block) + AHEAD
    c.own[CHOSEN] = NONE
    for k in range(c.own[MODES]):
        if _is_mode(integers_at(stage, first + k * length, STATUSES + nc), c.changing, nc):
            c.own[CHOSEN] = k


@native_inline
def _settle_in_mode(c: Any, state: Any, rest: Any, stage: Any, out: Any, work: Any) -> bool:
    """Settle by the compiled choice of the mode in force; whether that is the choice in force, and serves."""
    n, nq = c.head[SPEEDS], c.head[COORDINATES]
    if not is_choice(c.choice, integers_at(stage, 0, HEADER + n)):
        return False
    given, result = vector_at(state, 0, 1 + nq + n), vector_at(out, 0, nq + n + 3)
    quaternions = integers_at(stage, HEADER + n + c.head[RESIDUALS], c.head[QUATERNIONS])
    s = settled_by(c.choice, c.head, quaternions, state, work)
    if c.choice[DEPENDENT] == 0:
        normalise(s.state, quaternions)
        for i in range(nq + n):
            result[i] = s.state[1 + i]
        result[nq + n], result[nq + n + 1], result[nq + n + 2] = 0.0, 0.0, 1.0
        return True
    if not settle_by_choice(s, rest, stage, out, work):
        return False
    for j in range(nq, nq + n):
        if abs(result[j]) <= ROUNDED * abs(given[1 + j]):
            result[j] = 0.0
    return True


@native_inline
def _take_sight(c: Any) -> None:
    """Directions of slip from what is seen at a state."""
    at, nc = SLIPS, c.block[CANDIDATES]
    for k in range(nc):
        if c.row[STATUSES + k] == SLIDING:
            along = k * CHANGING + ALONG
            x, y = slip_direction(c.along, k, c.table[k * TABLE + TANGENTS], c.found[at], c.found[at + 1])
            c.along[along], c.along[along + 1] = x, y
            at += 2
