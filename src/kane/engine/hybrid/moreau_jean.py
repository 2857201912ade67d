"""One Moreau-Jean time step as a native program: its impulses satisfy the contact laws at the end of the step.

A step of h seconds starts from q, u. M, the loads f and the rows A u + b are taken at its middle q_m:

    q_m = q + h/2 qdot(q, u),   u_m = (u + u+) / 2,   M (u+ - u) = h f(q_m, u_m) + A^T p,   q+ = q + h qdot(q_m, u_m),
    v_n+ + e min(0, v_n) >= 0,   p_n >= 0,   (v_n+ + e min(0, v_n)) p_n = 0,   Coulomb's law between p_t and v_t+.

Here v = A u + b and v+ = A u+ + b. The laws hold for contacts whose gap at q_m is not positive, and for contacts that
were active before. e is zero for a slow approach. Bilateral rows have v+ = -h/2 r, with their acceleration r at
udot = 0: their velocities vanish at the end of the step. Friction without a normal force is at most h times its bound.
Static friction bounds constraints that stuck before, kinetic friction all others. Coupled rows form one problem.

The first u_m, u + (h M^-1 f(q_m, u) + M^-1 A^T p_g) / 2, follows from guessed impulses p_g, for example of the step
before. If the result misses it, as in an impact, the step is solved once more. Loads at u would make energy, because
loads along the axes of a body turn with it.

Then coordinates move by s = M^-1 A^T lambda, with the residuals phi of bilateral rows and the gaps of contacts:

    gap + A s >= 0,   lambda >= 0,   (gap + A s) lambda = 0,   phi + A s = 0.

The step takes all events within it together, also where friction allows no accelerations (Painleve) or where impacts
accumulate. Errors of a run are of order h, and of order h^2 without active contacts and friction. A contact does the
work p . (v + v+) / 2, which is not positive for e = 0 or without friction. An impact with e > 0 may gain energy if its
friction ends or turns the slip (Kane's paradox).

Source: Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988 (the middle of the step); Jean, The
non-smooth contact dynamics method, Comput. Methods Appl. Mech. Eng. 177, 1999; Acary, Projected event-capturing
time-stepping schemes, Comput. Methods Appl. Mech. Eng. 256, 2013 (the correction of the coordinates).
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import call_program, native_inline, native_kernel, native_program, vector_at
from kane.engine.hybrid.time_step_laws import FOR_CORRECTION, FOR_IMPULSES, is_unilateral, solve_rows
from kane.engine.hybrid.transition import (
    begin,
    hold_configuration,
    impose_and_delete,
    report_mode,
    report_state,
    restore_mode,
)
from kane.engine.laws.slip import SLOW
from kane.engine.linear.vectors import is_finite, length, normalise
from kane.engine.memory.constraint_codes import KINEMATICS
from kane.engine.memory.constraint_memory import scratch_of
from kane.engine.memory.contact_codes import (
    ADOPTED,
    FACTOR,
    MOREAU_JEAN_STEP,
    NO_MODE,
    NONE,
    OPEN,
    SIGNALS,
    SLIDING,
    STICKING,
    SUBSTITUTION,
    THRESHOLDS,
)
from kane.engine.memory.views import time_step_given_at, transition_at
from kane.engine.project.contact_projection import load_row_velocities
from kane.engine.project.projection import find_residual
from kane.engine.rows.contact_arrays import contacts_of
from kane.engine.rows.embedding import Arrays, call
from kane.engine.rows.impulses import VELOCITY_ROUNDING, Impulses, impulses_of, rows_of
from kane.engine.rows.islands import column_of, record_of, tie_islands
from kane.engine.rows.mode_dynamics import Contacts, active_arrays, copy_state, find_gaps, mark_rows
from kane.engine.rows.row_forces import name_rows
from kane.engine.rows.row_problem import RowProblem, row_problem_of
from kane.engine.rows.tree_response import call_block, load_records, note_groups

# u_m is accepted if it misses (u + u+) / 2 by less than this ratio of u+ - u, or by less than this [m/s or rad/s].
SAME_MIDDLE, LEAST_MISS = 0.1, 1e-9
# Largest number of corrections of the configuration, each with the rows of the middle of the step. Penetrations and
# residuals up to CLOSED are left [m or rad]: errors of a step are larger.
CORRECTIONS, CLOSED = 3, 1e-9


@native_program
def moreau_jean_step(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Take one step from a TimeStepGiven.

    The outputs are a Transition of kind MOREAU_JEAN_STEP. If no impulses are found, its status is NO_MODE and the
    ContactState keeps its value. A single step has no restitution, and is refused if no contact is closed. Steps are
    also refused if signals depend on forces, which an impulse in the step would falsify.
    """
    c = contacts_of(constants, work)
    a = active_arrays(c, constants, work, False)
    copy_state(a, state)
    i, nx = impulses_of(a, c, work), a.state.size - 1
    given = time_step_given_at(state, 0, nx, i.v.size)
    h = given.length[0]
    begin(a, c, i)
    _move_to_middle(a, 0.5 * h, inputs, constants, work)
    find_gaps(c, a, inputs, constants, work)
    for l in range(c.block.constraints):
        c.gaps.restitution[l] *= 1.0 - given.single[0]
    groups = _load_rows(a, c, i, inputs, constants, work)
    solved = a.head.linear == 1 and c.block.addresses[SIGNALS] == 0
    if solved:
        _load_middle_speeds(a, c, i, groups, given.guess, h, inputs, constants, work)
        solved = _solve_step(a, c, i, groups, h, inputs, constants, work)
        if solved and _misses_middle(a, i):
            solved = _solve_step(a, c, i, groups, h, inputs, constants, work)
    if solved:
        _move_to_end(a, i, given.state[1:], h, inputs, constants, work)
        _correct_configuration(a, c, i, groups, inputs, constants, work)
        solved = is_finite(a.state)
    if solved:
        hold_configuration(a, c, i, inputs, constants, work)
        _read_statuses(c, i)
        solved = given.single[0] == 0.0 or i.cause[0] != NONE
    if not solved:
        restore_mode(c, i)
    result = transition_at(out, 0, c.block.constraints, i.v.size, a.head.speeds, a.head.coordinates)
    report_state(a.state, result)
    report_mode(c, result)
    result.status[0], result.cause[0] = ADOPTED if solved else NO_MODE, i.cause[0]
    result.kind[0], result.energy_lost[0] = MOREAU_JEAN_STEP, _sum_energy_lost(c, i) if solved else 0.0
    for row in range(i.total.size):
        result.impulses[row] = i.impulse[row] if solved else 0.0


