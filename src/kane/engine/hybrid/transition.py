"""The program "transition": from a state where a mode ends to the state and the contact mode that follow.

Steps, at a fixed time and configuration:

1. Impose and delete bilateral constraints according to their gaps and expressions.
2. Impacts change the speeds until no closed contact approaches (``collisions``).
3. The search finds a consistent contact mode at the new speeds (``mode_search``).
4. The speeds are projected onto the active rows of this mode (``rest``).

Input is [t, q, u] and the ContactState in the constants. Outputs are a Transition and the new ContactState.

Source: Gillespie 2003, section 4 and Fig. 2.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline, native_kernel, native_program
from kane.engine.hybrid.collisions import collide
from kane.engine.hybrid.consistency import (
    EXACT,
    SINGULAR,
    SLIPPING,
    decide_statuses,
    is_contradicted,
    is_slipping,
    try_mode,
)
from kane.engine.hybrid.mode_search import search_mode
from kane.engine.hybrid.momentum import (
    add_impulses,
    load_impulses,
    project_momentum,
    push,
    respond_by_tree,
)
from kane.engine.hybrid.rest import adopt_mode, close_slow_contacts
from kane.engine.laws.slip import SLOW
from kane.engine.linear.vectors import is_finite
from kane.engine.memory.constraint_codes import CONFIGURATION, CONSTRAINTS, UNCHOSEN, UNCONSTRAINED
from kane.engine.memory.constraint_memory import ContactConstants
from kane.engine.memory.contact_codes import (
    ADOPTED,
    BOUNCED,
    CONTRADICTED,
    DELETED,
    HALTED,
    IMPOSED,
    JAMMED,
    NO_MODE,
    NO_ROWS,
    NONE,
    NOT_FINITE_AFTER,
    NOTHING,
    OPEN,
    OPPOSED,
    REVERSED,
    SLIDING,
    SLIDING_ENDED,
    SLIPPED,
    STICKING,
)
from kane.engine.memory.views import Transition, transition_at
from kane.engine.rows.contact_arrays import contacts_of
from kane.engine.rows.embedding import Arrays, call, find_rows
from kane.engine.rows.impulses import (
    TOUCHING,
    Impulses,
    hit,
    impulses_of,
    jams,
    load_rounding,
    load_velocities,
    own_response,
    rows_of,
    touches,
)
from kane.engine.rows.mode_dynamics import Contacts, active_arrays, copy_state, find_gaps
from kane.engine.rows.signals import find_signals_of_mode
from kane.engine.rows.tree_response import INDEPENDENT

# Largest number of impacts of jammed contacts in a transition, in addition to one for each constraint.
ATTEMPTS = 4


@native_program
def transition(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Compute the Transition at a state, and write the next contact mode into the constants.

    After an error the ContactState and the outputs q and u have their values from before the call.
    """
    c = contacts_of(constants, work)
    a = active_arrays(c, constants, work, False)
    copy_state(a, state)
    i = impulses_of(a, c, work)
    m, nc = c.row_mask.size, c.block.constraints
    result = transition_at(out, 0, nc, m, a.head.speeds, a.head.coordinates)
    begin(a, c, i)
    find_gaps(c, a, inputs, constants, work)
    find_signals_of_mode(c, a, inputs, constants, work)
    a.head.rank[0] = UNCHOSEN
    call(a, CONSTRAINTS, inputs, constants, work, a.all_rows.whole)
    load_velocities(c, i)
    for row in range(m):
        i.start[row] = i.v[row]
    i.cause[0] = impose_and_delete(c)
    i.blamed[0] = _find_not_finite(c)
    load_rounding(c, i)
    status = ADOPTED if i.blamed[0] == NONE else NO_ROWS
    for _ in range(nc + 1 if status == ADOPTED else 0):
        status = _find_next_mode(a, c, i, inputs, constants, work)
        if status == ADOPTED:
            status = adopt_mode(c, i, result, inputs, constants, work)
        if status != ADOPTED or not _has_slip_ended(c, i):
            break
    if status == ADOPTED and not is_finite(a.state[1:]):
        status = NOT_FINITE_AFTER
    if status == ADOPTED:
        hold_configuration(a, c, i, inputs, constants, work)
    else:
        copy_state(a, state)
        restore_mode(c, i)
    report_state(a.state, result)
    report_mode(c, result)
    _report_cause(c, i, status, result)


@native_inline
def begin(a: Arrays, c: Contacts, i: Impulses) -> None:
    """Keep the speeds and the ContactState from before a transition; set impulses and causes to none."""
    n = i.first.size
    for j in range(n):
        i.first[j] = a.state[a.state.size - n + j]
    for j in range(c.state.whole.size):
        i.kept.whole[j] = c.state.whole[j]
    for row in range(i.total.size):
        i.total[row] = 0.0
    i.cause[0] = i.blamed[0] = i.jammed[0] = NONE
    i.halted[0] = 0


