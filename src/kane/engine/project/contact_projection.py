"""Projection of a state [q, u] onto the active rows of a contact mode, with the factor of M and island by island.

Coordinates and speeds move by the smallest correction in the metric of the kinetic energy:

    s = M^-1 A^T lambda,   A s = -r,

with the configuration residual r (zero for rows that do not restrict the configuration), or with r = A u + b. The
programs of ``kane.engine.rows.tree_response`` solve these equations. They read -r in place of the accelerations b, and
zero in place of the loads.

Source: Gear, Leimkuhler & Gupta 1985, Automatic integration of Euler-Lagrange equations with constraints.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import call_program, native_inline, native_kernel, vector_at
from kane.engine.linear.vectors import normalise
from kane.engine.memory.constraint_codes import KINEMATICS, OWN
from kane.engine.memory.constraint_memory import scratch_of
from kane.engine.memory.contact_codes import FACTOR, MOVING, NONE, OPEN, SLIDING, SUBSTITUTION
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.views import (
    RecordTail,
    projected_state_at,
    record_tail_at,
    record_tail_size,
    row_record_size,
    solution_terms_at,
)
from kane.engine.project.newton import NO_STEP, SMALL, iterate
from kane.engine.project.projection import find_residual, projected_speed
from kane.engine.rows.contact_arrays import Contacts, contacts_of
from kane.engine.rows.embedding import Arrays, arrays_among, call, find_rows
from kane.engine.rows.islands import take_friction_out
from kane.engine.rows.mode_dynamics import mark_rows
from kane.engine.rows.row_forces import direction, name_rows
from kane.engine.rows.row_problem import RowProblem, row_problem_of
from kane.engine.rows.tree_response import (
    INDEPENDENT,
    REDUNDANT,
    call_block,
    clear,
    clear_records,
    find_active_rows,
    load_records,
    note_groups,
    slips,
    solution_for,
    solve_by_islands,
)

# Largest number of Newton steps with one factor of M. An integration step needs one or two.
FACTORED_STEPS = 4
# Largest velocity of a row that counts as rounding errors, relative to the sum of its terms: 8 units in the last place.
ROUNDED_VELOCITY = 2.0**-49
# Number of active rows, number of the compiled solution or NONE, and the rows for which this solution has room.
SolvedRows = tuple[int, int, int]


@native_inline
def project_by_response(c: Contacts, a: Arrays, inputs: Any, constants: Any, out: Any, work: Any) -> bool:
    """Write the ProjectedState at the state of the arrays; return whether the active rows are independent.

    The conditioning is that of the rows: the square root of the smallest ratio of a pivot to the square of its row.
    """
    k = row_problem_of(constants, work)
    m, slides, friction, _ = find_active_rows(k)
    which, capacity = solution_for(k, m, False)
    if a.head.addresses[OWN] != 0 or a.head.linear == 0 or k.block.addresses[SUBSTITUTION] == 0:
        return False
    x = a.state[1:]
    normalise(x, a.lists.quaternions)
    result = projected_state_at(out, 0, k.n, k.nq)
    result.configuration[0], result.motion[0], result.conditioning[0] = 0.0, 0.0, 1.0
    if m == 0 and not friction:
        for i in range(x.size):
            result.whole[i] = x[i]
        return True
    rows = m, which if m < k.n else NONE, capacity
    load_rows(k, a, rows, slides, inputs, constants, work)
    load_row_velocities(k, a.state, inputs, constants, work)
    result.motion[0] = _largest_velocity(k, m)
    result.configuration[0] = residual = _residual(c, a, inputs, constants, work)
    if not residual <= SMALL:
        if not _correct_coordinates(rows, inputs, constants, work):
            return False
        load_rows(k, a, rows, slides, inputs, constants, work)
        load_row_velocities(k, a.state, inputs, constants, work)
    least = correct_velocities(k, rows, False, a.state, constants, work)
    if not least > INDEPENDENT:
        return False
    for i in range(k.nq):
        result.q[i] = x[i]
    u = x[k.nq :]
    for j in range(u.size):
        result.u[j] = projected_speed(u[j] + k.udot[j], u[j])
    result.conditioning[0] = min(1.0, math.sqrt(least))
    if friction:
        find_rows(a, inputs, constants, work)
    for i in range(k.block.constraints):
        if slips(k, i):
            x, y = k.slip[i, 0], k.slip[i, 1]
            if k.table.normal[i] == NONE:  # a row without a record
                x, y = direction(c, i)
            c.state.along[i, 0], c.state.along[i, 1] = x, y
    return True


@native_inline
def project_by_last_response(c: Contacts, a: Arrays, inputs: Any, constants: Any, out: Any, work: Any) -> bool:
    """Project as ``project_by_response``, with the factor and records that the last slope of the run left in scratch.

    The records belong to a nearby state in the same mode, and determine only the direction of the correction. Residuals
    are evaluated at the given state, whose quaternions have unit length. A state on the rows, up to rounding errors,
    does not change.

    Returns:
        Whether the records are usable.
    """
    k = row_problem_of(constants, work)
    m, slides, _, key = find_active_rows(k)
    which, capacity = solution_for(k, m, slides)
    if a.head.addresses[OWN] != 0 or a.head.linear == 0 or k.mode[0] != key:
        return False
    mark_rows(c, False)
    x, rows, result = a.state[1:], (m, which, capacity), projected_state_at(out, 0, k.n, k.nq)
    for i in range(x.size):
        result.whole[i] = x[i]
    _place_tails(k, m)
    least = _least_pivot(k, rows)
    if not least > INDEPENDENT:  # slopes accept redundant rows if no force is needed
        return False
    result.conditioning[0] = min(1.0, math.sqrt(least))
    load_row_velocities(k, a.state, inputs, constants, work)
    result.motion[0] = _largest_velocity(k, m)
    result.configuration[0] = residual = _residual(c, a, inputs, constants, work)
    if not residual <= SMALL:
        if not _correct_coordinates(rows, inputs, constants, work):
            return False
        for i in range(k.nq):
            result.q[i] = x[i]
        load_row_velocities(k, a.state, inputs, constants, work)
    steps = 0
    while not are_satisfied(k, m):
        if steps == FACTORED_STEPS or not correct_velocities(k, rows, False, a.state, constants, work) > INDEPENDENT:
            return False
        steps += 1
        u = x[k.nq :]
        for j in range(u.size):
            u[j] = projected_speed(u[j] + k.udot[j], result.u[j])
        load_row_velocities(k, a.state, inputs, constants, work)
    for j in range(k.n):
        result.u[j] = x[k.nq + j]
    return True


@native_inline
def load_row_velocities(k: RowProblem, state: Any, inputs: Any, constants: Any, work: Any) -> None:
    """Write A u + b of the active rows into ``velocity``, each with the sum of the sizes of its terms."""
    first, given = 0, vector_at(inputs, 0, 0)
    if k.block.permanent > 0:
        call_block(k, MOVING, state, given, k.velocity[0], constants, work)
        first = k.block.permanent
    for c in range(k.block.constraints):
        status = k.state.status[c]
        if status == OPEN:
            continue
        normals = 1 if k.table.normal[c] != NONE else 0
        rows = normals if status == SLIDING else normals + k.table.tangents[c]
        if rows > 0:
            part = vector_at(constants, k.table.moves_place[c], 0)
            call_program(k.table.moves[c], state, given, part, k.velocity[first], vector_at(work, 0, 0))
            first += rows


@native_inline
def _largest_velocity(k: RowProblem, m: int) -> float:
    largest = 0.0
    for r in range(m):
        largest = max(largest, abs(k.velocity[r, 0]))
    return float(largest)


@native_inline
def are_satisfied(k: RowProblem, m: int) -> bool:
    """Check whether the velocities of the active rows are rounding errors."""
    satisfied = True
    for r in range(m):
        satisfied = satisfied and abs(k.velocity[r, 0]) <= ROUNDED_VELOCITY * k.velocity[r, 1]
    return bool(satisfied)


@native_inline
def correct_velocities(k: RowProblem, rows: SolvedRows, shortest: bool, state: Any, constants: Any, work: Any) -> float:
    """Compute the smallest correction of the speeds that cancels ``velocity``; return the result of ``_solve``."""
    for r in range(rows[0]):
        k.b[r] = -k.velocity[r, 0]
    return float(_solve(k, rows, shortest, state, constants, work))


@native_inline
def _place_tails(k: RowProblem, m: int) -> None:
    """Store the places of the RecordTails of consecutive records with all columns."""
    for r in range(m):
        k.tail[r] = (r + 1) * row_record_size(k.n) - record_tail_size()


@native_inline
def _least_pivot(k: RowProblem, rows: SolvedRows) -> float:
    """Return the smallest ratio of a pivot of the compiled solution to the square of its row."""
    m, _, capacity = rows
    pivot, least, total = solution_terms_at(k.found, 0, capacity, k.n).pivot, math.inf, 0.0
    for r in range(m):
        ratio = pivot[r] / _tail(k, r).square[0]
        least, total = min(least, ratio), total + ratio
    return float(least if math.isfinite(total) else 0.0)  # a massless body has no D^-1


@native_inline
def load_rows(k: RowProblem, a: Arrays, rows: SolvedRows, slides: bool, inputs: Any, constants: Any, work: Any) -> None:
    """Compute the factor of M and the records of the active rows without friction, at the state of the arrays."""
    m, which, _ = rows
    k.mode[0] = 0
    call_block(k, FACTOR, a.state, vector_at(inputs, 0, 0), k.given.whole, constants, work)
    load_records(k, a.state, constants, work)
    if slides:
        take_friction_out(k, note_groups(constants, work))
    elif which != NONE:
        _place_tails(k, m)
    else:
        note_groups(constants, work)


@native_inline
def _tail(k: RowProblem, r: int) -> RecordTail:
    """Return the RecordTail of an active row."""
    return record_tail_at(k.given.records, k.tail[r])


@native_inline
def _solve(k: RowProblem, rows: SolvedRows, shortest: bool, state: Any, constants: Any, work: Any) -> float:
    """Write M^-1 A^T lambda and lambda into ``found`` for the accelerations b of the active rows.

    Redundant rows, and more rows than the compiled solution has room for, are solved island by island. ``shortest``
    selects the lambda of least norm there.

    Returns:
        Smallest ratio of a pivot to the square of its row, over the rows that are not redundant.
    """
    m, which, capacity = rows
    for r in range(m):
        _tail(k, r).b[0] = k.b[r]
    clear(k.given.scaled)
    if which != NONE:
        clear_records(k, m, capacity)
        call_block(k, which, state, k.given.whole, k.found, constants, work)
        least = _least_pivot(k, rows)
        if least > INDEPENDENT:
            return float(least)
    _, least = solve_by_islands(shortest, (INDEPENDENT, REDUNDANT, math.inf, math.inf), constants, work)
    call_block(k, SUBSTITUTION, state, k.given.whole, k.found, constants, work)
    return float(least)


@native_inline
def _residual(c: Contacts, a: Arrays, inputs: Any, constants: Any, work: Any) -> float:
    """Evaluate the configuration residuals of the active rows; return the largest."""
    return find_residual(a, c.held.found, c.row_mask, c.held.value, inputs, constants, work)


@native_inline
def _take_step(problem: Any, residual: float, taken: int) -> float:
    """Take a Newton step with the present factor of M; return the residual after it, or NO_STEP."""
    c, a, k, rows, inputs, constants, work = problem
    s, row_of = scratch_of(a.head, work), a.lists.rows_of_residuals
    for r in range(rows[0]):
        k.b[r], k.loose[k.row[r]] = 0.0, r
    for place in range(row_of.size):
        if c.row_mask[row_of[place]] == 1:
            k.b[k.loose[row_of[place]]] = -c.held.found[place]
    if not _solve(k, rows, False, a.state, constants, work) > INDEPENDENT:
        return NO_STEP
    for j in range(k.n):
        a.state[1 + k.nq + j] = k.udot[j]
    call(a, KINEMATICS, inputs, constants, work, s.slope)
    for i in range(k.nq):
        s.q[i] = a.state[1 + i]
        a.state[1 + i] += s.slope[i]
    normalise(a.state[1:], a.lists.quaternions)
    return float(_residual(c, a, inputs, constants, work))


@native_inline
def _take_back(problem: Any) -> None:
    """Restore the coordinates before the last step."""
    _, a, k, _, _, _, work = problem
    before: Vector = scratch_of(a.head, work).q
    for i in range(k.nq):
        a.state[1 + i] = before[i]


@native_kernel
def _correct_coordinates(rows: SolvedRows, inputs: Any, constants: Any, work: Any) -> bool:
    """Project q onto the active rows, whose residuals and records at the state are known.

    The first step is always kept, because its direction may belong to another state.

    Returns:
        Whether q satisfies the rows. If not, the state of the arrays has no meaning.
    """
    c, k = contacts_of(constants, work), row_problem_of(constants, work)
    a = arrays_among(constants, work, c.all_rows, c.active[:0], 0)
    n, nq, u = k.n, k.nq, scratch_of(a.head, work).s
    name_rows(k)
    for j in range(n):
        u[j] = a.state[1 + nq + j]
    problem = c, a, k, rows, inputs, constants, work
    _, _, satisfied = iterate(problem, math.inf, FACTORED_STEPS, _take_step, _take_back)
    for j in range(n):
        a.state[1 + nq + j] = u[j]
    return satisfied