@native_inline
def _move_to_middle(a: Arrays, half: float, inputs: Any, constants: Any, work: Any) -> None:
    """Move time and coordinates by half a step with the rates at the start."""
    slope = scratch_of(a.head, work).slope
    call(a, KINEMATICS, inputs, constants, work, slope)
    a.state[0] += half
    for j in range(slope.size):
        a.state[1 + j] += half * slope[j]
    normalise(a.state[1:], a.lists.quaternions)


@native_inline
def _move_to_end(a: Arrays, i: Impulses, q: Any, h: float, inputs: Any, constants: Any, work: Any) -> None:
    """Move to the end of a step from the coordinates q at its start, with the rates at q_m and the mean speeds."""
    slope, n = scratch_of(a.head, work).slope, i.first.size
    u = a.state[a.state.size - n :]
    for j in range(n):
        i.before[j], u[j] = u[j], 0.5 * (i.first[j] + u[j])
    call(a, KINEMATICS, inputs, constants, work, slope)
    a.state[0] += 0.5 * h
    for j in range(slope.size):
        a.state[1 + j] = q[j] + h * slope[j]
    for j in range(n):
        u[j] = i.before[j]
    normalise(a.state[1:], a.lists.quaternions)


@native_kernel
def _load_rows(a: Arrays, c: Contacts, i: Impulses, inputs: Any, constants: Any, work: Any) -> int:
    """Activate the rows of the step, load their records and the factor of M; return the number of groups of rows."""
    k = row_problem_of(constants, work)
    for l in range(c.block.constraints):
        normal = c.table.normal[l]
        if c.table.bilateral[l] == 1 and normal != NONE:
            part = vector_at(constants, c.table.moves_place[l], 0)
            call_program(c.table.moves[l], a.state, vector_at(inputs, 0, 0), part, k.velocity[0], vector_at(work, 0, 0))
            c.all_rows.motion[normal] = k.velocity[0, 0]
    impose_and_delete(c)
    for l in range(c.block.constraints):
        if is_unilateral(c, l):
            ended = c.table.ended[l] == 1 and c.gaps.off[l] > 0.0
            closed = c.state.status[l] != OPEN or c.gaps.gap[l] <= 0.0
            c.state.status[l] = STICKING if closed and not ended else OPEN
        elif c.table.friction[l] == THRESHOLDS:
            c.state.status[l] = STICKING
    mark_rows(c, False)
    name_rows(k)
    k.mode[0] = 0
    call_block(k, FACTOR, a.state, vector_at(inputs, 0, 0), k.given.whole, constants, work)
    load_records(k, a.state, constants, work)
    groups = note_groups(constants, work)
    tie_islands(k, groups)
    return int(groups)


