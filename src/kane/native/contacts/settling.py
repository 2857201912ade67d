"""A state put onto the rows in force by the factor of M, those of many bodies island by island.

What the exact motion satisfies, a step misses by its error. Coordinates and speeds move by the least change, in the
metric of the kinetic energy, that takes what the rows say of them away:

    s = M^-1 A^T lambda,   A s = -r,

with r the residual of the configuration (zero of rows that do not restrict it) or A u + b. The programs of
``kane.native.contacts.quick`` solve that: they take -r for b, and zero for the loads.

Source: Gear, Leimkuhler & Gupta 1985, Automatic integration of Euler-Lagrange equations with constraints.
"""

from __future__ import annotations

import math
from typing import Any

from kane.native.blocks import scratch_places, settled_places
from kane.native.call import call_program, integers_at, native_inline, native_kernel, vector_at
from kane.native.contacts.blocks import SQUARE, B, record_size, solution_places
from kane.native.contacts.forces import direction, name_rows
from kane.native.contacts.header import (
    ALONG,
    CANDIDATES,
    CHANGING,
    CLOSINGS,
    FACTOR,
    MOVES,
    MOVING,
    NONE,
    NORMAL,
    OPEN,
    PERMANENT,
    SLIDING,
    SUBSTITUTION,
    TABLE,
    TANGENTS,
)
from kane.native.contacts.islands import solve_islands, take_friction_out
from kane.native.contacts.motion import mark_rows
from kane.native.contacts.quick import (
    INDEPENDENT,
    REPEATED,
    call_block,
    clear,
    load_records,
    note_groups,
    quick_of,
    rows_in_force,
    slips,
    solution_for,
    status_of,
)
from kane.native.embedding import call, find_rows
from kane.native.header import CONFIGURATION, HEADER, KINEMATICS, LINEAR, OWN, QUATERNIONS, RESIDUALS
from kane.native.settle import ROUNDED, SMALL
from kane.native.state import normalise

# Newton's method with the factor that it began with: what a step has missed is gone after one or two turns. A residual
# that becomes no smaller is rounding of a larger mechanism below so many times SMALL. The velocity of a row is rounding
# where it is no more than this share of the sum of its terms, eight units in their last place.
TURNS, ROUNDING, WITHIN_ROUNDING = 4, 1e3, 2.0**-49


@native_inline
def settle_quickly(c: Any, a: Any, rest: Any, stage: Any, out: Any, work: Any) -> bool:
    """What ``kane.native.settle`` gives, at the state of the arrays; whether rows allow it.

    The conditioning is that of the rows: the root of the least share of a row's square that those before it leave.
    """
    k = quick_of(stage, work)
    m, slides, friction, _ = rows_in_force(k, stage)
    which, capacity = solution_for(k, m, False)
    if a.head[OWN] != 0 or a.head[LINEAR] == 0 or k.block[SUBSTITUTION] == 0:
        return False
    x = a.state[1:]
    normalise(x, integers_at(stage, HEADER + k.n + a.head[RESIDUALS], a.head[QUATERNIONS]))
    at = settled_places(k.n, k.nq)
    result = vector_at(out, 0, at.end)
    result[at.configuration], result[at.motion], result[at.conditioning] = 0.0, 0.0, 1.0
    if m == 0 and not friction:
        for i in range(x.size):
            result[i] = x[i]
        return True
    rows = m, which if m < k.n else NONE, capacity
    load_rows(k, a, rows, slides, rest, stage, work)
    load_row_velocities(k, a.state, rest, stage, work)
    result[at.motion] = _largest_velocity(k, m)
    result[at.configuration] = size = _residual(c.block, c.counted, c.held, a, rest, stage, work)
    if not size <= SMALL:
        if not _correct_coordinates(c, a, k, rows, rest, stage, work):
            return False
        load_rows(k, a, rows, slides, rest, stage, work)
        load_row_velocities(k, a.state, rest, stage, work)
    least = slow_down(k, rows, False, a.state, stage, work)
    if not least > INDEPENDENT:
        return False
    for i in range(k.nq):
        result[i] = x[i]
    u, settled = x[k.nq :], result[k.nq :]
    for j in range(u.size):
        left = u[j] + k.found[j]
        settled[j] = left if abs(left) > ROUNDED * abs(u[j]) else 0.0
    result[at.conditioning] = min(1.0, math.sqrt(least))
    if friction:
        find_rows(a, rest, stage, work)
    for i in range(k.block[CANDIDATES]):
        if slips(k, i):
            x, y = k.slip[3 * i + 1], k.slip[3 * i + 2]
            if k.table[i * TABLE + NORMAL] == NONE:  # it has no record
                x, y = direction(c, i, k.n)
            c.along[i * CHANGING + ALONG], c.along[i * CHANGING + ALONG + 1] = x, y
    return True


