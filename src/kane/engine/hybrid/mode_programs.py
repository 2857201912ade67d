"""The native programs of systems whose constraints come and go, all of the one convention and over one stage.

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
    friction_left,
)
from kane.engine.linear.factorizations import factor, longest_column, smallest_pivot, solve_columns
from kane.engine.memory.constraint_codes import OWN, UNCHOSEN, UNCONSTRAINED
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import (
    FREE,
    GAPS,
    NONE,
    OPEN,
    SLIDING,
    STICKING,
)
from kane.engine.project.contact_projection import project_by_last_response, project_by_response
from kane.engine.project.projection import project_onto_rows
from kane.engine.rows.embedding import arrays_among, call, correct_speeds, find_rows, load_columns
from kane.engine.rows.impulses import (
    TOUCHING,
    rounding_of,
)
from kane.engine.rows.mode_dynamics import (
    accelerate,
    contacts_of,
    copy_state,
    direction,
    find_gaps,
    in_force,
    move_by_response,
    take_motion,
)
from kane.engine.rows.tree_response import (
    INDEPENDENT,
    accelerate_by_response,
    call_block,
    response_of,
    rows_in_force,
    slip_left,
)

# A choice of dependent speeds whose smallest pivot is less than this share of the longest column of A is not used.
STALE = 1e-2


@native_kernel
def _move_densely(c: Any, a: Any, inputs: Any, constants: Any, work: Any) -> None:
    """Accelerations and forces by the embedding, whatever the rows are to each other."""
    rank = _embed(a, inputs, constants, work)
    call(a, UNCONSTRAINED, inputs, constants, work, a.unconstrained.whole)
    accelerate(c, a, rank)


@native_inline
def _embed(a: Any, inputs: Any, constants: Any, work: Any) -> int:
    """Embed as ``embedding.embed``, with a new selection of speeds if the present one has become worse.

    Projection by the tree response does not update the selection.
    """
    find_rows(a, inputs, constants, work)
    load_columns(a.rows.A, a.f, a.lists.order, a.head.rank[0])
    rank = factor(a.f, a.head.rank[0])
    if not smallest_pivot(a.f, rank) > STALE * longest_column(a.rows.A, a.f.w):
        load_columns(a.rows.A, a.f, a.lists.order, UNCHOSEN)
        rank = factor(a.f, UNCHOSEN)
    correct_speeds(a, rank, inputs, constants, work)
    solve_columns(a.f, rank)
    return rank


@native_inline
def _put(rates: Any, udot: Any, out: Any, place: int) -> None:
    """dq/dt and udot, from a place of the outputs on."""
    first, behind = vector_at(out, place, rates.size), vector_at(out, place + rates.size, udot.size)
    for i in range(rates.size):
        first[i] = rates[i]
    for j in range(udot.size):
        behind[j] = udot[j]


@native_inline
def _put_response(k: Any, out: Any, place: int) -> None:
    """The same as accelerations found quickly have left it."""
    _put(k.given.rates, k.udot, out, place)


@native_inline
def _put_embedded(c: Any, a: Any, out: Any, place: int) -> None:
    """The same as the embedding has left it."""
    _put(a.unconstrained.rates, c.udot, out, place)


@native_program
def rhs(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """qdot and udot in the mode of the stage."""
    k, x = response_of(constants, work), vector_at(state, 0, 0)
    counted = rows_in_force(k)
    if counted[0] == 0 and not counted[2]:
        call_block(k, FREE, x, vector_at(inputs, 0, 0), vector_at(out, 0, 0), constants, work)
        return
    if accelerate_by_response(k, counted, x, inputs, constants, work, False):
        _put_response(k, out, 0)
        return
    c = contacts_of(constants, work)
    a = in_force(c, constants, work, False)
    copy_state(a, state)
    find_gaps(c, a, inputs, constants, work)
    _move_densely(c, a, inputs, constants, work)
    _put_embedded(c, a, out, 0)


@native_program
def reactions(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """The force of every row in the mode of the stage, zero where it is not in force; friction of what slides."""
    c = contacts_of(constants, work)
    a = in_force(c, constants, work, False)
    copy_state(a, state)
    find_gaps(c, a, inputs, constants, work)
    k = response_of(constants, work)
    if not move_by_response(c, k, rows_in_force(k), a.state, inputs, constants, work):
        _move_densely(c, a, inputs, constants, work)
    result = vector_at(out, 0, c.forces.size)
    for row in range(c.forces.size):
        result[row] = c.forces[row]


@native_program
def project(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """As ``kane.engine.project.projection``, onto the rows in force; directions of slip go along."""
    c = contacts_of(constants, work)
    _project(c, in_force(c, constants, work, False), state, inputs, constants, out, work)


@native_program
def project_step_end(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """As ``settle``, in a run whose calls have one scratch: what the last slope has left there serves where it can."""
    c = contacts_of(constants, work)
    if response_of(constants, work).mode[0] != 0:
        a = arrays_among(constants, work, c.all_rows, c.active[:0], 0)
        copy_state(a, state)
        if project_by_last_response(c, a, inputs, constants, out, work):
            return
    _project(c, in_force(c, constants, work, False), state, inputs, constants, out, work)


@native_inline
def _project(c: Any, a: Any, state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
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
def _hand_down(c: Any, inner: Any) -> None:
    """The mode, and what it holds, into the stage that settles coordinates by the joints' own speeds."""
    to = contact_constants_of(inner)
    for i in range(c.state.whole.size):
        to.state.whole[i] = c.state.whole[i]
    for i in range(c.held.whole.size):
        to.held.whole[i] = c.held.whole[i]