@native_kernel
def _load_middle_speeds(
    a: Arrays, c: Contacts, i: Impulses, groups: int, guess: Any, h: float, inputs: Any, constants: Any, work: Any
) -> None:
    """Compute the velocities of the rows at u, and set u_m of the guessed impulses in the state; load the guesses."""
    k = row_problem_of(constants, work)
    for row in range(i.v.size):
        i.v[row] = i.start[row] = i.impulse[row] = i.rounding[row] = 0.0
    load_row_velocities(k, a.state, inputs, constants, work)
    for r in range(_count_loaded(k, groups)):
        i.start[k.row[r]], i.impulse[k.row[r]] = k.velocity[r, 0], guess[k.row[r]]
    for j in range(k.n):
        k.given.scaled[j] *= 0.5 * h
    for g in range(groups):
        for own in range(k.group_rows[g]):
            p = 0.5 * guess[k.row[k.slot[g] + own]]
            w = record_of(k, g, own).w
            for j in range(w.size if p != 0.0 else 0):
                k.given.scaled[column_of(k, g, j)] += w[j] * p
    _substitute(a, constants, work)


@native_kernel
def _solve_step(
    a: Arrays, c: Contacts, i: Impulses, groups: int, h: float, inputs: Any, constants: Any, work: Any
) -> bool:
    """Solve for the impulses with the loads at the speeds u_m of the state, and set u+; return success."""
    k, first = row_problem_of(constants, work), a.state.size - i.first.size
    call_block(k, FACTOR, a.state, vector_at(inputs, 0, 0), k.given.whole, constants, work)
    call_block(k, SUBSTITUTION, a.state, k.given.whole, k.found, constants, work)
    for j in range(k.n):
        i.before[j], a.state[first + j] = a.state[first + j], i.first[j] + h * k.udot[j]
    load_row_velocities(k, a.state, inputs, constants, work)
    for r in range(_count_loaded(k, groups)):
        row = k.row[r]
        i.v[row], i.rounding[row] = k.velocity[r, 0], SLOW + VELOCITY_ROUNDING * k.velocity[r, 1]
    if not solve_rows(c, i, groups, h, FOR_IMPULSES, constants, work):
        return False
    _substitute(a, constants, work)
    return True


@native_kernel
def _misses_middle(a: Arrays, i: Impulses) -> bool:
    """Check whether u_m misses (u + u+) / 2, as in an impact; set u_m to it then."""
    first, change, missed = a.state.size - i.first.size, 0.0, 0.0
    for j in range(i.first.size):
        change = max(change, abs(a.state[first + j] - i.first[j]))
        missed = max(missed, abs(0.5 * (i.first[j] + a.state[first + j]) - i.before[j]))
    if not missed > max(SAME_MIDDLE * change, LEAST_MISS):
        return False
    for j in range(i.first.size):
        a.state[first + j] = 0.5 * (i.first[j] + a.state[first + j])
    return True


@native_inline
def _count_loaded(k: RowProblem, groups: int) -> int:
    """Return the number of rows whose records are loaded."""
    return int(k.slot[groups - 1] + k.group_rows[groups - 1]) if groups > 0 else 0


@native_inline
def _substitute(a: Arrays, constants: Any, work: Any) -> None:
    """Add the change of the speeds, L^-1 v, to the speeds of the state."""
    k = row_problem_of(constants, work)
    call_block(k, SUBSTITUTION, a.state, k.given.whole, k.found, constants, work)
    for j in range(k.n):
        a.state[1 + k.nq + j] += k.udot[j]


