"""Choices of dependent speeds whose equations are compiled, as native programs: one right-hand side, one settling.

The choice in force is made numerically (``projection``) wherever the one before does not serve; where that has
equations of its own, compiled programs take the place of the numeric ones until it does not serve any more. What serves
is decided as there.

A stage begins with a SelectionHeader and ConstraintLists, so that native loops find the choice in force where a
ConstraintHeader has it, and a SelectionRow for each compiled choice. Behind them lie the stage of the numeric programs
and those of the programs of each choice.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.engine.call import call_program, native_inline, native_kernel, native_program, vector_at
from kane.engine.memory.views import (
    constraint_header_at,
    constraint_lists_at,
    selection_header_at,
    selection_row_at,
    selection_row_size,
    selection_scratch_at,
)
from kane.engine.project.projection import SMALL
from kane.engine.rows.front_embedding import WORSE

NONE = -1
# Programs of a choice, in the order of their addresses in SelectionRow: its right-hand side, a step of Newton's method,
# and what follows from it (``kane.formulation.projection_step``).
OWN_RHS, STEP, CONSEQUENCES = range(3)
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


class Projected(NamedTuple):
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


@native_inline
def lists_of(constants: Any, head: Any) -> Any:
    """Return the ConstraintLists behind a SelectionHeader."""
    return constraint_lists_at(constants, head.end, head.speeds, 0, head.quaternions)


@native_inline
def row_of(constants: Any, head: Any, k: int) -> Any:
    """Return the SelectionRow of choice k."""
    rows, n = lists_of(constants, head).end, head.speeds
    return selection_row_at(constants, rows + k * selection_row_size(n), n)


@native_program
def rhs(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """qdot and udot."""
    head = selection_header_at(constants, 0)
    if head.chosen[0] == NONE:
        _call(head.rhs, head.numeric, state, inputs, constants, out, work)
    else:
        row = row_of(constants, head, head.chosen[0])
        _call(row.addresses[OWN_RHS], row.places[OWN_RHS], state, inputs, constants, out, work)


@native_program
def project(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Project as ``projection.project``; the outputs are a ProjectedState."""
    head = selection_header_at(constants, 0)
    if head.chosen[0] != NONE and _project_by_choice(
        _projected_of(head, state, constants, work), inputs, constants, out, work
    ):
        return
    _call(head.project, head.numeric, state, inputs, constants, out, work)
    n, nq = head.speeds, head.coordinates
    _take_over(head, constants)
    if head.chosen[0] != NONE:
        s, result = _projected_of(head, state, constants, work), vector_at(out, 0, nq + n)
        for i in range(nq + n):
            s.state[1 + i] = result[i]
        _call_own(s, CONSEQUENCES, s.state, inputs, constants, s.follows, work)
        if not s.follows[LEFT] <= EXACT:
            head.chosen[0] = NONE


@native_inline
def _take_over(head: Any, constants: Any) -> None:
    """Make the choice that was made in numbers the one in force, and find its row."""
    numeric, order = constraint_header_at(constants, head.numeric), lists_of(constants, head).order
    chosen = constraint_lists_at(constants, numeric.end, head.speeds, 0, 0).order
    head.rank[0], head.chosen[0] = numeric.rank[0], NONE
    for k in range(head.speeds):
        order[k] = chosen[k]
    for k in range(head.selections):
        if _is_choice(row_of(constants, head, k), head.rank[0], order):
            head.chosen[0] = k


@native_inline
def _is_choice(row: Any, rank: int, order: Any) -> bool:
    """Whether a row is of the choice in a header."""
    found = row.dependent == rank
    for k in range(rank):
        found = found and row.mask[order[k]] == 1
    return bool(found)


@native_inline
def _projected_of(head: Any, state: Any, constants: Any, work: Any) -> Any:
    """The Settled of a call, the state copied."""
    s = selection_scratch_at(work, head.work, head.speeds, head.coordinates)
    given = vector_at(state, 0, s.state.size)
    for i in range(given.size):
        s.state[i] = given[i]
    row, quaternions = row_of(constants, head, head.chosen[0]), lists_of(constants, head).quaternions
    return Projected(head, quaternions, row, s.state, s.found, s.next, s.follows)


@native_inline
def _call(address: int, place: int, state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Call a program whose stage lies at a place, of the pointers of this call."""
    given, result, scratch = vector_at(inputs, 0, 0), vector_at(out, 0, 0), vector_at(work, 0, 0)
    call_program(address, vector_at(state, 0, 0), given, vector_at(constants, place, 0), result, scratch)


@native_inline
def _call_own(s: Any, which: int, x: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Call a program of the choice in force at [t, q, u]."""
    place = vector_at(constants, s.row.places[which], 0)
    call_program(s.row.addresses[which], x, vector_at(inputs, 0, 0), place, out, vector_at(work, 0, 0))


@native_inline
def _project_by_choice(s: Any, inputs: Any, constants: Any, out: Any, work: Any) -> bool:
    """Settle by the choice in force; whether that serves."""
    n, nq = s.head.speeds, s.head.coordinates
    normalise(s.state, s.quaternions)
    _call_own(s, STEP, s.state, inputs, constants, s.found, work)
    before, motion = s.found[OPEN], s.found[MOVING]
    follows = s.follows
    if not _close(s, inputs, constants, work) or not serves(follows[CONDITIONING], follows[ENTRY], follows[LEFT]):
        return False
    result, projected = vector_at(out, 0, nq + n + 3), follows[FOLLOWING:]
    for i in range(projected.size):
        result[i] = projected[i]
    result[nq + n], result[nq + n + 1], result[nq + n + 2] = before, motion, min(1.0, follows[CONDITIONING])
    return True


@native_inline
def serves(regular: float, entry: float, left: float) -> bool:
    """Whether a choice serves, by CONDITIONING, ENTRY and LEFT: no entry of D is above 1 / WORSE, as in numbers."""
    return regular > REGULAR and entry <= 1.0 / WORSE and left <= EXACT


@native_inline
def _close(s: Any, inputs: Any, constants: Any, work: Any) -> bool:
    """q onto the configuration constraints by Newton's method, and what follows there; whether it came there.

    A step is known for the state when this begins. One that gains nothing is taken back.
    """
    x, found, spare, size, steps = s.state, s.found, s.next, s.found[OPEN], 0
    while size > SMALL and steps < ITERATIONS:
        if steps > 0:
            _call_own(s, STEP, x, inputs, constants, found, work)
        moved = found[STEPPED:]
        normalise(moved, s.quaternions)
        _call_own(s, CONSEQUENCES, moved, inputs, constants, s.follows, work)
        if not s.follows[OPEN_THEN] < size:
            break
        size = s.follows[OPEN_THEN]
        x, found, spare = moved, spare, found
        steps += 1
    if not (size <= CLOSED and (steps < ITERATIONS or size <= SMALL)):
        return False
    if steps == 0 or size > SMALL:
        _call_own(s, CONSEQUENCES, x, inputs, constants, s.follows, work)
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