@native_program
def guards(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Two numbers for each candidate, of its normal row and of its tangents, negative where the mode ends; then what
    ``rhs`` gives, which is made of the same forces.

    Where a mode ends by more than rounding, a number that has just been adopted is not negative by rounding. What that
    is compared with is found only where a number would not be positive without it.
    """
    c, k, x = contacts_of(constants, work), response_of(constants, work), vector_at(state, 0, 0)
    call_block(k, GAPS, x, vector_at(inputs, 0, 0), c.gaps.whole, constants, work)
    first, counted = 2 * c.block.constraints, rows_in_force(k)
    moves, quick = counted[0] > 0 or counted[2], True
    if not moves:
        call_block(k, FREE, x, vector_at(inputs, 0, 0), vector_at(out, first, 0), constants, work)
    elif move_by_response(c, k, counted, x, inputs, constants, work):
        _put_response(k, out, first)
    else:
        quick = False
    if quick and _fill_guards_by_response(c, k, out) > 0.0:
        return
    a = in_force(c, constants, work, False)
    copy_state(a, state)
    if quick:
        find_rows(a, inputs, constants, work)
        if moves:
            take_motion(c, k)
    else:
        _move_densely(c, a, inputs, constants, work)
        _put_embedded(c, a, out, first)
    _fill_guards(c, a, out)


@native_inline
def _fill_guards_by_response(c: Any, k: Any, out: Any) -> float:
    """The guards without what rounding is compared with, and without velocities of rows; the least of them, which is
    not positive where these count.
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
def _fill_guards(c: Any, a: Any, out: Any) -> None:
    scale = EXACT * force_scale(c, a)
    u = a.state[a.state.size - c.udot.size :]
    for i in range(c.block.constraints):
        result = vector_at(out, 2 * i, 2)
        result[0] = _normal_guard(c, i, scale, u)
        result[1] = _tangent_guard(c, i, scale, u)


@native_inline
def _sign_guard(x: float, armed: bool) -> float:
    """Negative where x has become positive; what does not count yet ends the step where x is positive no longer.

    That it counts again is a change like others, made at the end of a step: a step that is tried and cut forgets it.
    """
    if armed:
        return float(-x)
    return float(x if x > 0.0 else min(x, -1e-300))


@native_inline
def _normal_guard(c: Any, k: int, rounding: float, u: Any) -> float:
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
def _tangent_guard(c: Any, k: int, rounding: float, u: Any) -> float:
    status, tangents, t = c.state.status[k], c.table.tangents[k], c.table.tangent[k]
    if status == OPEN or tangents == 0 or c.table.bilateral[k] == 1:
        return 1.0
    if status == STICKING:
        return float(min(friction_left(c, k) + rounding, 1e300))
    x, v = c.state.along[k, 0], c.all_rows.motion
    if tangents == 2:
        left = slip_left(x, c.state.along[k, 1], v[t], v[t + 1])
        return float(left + rounding_of(c, k, t, u) + rounding_of(c, k, t + 1, u))
    return float(x * v[t] + rounding_of(c, k, t, u))
