"""Native programs of compiled speed selections: the right-hand side and the projection of closed loops.

The speed selection is made numerically (``projection``) when the present one is no longer usable. If the new selection
has compiled equations, these replace the numeric programs until the selection is no longer usable. ``is_usable``
applies the criteria of the numeric selection.

The constants begin with a SelectionHeader and ConstraintLists, in which native loops find the present selection as in a
ConstraintHeader. A SelectionRow for each compiled selection follows, then the constants of the numeric programs and of
the programs of all selections.
"""

from __future__ import annotations

from typing import Any

from kane.deferred import NamedTuple
from kane.engine.call import call_program, native_inline, native_program, vector_at
from kane.engine.linear.vectors import normalise
from kane.engine.memory.contact_codes import NONE
from kane.engine.memory.loop_arguments import Indices, Vector
from kane.engine.memory.views import (
    ConstraintLists,
    SelectionHeader,
    SelectionRow,
    constraint_header_at,
    constraint_lists_at,
    selection_header_at,
    selection_row_at,
    selection_row_size,
    selection_scratch_at,
)
from kane.engine.project.newton import SMALL, iterate
from kane.engine.rows.front_embedding import WORSE

# Programs of a selection, in the order of their addresses in SelectionRow: right-hand side, Newton step, and the values
# that follow from a state on the constraints (``kane.formulation.projection_step``).
OWN_RHS, NEWTON_STEP, CONSEQUENCES = range(3)
# Outputs of NEWTON_STEP: largest residuals of configuration and motion, then [t, q, u] with the q of the next step.
STEP_RESIDUAL, STEP_VELOCITY, STEP_STATE = range(3)
# Outputs of CONSEQUENCES: residual of the configuration, conditioning, largest entry of D, ratio of the residual of
# the rows of D to their terms, then [q, u] with the dependent speeds.
END_RESIDUAL, REGULARITY, LARGEST_ENTRY, ROW_RESIDUAL, END_STATE = range(5)
# Smallest conditioning at which compiled projections are used: squares of pivots lose twice the digits.
REGULAR = 1e-3
# Largest ROW_RESIDUAL. The expressions of D divide by numbers that are not pivots, and lose digits if these are small.
ACCURATE = 1e-12
# Largest number of Newton steps. An integration step needs one or two.
COMPILED_STEPS = 5


class SelectionCall(NamedTuple):
    """Constants and scratch of a call.

    Attributes:
        head: header.
        quaternions: places of the quaternions in q.
        row: SelectionRow of the present selection.
        state: [t, q, u].
        found: outputs of NEWTON_STEP.
        follows: outputs of CONSEQUENCES.
    """

    head: SelectionHeader
    quaternions: Indices
    row: SelectionRow
    state: Vector
    found: Vector
    follows: Vector


@native_inline
def lists_of(constants: Any, head: SelectionHeader) -> ConstraintLists:
    """Return the ConstraintLists behind a SelectionHeader."""
    return constraint_lists_at(constants, head.end, head.speeds, 0, head.quaternions)


@native_inline
def row_of(constants: Any, head: SelectionHeader, k: int) -> SelectionRow:
    """Return the SelectionRow of selection k."""
    rows, n = lists_of(constants, head).end, head.speeds
    return selection_row_at(constants, rows + k * selection_row_size(n), n)


