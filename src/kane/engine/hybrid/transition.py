"""An excursion as a native program: impulses, and the mode that follows.

Source: Gillespie 2003, section 4 and Fig. 2.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel, native_program
from kane.engine.hybrid.collisions import collide
from kane.engine.hybrid.consistency import (
    EXACT,
    MOVING,
    SINGULAR,
    decide,
    is_contradicted,
    moves,
    try_mode,
)
from kane.engine.hybrid.mode_search import search
from kane.engine.hybrid.momentum import (
    add_impulses,
    load_impulses,
    project_momentum,
    push,
    respond_by_tree,
)
from kane.engine.hybrid.rest import adopt, come_to_rest
from kane.engine.memory.constraint_codes import CONFIGURATION, CONSTRAINTS, UNCHOSEN, UNCONSTRAINED
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
from kane.engine.memory.views import transition_at
from kane.engine.rows.embedding import call, find_rows
from kane.engine.rows.impulses import (
    TOUCHING,
    hit,
    impulses_of,
    jams,
    load_rounding,
    load_velocities,
    own_response,
    rows_of,
    touches,
)
from kane.engine.rows.mode_dynamics import contacts_of, copy_state, find_gaps, in_force
from kane.engine.rows.tree_response import INDEPENDENT, SLOW

# Impacts without collision after which there is no mode, besides one for each candidate.
ATTEMPTS = 4


@native_program
def change(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """An excursion: impulses, statuses and the choice of speeds of the mode that follows; see Transition.

    Where it ends in an error, the mode of the stage and the state stay as they were.
    """
    c = contacts_of(constants, work)
    a = in_force(c, constants, work, False)
    copy_state(a, state)
    i = impulses_of(a, c, work)
    n, m, nc = a.head.speeds, c.row_mask.size, c.block.constraints
    result = transition_at(out, 0, nc, m, n, a.head.coordinates)
    for j in range(n):
        i.first[j] = a.state[a.state.size - n + j]
    for j in range(c.state.whole.size):
        i.kept.whole[j] = c.state.whole[j]
    for row in range(m):
        i.total[row] = 0.0
    a.head.rank[0] = UNCHOSEN
    find_gaps(c, a, inputs, constants, work)
    call(a, CONSTRAINTS, inputs, constants, work, a.all_rows.whole)
    load_velocities(c, i)
    for row in range(m):
        i.start[row] = i.v[row]
    i.cause[0], i.blamed[0], i.halted[0], i.jammed[0] = _switch(c), NONE, 0, NONE
    unknown = _without_numbers(c)
    status = ADOPTED if unknown == NONE else NO_ROWS
    load_rounding(c, i)
    i.blamed[0] = unknown
    for _ in range(nc + 1 if status == ADOPTED else 0):
        status = _excursion(a, c, i, inputs, constants, work)
        if status == ADOPTED:
            status = adopt(c, i, result, inputs, constants, work)
        if status != ADOPTED or not _is_slip_ended(c, i):
            break
    if status == ADOPTED:
        for j in range(1, a.state.size):
            if not abs(a.state[j]) < math.inf:
                status = NOT_FINITE_AFTER
    if status != ADOPTED:
        copy_state(a, state)
        for j in range(c.state.whole.size):
            c.state.whole[j] = i.kept.whole[j]
    else:
        _hold_configuration(a, c, i, inputs, constants, work)
    for j in range(result.q.size):
        result.q[j] = a.state[1 + j]
    for j in range(n):
        result.u[j] = a.state[1 + result.q.size + j]
    _describe(c, i, status, result)


@native_inline
def _hold_configuration(a: Any, c: Any, i: Any, inputs: Any, constants: Any, work: Any) -> None:
    """What is imposed from now on holds what its rows are the time derivatives of at the value found."""
    call(a, CONFIGURATION, inputs, constants, work, c.held.found)
    for k in range(c.block.constraints):
        if i.kept.status[k] == OPEN and c.state.status[k] != OPEN:
            first = c.table.holds[k]
            for place in range(first, first + c.table.holding[k]):
                c.held.value[place] = c.held.found[place]


@native_kernel
def _switch(c: Any) -> int:
    """Impose and delete what signs, and gaps that latch, say; the first candidate of which something has changed."""
    cause = NONE
    for k in range(c.block.constraints):
        if c.table.bilateral[k] == 0:
            continue
        status, armed = c.state.status[k], c.state.armed[k] == 1
        over = c.table.ended[k] == 1 and c.gaps.off[k] > 0.0
        timed = c.table.timed[k] == 1
        says = c.gaps.on[k] > 0.0 if timed else c.gaps.gap[k] <= TOUCHING
        if status != OPEN:
            if over and armed:
                c.state.status[k], c.state.armed[k] = OPEN, 0 if says else 1
                cause = k if cause == NONE else cause
            elif not over:
                c.state.armed[k] = 1
            continue
        due = says and (timed or c.all_rows.motion[c.table.normal[k]] <= SLOW)
        if due and armed:
            c.state.armed[k] = 0 if over else 1
            if not over:
                c.state.status[k] = STICKING
                cause = k if cause == NONE else cause
        elif not says:
            c.state.armed[k] = 1
    return cause


@native_kernel
def _without_numbers(c: Any) -> int:
    """The first candidate that is closed or touches, and whose rows are not finite."""
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
def _excursion(a: Any, c: Any, i: Any, inputs: Any, constants: Any, work: Any) -> int:
    """Impulses and the mode that follows; how it ended."""
    jammed = NONE
    for _ in range(ATTEMPTS + c.block.constraints):
        b, rank = in_force(c, constants, work, True), 0
        quick = respond_by_tree(b, c, i, inputs, constants, work)
        if not quick:
            rank = project_momentum(b, c, i, inputs, constants, work)
            find_rows(b, inputs, constants, work)
            load_impulses(b, c, i, rank)
        ended = ADOPTED if jammed == NONE else _stop(c, i, jammed)
        if ended == ADOPTED:
            ended = collide(b, c, i, work)
        if ended != ADOPTED:
            return ended
        if quick:
            push(b, c, i, inputs, constants, work)
        else:
            add_impulses(b, c, i, rank)
        call(b, CONSTRAINTS, inputs, constants, work, b.all_rows.whole)
        call(b, UNCONSTRAINED, inputs, constants, work, b.unconstrained.whole)
        load_velocities(c, i)
        decide(c, i)
        jammed = _stalled(b, c, i, inputs, constants, work)
        found = jammed == NONE and search(b, c, i, inputs, constants, work)
        while found and come_to_rest(b, c, i, work):
            found = search(b, c, i, inputs, constants, work)
        if found:
            return ADOPTED
        if jammed == NONE:
            jammed = _jammed(c, i)
        if jammed == NONE:
            return CONTRADICTED if is_contradicted(c, i.blamed[0]) else NO_MODE
        i.blamed[0] = i.jammed[0] = jammed
    return NO_MODE


@native_kernel
def _jammed(c: Any, i: Any) -> int:
    """The first contact that slides and that a push would drive into the surface."""
    for k in range(c.block.constraints):
        if i.undecided[k] == MOVING and jams(c, i, k):
            return k
    return NONE


@native_kernel
def _stalled(a: Any, c: Any, i: Any, inputs: Any, constants: Any, work: Any) -> int:
    """Return the first contact that slid until its response vanished (Painleve), else NONE.

    Rounding decides the sign of its free acceleration, so that this sign does not count. Nor does the sign of its force
    where the response is so small that errors of steps decide it.
    """
    tried = False
    for k in range(c.block.constraints):
        normal, before = c.table.normal[k], i.kept.status[k]
        if i.undecided[k] != MOVING or normal == NONE or before != SLIDING:
            continue
        if own_response(c, i, k) < INDEPENDENT * i.G[normal, normal]:
            if not tried:
                try_mode(c, a, inputs, constants, work)
                tried = True
            if c.response[k] < (2.0 * SINGULAR if c.forces[normal] > 0.0 else INDEPENDENT):
                return k
    return NONE


@native_kernel
def _stop(c: Any, i: Any, k: int) -> int:
    """Strike a contact without collision; a response that has vanished counts as negative."""
    normal = c.table.normal[k]
    size = i.G[normal, normal]
    i.G[normal, normal] -= max(own_response(c, i, k) + EXACT * size, 0.0)
    return int(hit(c, i, k))


@native_kernel
def _is_slip_ended(c: Any, i: Any) -> bool:
    """Whether the rows of a mode have ended a slip that went on before: then it is decided anew what is held."""
    ended = False
    load_velocities(c, i)
    for k in range(c.block.constraints):
        if i.undecided[k] == MOVING and c.state.status[k] == SLIDING:
            ended = ended or not moves(c, i, k)
    return ended


@native_kernel
def _describe(c: Any, i: Any, status: int, result: Any) -> None:
    """What has happened, and why."""
    cause = i.cause[0] if status == ADOPTED else i.blamed[0]
    for k in range(c.block.constraints):
        result.statuses[k] = c.state.status[k]
        result.directions[k, 0], result.directions[k, 1] = c.state.along[k, 0], c.state.along[k, 1]
        # What failed first may be as it was in the end, because others have changed.
        if (cause == NONE or (status == ADOPTED and _kind(c, i, cause) == NOTHING)) and _kind(c, i, k) != NOTHING:
            cause = k
    result.status[0], result.cause[0] = status, cause
    result.kind[0] = NOTHING if cause == NONE else _kind(c, i, cause)
    if status != ADOPTED:
        result.energy_lost[0] = 0.0
    for row in range(i.total.size):
        left = i.v[row] if status == OPPOSED else 0.0
        result.impulses[row] = i.total[row] if status == ADOPTED else left


@native_kernel
def _kind(c: Any, i: Any, k: int) -> int:
    """What has become of a candidate."""
    before, after = i.kept.status[k], c.state.status[k]
    normal = c.table.normal[k]
    if i.jammed[0] != NONE and before == SLIDING and normal != NONE and i.total[normal] != 0.0:
        return JAMMED
    if i.halted[0] == 1 and normal != NONE and i.total[normal] != 0.0:
        return HALTED
    if after == OPEN:
        if normal != NONE and i.total[normal] > 0.0:
            return BOUNCED
        return DELETED if before != OPEN else NOTHING
    if before == OPEN:
        return IMPOSED
    if before != after:
        return SLIPPED if after == SLIDING else SLIDING_ENDED
    turned = c.state.along[k, 0] * i.kept.along[k, 0] + c.state.along[k, 1] * i.kept.along[k, 1]
    return REVERSED if after == SLIDING and turned < 0.0 else NOTHING