@native_inline
def settle_nearby(c: Any, a: Any, rest: Any, stage: Any, out: Any, work: Any) -> bool:
    """The same by the factor and records that the scratch has from the last slope of a run, in this mode at a state not
    far from here, whose quaternions are of unit length; whether they serve.

    Where rows are is evaluated here, so that what they hold is held as well; only the direction of the least change is
    that of the other state. What is on the rows, but for rounding, stays as it is.
    """
    k = quick_of(stage, work)
    m, slides, _, key = rows_in_force(k, stage)
    which, capacity = solution_for(k, m, slides)
    if a.head[OWN] != 0 or a.head[LINEAR] == 0 or k.mode[0] != key:
        return False
    mark_rows(c, stage, False)
    x, rows, at = a.state[1:], (m, which, capacity), settled_places(k.n, k.nq)
    result = vector_at(out, 0, at.end)
    for i in range(x.size):
        result[i] = x[i]
    _name_tails(k, m)
    least = _least_pivot(k, rows)
    if not least > INDEPENDENT:  # a row that repeats others counts as solved for where forces are not asked for
        return False
    result[at.conditioning] = min(1.0, math.sqrt(least))
    load_row_velocities(k, a.state, rest, stage, work)
    result[at.motion] = _largest_velocity(k, m)
    result[at.configuration] = size = _residual(c.block, c.counted, c.held, a, rest, stage, work)
    if not size <= SMALL:
        if not _correct_coordinates(c, a, k, rows, rest, stage, work):
            return False
        for i in range(k.nq):
            result[i] = x[i]
        load_row_velocities(k, a.state, rest, stage, work)
    turns = 0
    while not are_kept(k, m):
        if turns == TURNS or not slow_down(k, rows, False, a.state, stage, work) > INDEPENDENT:
            return False
        turns += 1
        u, given = x[k.nq :], result[k.nq :]
        for j in range(u.size):
            left = u[j] + k.found[j]
            u[j] = left if abs(left) > ROUNDED * abs(given[j]) else 0.0
        load_row_velocities(k, a.state, rest, stage, work)
    for i in range(k.nq, x.size):
        result[i] = x[i]
    return True


@native_inline
def load_row_velocities(k: Any, state: Any, rest: Any, stage: Any, work: Any) -> None:
    """A u + b of the rows in force, each with what its rounding is compared with."""
    place, given = k.velocity_at, vector_at(rest, 0, 0)
    if k.block[PERMANENT] > 0:
        part = vector_at(stage, k.block[MOVING + 1], 0)
        call_program(k.block[MOVING], state, given, part, vector_at(work, place, 0), vector_at(work, 0, 0))
        place += 2 * k.block[PERMANENT]
    for c in range(k.block[CANDIDATES]):
        status = status_of(k, c, stage)
        if status == OPEN:
            continue
        row = integers_at(stage, k.rows_at + c * TABLE, TABLE)
        normals = 1 if row[NORMAL] != NONE else 0
        rows = normals if status == SLIDING else normals + row[TANGENTS]
        if rows > 0:
            part = vector_at(stage, row[MOVES + 1], 0)
            call_program(row[MOVES], state, given, part, vector_at(work, place, 0), vector_at(work, 0, 0))
            place += 2 * rows


@native_inline
def _largest_velocity(k: Any, m: int) -> float:
    largest = 0.0
    for r in range(m):
        largest = max(largest, abs(k.velocity[2 * r]))
    return float(largest)


@native_inline
def are_kept(k: Any, m: int) -> bool:
    """Whether the velocities of the rows in force are rounding."""
    kept = True
    for r in range(m):
        kept = kept and abs(k.velocity[2 * r]) <= WITHIN_ROUNDING * k.velocity[2 * r + 1]
    return bool(kept)


@native_inline
def slow_down(k: Any, rows: Any, shortest: bool, state: Any, stage: Any, work: Any) -> float:
    """The least change of the speeds that takes the velocities of the rows away, as ``_solve``."""
    for r in range(rows[0]):
        k.b[r] = -k.velocity[2 * r]
    return float(_solve(k, rows, shortest, state, stage, work))


@native_inline
def _name_tails(k: Any, m: int) -> None:
    """Where records are that have all columns, one behind the other."""
    for r in range(m):
        k.tail[r] = k.at.records + r * record_size(k.n) + 2 * k.n


