"""Choices of dependent speeds whose equations are compiled, as native programs: one right-hand side, one settling.

The choice in force is made in numbers (``kane.native.settle``) wherever the one before does not serve; where that has
equations of its own, compiled programs take the place of the numeric ones until it does not serve any more. What serves
is decided as there.

A stage begins with 64-bit integers: places of its own where ``kane.native.header`` has those of programs, then sizes,
the choice in force and the order of its columns where that has them, so that native loops find them there; where in q
each unit quaternion starts; and a row for each compiled choice. Behind it lie the stage of the numeric programs and
those of the programs of each choice.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.native.call import call_program, integers_at, native_inline, native_kernel, native_program, vector_at
from kane.native.header import COORDINATES, HEADER, QUATERNIONS, RANK, SPEEDS, WORK
from kane.native.loops import WORSE
from kane.native.settle import SMALL

# Addresses of the numeric programs, and where their stage starts; how many choices are compiled, the number of the one
# in force, or NONE.
RHS, SETTLE, NUMERIC, CHOICES, CHOSEN = range(5)
NONE = -1
# A row: addresses and places of the stages of its right-hand side, of a step of Newton's method and of what follows
# from it (``kane.formulation.projection_step``); how many speeds are dependent; then for each speed whether it is.
OWN_RHS, STEP, CONSEQUENCES, DEPENDENT, MASK = 0, 2, 4, 6, 7
# What a step gives: the largest residuals of configuration and motion, then [t, q, u] with the q of the next step, so
# that it is called there without a copy. What follows: that residual there, the conditioning, the largest entry of D,
# what D leaves of the rows, then [q, u] with the dependent speeds that follow.
OPEN, MOVING, STEPPED = range(3)
OPEN_THEN, CONDITIONING, ENTRY, LEFT, FOLLOWING = range(5)
# Squares of pivots lose twice the digits: below this conditioning states are settled in numbers.
REGULAR = 1e-3
# The columns of D are chosen for their pivots, the divisors of its expressions are not: where these are small beside
# what they divide, D loses digits, and the rows are left over. More than this share of them, and the choice goes on in
# numbers.
EXACT = 1e-12
# Newton's method takes one or two steps; a state that needs more is settled in numbers. One that comes no closer is on
# its constraints beside rounding.
ITERATIONS, CLOSED = 5, 1e3 * SMALL


class Settled(NamedTuple):
    """Scratch of a call, with what it knows of the model.

    Attributes:
        head: the header.
        quaternions: where in q each starts.
        row: of the choice in force.
        state: [t, q, u].
        found, next: outputs of a step, and of the one behind it.
        follows: outputs of what follows.
    """

    head: Any
    quaternions: Any
    row: Any
    state: Any
    found: Any
    next: Any
    follows: Any


class ChoicePlaces(NamedTuple):
    """Scratch behind that of the programs: [t, q, u], outputs of a step, of the next one, and of what follows."""

    state: int
    found: int
    next: int
    follows: int
    end: int


def choice_places(head: Any) -> ChoicePlaces:
    """The places for a model with this header."""
    state, n = head[WORK], head[SPEEDS]
    found = state + 1 + head[COORDINATES] + n
    length = STEPPED + found - state
    follows = found + 2 * length
    return ChoicePlaces(state, found, found + length, follows, follows + FOLLOWING + head[COORDINATES] + n)


native_inline(choice_places)


@native_inline
def row_at(head: Any, k: int) -> Any:
    """Where the row of choice k starts."""
    return HEADER + head[SPEEDS] + head[QUATERNIONS] + k * (MASK + head[SPEEDS])


@native_program
def rhs(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """qdot and udot."""
    head = integers_at(stage, 0, HEADER)
    if head[CHOSEN] == NONE:
        _call(head[RHS], head[NUMERIC], state, rest, stage, out, work)
    else:
        row = integers_at(stage, row_at(head, head[CHOSEN]), MASK)
        _call(row[OWN_RHS], row[OWN_RHS + 1], state, rest, stage, out, work)


@native_program
def settle(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """As ``kane.native.settle``: q, u, residuals of configuration and motion before, conditioning of the choice."""
    head = integers_at(stage, 0, HEADER)
    if head[CHOSEN] != NONE and _settle_by_choice(_settled_of(head, state, stage, work), rest, stage, out, work):
        return
    _call(head[SETTLE], head[NUMERIC], state, rest, stage, out, work)
    n, nq = head[SPEEDS], head[COORDINATES]
    _take_over(head, integers_at(stage, 0, HEADER + n), integers_at(stage, head[NUMERIC], HEADER + n), stage)
    if head[CHOSEN] != NONE:
        s, result = _settled_of(head, state, stage, work), vector_at(out, 0, nq + n)
        for i in range(nq + n):
            s.state[1 + i] = result[i]
        _call_own(s, CONSEQUENCES, s.state, rest, stage, s.follows, work)
        if not s.follows[LEFT] <= EXACT:
            head[CHOSEN] = NONE


@native_inline
def _take_over(head: Any, own: Any, numeric: Any, stage: Any) -> None:
    """Make the choice that was made in numbers the one in force, and find its row."""
    own[RANK] = numeric[RANK]
    for k in range(head[SPEEDS]):
        own[HEADER + k] = numeric[HEADER + k]
    head[CHOSEN] = NONE
    for k in range(head[CHOICES]):
        if _is_choice(integers_at(stage, row_at(head, k), MASK + head[SPEEDS]), own):
            head[CHOSEN] = k


@native_kernel
def _is_choice(row: Any, own: Any) -> bool:
    """Whether a row is of the choice in a header."""
    found = row[DEPENDENT] == own[RANK]
    for k in range(own[RANK]):
        found = found and row[MASK + own[HEADER + k]] == 1
    return bool(found)


@native_inline
def _settled_of(head: Any, state: Any, stage: Any, work: Any) -> Any:
    """The Settled of a call, the state copied."""
    n = head[SPEEDS]
    row, quaternions = integers_at(stage, row_at(head, head[CHOSEN]), MASK + n), HEADER + n
    at, length = choice_places(head), 1 + head[COORDINATES] + n
    x, given = vector_at(work, at.state, length), vector_at(state, 0, length)
    for i in range(length):
        x[i] = given[i]
    return Settled(
        head,
        integers_at(stage, quaternions, head[QUATERNIONS]),
        row,
        x,
        vector_at(work, at.found, STEPPED + length),
        vector_at(work, at.next, STEPPED + length),
        vector_at(work, at.follows, FOLLOWING + length - 1),
    )


@native_inline
def _call(address: int, place: int, state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """Call a program whose stage lies at a place, of the pointers of this call."""
    given, result, scratch = vector_at(rest, 0, 0), vector_at(out, 0, 0), vector_at(work, 0, 0)
    call_program(address, vector_at(state, 0, 0), given, vector_at(stage, place, 0), result, scratch)


@native_inline
def _call_own(s: Any, which: int, x: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """Call a program of the choice in force at [t, q, u]."""
    place = vector_at(stage, s.row[which + 1], 0)
    call_program(s.row[which], x, vector_at(rest, 0, 0), place, out, vector_at(work, 0, 0))


@native_inline
def _settle_by_choice(s: Any, rest: Any, stage: Any, out: Any, work: Any) -> bool:
    """Settle by the choice in force; whether that serves."""
    n, nq = s.head[SPEEDS], s.head[COORDINATES]
    normalise(s.state, s.quaternions)
    _call_own(s, STEP, s.state, rest, stage, s.found, work)
    before, motion = s.found[OPEN], s.found[MOVING]
    follows = s.follows
    if not _close(s, rest, stage, work) or not serves(follows[CONDITIONING], follows[ENTRY], follows[LEFT]):
        return False
    result, settled = vector_at(out, 0, nq + n + 3), follows[FOLLOWING:]
    for i in range(settled.size):
        result[i] = settled[i]
    result[nq + n], result[nq + n + 1], result[nq + n + 2] = before, motion, min(1.0, follows[CONDITIONING])
    return True


@native_inline
def serves(regular: float, entry: float, left: float) -> bool:
    """Whether a choice serves, by CONDITIONING, ENTRY and LEFT: no entry of D is above 1 / WORSE, as in numbers."""
    return regular > REGULAR and entry <= 1.0 / WORSE and left <= EXACT


@native_inline
def _close(s: Any, rest: Any, stage: Any, work: Any) -> bool:
    """q onto the configuration constraints by Newton's method, and what follows there; whether it came there.

    A step is known for the state when this begins. One that gains nothing is taken back.
    """
    x, found, spare, size, steps = s.state, s.found, s.next, s.found[OPEN], 0
    while size > SMALL and steps < ITERATIONS:
        if steps > 0:
            _call_own(s, STEP, x, rest, stage, found, work)
        moved = found[STEPPED:]
        normalise(moved, s.quaternions)
        _call_own(s, CONSEQUENCES, moved, rest, stage, s.follows, work)
        if not s.follows[OPEN_THEN] < size:
            break
        size = s.follows[OPEN_THEN]
        x, found, spare = moved, spare, found
        steps += 1
    if not (size <= CLOSED and (steps < ITERATIONS or size <= SMALL)):
        return False
    if steps == 0 or size > SMALL:
        _call_own(s, CONSEQUENCES, x, rest, stage, s.follows, work)
    return True


@native_kernel
def normalise(state: Any, quaternions: Any) -> None:
    """Scale each quaternion of [t, q, u] to length one."""
    for start in quaternions:
        length = 0.0
        for i in range(1 + start, 5 + start):
            length += state[i] * state[i]
        length = math.sqrt(length)
        for i in range(1 + start, 5 + start):
            state[i] /= length