@native_kernel
def _correct_configuration(
    a: Arrays, c: Contacts, i: Impulses, groups: int, inputs: Any, constants: Any, work: Any
) -> None:
    """Move the coordinates until no contact of the step penetrates, and its other rows have no residual."""
    k, s = row_problem_of(constants, work), scratch_of(a.head, work)
    for _ in range(CORRECTIONS):
        if not _load_residuals(a, c, i, inputs, constants, work) > CLOSED:
            return
        if not solve_rows(c, i, groups, 0.0, FOR_CORRECTION, constants, work):
            return
        call_block(k, SUBSTITUTION, a.state, k.given.whole, k.found, constants, work)
        for j in range(k.n):
            s.s[j], a.state[1 + k.nq + j] = a.state[1 + k.nq + j], 0.0
        call(a, KINEMATICS, inputs, constants, work, s.slope)
        for j in range(k.nq):
            s.q[j] = s.slope[j]
        for j in range(k.n):
            a.state[1 + k.nq + j] = k.udot[j]
        call(a, KINEMATICS, inputs, constants, work, s.slope)
        for j in range(k.nq):
            a.state[1 + j] += s.slope[j] - s.q[j]
        for j in range(k.n):
            a.state[1 + k.nq + j] = s.s[j]
        normalise(a.state[1:], a.lists.quaternions)


@native_kernel
def _load_residuals(a: Arrays, c: Contacts, i: Impulses, inputs: Any, constants: Any, work: Any) -> float:
    """Compute the configuration residuals of the active rows; return the largest penetration or residual."""
    worst, others = 0.0, c.block.permanent > 0
    for l in range(c.block.constraints):
        others = others or (c.state.status[l] != OPEN and not is_unilateral(c, l))
    for row in range(i.residual.size):
        i.residual[row] = math.nan
    if others:
        find_residual(a, c.held.found, c.row_mask, c.held.value, inputs, constants, work)
        rows = a.lists.rows_of_residuals
        for place in range(rows.size):
            if c.row_mask[rows[place]] == 1 and c.held.value[place] == c.held.value[place]:
                i.residual[rows[place]] = c.held.found[place]
    find_gaps(c, a, inputs, constants, work)
    for l in range(-1, c.block.constraints):
        first, last = (0, c.block.permanent) if l < 0 else rows_of(c, l)
        if l >= 0 and is_unilateral(c, l) and c.state.status[l] != OPEN:
            i.residual[first] = c.gaps.gap[l]
            worst = max(worst, -c.gaps.gap[l])
        elif l < 0 or not is_unilateral(c, l):
            for row in range(first, last):
                if i.residual[row] == i.residual[row]:
                    worst = max(worst, abs(i.residual[row]))
    return float(worst)


@native_kernel
def _read_statuses(c: Contacts, i: Impulses) -> None:
    """Set the statuses after the step from the velocities; the closed contact with the largest impulse is the cause.

    A contact at rest stays active without an impulse, because redundant contacts share their impulses in many ways.
    """
    most = -1.0
    for l in range(c.block.constraints):
        if c.state.status[l] == OPEN or c.table.bilateral[l] == 1:
            continue
        normal, t, tangents = c.table.normal[l], c.table.tangent[l], c.table.tangents[l]
        if normal != NONE:
            pushed = i.impulse[normal]
            if i.v[normal] > i.rounding[normal]:
                c.state.status[l] = OPEN
            if pushed > most:
                most, i.cause[0] = pushed, l
        x, y = i.v[t] if tangents > 0 else 0.0, i.v[t + 1] if tangents > 1 else 0.0
        slip = length(x, y)
        if c.state.status[l] != OPEN and tangents > 0 and slip > i.rounding[t]:
            c.state.status[l], c.state.along[l, 0], c.state.along[l, 1] = SLIDING, x / slip, y / slip


@native_kernel
def _sum_energy_lost(c: Contacts, i: Impulses) -> float:
    """Return the energy that the contact impulses dissipate [J]: the sum of -p (v + v+) / 2."""
    lost = 0.0
    for l in range(c.block.constraints):
        first, last = rows_of(c, l)
        for row in range(first, last):
            if c.table.bilateral[l] == 0:
                lost -= 0.5 * i.impulse[row] * (i.start[row] + i.v[row])
    return lost
