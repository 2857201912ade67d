"""A state put onto the rows in force by the factor of M, those of many bodies island by island.

What the exact motion satisfies, a step misses by its error. Coordinates and speeds move by the least change, in the
metric of the kinetic energy, that takes what the rows say of them away:

    s = M^-1 A^T lambda,   A s = -r,

with r the residual of the configuration (zero of rows that do not restrict it) or A u + b. The programs of
``kane.engine.rows.tree_response`` solve that: they take -r for b, and zero for the loads.

Source: Gear, Leimkuhler & Gupta 1985, Automatic integration of Euler-Lagrange equations with constraints.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import call_program, native_inline, native_kernel, vector_at
from kane.engine.linear.vectors import normalise
from kane.engine.memory.constraint_codes import CONFIGURATION, KINEMATICS, OWN
from kane.engine.memory.constraint_memory import scratch_of
from kane.engine.memory.contact_codes import (
    FACTOR,
    MOVING,
    NONE,
    OPEN,
    SLIDING,
    SUBSTITUTION,
)
from kane.engine.memory.views import (
    projected_state_at,
    record_tail_at,
    record_tail_size,
    row_record_size,
    solution_terms_at,
)
from kane.engine.project.projection import ROUNDED, SMALL
from kane.engine.rows.embedding import call, find_rows
from kane.engine.rows.islands import solve_islands, take_friction_out
from kane.engine.rows.mode_dynamics import mark_rows
from kane.engine.rows.row_forces import direction, name_rows
from kane.engine.rows.row_problem import row_problem_of
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
)

# Newton's method with the factor that it began with: what a step has missed is gone after one or two turns. A residual
# that becomes no smaller is rounding of a larger mechanism below so many times SMALL. The velocity of a row is rounding
# where it is no more than this share of the sum of its terms, eight units in their last place.
TURNS, ROUNDING, WITHIN_ROUNDING = 4, 1e3, 2.0**-49


@native_inline
def project_by_response(c: Any, a: Any, inputs: Any, constants: Any, out: Any, work: Any) -> bool:
    """What ``kane.engine.project.projection`` gives, at the state of the arrays; whether rows allow it.

    The conditioning is that of the rows: the root of the least share of a row's square that those before it leave.
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
    result.configuration[0] = size = _residual(c, a, inputs, constants, work)
    if not size <= SMALL:
        if not _correct_coordinates(c, a, k, rows, inputs, constants, work):
            return False
        load_rows(k, a, rows, slides, inputs, constants, work)
        load_row_velocities(k, a.state, inputs, constants, work)
    least = slow_down(k, rows, False, a.state, constants, work)
    if not least > INDEPENDENT:
        return False
    for i in range(k.nq):
        result.q[i] = x[i]
    u = x[k.nq :]
    for j in range(u.size):
        left = u[j] + k.udot[j]
        result.u[j] = left if abs(left) > ROUNDED * abs(u[j]) else 0.0
    result.conditioning[0] = min(1.0, math.sqrt(least))
    if friction:
        find_rows(a, inputs, constants, work)
    for i in range(k.block.constraints):
        if slips(k, i):
            x, y = k.slip[i, 0], k.slip[i, 1]
            if k.table.normal[i] == NONE:  # it has no record
                x, y = direction(c, i)
            c.state.along[i, 0], c.state.along[i, 1] = x, y
    return True


@native_inline
def project_by_last_response(c: Any, a: Any, inputs: Any, constants: Any, out: Any, work: Any) -> bool:
    """The same by the factor and records that the scratch has from the last slope of a run, in this mode at a state not
    far from here, whose quaternions are of unit length; whether they serve.

    Where rows are is evaluated here, so that what they hold is held as well; only the direction of the least change is
    that of the other state. What is on the rows, but for rounding, stays as it is.
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
    _name_tails(k, m)
    least = _least_pivot(k, rows)
    if not least > INDEPENDENT:  # a row that repeats others counts as solved for where forces are not asked for
        return False
    result.conditioning[0] = min(1.0, math.sqrt(least))
    load_row_velocities(k, a.state, inputs, constants, work)
    result.motion[0] = _largest_velocity(k, m)
    result.configuration[0] = size = _residual(c, a, inputs, constants, work)
    if not size <= SMALL:
        if not _correct_coordinates(c, a, k, rows, inputs, constants, work):
            return False
        for i in range(k.nq):
            result.q[i] = x[i]
        load_row_velocities(k, a.state, inputs, constants, work)
    turns = 0
    while not are_kept(k, m):
        if turns == TURNS or not slow_down(k, rows, False, a.state, constants, work) > INDEPENDENT:
            return False
        turns += 1
        u = x[k.nq :]
        for j in range(u.size):
            left = u[j] + k.udot[j]
            u[j] = left if abs(left) > ROUNDED * abs(result.u[j]) else 0.0
        load_row_velocities(k, a.state, inputs, constants, work)
    for j in range(k.n):
        result.u[j] = x[k.nq + j]
    return True


@native_inline
def load_row_velocities(k: Any, state: Any, inputs: Any, constants: Any, work: Any) -> None:
    """A u + b of the rows in force, each with what its rounding is compared with."""
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
def _largest_velocity(k: Any, m: int) -> float:
    largest = 0.0
    for r in range(m):
        largest = max(largest, abs(k.velocity[r, 0]))
    return float(largest)


@native_inline
def are_kept(k: Any, m: int) -> bool:
    """Whether the velocities of the rows in force are rounding."""
    kept = True
    for r in range(m):
        kept = kept and abs(k.velocity[r, 0]) <= WITHIN_ROUNDING * k.velocity[r, 1]
    return bool(kept)


@native_inline
def slow_down(k: Any, rows: Any, shortest: bool, state: Any, constants: Any, work: Any) -> float:
    """The least change of the speeds that takes the velocities of the rows away, as ``_solve``."""
    for r in range(rows[0]):
        k.b[r] = -k.velocity[r, 0]
    return float(_solve(k, rows, shortest, state, constants, work))


@native_inline
def _name_tails(k: Any, m: int) -> None:
    """Where records are that have all columns, one behind the other."""
    for r in range(m):
        k.tail[r] = (r + 1) * row_record_size(k.n) - record_tail_size()


@native_inline
def _least_pivot(k: Any, rows: Any) -> float:
    """The least share of a row's square that those before it leave, as the compiled solution has found it."""
    m, _, capacity = rows
    pivot, least, total = solution_terms_at(k.found, 0, capacity, k.n).pivot, math.inf, 0.0
    for r in range(m):
        ratio = pivot[r] / _tail(k, r).square[0]
        least, total = min(least, ratio), total + ratio
    return float(least if math.isfinite(total) else 0.0)  # a massless body has no D^-1