@native_inline
def restore_mode(c: Contacts, i: Impulses) -> None:
    """Set the ContactState to its value from before the transition."""
    for j in range(c.state.whole.size):
        c.state.whole[j] = i.kept.whole[j]


@native_inline
def report_state(state: Any, result: Transition) -> None:
    """Copy q and u of a state [t, q, u] into the outputs."""
    for j in range(result.q.size):
        result.q[j] = state[1 + j]
    for j in range(result.u.size):
        result.u[j] = state[1 + result.q.size + j]


@native_inline
def report_mode(c: Contacts | ContactConstants, result: Transition) -> None:
    """Copy the statuses and directions of slip of all intermittent constraints into the outputs."""
    for k in range(c.block.constraints):
        result.statuses[k] = c.state.status[k]
        result.directions[k, 0], result.directions[k, 1] = c.state.along[k, 0], c.state.along[k, 1]


@native_inline
def hold_configuration(a: Arrays, c: Contacts, i: Impulses, inputs: Any, constants: Any, work: Any) -> None:
    """Store the present configuration residual of each newly imposed velocity constraint.

    Projection keeps this value instead of zero.
    """
    call(a, CONFIGURATION, inputs, constants, work, c.held.found)
    for k in range(c.block.constraints):
        if i.kept.status[k] == OPEN and c.state.status[k] != OPEN:
            first = c.table.holds[k]
            for place in range(first, first + c.table.holding[k]):
                c.held.value[place] = c.held.found[place]


@native_kernel
def impose_and_delete(c: Contacts) -> int:
    """Impose and delete bilateral constraints by the signs of their expressions, or latch them by their gaps.

    Returns:
        The first constraint that changed, or NONE.
    """
    cause = NONE
    for k in range(c.block.constraints):
        if c.table.bilateral[k] == 0:
            continue
        status, armed = c.state.status[k], c.state.armed[k] == 1
        ends = c.table.ended[k] == 1 and c.gaps.off[k] > 0.0
        timed = c.table.timed[k] == 1
        wanted = c.gaps.on[k] > 0.0 if timed else c.gaps.gap[k] <= TOUCHING
        if status != OPEN:
            if ends and armed:
                c.state.status[k], c.state.armed[k] = OPEN, 0 if wanted else 1
                cause = k if cause == NONE else cause
            elif not ends:
                c.state.armed[k] = 1
            continue
        due = wanted and (timed or c.all_rows.motion[c.table.normal[k]] <= SLOW)
        if due and armed:
            c.state.armed[k] = 0 if ends else 1
            if not ends:
                c.state.status[k] = STICKING
                cause = k if cause == NONE else cause
        elif not wanted:
            c.state.armed[k] = 1
    return cause


@native_kernel
def _find_not_finite(c: Contacts) -> int:
    """Return the first active or closed constraint whose rows are not finite, or NONE."""
    for k in range(c.block.constraints):
        if c.state.status[k] == OPEN and not touches(c, k):
            continue
        total, (first, last) = 0.0, rows_of(c, k)
        for r in range(first, last):
            total += c.all_rows.motion[r] * 0.0
            for j in range(c.table.first_column[k], c.table.last_column[k]):
                total += c.all_rows.A[r, j] * 0.0
        if total != 0.0:
            return k
    return NONE


@native_kernel
def _find_next_mode(a: Arrays, c: Contacts, i: Impulses, inputs: Any, constants: Any, work: Any) -> int:
    """Apply impacts and search a consistent contact mode; return ADOPTED or the error.

    If the search fails because a sliding contact jams, an impact without a collision stops this contact, and the search
    starts again.
    """
    jammed = NONE
    for _ in range(ATTEMPTS + c.block.constraints):
        b, rank = active_arrays(c, constants, work, True), 0
        by_tree = respond_by_tree(b, c, i, inputs, constants, work)
        if not by_tree:
            rank = project_momentum(b, c, i, inputs, constants, work)
            find_rows(b, inputs, constants, work)
            load_impulses(b, c, i, rank)
        ended = ADOPTED if jammed == NONE else _strike_jammed(c, i, jammed)
        if ended == ADOPTED:
            ended = collide(b, c, i, work)
        if ended != ADOPTED:
            return ended
        if by_tree:
            push(b, c, i, inputs, constants, work)
        else:
            add_impulses(b, c, i, rank)
        call(b, CONSTRAINTS, inputs, constants, work, b.all_rows.whole)
        call(b, UNCONSTRAINED, inputs, constants, work, b.unconstrained.whole)
        load_velocities(c, i)
        decide_statuses(c, i)
        jammed = _find_dynamic_jam(b, c, i, inputs, constants, work)
        found = jammed == NONE and search_mode(b, c, i, inputs, constants, work)
        while found and close_slow_contacts(b, c, i):
            found = search_mode(b, c, i, inputs, constants, work)
        if found:
            return ADOPTED
        if jammed == NONE:
            jammed = _find_painleve_contact(c, i)
        if jammed == NONE:
            return CONTRADICTED if is_contradicted(c, i.blamed[0]) else NO_MODE
        i.blamed[0] = i.jammed[0] = jammed
    return NO_MODE


