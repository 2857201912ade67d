"""Modes of constraints that come and go with equations of their own, as native programs over the numeric ones' stage.

Where the statuses are those of a mode that is compiled, its programs take the place of those in ``programs``; else
these are called, at the same stage. ``change`` is numeric always, and so is what becomes of a guard that is negative or
no number: it is asked for again in numbers, so that these alone decide when a mode ends and what follows. What gives
the guards says whether the compiled mode keeps its digits there; where it does not, the run goes on in numbers until a
state is settled, where the mode is looked for again.

States are settled as in ``settling``, by the factor of M. Newton's method has that of each of its states.

A block of 64-bit integers lies behind that of ``kane.native.contacts.header``: its own, then a row for each mode.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.native.blocks import settled_places
from kane.native.call import call_program, integers_at, native_inline, native_program, vector_at
from kane.native.choices import normalise
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
from kane.native.contacts.settling import ROUNDING, TURNS
from kane.native.header import COORDINATES, HEADER, QUATERNIONS, RESIDUALS, ROWS, SPEEDS
from kane.native.settle import SMALL

# The block's own: addresses of the numeric programs; how many modes are compiled, the number of the one in force, or
# NONE; how many inputs there are.
RHS, SETTLE, GUARDS, REACTIONS, MODES, CHOSEN, INPUTS = range(7)
AHEAD = 7
NONE = -1
# A row: addresses and places of the stages of its programs, of which the last three settle, and are zero where that is
# left to numbers; then the status of each candidate.
OWN_RHS, OWN_GUARDS, OWN_MISSED, OWN_STEP, OWN_SETTLED, STATUSES = 0, 2, 4, 6, 8, 10
# What guards and slopes have behind them, then the forces of all rows: the largest square of a row over its pivot; what
# forces make by themselves, and what there is without them or with all.
DEPENDENCE, PUSHED, OTHERS, DIGITS = range(4)
# What a state misses: the largest residuals of configuration and motion. What a step and a settled state begin with is
# DEPENDENCE.
OPEN_BY, MOVING = range(2)
MOVED = 1


class Ahead(NamedTuple):
    """What is known of the compiled modes in a call.

    Attributes:
        head: the header.
        block, own: of the candidates, and of the compiled modes.
        table, changing: of the candidates.
        along: ``changing`` read as doubles.
        row: of the mode in force; of no meaning without one.
        given: what programs read besides t, q and u.
        found: what a program gives.
        state: [t, q, u].
        before: q as it was.
    """

    head: Any
    block: Any
    own: Any
    table: Any
    changing: Any
    along: Any
    row: Any
    given: Any
    found: Any
    state: Any
    before: Any


for places in (block_at, table_at, changing_at, held_at, quick_places):
    native_inline(places)


def ahead_at(head: Any, block: Any) -> Any:
    """Where the block of compiled modes starts."""
    return held_at(head, block[CANDIDATES]) + 2 * block[CLOSINGS]


def row_length(candidates: Any) -> Any:
    """Integers of a row."""
    return STATUSES + candidates


class AheadPlaces(NamedTuple):
    """Scratch of compiled modes, behind that of ``QuickPlaces``: see ``Ahead``."""

    given: int
    found: int
    state: int
    before: int
    end: int


def ahead_places(head: Any, block: Any, inputs: Any) -> AheadPlaces:
    """The places for a model with this header, block, and so many inputs."""
    given, nc, nq, n = quick_places(head, block).end, block[CANDIDATES], head[COORDINATES], head[SPEEDS]
    found = given + inputs + 3 * nc
    state = found + 2 * nc + nq + n + DIGITS + head[ROWS]
    before = state + 1 + nq + n
    return AheadPlaces(given, found, state, before, before + nq)


native_inline(ahead_at)
native_inline(row_length)
native_inline(ahead_places)


@native_inline
def ahead_of(stage: Any, work: Any) -> Any:
    """The Ahead of a call."""
    head = integers_at(stage, 0, HEADER)
    block = integers_at(stage, block_at(head), BLOCK)
    nc = block[CANDIDATES]
    first, changing = ahead_at(head, block), changing_at(head, nc)
    own = integers_at(stage, first, AHEAD)
    at = ahead_places(head, block, own[INPUTS])
    return Ahead(
        head,
        block,
        own,
        integers_at(stage, table_at(head), TABLE * nc),
        integers_at(stage, changing, CHANGING * nc),
        vector_at(stage, changing, CHANGING * nc),
        integers_at(stage, first + AHEAD + max(own[CHOSEN], 0) * row_length(nc), STATUSES + nc),
        vector_at(work, at.given, at.found - at.given),
        vector_at(work, at.found, at.state - at.found),
        vector_at(work, at.state, at.before - at.state),
        vector_at(work, at.before, at.end - at.before),
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
def _call_own(c: Any, which: int, state: Any, stage: Any, out: Any, work: Any) -> None:
    """Call a program of the mode in force with what ``_give`` has left."""
    place = vector_at(stage, c.row[which + 1], 0)
    call_program(c.row[which], state, c.given, place, out, vector_at(work, 0, 0))


@native_inline
def _give(c: Any, rest: Any) -> None:
    """Inputs, then the direction of slip of what slides, and BEGUN."""
    at = c.own[INPUTS]
    inputs = vector_at(rest, 0, at)
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
        _give(c, rest)
        _call_own(c, OWN_RHS, vector_at(state, 0, 0), stage, vector_at(out, 0, 0), work)
    else:
        _numeric(c, RHS, state, rest, stage, out, work)


@native_inline
def _find_forces(c: Any, state: Any, rest: Any, stage: Any, work: Any) -> bool:
    """Guards, slopes, DIGITS and forces of the mode in force into ``found``; whether there is one and digits are kept.

    Where they are not, it is in force no longer.
    """
    if not _is_in_force(c):
        return False
    _give(c, rest)
    _call_own(c, OWN_GUARDS, vector_at(state, 0, 0), stage, c.found, work)
    if keeps_digits(c.found, 2 * c.block[CANDIDATES] + c.head[COORDINATES] + c.head[SPEEDS], 1):
        return True
    c.own[CHOSEN] = NONE
    return False


@native_inline
def keeps_digits(found: Any, at: int, step: int) -> bool:
    """Whether rows are independent, and no force has lost digits on what is very light beside the rest.

    Args:
        found: has DIGITS.
        at: the place of the first.
        step: from each to the next.
    """
    pushed, others = found[at + PUSHED * step], found[at + OTHERS * step]
    return bool(INDEPENDENT * found[at + DEPENDENCE * step] < 1.0 and pushed <= AMPLIFIED * others)


@native_program
def guards(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """Two numbers for each candidate, negative where the mode ends, then what ``rhs`` gives; all that is negative is
    found in numbers.
    """
    c = ahead_of(stage, work)
    if _find_forces(c, state, rest, stage, work):
        first = 2 * c.block[CANDIDATES]
        result = vector_at(out, 0, first + c.head[COORDINATES] + c.head[SPEEDS])
        for i in range(result.size):
            result[i] = c.found[i]
        if goes_on(c.block, c.table, c.changing, result[:first]):
            return
    _numeric(c, GUARDS, state, rest, stage, out, work)


@native_program
def reactions(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """The force of every row in the mode of the stage, as ``kane.native.contacts.programs.reactions``."""
    c = ahead_of(stage, work)
    if not _find_forces(c, state, rest, stage, work):
        _numeric(c, REACTIONS, state, rest, stage, out, work)
        return
    result = vector_at(out, 0, c.head[ROWS])
    first = c.found.size - result.size
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
    """As ``kane.native.contacts.programs.settle``; where that settles, the mode is looked for among those compiled."""
    c = ahead_of(stage, work)
    if _is_in_force(c):
        _give(c, rest)
        if _settle_in_mode(c, state, stage, out, work):
            return
    _numeric(c, SETTLE, state, rest, stage, out, work)
    if not _is_in_force(c):
        _choose(c, stage)


@native_inline
def _choose(c: Any, stage: Any) -> None:
    """The compiled mode with the statuses in force, if there is one."""
    nc, length = c.block[CANDIDATES], row_length(c.block[CANDIDATES])
    first = ahead_at(c.head, c.block) + AHEAD
    c.own[CHOSEN] = NONE
    for k in range(c.own[MODES]):
        if _is_mode(integers_at(stage, first + k * length, STATUSES + nc), c.changing, nc):
            c.own[CHOSEN] = k


@native_inline
def _settle_in_mode(c: Any, state: Any, stage: Any, out: Any, work: Any) -> bool:
    """Settle by the programs of the mode in force; whether it has any, and rows allow it."""
    if c.row[OWN_SETTLED] == 0:
        return False
    n, nq, x = c.head[SPEEDS], c.head[COORDINATES], c.state
    given = vector_at(state, 0, x.size)
    for i in range(x.size):
        x[i] = given[i]
    quaternions = integers_at(stage, HEADER + n + c.head[RESIDUALS], c.head[QUATERNIONS])
    normalise(x, quaternions)
    _call_own(c, OWN_MISSED, x, stage, c.found, work)
    missed, motion = c.found[OPEN_BY], c.found[MOVING]
    if not missed <= SMALL and not _correct_coordinates(c, missed, quaternions, stage, work):
        return False
    _call_own(c, OWN_SETTLED, x, stage, c.found, work)
    if not INDEPENDENT * c.found[DEPENDENCE] < 1.0:
        return False
    at = settled_places(n, nq)
    result = vector_at(out, 0, at.end)
    for i in range(nq):
        result[i] = x[1 + i]
    for j in range(n):
        result[nq + j] = c.found[MOVED + j]
    result[at.configuration], result[at.motion] = missed, motion
    result[at.conditioning] = 1.0 / math.sqrt(max(1.0, c.found[DEPENDENCE]))
    _turn_slips(c, MOVED + n)
    return True


@native_inline
def _correct_coordinates(c: Any, missed: float, quaternions: Any, stage: Any, work: Any) -> bool:
    """q onto the rows by Newton's method, from a state that misses them by so much; whether it came there.

    A step that gains nothing is taken back.
    """
    x, before, size = c.state, c.before, missed
    for _ in range(TURNS):
        _call_own(c, OWN_STEP, x, stage, c.found, work)
        if not INDEPENDENT * c.found[DEPENDENCE] < 1.0:
            return False
        for i in range(before.size):
            before[i], x[1 + i] = x[1 + i], c.found[MOVED + i]
        normalise(x, quaternions)
        _call_own(c, OWN_MISSED, x, stage, c.found, work)
        if not c.found[OPEN_BY] < size:
            for i in range(before.size):
                x[1 + i] = before[i]
            break
        size = c.found[OPEN_BY]
        if size <= SMALL:
            break
    return bool(size <= ROUNDING * SMALL)


@native_inline
def _turn_slips(c: Any, at: int) -> None:
    """Directions of slip, from slips that lie in ``found`` from a place on."""
    for k in range(c.block[CANDIDATES]):
        if c.row[STATUSES + k] == SLIDING:
            along = k * CHANGING + ALONG
            x, y = slip_direction(c.along, k, c.table[k * TABLE + TANGENTS], c.found[at], c.found[at + 1])
            c.along[along], c.along[along + 1] = x, y
            at += 2
