"""The row problem by the tree response: M = L^T D L, records of the active rows, and compiled solutions.

In: the state, the inputs, and the contact mode. Out: udot and one force for each active row in ``found``, with SOLVED,
DEPENDENT or NO_SOLUTION (see ``row_problem``). Each active row a has a record:

    y = L^-T a,   w = D^-1 x,   b = -(remainder + y^T D^-1 z),   S = Y^T W,   S lambda = b,
    udot = L^-1 (D^-1 z + W lambda).

The programs come from ``kane.formulation.quantities.responses``. They are compiled for the model: one program for the
factor of M, one for the rows of each constraint, one for each sliding constraint, and solutions for up to 9 rows.
Larger problems go to ``islands``. Nearly dependent rows lose digits, so that they go to the embedding.

Source: Featherstone 2008, Rigid Body Dynamics Algorithms, sections 6.5 and 8.5.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import call_program, native_inline, native_kernel, vector_at
from kane.engine.memory.contact_codes import (
    ALWAYS,
    CAPACITIES,
    FACTOR,
    MANY_SPEEDS,
    NONE,
    SLIDING,
    SOLUTIONS,
    SUBSTITUTION,
)
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.views import (
    row_record_at,
    row_record_size,
    solution_terms_at,
)
from kane.engine.rows.islands import note_group, solve_islands
from kane.engine.rows.row_problem import NO_SOLUTION, SOLVED, ActiveRows, RowProblem, active_rows_of, row_problem_of

# Ratio of y^T D^-1 y that remains of a row after the elimination of the rows before it. Above INDEPENDENT the row is
# independent. At most REDUNDANT is rounding: the row is redundant, and its force is indeterminate. Between them the row
# is nearly dependent, and its force loses digits.
INDEPENDENT, REDUNDANT = 1e-4, 1e-13
# Remaining acceleration of a redundant row, relative to the largest eliminated acceleration, that is rounding error.
CONSISTENT = 1e-9
# Largest ratio of the accelerations by the forces to the accelerations before and after. Above it digits are lost,
# as with forces on bodies that are light beside the others.
AMPLIFIED = 1e4
LIMITS = (INDEPENDENT, REDUNDANT, AMPLIFIED, CONSISTENT)


@native_inline
def call_block(k: RowProblem, which: int, state: Any, inputs: Any, out: Any, constants: Any, work: Any) -> None:
    """Call a program of the ContactBlock."""
    part = vector_at(constants, k.block.places[which], 0)
    call_program(k.block.addresses[which], state, inputs, part, out, vector_at(work, 0, 0))


@native_inline
def find_active_rows(k: RowProblem) -> ActiveRows:
    """Return the ActiveRows of the contact mode."""
    m, slides, rubs, key = k.block.permanent, False, False, k.block.addresses[FACTOR]
    for c in range(k.block.constraints):
        status, (_, rows) = k.state.status[c], active_rows_of(k.table, k.state, c)
        m, key = m + rows, 3 * key + status
        slides = slides or (slips(k, c) and k.table.normal[c] != NONE)
        rubs = rubs or (status == SLIDING and k.table.normal[c] == NONE)
    return ActiveRows(m, slides, rubs, key)


@native_inline
def accelerate_by_response(
    k: RowProblem, active: ActiveRows, state: Any, inputs: Any, constants: Any, work: Any, forces: bool
) -> int:
    """Compute udot and the forces of the active rows in ``found``; return the result of the solver.

    Redundant forces have the least norm in each island if ``forces`` is true or a contact slides. Else they are any
    solution.

    Args:
        k: RowProblem of the call.
        active: active rows of the contact mode.
        state, inputs, constants, work: of the call.
        forces: whether the caller needs the forces.

    Returns:
        SOLVED, DEPENDENT, or NO_SOLUTION if rows are nearly dependent or contradict each other.
    """
    m, slides = active.rows, active.slides
    which, capacity = solution_for(k, m, slides)
    few = which != NONE
    if not few and k.block.addresses[SUBSTITUTION] == 0:
        return NO_SOLUTION
    call_block(k, FACTOR, state, vector_at(inputs, 0, 0), k.given.whole, constants, work)
    if active.rubs:
        _load_friction(k, state, constants, work)
    load_records(k, state, constants, work)
    k.mode[0], found = 0, NO_SOLUTION
    if few and _solve_few(k, m, which, capacity, forces or slides, state, constants, work):
        found = SOLVED
        k.mode[0] = 0 if slides or active.rubs else active.key
    elif k.block.addresses[SUBSTITUTION] != 0:
        found, _ = solve_by_islands(forces or slides, LIMITS, constants, work)
        call_block(k, SUBSTITUTION, state, k.given.whole, k.found, constants, work)
    return int(found)


@native_kernel
def solve_by_islands(
    shortest: bool, limits: tuple[float, float, float, float], constants: Any, work: Any
) -> tuple[int, float]:
    """Solve the loaded rows island by island, see ``solve_islands``."""
    found, least = solve_islands(row_problem_of(constants, work), note_groups(constants, work), shortest, limits)
    return found, least


@native_inline
def _solve_few(
    k: RowProblem, m: int, which: int, capacity: int, unique: bool, state: Any, constants: Any, work: Any
) -> bool:
    """Solve by a compiled solution; return whether its accelerations and forces are accurate."""
    clear_records(k, m, capacity)
    call_block(k, which, state, k.given.whole, k.found, constants, work)
    good = solution_terms_at(k.found, 0, capacity, k.n).good[0] == m and m < k.n
    return bool(good or _is_good(k, m, capacity, unique))


@native_inline
def clear_records(k: RowProblem, m: int, capacity: int) -> None:
    """Clear the records of a compiled solution behind the m active rows."""
    size = row_record_size(k.n)
    clear(vector_at(k.given.records, m * size, (capacity - m) * size))


@native_inline
def clear(x: Vector) -> None:
    """Set x to zero."""
    for i in range(x.size):
        x[i] = 0.0


@native_inline
def solution_for(k: RowProblem, m: int, slides: bool) -> Any:
    """Return the compiled solution for m rows, or NONE, and its capacity."""
    kind, capacity = 2, CAPACITIES[2]
    if m <= CAPACITIES[0]:
        kind, capacity = 0, CAPACITIES[0]
    elif m <= CAPACITIES[1]:
        kind, capacity = 1, CAPACITIES[1]
    which = SOLUTIONS + 2 * kind + (1 if slides else 0)
    return (which if m <= capacity and k.block.addresses[which] != 0 else NONE), capacity


@native_inline
def _load_friction(k: RowProblem, state: Any, constants: Any, work: Any) -> None:
    """Add sliding friction that depends on no normal force to z / D, before the programs of the rows read it."""
    for c in range(k.block.constraints):
        if slips(k, c) and k.table.normal[c] == NONE:
            out = k.given.friction
            _call_slide(k, c, state, out, constants, work)
            for i in range(k.n):
                k.given.scaled[i] = out[i]
            _keep_slip(k, c, out, k.n)


@native_inline
def load_records(k: RowProblem, state: Any, constants: Any, work: Any) -> None:
    """Write the records of the active rows, one after the other."""
    place, given = 0, k.given.whole
    if k.block.permanent > 0:
        call_block(k, ALWAYS, state, given, k.given.records, constants, work)
        place += _length(k, k.block.permanent, k.block.columns)
    for c in range(k.block.constraints):
        (_, rows), width = active_rows_of(k.table, k.state, c), k.table.width[c]
        if rows > 0 and not slips(k, c):
            load_record(k, c, place, state, constants, work)
        elif rows > 0:
            _call_slide(k, c, state, vector_at(k.given.records, place, 0), constants, work)
            _keep_slip(k, c, k.given.records, place + _length(k, 1, width))
        place += _length(k, rows, width) if rows > 0 else 0


@native_inline
def load_record(k: RowProblem, c: int, place: int, state: Any, constants: Any, work: Any) -> None:
    """Write the records of all rows of a constraint, from a place on."""
    out, part = vector_at(k.given.records, place, 0), vector_at(constants, k.table.answer_place[c], 0)
    call_program(k.table.answer[c], state, k.given.whole, part, out, vector_at(work, 0, 0))


@native_inline
def _length(k: RowProblem, rows: int, width: int) -> int:
    """Return the length of the records of some rows, with the list of their columns."""
    return int(rows * row_record_size(width) + (width if k.n > MANY_SPEEDS else 0))


@native_kernel
def note_groups(constants: Any, work: Any) -> int:
    """List the groups of rows whose records are loaded, see ``islands``; return their number."""
    k, groups, place = row_problem_of(constants, work), 0, 0
    if k.block.permanent > 0:
        place = note_group(k, 0, NONE, place, k.block.permanent, k.block.columns)
        groups = 1
    for c in range(k.block.constraints):
        _, rows = active_rows_of(k.table, k.state, c)
        if rows > 0:
            place = note_group(k, groups, c, place, rows, k.table.width[c])
            groups += 1
    return groups


@native_inline
def _keep_slip(k: RowProblem, c: int, found: Vector, place: int) -> None:
    """Store the remaining slip and its direction, which begin at a place in ``found``."""
    k.slip_left[c], k.slip[c, 0], k.slip[c, 1] = found[place], found[place + 1], found[place + 2]


@native_inline
def slips(k: RowProblem, c: int) -> bool:
    """Check whether a constraint slides with friction."""
    return bool(k.state.status[c] == SLIDING and k.table.tangents[c] > 0)


@native_inline
def _call_slide(k: RowProblem, c: int, state: Any, out: Any, constants: Any, work: Any) -> None:
    """Call the program of a sliding constraint, which reads the factor of M, the old direction, and begun."""
    to, part = k.given.along, vector_at(constants, k.table.slide_place[c], 0)
    to[0], to[1], to[2] = k.state.along[c, 0], k.state.along[c, 1], k.state.begun[c]
    call_program(k.table.slide[c], state, k.given.whole, part, out, vector_at(work, 0, 0))


@native_inline
def _is_good(k: RowProblem, m: int, capacity: int, unique: bool) -> bool:
    """Check whether a compiled solution is accurate: each row is independent, or redundant without consequence.

    A solution of rank n is refused, because the embedding gives exact zeros there. Forces must not amplify the
    accelerations by more than AMPLIFIED.
    """
    found, rank, largest, repeated = solution_terms_at(k.found, 0, capacity, k.n), 0, 0.0, 0.0
    for r in range(m):
        square = row_record_at(k.given.records, r * row_record_size(k.n), k.n).square[0]
        pivot, left = found.pivot[r], found.left[r] * found.left[r] / square
        if pivot > INDEPENDENT * square:
            rank += 1
            largest = max(largest, left)
        elif not abs(pivot) <= REDUNDANT * square or unique:
            return False
        else:
            repeated = max(repeated, left)
    if rank == k.n or not repeated <= CONSISTENT * CONSISTENT * largest or not math.isfinite(largest):
        return False
    pushed, others = 0.0, 0.0
    for i in range(k.n):
        total = 0.0
        for r in range(m):
            w = row_record_at(k.given.records, r * row_record_size(k.n), k.n).w
            total += abs(w[i] * found.force[r])
        pushed = max(pushed, total)
        others = max(others, max(abs(found.udot[i]), abs(k.given.scaled[i])))
    return bool(pushed <= AMPLIFIED * others)
