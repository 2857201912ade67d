"""What makes a mode a solution: what pushes pushes, what sticks holds, what slips goes on slipping.

Conditions, at given positions and velocities, of what touches and does not depart. Signorini: a closed contact pushes,
N >= 0, an open one does not accelerate into the surface. Coulomb: what sticks transmits at most the static bound, what
begins to slip accelerates in the direction of its slip. All of them to 1e-12 of what they are made of.

Source: Gillespie 2003, section 4 and Fig. 2; Glocker & Pfeiffer, Multibody Dynamics with Unilateral Contacts, 1996.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.linear.factorizations import factor, solve_columns
from kane.engine.linear.vectors import length
from kane.engine.memory.constraint_codes import UNCHOSEN
from kane.engine.memory.contact_codes import (
    COULOMB,
    NONE,
    OPEN,
    SLIDING,
    STICKING,
    THRESHOLDS,
    UNBOUNDED,
)
from kane.engine.rows.embedding import gather_rows, load_columns
from kane.engine.rows.impulses import rows_of, touches
from kane.engine.rows.mode_dynamics import accelerate, active_arrays, count_rows, move_by_response, take_motion
from kane.engine.rows.row_forces import UNBOUNDED_FORCE
from kane.engine.rows.row_problem import row_problem_of
from kane.engine.rows.tree_response import LEAST_BEGUN, find_active_rows, slip_left

# Violations below this share are rounding: of guards, and in the search, where what a guard has seen must count.
EXACT = 1e-12
SEARCHED = 0.5 * EXACT
# Response of a sliding contact, over that without friction, at which it jams: forces have lost half of their digits.
SINGULAR = 1e-8
# What is undecided about a candidate: nothing; all; whether it is open or slides.
DECIDED, STILL, MOVING = range(3)


@native_kernel
def force_scale(c: Any, a: Any) -> float:
    """What forces of the rows are compared with: the largest, and the largest load over the largest coefficient."""
    largest, load, coefficient = 0.0, 0.0, 0.0
    n = c.h.size
    for k in range(-1, c.block.constraints):
        first, last = (0, c.block.permanent) if k < 0 else rows_of(c, k)
        begin, end = (0, n) if k < 0 else (c.table.first_column[k], c.table.last_column[k])
        for row in range(first, last):
            if c.row_mask[row] == 1:
                largest = max(largest, abs(c.forces[row]))
                for j in range(begin, end):
                    coefficient = max(coefficient, abs(c.all_rows.A[row, j]))
    for j in range(n):
        load = max(load, abs(c.h[j]))
    return largest + (load / coefficient if coefficient > 0.0 else 0.0)


@native_inline
def normal_excess(c: Any, k: int) -> float:
    """The force with which a closed contact pushes [N]."""
    return float(c.forces[c.table.normal[k]])


@native_inline
def friction_left(c: Any, k: int) -> float:
    """The bound of what sticks, less what it transmits [N or N m]; infinite without a bound."""
    t, tangents = c.table.tangent[k], c.table.tangents[k]
    if c.table.friction[k] == UNBOUNDED or tangents == 0:
        return math.inf
    bound = c.gaps.static[k]
    if c.table.friction[k] == COULOMB:
        bound *= max(c.forces[c.table.normal[k]], 0.0)
    transmitted = abs(c.forces[t]) if tangents == 1 else length(c.forces[t], c.forces[t + 1])
    return float(bound - transmitted)


@native_kernel
def decide(c: Any, i: Any) -> None:
    """Statuses that the velocities decide, and what they leave undecided."""
    for k in range(c.block.constraints):
        i.undecided[k] = DECIDED
        if c.table.bilateral[k] == 1:
            continue
        if c.table.friction[k] != THRESHOLDS:
            if not touches(c, k):
                c.state.status[k] = OPEN
                continue
            normal = c.table.normal[k]
            if i.v[normal] > i.rounding[normal]:
                c.state.status[k] = OPEN
                continue
        decide_slip(c, i, k)


@native_kernel
def decide_slip(c: Any, i: Any, k: int) -> None:
    """Of a candidate that is closed, or has no gap: sliding, or all undecided."""
    status = c.state.status[k]
    i.undecided[k] = STILL
    if c.table.tangents[k] == 0 or (status == SLIDING and _has_passed(c, i, k)):
        c.state.status[k] = STICKING
    elif moves(c, i, k):
        i.undecided[k] = MOVING
        c.state.status[k] = SLIDING
    else:
        c.state.status[k] = STICKING


@native_kernel
def moves(c: Any, i: Any, k: int) -> bool:
    """Whether a candidate slips by more than rounding, in a direction that is then written.

    Slip in space has a direction of its own from LEAST_BEGUN on. What is slower where a mode ends is mostly rounding of
    slips that end together, grown by friction of a direction that is noise; if nothing holds it, it begins anew.
    """
    t, y = c.table.tangent[k], 0.0
    x, limit = i.v[t], i.rounding[t] + i.left[t]
    if c.table.tangents[k] == 2:
        y = i.v[t + 1]
        limit += LEAST_BEGUN + i.rounding[t + 1] + i.left[t + 1]
    speed = length(x, y)
    if not speed > limit:
        return False
    c.state.along[k, 0], c.state.along[k, 1] = x / speed, y / speed
    return True


@native_kernel
def _has_passed(c: Any, i: Any, k: int) -> bool:
    """Whether a slip had passed zero when the change began, and no impulse has changed it."""
    t = c.table.tangent[k]
    slip = c.state.along[k, 0] * i.start[t]
    if c.table.tangents[k] == 2:
        slip = slip_left(c.state.along[k, 0], c.state.along[k, 1], i.start[t], i.start[t + 1])
    for r in range(c.table.tangents[k]):
        if abs(i.v[t + r] - i.start[t + r]) > i.rounding[t + r]:
            return False
    return bool(slip <= 0.0)


@native_kernel
def accelerates_by_response(c: Any, a: Any, inputs: Any, constants: Any, work: Any) -> bool:
    """Accelerations and forces in the mode of the statuses where they are found by the factor of M."""
    count_rows(c, False)  # what ``force_scale`` compares with
    k = row_problem_of(constants, work)
    found = move_by_response(c, k, find_active_rows(k), a.state, inputs, constants, work)
    take_motion(c, k)
    return bool(found)


@native_kernel
def try_mode(c: Any, a: Any, inputs: Any, constants: Any, work: Any) -> None:
    """Accelerations and forces in the mode of the statuses."""
    if accelerates_by_response(c, a, inputs, constants, work):
        return
    b = active_arrays(c, constants, work, False)
    accelerate(c, b, factor_rows(c, b))


@native_kernel
def factor_rows(c: Any, b: Any) -> int:
    """The rows in force factored, D in the Factors; their rank."""
    gather_rows(c.all_rows, b.active, b.rows)
    load_columns(b.rows.A, b.f, b.lists.order, UNCHOSEN)
    rank = factor(b.f, UNCHOSEN)
    solve_columns(b.f, rank)
    return rank


@native_inline
def row_acceleration(c: Any, a: Any, k: int, row: int) -> Any:
    """A udot + remainder of a row of a candidate, and what it is made of."""
    total = a.unconstrained.remainder[row]
    size = abs(total)
    for j in range(c.table.first_column[k], c.table.last_column[k]):
        total += c.all_rows.A[row, j] * c.udot[j]
        size += abs(c.all_rows.A[row, j] * c.udot[j])
    return total, size


@native_kernel
def worst(c: Any, i: Any, a: Any, island: int, scale: float) -> Any:
    """The candidate of an island whose condition fails most, by which share, and the status that this asks for.

    The direction of slip is written where slip begins. No candidate (NONE) where all conditions hold.
    """
    found, most, wanted = NONE, SEARCHED, OPEN
    for k in range(c.block.constraints):
        if i.group[k] == island:
            share, asked = _failure(c, i, a, k, scale)
            if not share <= most:
                found, most, wanted = k, share, asked
    return found, most, wanted


@native_kernel
def contradicted(c: Any, i: Any) -> int:
    """The last candidate that holds both ways, and whose rows no force keeps; NONE where there is none."""
    found = NONE
    for k in range(c.block.constraints):
        if i.undecided[k] == DECIDED and is_contradicted(c, k):
            found = k
    return found


@native_inline
def is_contradicted(c: Any, k: int) -> bool:
    """Whether a candidate holds both ways, and no force keeps its rows."""
    found = False
    if c.table.bilateral[k] == 1 and c.state.status[k] == STICKING:
        for r in range(c.table.tangents[k]):
            found = found or abs(c.forces[c.table.tangent[k] + r]) >= UNBOUNDED_FORCE
        if c.table.normal[k] >= 0:
            found = found or abs(c.forces[c.table.normal[k]]) >= UNBOUNDED_FORCE
    return bool(found)


@native_inline
def _failure(c: Any, i: Any, a: Any, k: int, scale: float) -> Any:
    """By which share the conditions of a candidate fail, and the status that this asks for."""
    status, gapped = c.state.status[k], c.table.friction[k] != THRESHOLDS
    scale = max(scale, 1e-300)
    if status == OPEN:
        value, size = row_acceleration(c, a, k, c.table.normal[k])
        return -value / max(size, 1e-300), SLIDING if i.undecided[k] == MOVING else STICKING
    if gapped and not normal_excess(c, k) >= -SEARCHED * scale:
        return -normal_excess(c, k) / scale, OPEN
    if status == SLIDING and c.response[k] < 2.0 * SINGULAR:
        return 1.0, OPEN  # unstable, however stiff the contacts are
    if status == STICKING:
        return -friction_left(c, k) / scale, SLIDING
    if i.undecided[k] == STILL and c.table.tangents[k] > 0:
        t, tangents = c.table.tangent[k], c.table.tangents[k]
        value, size = row_acceleration(c, a, k, t)
        value *= c.state.along[k, 0]
        if tangents == 2 and abs(turn_left(a, c, k)) > EXACT:
            return 1.0, STICKING
        if tangents == 2:
            other, more = row_acceleration(c, a, k, t + 1)
            value += other * c.state.along[k, 1]
            size += more
        # Made of the acceleration that friction alone makes too: it vanishes where others hold the contact still.
        size += c.gaps.kinetic[k] * scale * _mobility(c, k, t)
        return -value / max(size, 1e-300), STICKING
    return 0.0, status


@native_inline
def _mobility(c: Any, k: int, t: int) -> float:
    """The largest coefficient of a row, squared: of the order of 1 / mass where masses are of the order of one."""
    largest = 0.0
    for j in range(c.table.first_column[k], c.table.last_column[k]):
        largest = max(largest, abs(c.all_rows.A[t, j]))
    return largest * largest


@native_kernel
def flip(c: Any, i: Any, k: int, wanted: int) -> None:
    """Give a candidate the status; slip begins against the friction that would have held it.

    A slip that has passed zero by more than rounding, and cannot be held, goes on as it goes.
    """
    if wanted == SLIDING and c.state.status[k] == STICKING:
        t = c.table.tangent[k]
        if moves(c, i, k):
            i.undecided[k] = MOVING
        elif c.table.tangents[k] == 1:
            c.state.along[k, 0], c.state.along[k, 1] = -math.copysign(1.0, c.forces[t]), 0.0
        else:
            size = length(c.forces[t], c.forces[t + 1])
            c.state.along[k, 0], c.state.along[k, 1] = -c.forces[t] / size, -c.forces[t + 1] / size
    c.state.status[k] = wanted


@native_kernel
def turn_left(a: Any, c: Any, k: int) -> float:
    """The angle from the direction of a slip to its acceleration; zero where that is rounding.

    Where static friction is no more than kinetic, slip begins with hardly any acceleration, which friction across it
    would be far larger than: it is along the slip as soon as what is across is rounding.
    """
    t, along_x, along_y = c.table.tangent[k], c.state.along[k, 0], c.state.along[k, 1]
    x, size_x = row_acceleration(c, a, k, t)
    y, size_y = row_acceleration(c, a, k, t + 1)
    across, along = along_x * y - along_y * x, along_x * x + along_y * y
    rounding = EXACT * (size_x + size_y + c.gaps.kinetic[k] * force_scale(c, a) * _mobility(c, k, t))
    if abs(across) <= rounding and along >= -rounding:
        return 0.0
    return math.atan2(across, along)