@native_inline
def _least_pivot(k: Any, rows: Any) -> float:
    """The least share of a row's square that those before it leave, as the compiled solution has found it."""
    m, _, capacity = rows
    at, least = solution_places(capacity, k.n), math.inf
    for r in range(m):
        least = min(least, k.found[at.pivot + r] / _record(k, r, SQUARE))
    return float(least)


@native_inline
def load_rows(k: Any, a: Any, rows: Any, slides: bool, rest: Any, stage: Any, work: Any) -> None:
    """The factor of M and the records of the rows in force, without friction, at the state of the arrays."""
    m, which, _ = rows
    k.mode[0] = 0
    call_block(k, FACTOR, a.state, vector_at(rest, 0, 0), k.given, stage, work)
    load_records(k, a.state, stage, work)
    if slides:
        take_friction_out(k, note_groups(k, stage))
    elif which != NONE:
        _name_tails(k, m)
    else:
        note_groups(k, stage)


@native_inline
def _record(k: Any, r: int, number: int) -> float:
    """A number of the record of a row in force."""
    return float(k.given[k.tail[r] + number])


@native_inline
def _solve(k: Any, rows: Any, shortest: bool, state: Any, stage: Any, work: Any) -> float:
    """M^-1 A^T lambda of the rows in force, whose accelerations b are given, and lambda behind it, into ``found``; the
    least share of a row's square that those before it leave, of rows that do not repeat others. Many rows, and those,
    go by islands, where lambda is the shortest if that is asked for.
    """
    m, which, capacity = rows
    size, least = record_size(k.n), math.inf
    for r in range(m):
        k.given[k.tail[r] + B] = k.b[r]
    clear(vector_at(work, k.given_at + k.at.scaled, k.n))
    if which != NONE:
        clear(vector_at(work, k.given_at + k.at.records + m * size, (capacity - m) * size))
        call_block(k, which, state, k.given, k.found, stage, work)
        least = _least_pivot(k, rows)
        if least > INDEPENDENT:
            return float(least)
    _, least = solve_islands(k, note_groups(k, stage), shortest, (INDEPENDENT, REPEATED, math.inf, math.inf))
    call_block(k, SUBSTITUTION, state, k.given, k.found, stage, work)
    return float(least)


@native_inline
def _residual(block: Any, counted: Any, held: Any, a: Any, rest: Any, stage: Any, work: Any) -> float:
    """The residual of the configuration, zero where a row is not in force, behind what is held; its largest entry."""
    closings, largest = block[CLOSINGS], 0.0
    residual, rows = held[closings:], integers_at(stage, HEADER + a.f.order.size, closings)
    call(a, CONFIGURATION, rest, stage, work, residual)
    for place in range(residual.size):
        counts = counted[rows[place]] == 1 and held[place] == held[place]
        residual[place] = residual[place] - held[place] if counts else 0.0
        if largest == largest and not abs(residual[place]) <= largest:
            largest = abs(residual[place])
    return float(largest)


@native_kernel
def _correct_coordinates(c: Any, a: Any, k: Any, rows: Any, rest: Any, stage: Any, work: Any) -> bool:
    """q onto the rows, whose residual and records at this state are there; whether that came about.

    Where it did not, the state of the arrays is scratch.
    """
    closings, n, nq, at = c.block[CLOSINGS], k.n, k.nq, scratch_places(a.head)
    u, before, slope = vector_at(work, at.s, n), vector_at(work, at.q, nq), vector_at(work, at.slope, nq)
    row_of, residual = integers_at(stage, HEADER + n, closings), c.held[closings:]
    quaternions = integers_at(stage, HEADER + n + a.head[RESIDUALS], a.head[QUATERNIONS])
    name_rows(k, stage)
    for j in range(n):
        u[j] = a.state[1 + nq + j]
    size, gains = math.inf, True
    for _ in range(TURNS):
        for r in range(rows[0]):
            k.b[r], k.loose[k.row[r]] = 0.0, r
        for place in range(closings):
            if c.counted[row_of[place]] == 1:
                k.b[k.loose[row_of[place]]] = -residual[place]
        if not _solve(k, rows, False, a.state, stage, work) > INDEPENDENT:
            return False
        for j in range(n):
            a.state[1 + nq + j] = k.found[j]
        call(a, KINEMATICS, rest, stage, work, slope)
        for i in range(nq):
            before[i] = a.state[1 + i]
            a.state[1 + i] += slope[i]
        normalise(a.state[1:], quaternions)
        found = _residual(c.block, c.counted, c.held, a, rest, stage, work)
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