@native_inline
def load_rows(k: Any, a: Any, rows: Any, slides: bool, inputs: Any, constants: Any, work: Any) -> None:
    """The factor of M and the records of the rows in force, without friction, at the state of the arrays."""
    m, which, _ = rows
    k.mode[0] = 0
    call_block(k, FACTOR, a.state, vector_at(inputs, 0, 0), k.given.whole, constants, work)
    load_records(k, a.state, constants, work)
    if slides:
        take_friction_out(k, note_groups(k))
    elif which != NONE:
        _name_tails(k, m)
    else:
        note_groups(k)


@native_inline
def _tail(k: Any, r: int) -> Any:
    """Return the RecordTail of an active row."""
    return record_tail_at(k.given.records, k.tail[r])


@native_inline
def _solve(k: Any, rows: Any, shortest: bool, state: Any, constants: Any, work: Any) -> float:
    """M^-1 A^T lambda of the rows in force, whose accelerations b are given, and lambda behind it, into ``found``; the
    least share of a row's square that those before it leave, of rows that do not repeat others. Many rows, and those,
    go by islands, where lambda is the shortest if that is asked for.
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
    _, least = solve_islands(k, note_groups(k), shortest, (INDEPENDENT, REDUNDANT, math.inf, math.inf))
    call_block(k, SUBSTITUTION, state, k.given.whole, k.found, constants, work)
    return float(least)


@native_inline
def _residual(c: Any, a: Any, inputs: Any, constants: Any, work: Any) -> float:
    """The residual of the configuration, zero where a row is not in force, behind what is held; its largest entry."""
    residual, value, rows, largest = c.held.found, c.held.value, a.lists.rows_of_residuals, 0.0
    call(a, CONFIGURATION, inputs, constants, work, residual)
    for place in range(residual.size):
        counts = c.row_mask[rows[place]] == 1 and value[place] == value[place]
        residual[place] = residual[place] - value[place] if counts else 0.0
        if largest == largest and not abs(residual[place]) <= largest:
            largest = abs(residual[place])
    return float(largest)


@native_kernel
def _correct_coordinates(c: Any, a: Any, k: Any, rows: Any, inputs: Any, constants: Any, work: Any) -> bool:
    """q onto the rows, whose residual and records at this state are there; whether that came about.

    Where it did not, the state of the arrays is scratch.
    """
    n, nq, s = k.n, k.nq, scratch_of(a.head, work)
    u, before, slope, row_of = s.s, s.q, s.slope, a.lists.rows_of_residuals
    name_rows(k)
    for j in range(n):
        u[j] = a.state[1 + nq + j]
    size, gains = math.inf, True
    for _ in range(TURNS):
        for r in range(rows[0]):
            k.b[r], k.loose[k.row[r]] = 0.0, r
        for place in range(row_of.size):
            if c.row_mask[row_of[place]] == 1:
                k.b[k.loose[row_of[place]]] = -c.held.found[place]
        if not _solve(k, rows, False, a.state, constants, work) > INDEPENDENT:
            return False
        for j in range(n):
            a.state[1 + nq + j] = k.udot[j]
        call(a, KINEMATICS, inputs, constants, work, slope)
        for i in range(nq):
            before[i] = a.state[1 + i]
            a.state[1 + i] += slope[i]
        normalise(a.state[1:], a.lists.quaternions)
        found = _residual(c, a, inputs, constants, work)
        if not found < size:
            for i in range(nq):
                a.state[1 + i] = before[i]
            gains = False
            break
        size = found
        if size <= SMALL:
            break
    for j in range(n):
        a.state[1 + nq + j] = u[j]
    return bool(size <= SMALL or (not gains and size <= ROUNDING * SMALL))
