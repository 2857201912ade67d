"""Native programs of models with intermittent constraints: right-hand side, reactions, projection, and guards.

In: the state, the inputs, and the contact mode in the constants. Out: [qdot, udot] [1/s^2], the force of each row
[N, N m], the projected state, or the guards, which become negative where the contact mode ends.

Source: Gillespie 2003, section 4 and Fig. 2.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel, native_program, vector_at
from kane.engine.hybrid.consistency import (
    EXACT,
    SINGULAR,
    force_scale,
    friction_margin,
)
from kane.engine.laws.slip import slip_left
from kane.engine.memory.constraint_codes import OWN
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import FREE, GAPS, NONE, OPEN, SLIDING, STICKING
from kane.engine.memory.loop_arguments import Vector
from kane.engine.project.contact_projection import project_by_last_response, project_by_response
from kane.engine.project.projection import project_onto_rows
from kane.engine.rows.contact_arrays import Contacts, contacts_of
from kane.engine.rows.embedding import Arrays, arrays_among, find_rows
from kane.engine.rows.impulses import (
    TOUCHING,
    rounding_of,
)
from kane.engine.rows.mode_dynamics import (
    active_arrays,
    copy_state,
    direction,
    find_gaps,
    move_by_embedding,
    move_by_response,
    take_motion,
)
from kane.engine.rows.row_problem import RowProblem, row_problem_of
from kane.engine.rows.signals import find_signals
from kane.engine.rows.tree_response import INDEPENDENT, accelerate_by_response, call_block, find_active_rows


@native_inline
def _put(rates: Vector, udot: Vector, out: Any, place: int) -> None:
    """Write qdot and udot to the outputs, from a place on."""
    first, behind = vector_at(out, place, rates.size), vector_at(out, place + rates.size, udot.size)
    for i in range(rates.size):
        first[i] = rates[i]
    for j in range(udot.size):
        behind[j] = udot[j]


@native_program
def rhs(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Compute qdot and udot in the contact mode."""
    k, x = row_problem_of(constants, work), vector_at(state, 0, 0)
    active = find_active_rows(k)
    if active.rows == 0 and not active.rubs:
        call_block(k, FREE, x, vector_at(inputs, 0, 0), vector_at(out, 0, 0), constants, work)
        return
    if accelerate_by_response(k, active, x, inputs, constants, work, False):
        _put(k.given.rates, k.udot, out, 0)
        return
    c = contacts_of(constants, work)
    a = active_arrays(c, constants, work, False)
    copy_state(a, state)
    find_gaps(c, a, inputs, constants, work)
    move_by_embedding(c, a, inputs, constants, work)
    _put(a.unconstrained.rates, c.udot, out, 0)


