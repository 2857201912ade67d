"""Consistency of a contact mode at a given configuration and velocity.

A contact mode is consistent if, for all closed contacts that do not separate:

* Signorini: an active contact pushes, N >= 0; an open contact does not accelerate into the surface.
* Coulomb: a sticking contact stays inside the static friction cone; slip that begins accelerates in its direction.

Violations are relative to the magnitude of the terms, and are rounding below SEARCHED.

Source: Gillespie 2003, section 4 and Fig. 2; Glocker & Pfeiffer, Multibody Dynamics with Unilateral Contacts, 1996.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.laws.slip import LEAST_BEGUN, slip_left
from kane.engine.linear.factorizations import factor, solve_columns
from kane.engine.linear.vectors import length
from kane.engine.memory.constraint_codes import UNCHOSEN
from kane.engine.memory.contact_codes import COULOMB, NONE, OPEN, SLIDING, STICKING, THRESHOLDS, UNBOUNDED
from kane.engine.rows.embedding import Arrays, gather_rows, load_columns
from kane.engine.rows.impulses import Impulses, rows_of, touches
from kane.engine.rows.mode_dynamics import (
    Contacts,
    accelerate,
    active_arrays,
    count_rows,
    move_by_response,
    take_motion,
)
from kane.engine.rows.row_forces import UNBOUNDED_FORCE
from kane.engine.rows.row_problem import row_problem_of
from kane.engine.rows.tree_response import find_active_rows

# Relative violation of a guard that counts as rounding; half of it in the search, so that each violation that a guard
# has seen counts there.
EXACT = 1e-12
SEARCHED = 0.5 * EXACT
# Normal response of a sliding contact, relative to its response without friction, at which it jams: forces have lost
# half of their digits.
SINGULAR = 1e-8
# Choices that the velocities leave for the status of a constraint: none; all, because it is at rest; open or sliding.
DECIDED, RESTING, SLIPPING = range(3)


@native_kernel
def force_scale(c: Contacts, a: Arrays) -> float:
    """Return the magnitude of the row forces, for relative violations [N].

    It is the largest active force plus the largest generalized force over the largest coefficient of the active rows.
    """
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
def friction_margin(c: Contacts, k: int) -> float:
    """Return the static friction bound minus the tangential force [N or N m]; infinite for unbounded friction."""
    t, tangents = c.table.tangent[k], c.table.tangents[k]
    if c.table.friction[k] == UNBOUNDED or tangents == 0:
        return math.inf
    bound = c.gaps.static[k]
    if c.table.friction[k] == COULOMB:
        bound *= max(c.forces[c.table.normal[k]], 0.0)
    transmitted = abs(c.forces[t]) if tangents == 1 else length(c.forces[t], c.forces[t + 1])
    return float(bound - transmitted)


@native_kernel
def decide_statuses(c: Contacts, i: Impulses) -> None:
    """Set the statuses that follow from the velocities, and list the undecided constraints."""
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
def decide_slip(c: Contacts, i: Impulses, k: int) -> None:
    """Set the status of a constraint that is closed or has no gap: sliding if it slips, else sticking and undecided."""
    status = c.state.status[k]
    i.undecided[k] = RESTING
    if c.table.tangents[k] == 0 or (status == SLIDING and _has_slip_reversed(c, i, k)):
        c.state.status[k] = STICKING
    elif is_slipping(c, i, k):
        i.undecided[k] = SLIPPING
        c.state.status[k] = SLIDING
    else:
        c.state.status[k] = STICKING


@native_kernel
def is_slipping(c: Contacts, i: Impulses, k: int) -> bool:
    """Check whether constraint k slips by more than rounding, and store the direction of the slip.

    With two tangents the slip must also exceed LEAST_BEGUN to have a direction. At the end of a mode, slower slip is
    mostly rounding of slips that end together. If nothing stops it, it begins again.
    """
    if c.table.tangents[k] == 0:
        return False
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
def _has_slip_reversed(c: Contacts, i: Impulses, k: int) -> bool:
    """Check whether a slip had passed zero at the start of the transition, and no impulse has changed it."""
    t = c.table.tangent[k]
    slip = c.state.along[k, 0] * i.start[t]
    if c.table.tangents[k] == 2:
        slip = slip_left(c.state.along[k, 0], c.state.along[k, 1], i.start[t], i.start[t + 1])
    for r in range(c.table.tangents[k]):
        if abs(i.v[t + r] - i.start[t + r]) > i.rounding[t + r]:
            return False
    return bool(slip <= 0.0)


@native_kernel
def try_tree_response(c: Contacts, a: Arrays, inputs: Any, constants: Any, work: Any) -> bool:
    """Compute accelerations and forces in the mode of the statuses by the tree response; return whether it applies."""
    count_rows(c, False)  # force_scale reads the row mask
    k = row_problem_of(constants, work)
    found = move_by_response(c, k, find_active_rows(k), a.state, inputs, constants, work)
    take_motion(c, k)
    return bool(found)


@native_kernel
def try_mode(c: Contacts, a: Arrays, inputs: Any, constants: Any, work: Any) -> None:
    """Compute accelerations and forces in the mode of the statuses."""
    if try_tree_response(c, a, inputs, constants, work):
        return
    b = active_arrays(c, constants, work, False)
    accelerate(c, b, factor_active_rows(c, b))


@native_kernel
def factor_active_rows(c: Contacts, b: Arrays) -> int:
    """Factor the active rows, with D in the factors; return their rank."""
    gather_rows(c.all_rows, b.active, b.rows)
    load_columns(b.rows.A, b.f, b.lists.order, UNCHOSEN)
    rank = factor(b.f, UNCHOSEN)
    solve_columns(b.f, rank)
    return int(rank)


@native_inline
def row_acceleration(c: Contacts, a: Arrays, k: int, row: int) -> tuple[float, float]:
    """Return A udot + remainder of a row of constraint k, and the sum of the magnitudes of its terms."""
    total = a.unconstrained.remainder[row]
    size = abs(total)
    for j in range(c.table.first_column[k], c.table.last_column[k]):
        total += c.all_rows.A[row, j] * c.udot[j]
        size += abs(c.all_rows.A[row, j] * c.udot[j])
    return total, size


@native_kernel
def find_worst_violation(c: Contacts, i: Impulses, a: Arrays, island: int, scale: float) -> tuple[int, float, int]:
    """Return the constraint of an island with the largest violation, the violation, and the status that removes it.

    The constraint is NONE if all conditions hold.
    """
    found, most, wanted = NONE, SEARCHED, OPEN
    for k in range(c.block.constraints):
        if i.group[k] == island:
            violation, status = _violation(c, i, a, k, scale)
            if not violation <= most:
                found, most, wanted = k, violation, status
    return found, most, wanted


@native_kernel
def find_contradicted(c: Contacts, i: Impulses) -> int:
    """Return the last bilateral constraint whose rows no force can satisfy, or NONE."""
    found = NONE
    for k in range(c.block.constraints):
        if i.undecided[k] == DECIDED and is_contradicted(c, k):
            found = k
    return found


@native_inline
def is_contradicted(c: Contacts, k: int) -> bool:
    """Check whether constraint k is bilateral and active, and no force can satisfy its rows."""
    found = False
    if c.table.bilateral[k] == 1 and c.state.status[k] == STICKING:
        first, last = rows_of(c, k)
        for row in range(first, last):
            found = found or abs(c.forces[row]) >= UNBOUNDED_FORCE
    return bool(found)


@native_inline
def _violation(c: Contacts, i: Impulses, a: Arrays, k: int, scale: float) -> tuple[float, int]:
    """Return the relative violation of the conditions of constraint k, and the status that removes it."""
    status, normal = c.state.status[k], c.table.normal[k]
    scale = max(scale, 1e-300)
    if status == OPEN:
        value, size = row_acceleration(c, a, k, normal)
        return -value / max(size, 1e-300), SLIDING if i.undecided[k] == SLIPPING else STICKING
    if c.table.friction[k] != THRESHOLDS and not c.forces[normal] >= -SEARCHED * scale:
        return -c.forces[normal] / scale, OPEN
    if status == SLIDING and c.response[k] < 2.0 * SINGULAR:
        return 1.0, OPEN  # unstable for contacts of any stiffness
    if status == STICKING:
        return -friction_margin(c, k) / scale, SLIDING
    if i.undecided[k] == RESTING and c.table.tangents[k] > 0:
        t, tangents = c.table.tangent[k], c.table.tangents[k]
        value, size = row_acceleration(c, a, k, t)
        value *= c.state.along[k, 0]
        if tangents == 2 and abs(turning_angle(a, c, k)) > EXACT:
            return 1.0, STICKING
        if tangents == 2:
            other, more = row_acceleration(c, a, k, t + 1)
            value += other * c.state.along[k, 1]
            size += more
        # The acceleration by friction alone counts, because the total vanishes where other contacts stop this one.
        size += c.gaps.kinetic[k] * scale * _mobility(c, k, t)
        return -value / max(size, 1e-300), STICKING
    return 0.0, status


@native_inline
def _mobility(c: Contacts, k: int, t: int) -> float:
    """Return the square of the largest coefficient of a row, which estimates 1 / mass for masses of about one."""
    largest = 0.0
    for j in range(c.table.first_column[k], c.table.last_column[k]):
        largest = max(largest, abs(c.all_rows.A[t, j]))
    return largest * largest


@native_kernel
def flip_status(c: Contacts, i: Impulses, k: int, wanted: int) -> None:
    """Set a status; slip begins opposite to the friction force that would have been necessary.

    A slip that has passed zero by more than rounding and cannot be stopped keeps its direction.
    """
    if wanted == SLIDING and c.state.status[k] == STICKING:
        t = c.table.tangent[k]
        if is_slipping(c, i, k):
            i.undecided[k] = SLIPPING
        elif c.table.tangents[k] == 1:
            c.state.along[k, 0], c.state.along[k, 1] = -math.copysign(1.0, c.forces[t]), 0.0
        else:
            size = length(c.forces[t], c.forces[t + 1])
            c.state.along[k, 0], c.state.along[k, 1] = -c.forces[t] / size, -c.forces[t + 1] / size
    c.state.status[k] = wanted


@native_kernel
def turning_angle(a: Arrays, c: Contacts, k: int) -> float:
    """Return the angle from the direction of a slip to its acceleration [rad]; zero if it is rounding.

    If static friction does not exceed kinetic friction, slip begins with almost no acceleration, compared with the
    friction force across it. Its acceleration is then along the slip if the component across is rounding.
    """
    t, along_x, along_y = c.table.tangent[k], c.state.along[k, 0], c.state.along[k, 1]
    x, size_x = row_acceleration(c, a, k, t)
    y, size_y = row_acceleration(c, a, k, t + 1)
    across, along = along_x * y - along_y * x, along_x * x + along_y * y
    rounding = EXACT * (size_x + size_y + c.gaps.kinetic[k] * force_scale(c, a) * _mobility(c, k, t))
    if abs(across) <= rounding and along >= -rounding:
        return 0.0
    return math.atan2(across, along)