@native_kernel
def _find_painleve_contact(c: Contacts, i: Impulses) -> int:
    """Return the first sliding contact whose normal impulse increases the approach (Painleve), or NONE."""
    for k in range(c.block.constraints):
        if i.undecided[k] == SLIPPING and jams(c, i, k):
            return k
    return NONE


@native_kernel
def _find_dynamic_jam(a: Arrays, c: Contacts, i: Impulses, inputs: Any, constants: Any, work: Any) -> int:
    """Return the first contact in a dynamic jam: it slid until its normal response vanished (Painleve); else NONE.

    The sign of its free acceleration does not count, because rounding decides it. If the response is small enough that
    errors of steps decide the sign of its force, this sign does not count either.
    """
    tried = False
    for k in range(c.block.constraints):
        normal, before = c.table.normal[k], i.kept.status[k]
        if i.undecided[k] != SLIPPING or normal == NONE or before != SLIDING:
            continue
        if own_response(c, i, k) < INDEPENDENT * i.G[normal, normal]:
            if not tried:
                try_mode(c, a, inputs, constants, work)
                tried = True
            if c.response[k] < (2.0 * SINGULAR if c.forces[normal] > 0.0 else INDEPENDENT):
                return k
    return NONE


@native_kernel
def _strike_jammed(c: Contacts, i: Impulses, k: int) -> int:
    """Apply an impact without a collision to contact k; a vanished normal response counts as negative."""
    normal = c.table.normal[k]
    size = i.G[normal, normal]
    i.G[normal, normal] -= max(own_response(c, i, k) + EXACT * size, 0.0)
    return int(hit(c, i, k))


@native_kernel
def _has_slip_ended(c: Contacts, i: Impulses) -> bool:
    """Check whether the active rows of the new mode stopped a slip; the mode search is then repeated."""
    ended = False
    load_velocities(c, i)
    for k in range(c.block.constraints):
        if i.undecided[k] == SLIPPING and c.state.status[k] == SLIDING:
            ended = ended or not is_slipping(c, i, k)
    return ended


@native_kernel
def _report_cause(c: Contacts, i: Impulses, status: int, result: Transition) -> None:
    """Write the status, the cause, its kind and the impulses into the outputs.

    The constraint whose guard failed first may be unchanged in the end; the first changed one is then the cause.
    """
    cause = i.cause[0] if status == ADOPTED else i.blamed[0]
    for k in range(c.block.constraints):
        if (cause == NONE or (status == ADOPTED and _kind(c, i, cause) == NOTHING)) and _kind(c, i, k) != NOTHING:
            cause = k
    result.status[0], result.cause[0] = status, cause
    result.kind[0] = NOTHING if cause == NONE else _kind(c, i, cause)
    if status != ADOPTED:
        result.energy_lost[0] = 0.0
    for row in range(i.total.size):
        violation = i.v[row] if status == OPPOSED else 0.0
        result.impulses[row] = i.total[row] if status == ADOPTED else violation


@native_kernel
def _kind(c: Contacts, i: Impulses, k: int) -> int:
    """Return the kind of the transition of constraint k, from its statuses before and after and its impulse."""
    before, after = i.kept.status[k], c.state.status[k]
    normal = c.table.normal[k]
    impulse = i.total[normal] if normal != NONE else 0.0
    if impulse != 0.0 and i.jammed[0] != NONE and before == SLIDING:
        return JAMMED
    if impulse != 0.0 and i.halted[0] == 1:
        return HALTED
    if after == OPEN:
        if impulse > 0.0:
            return BOUNCED
        return DELETED if before != OPEN else NOTHING
    if before == OPEN:
        return IMPOSED
    if before != after:
        return SLIPPED if after == SLIDING else SLIDING_ENDED
    cosine = c.state.along[k, 0] * i.kept.along[k, 0] + c.state.along[k, 1] * i.kept.along[k, 1]
    return REVERSED if after == SLIDING and cosine < 0.0 else NOTHING