@native_program
def reactions(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Compute the force of each row in the contact mode, with the friction of sliding contacts."""
    c = contacts_of(constants, work)
    a = active_arrays(c, constants, work, False)
    copy_state(a, state)
    find_gaps(c, a, inputs, constants, work)
    k = row_problem_of(constants, work)
    if not move_by_response(c, k, find_active_rows(k), a.state, inputs, constants, work):
        move_by_embedding(c, a, inputs, constants, work)
    result = vector_at(out, 0, c.forces.size)
    for row in range(c.forces.size):
        result[row] = c.forces[row]


@native_program
def project(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Project the state onto the active rows, as ``kane.engine.project.projection`` does; update directions of slip."""
    c = contacts_of(constants, work)
    _project(c, active_arrays(c, constants, work, False), state, inputs, constants, out, work)


@native_program
def project_step_end(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Project the end of a step as ``project``, with the records of the last slope of the run if possible."""
    c = contacts_of(constants, work)
    if row_problem_of(constants, work).mode[0] != 0:
        a = arrays_among(constants, work, c.all_rows, c.active[:0], 0)
        copy_state(a, state)
        if project_by_last_response(c, a, inputs, constants, out, work):
            return
    _project(c, active_arrays(c, constants, work, False), state, inputs, constants, out, work)


@native_inline
def _project(c: Contacts, a: Arrays, state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Project by the tree response, or else by the embedding."""
    copy_state(a, state)
    if project_by_response(c, a, inputs, constants, out, work):
        return
    copy_state(a, state)
    if a.head.addresses[OWN] != 0:
        _hand_down(c, vector_at(constants, a.head.places[OWN], 0))
    project_onto_rows(a, inputs, constants, out, work, c.row_mask, c.held.value)
    find_gaps(c, a, inputs, constants, work)
    for k in range(c.block.constraints):
        if c.state.status[k] == SLIDING:
            c.state.along[k, 0], c.state.along[k, 1] = direction(c, k)


@native_inline
def _hand_down(c: Contacts, inner: Any) -> None:
    """Copy the contact mode and the held residuals to the constants of the program in the joints' own speeds."""
    to = contact_constants_of(inner)
    for i in range(c.state.whole.size):
        to.state.whole[i] = c.state.whole[i]
    for i in range(c.held.whole.size):
        to.held.whole[i] = c.held.whole[i]


@native_program
def guards(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Compute two guards for each constraint, of its normal row and of its tangents; then the outputs of ``rhs``.

    A guard is negative only if its condition is violated by more than rounding errors, so that a mode that was just
    adopted does not end.
    The scale of the rounding error is computed only if a guard would not be positive without it.
    """
    c, k, x = contacts_of(constants, work), row_problem_of(constants, work), vector_at(state, 0, 0)
    call_block(k, GAPS, x, vector_at(inputs, 0, 0), c.gaps.whole, constants, work)
    first, active = 2 * c.block.constraints, find_active_rows(k)
    moves, by_response = active.rows > 0 or active.rubs, True
    if not moves:
        call_block(k, FREE, x, vector_at(inputs, 0, 0), vector_at(out, first, 0), constants, work)
    elif move_by_response(c, k, active, x, inputs, constants, work):
        _put(k.given.rates, k.udot, out, first)
    else:
        by_response = False
    if by_response:
        find_signals(c, k, moves, x, inputs, constants, work)
    if not by_response or not _fill_guards_by_response(c, k, out) > 0.0:
        _guard_with_rounding(moves, by_response, state, inputs, constants, out, work)


@native_kernel
def _guard_with_rounding(
    moves: bool, by_response: bool, state: Any, inputs: Any, constants: Any, out: Any, work: Any
) -> None:
    """Compute the guards with rounding errors, and the outputs of ``rhs`` by the embedding if the response gave none.

    Args:
        moves: whether rows are active.
        by_response: whether the response of this call gave the motion.
        state, inputs, constants, out, work: of the call.
    """
    c, k = contacts_of(constants, work), row_problem_of(constants, work)
    first, a = 2 * c.block.constraints, active_arrays(c, constants, work, False)
    copy_state(a, state)
    if by_response:
        find_rows(a, inputs, constants, work)
        if moves:
            take_motion(c, k)
    else:
        move_by_embedding(c, a, inputs, constants, work)
        find_signals(c, k, moves, a.state, inputs, constants, work)
        _put(a.unconstrained.rates, c.udot, out, first)
    _fill_guards(c, a, out)


@native_inline
def _fill_guards_by_response(c: Contacts, k: RowProblem, out: Any) -> float:
    """Compute the guards without rounding errors and velocities of rows; return the least guard.

    If it is positive, neither counts.
    """
    least = math.inf
    for i in range(c.block.constraints):
        result = vector_at(out, 2 * i, 2)
        slides = c.state.status[i] == SLIDING and c.table.tangents[i] > 0
        result[0] = _normal_guard(c, i, 0.0, c.udot)
        result[1] = k.slip_left[i] if slides else _tangent_guard(c, i, 0.0, c.udot)
        least = min(least, min(result[0], result[1]))
    return least


@native_inline
def _fill_guards(c: Contacts, a: Arrays, out: Any) -> None:
    """Compute the guards with rounding errors."""
    scale = EXACT * force_scale(c, a)
    u = a.state[a.state.size - c.udot.size :]
    for i in range(c.block.constraints):
        result = vector_at(out, 2 * i, 2)
        result[0] = _normal_guard(c, i, scale, u)
        result[1] = _tangent_guard(c, i, scale, u)


@native_inline
def _sign_guard(x: float, armed: bool) -> float:
    """Return a guard that is negative where x has become positive.

    An unarmed guard ends the step where x is no longer positive. It is armed at the end of a step, because a step that
    is tried and cut must not change it.
    """
    if armed:
        return float(-x)
    return float(x if x > 0.0 else min(x, -1e-300))


@native_inline
def _normal_guard(c: Contacts, k: int, rounding: float, u: Vector) -> float:
    """Return the guard of the normal row: gap, switching sign, normal force, or response."""
    status, normal, armed = c.state.status[k], c.table.normal[k], c.state.armed[k] == 1
    if status == OPEN and c.table.timed[k] == 1:
        return _sign_guard(c.gaps.on[k], armed)
    if status == OPEN and normal != NONE:
        gap = c.gaps.gap[k]
        if c.table.bilateral[k] == 1 and not armed:
            return float(TOUCHING - gap)
        if gap >= 0.0:
            return float(gap)
        closes = c.all_rows.motion[normal] < -rounding_of(c, k, normal, u)
        return float(gap if closes else max(gap, 0.0))
    if c.table.bilateral[k] == 1:
        return 1.0 if c.table.ended[k] == 0 else _sign_guard(c.gaps.off[k], armed)
    if normal == NONE:
        return 1.0
    left = -c.gaps.off[k] if c.table.ended[k] == 1 else math.inf
    if status == SLIDING and c.response[k] < INDEPENDENT:
        left = min(left, c.response[k] - SINGULAR)
    return float(min(c.forces[normal] + rounding, left))


@native_inline
def _tangent_guard(c: Contacts, k: int, rounding: float, u: Vector) -> float:
    """Return the guard of the tangents: remaining static friction, or remaining slip."""
    status, tangents, t = c.state.status[k], c.table.tangents[k], c.table.tangent[k]
    if status == OPEN or tangents == 0 or c.table.bilateral[k] == 1:
        return 1.0
    if status == STICKING:
        return float(min(friction_margin(c, k) + rounding, 1e300))
    x, v = c.state.along[k, 0], c.all_rows.motion
    if tangents == 2:
        left = slip_left(x, c.state.along[k, 1], v[t], v[t + 1])
        return float(left + rounding_of(c, k, t, u) + rounding_of(c, k, t + 1, u))
    return float(x * v[t] + rounding_of(c, k, t, u))