@native_program
def rhs(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Write qdot and udot."""
    head = selection_header_at(constants, 0)
    if head.chosen[0] == NONE:
        _call(head.rhs, head.numeric, state, inputs, constants, out, work)
    else:
        row = row_of(constants, head, head.chosen[0])
        _call(row.addresses[OWN_RHS], row.places[OWN_RHS], state, inputs, constants, out, work)


@native_program
def project(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Write the ProjectedState, and select a compiled selection after a numeric projection."""
    head = selection_header_at(constants, 0)
    if head.chosen[0] != NONE and _project_by_selection(
        _call_of(head, state, constants, work), inputs, constants, out, work
    ):
        return
    _call(head.project, head.numeric, state, inputs, constants, out, work)
    n, nq = head.speeds, head.coordinates
    _adopt_numeric_selection(head, constants)
    if head.chosen[0] != NONE:
        s, result = _call_of(head, state, constants, work), vector_at(out, 0, nq + n)
        for i in range(nq + n):
            s.state[1 + i] = result[i]
        _call_own(s, CONSEQUENCES, s.state, inputs, constants, s.follows, work)
        if not s.follows[ROW_RESIDUAL] <= ACCURATE:
            head.chosen[0] = NONE


@native_inline
def _adopt_numeric_selection(head: SelectionHeader, constants: Any) -> None:
    """Copy the numeric speed selection into the header, and find the compiled selection that equals it."""
    numeric, order = constraint_header_at(constants, head.numeric), lists_of(constants, head).order
    chosen = constraint_lists_at(constants, numeric.end, head.speeds, 0, 0).order
    head.rank[0], head.chosen[0] = numeric.rank[0], NONE
    for k in range(head.speeds):
        order[k] = chosen[k]
    for k in range(head.selections):
        if _is_selection(row_of(constants, head, k), head.rank[0], order):
            head.chosen[0] = k


@native_inline
def _is_selection(row: SelectionRow, rank: int, order: Indices) -> bool:
    """Check whether a row has the dependent speeds order[:rank]."""
    found = row.dependent == rank
    for k in range(rank):
        found = found and row.mask[order[k]] == 1
    return bool(found)


@native_inline
def _call_of(head: SelectionHeader, state: Any, constants: Any, work: Any) -> SelectionCall:
    """Return the SelectionCall of a call, with a copy of the state."""
    s = selection_scratch_at(work, head.work, head.speeds, head.coordinates)
    given = vector_at(state, 0, s.state.size)
    for i in range(given.size):
        s.state[i] = given[i]
    row, quaternions = row_of(constants, head, head.chosen[0]), lists_of(constants, head).quaternions
    return SelectionCall(head, quaternions, row, s.state, s.found, s.follows)


@native_inline
def _call(address: int, place: int, state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Call a program whose constants begin at a place, with the pointers of this call."""
    given, result, scratch = vector_at(inputs, 0, 0), vector_at(out, 0, 0), vector_at(work, 0, 0)
    call_program(address, vector_at(state, 0, 0), given, vector_at(constants, place, 0), result, scratch)


@native_inline
def _call_own(s: SelectionCall, which: int, x: Vector, inputs: Any, constants: Any, out: Vector, work: Any) -> None:
    """Call a program of the present selection at [t, q, u]."""
    place = vector_at(constants, s.row.places[which], 0)
    call_program(s.row.addresses[which], x, vector_at(inputs, 0, 0), place, out, vector_at(work, 0, 0))


@native_inline
def _project_by_selection(s: SelectionCall, inputs: Any, constants: Any, out: Any, work: Any) -> bool:
    """Write the ProjectedState by the present selection; return whether the selection is usable."""
    n, nq, follows = s.head.speeds, s.head.coordinates, s.follows
    normalise(s.state[1:], s.quaternions)
    _call_own(s, NEWTON_STEP, s.state, inputs, constants, s.found, work)
    before, motion = s.found[STEP_RESIDUAL], s.found[STEP_VELOCITY]
    taken, residual, satisfied = iterate((s, inputs, constants, work), before, COMPILED_STEPS, _take_step, _take_back)
    if not satisfied:
        return False
    if taken == 0 or residual > SMALL:
        _call_own(s, CONSEQUENCES, s.state, inputs, constants, follows, work)
    if not is_usable(follows[REGULARITY], follows[LARGEST_ENTRY], follows[ROW_RESIDUAL]):
        return False
    result, projected = vector_at(out, 0, nq + n + 3), follows[END_STATE:]
    for i in range(projected.size):
        result[i] = projected[i]
    result[nq + n], result[nq + n + 1], result[nq + n + 2] = before, motion, min(1.0, follows[REGULARITY])
    return True


@native_inline
def is_usable(regularity: float, largest_entry: float, lost: float) -> bool:
    """Check whether a selection is usable, by outputs of CONSEQUENCES: no entry of D exceeds 1 / WORSE."""
    return regularity > REGULAR and largest_entry <= 1.0 / WORSE and lost <= ACCURATE


@native_inline
def _take_step(problem: Any, residual: float, taken: int) -> float:
    """Take a Newton step and evaluate its consequences; return the residual after it."""
    s, inputs, constants, work = problem
    if taken > 0:
        _call_own(s, NEWTON_STEP, s.state, inputs, constants, s.found, work)
    normalise(s.found[STEP_STATE + 1 :], s.quaternions)
    exchange(s.state, s.found[STEP_STATE:], 0, 1)
    _call_own(s, CONSEQUENCES, s.state, inputs, constants, s.follows, work)
    return float(s.follows[END_RESIDUAL])


@native_inline
def _take_back(problem: Any) -> None:
    """Restore the state before the last step."""
    s, _, _, _ = problem
    exchange(s.state, s.found[STEP_STATE:], 0, 1)


@native_inline
def exchange(x: Vector, other: Vector, lane: int, lanes: int) -> None:
    """Exchange the values of one lane of x and another array of ``lanes`` lanes."""
    for i in range(lane, x.size, lanes):
        x[i], other[i] = other[i], x[i]
