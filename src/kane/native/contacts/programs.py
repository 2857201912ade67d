"""The native programs of systems whose constraints come and go, all of the one convention and over one stage.

Source: Gillespie 2003, section 4 and Fig. 2.
"""

from __future__ import annotations

import math
from typing import Any

from kane.native.blocks import constraint_places, unconstrained_places
from kane.native.call import integers_at, native_inline, native_kernel, native_program, vector_at
from kane.native.contacts.blocks import change_places
from kane.native.contacts.header import (
    ADOPTED,
    ALONG,
    ARMED,
    BILATERAL,
    BOUNCED,
    CANDIDATES,
    CHANGING,
    DELETED,
    ENDED,
    GAP,
    HELD,
    IMPOSED,
    NO_MODE,
    NONE,
    NORMAL,
    NOT_FINITE,
    NOTHING,
    NUMBERS,
    OFF,
    ON,
    OPEN,
    OPPOSED,
    REVERSED,
    SLIDING,
    SLIPPED,
    STATUS,
    STUCK,
    TABLE,
    TANGENT,
    TANGENTS,
    TIMED,
    changing_at,
)
from kane.native.contacts.impulses import (
    TOUCHING,
    add_impulses,
    collide,
    energy_lost,
    hit,
    impulses_of,
    jams,
    load_impulses,
    load_velocities,
    opposed,
    project,
    rounding_of,
    touches,
)
from kane.native.contacts.mode import (
    DECIDED,
    EXACT,
    MOVING,
    decide,
    decide_slip,
    force_scale,
    friction_left,
    normal_excess,
    row_acceleration,
    search,
)
from kane.native.contacts.motion import SLOW, accelerate, contacts_of, direction, find_gaps, in_force
from kane.native.embedding import call, embed, find_rows
from kane.native.header import COORDINATES, HEADER, OWN, RANK, SPEEDS, STAGES, UNCHOSEN, UNCONSTRAINED
from kane.native.settle import choose, settle_among

# A contact that would hop no higher than this comes to rest [m or rad].
HOP = 1e-12
# Impacts without collision after which there is no mode.
ATTEMPTS = 4

native_inline(change_places)


@native_inline
def _copy_state(a: Any, state: Any) -> None:
    given = vector_at(state, 0, a.state.size)
    for i in range(given.size):
        a.state[i] = given[i]


@native_inline
def _moved(state: Any, rest: Any, stage: Any, work: Any) -> Any:
    """Contacts and Arrays in the mode of the stage, with accelerations and forces."""
    c = contacts_of(stage, work)
    a = in_force(c, stage, work, False)
    _copy_state(a, state)
    find_gaps(c, a, rest, stage, work)
    rank = embed(a, rest, stage, work)
    call(a, UNCONSTRAINED, rest, stage, work, a.free)
    accelerate(c, a, rank)
    return c, a


@native_program
def rhs(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """qdot and udot in the mode of the stage."""
    c, a = _moved(state, rest, stage, work)
    n, nq = c.udot.size, a.head[COORDINATES]
    at = unconstrained_places(c.counted.size, n, nq)
    result = vector_at(out, 0, nq + n)
    for i in range(nq):
        result[i] = a.free[at.rates + i]
    for j in range(n):
        result[nq + j] = c.udot[j]


@native_program
def reactions(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """The force of every row in the mode of the stage, zero where it is not in force; friction of what slides."""
    c, _ = _moved(state, rest, stage, work)
    result = vector_at(out, 0, c.forces.size)
    for row in range(c.forces.size):
        result[row] = c.forces[row]


@native_program
def settle(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """As ``kane.native.settle``, onto the rows in force; directions of slip and what counts as a change go along."""
    c = contacts_of(stage, work)
    a = in_force(c, stage, work, False)
    _copy_state(a, state)
    if a.head[OWN] != 0:
        _hand_down(c, vector_at(stage, a.head[STAGES + OWN], 0), integers_at(stage, a.head[STAGES + OWN], HEADER))
    settle_among(a, rest, stage, out, work, c.counted)
    find_gaps(c, a, rest, stage, work)
    for k in range(c.block[CANDIDATES]):
        status = c.changing[k * CHANGING + STATUS]
        if status == SLIDING:
            at = k * CHANGING + ALONG
            c.along[at], c.along[at + 1] = direction(c, k, a.head[SPEEDS])
        if _arms(c, k, status):
            c.changing[k * CHANGING + ARMED] = 1


@native_kernel
def _arms(c: Any, k: int, status: int) -> bool:
    """Whether what would impose or delete a candidate is not so now, so that it counts when it becomes so."""
    if status != OPEN:
        return bool(c.gaps[k * NUMBERS + OFF] <= 0.0)
    if c.table[k * TABLE + TIMED] == 1:
        return bool(c.gaps[k * NUMBERS + ON] <= 0.0)
    return bool(c.gaps[k * NUMBERS + GAP] > TOUCHING)


@native_kernel
def _hand_down(c: Any, inner: Any, head: Any) -> None:
    """The mode into the stage that settles coordinates by the joints' own speeds."""
    start = changing_at(head, c.block[CANDIDATES])
    for i in range(c.changing.size):
        inner[start + i] = c.along[i]


@native_program
def guards(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """Two numbers for each candidate, of its normal row and of its tangents, negative where the mode ends.

    Where a mode ends by more than rounding, a number that has just been adopted is not negative by rounding.
    """
    c, a = _moved(state, rest, stage, work)
    scale = EXACT * force_scale(c, a)
    result, u = vector_at(out, 0, 2 * c.block[CANDIDATES]), a.state[a.state.size - c.udot.size :]
    for k in range(c.block[CANDIDATES]):
        result[2 * k] = _normal_guard(c, k, scale, u)
        result[2 * k + 1] = _tangent_guard(c, k, scale, u)


@native_kernel
def _normal_guard(c: Any, k: int, rounding: float, u: Any) -> float:
    row, at = k * TABLE, k * CHANGING
    status, armed = c.changing[at + STATUS], c.changing[at + ARMED] == 1
    if status == OPEN and c.table[row + TIMED] == 1:
        on = c.gaps[k * NUMBERS + ON]
        return float(-on if armed else abs(on))
    if status == OPEN and c.table[row + NORMAL] != NONE:
        gap, motion = c.gaps[k * NUMBERS + GAP], constraint_places(c.counted.size, c.udot.size).motion
        normal = c.table[row + NORMAL]
        watched = c.every[motion + normal] < -rounding_of(c, normal, u) and (armed or c.table[row + BILATERAL] == 0)
        return float(gap if watched else abs(gap))
    if c.table[row + BILATERAL] == 1:
        off = c.gaps[k * NUMBERS + OFF]
        return float(1.0 if c.table[row + ENDED] == 0 else (-off if armed else abs(off)))
    return float(normal_excess(c, k) + rounding) if c.table[row + NORMAL] != NONE else 1.0


@native_kernel
def _tangent_guard(c: Any, k: int, rounding: float, u: Any) -> float:
    row, at = k * TABLE, k * CHANGING
    status, tangents = c.changing[at + STATUS], c.table[row + TANGENTS]
    if status == OPEN or tangents == 0 or c.table[row + BILATERAL] == 1:
        return 1.0
    if status == HELD:
        return float(min(friction_left(c, k) + rounding, 1e300))
    motion, t = constraint_places(c.counted.size, c.udot.size).motion, c.table[row + TANGENT]
    slip = c.along[at + ALONG] * c.every[motion + t] + rounding_of(c, t, u)
    if tangents == 2:
        slip += c.along[at + ALONG + 1] * c.every[motion + t + 1] + rounding_of(c, t + 1, u)
    return float(slip)


@native_program
def change(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """An excursion: impulses, statuses and the choice of speeds of the mode that follows; see ``ChangePlaces``.

    Where it ends in an error, the mode of the stage and the state stay as they were.
    """
    c = contacts_of(stage, work)
    a = in_force(c, stage, work, False)
    _copy_state(a, state)
    i = impulses_of(a, c, work)
    n = a.head[SPEEDS]
    m, nc = c.counted.size, c.block[CANDIDATES]
    at = change_places(nc, m, n, a.head[COORDINATES])
    result = vector_at(out, 0, at.end)
    for j in range(n):
        i.first[j] = a.state[a.state.size - n + j]
    for j in range(c.changing.size):
        i.kept[j] = c.changing[j]
    for row in range(m):
        i.total[row] = 0.0
    a.head[RANK] = UNCHOSEN
    find_gaps(c, a, rest, stage, work)
    find_rows(a, rest, stage, work)
    load_velocities(c, i)
    for row in range(m):
        i.start[row] = i.v[row]
    i.note[0], i.note[1] = _switch(c, n), NONE
    status = _excursion(a, c, i, rest, stage, work)
    if status == ADOPTED:
        status = _adopt(c, i, result, rest, stage, work)
        for j in range(at.status):
            if not abs(a.state[1 + j]) < math.inf:
                status = NOT_FINITE
    for j in range(at.status):
        result[j] = a.state[1 + j]
    if status != ADOPTED:
        _copy_state(a, state)
        for j in range(at.status):
            result[j] = a.state[1 + j]
        for j in range(c.changing.size):
            c.changing[j] = i.kept[j]
    _describe(c, i, status, result, at)


@native_kernel
def _switch(c: Any, n: int) -> int:
    """Impose and delete what signs, and gaps that latch, say; the first candidate of which something has changed."""
    cause, motion = NONE, constraint_places(c.counted.size, n).motion
    for k in range(c.block[CANDIDATES]):
        row, at = k * TABLE, k * CHANGING
        if c.table[row + BILATERAL] == 0:
            continue
        status, armed = c.changing[at + STATUS], c.changing[at + ARMED] == 1
        over = c.table[row + ENDED] == 1 and c.gaps[k * NUMBERS + OFF] > 0.0
        if status != OPEN:
            if over and armed:
                c.changing[at + STATUS], c.changing[at + ARMED] = OPEN, 0
                cause = k if cause == NONE else cause
            continue
        if c.table[row + TIMED] == 1:
            due = c.gaps[k * NUMBERS + ON] > 0.0
        else:
            due = c.gaps[k * NUMBERS + GAP] <= TOUCHING and c.every[motion + c.table[row + NORMAL]] <= SLOW
        if due and armed:
            c.changing[at + ARMED] = 0 if over else 1
            if not over:
                c.changing[at + STATUS] = HELD
                cause = k if cause == NONE else cause
    return cause


@native_kernel
def _excursion(a: Any, c: Any, i: Any, rest: Any, stage: Any, work: Any) -> int:
    """Impulses and the mode that follows; how it ended."""
    jammed = NONE
    for _ in range(ATTEMPTS):
        b = in_force(c, stage, work, True)
        rank = project(b, c, i, rest, stage, work)
        find_rows(b, rest, stage, work)
        load_impulses(b, c, i, rank)
        ended = ADOPTED if jammed == NONE else hit(c, i, jammed)
        if ended == ADOPTED:
            ended = collide(c, i)
        if ended != ADOPTED:
            return ended
        add_impulses(b, c, i, rank)
        find_rows(b, rest, stage, work)
        call(b, UNCONSTRAINED, rest, stage, work, b.free)
        load_velocities(c, i)
        decide(c, i)
        found = search(b, c, i, stage, work)
        while found and _come_to_rest(b, c, i):
            found = search(b, c, i, stage, work)
        if found:
            return ADOPTED
        jammed = _jammed(c, i)
        if jammed == NONE:
            return NO_MODE
        i.note[1] = jammed
    return NO_MODE


@native_kernel
def _come_to_rest(a: Any, c: Any, i: Any) -> bool:
    """Close what departs so slowly that it would hop no higher than HOP; whether there is any."""
    found = False
    for k in range(c.block[CANDIDATES]):
        if i.undecided[k] == DECIDED and touches(c, k):
            normal = c.table[k * TABLE + NORMAL]
            pull, _ = row_acceleration(c, a, normal)
            if pull < 0.0 and i.v[normal] * i.v[normal] < -2.0 * HOP * pull:
                decide_slip(c, i, k)
                found = True
    return found


@native_kernel
def _jammed(c: Any, i: Any) -> int:
    """The first contact that slides and that a push would drive into the surface."""
    for k in range(c.block[CANDIDATES]):
        if i.undecided[k] == MOVING and jams(c, i, k):
            return k
    return NONE


@native_kernel
def _adopt(c: Any, i: Any, result: Any, rest: Any, stage: Any, work: Any) -> int:
    """The speeds on all rows of the new mode, by impulses that are rounding but where a slip has been stopped; the
    choice of speeds that this mode starts with. OPPOSED where no speeds keep all rows.
    """
    b = in_force(c, stage, work, False)
    project(b, c, i, rest, stage, work)
    choose(b)
    result[change_places(0, 0, c.udot.size, b.head[COORDINATES]).energy_lost] = energy_lost(b, i)
    find_rows(b, rest, stage, work)
    return opposed(b, c, i)


@native_kernel
def _describe(c: Any, i: Any, status: int, result: Any, at: Any) -> None:
    """What has happened, and why."""
    cause = i.note[0] if status == ADOPTED else i.note[1]
    for k in range(c.block[CANDIDATES]):
        result[at.statuses + k] = c.changing[k * CHANGING + STATUS]
        if cause == NONE and _kind(c, i, k) != NOTHING:
            cause = k
    result[at.status], result[at.cause] = status, cause
    result[at.kind] = NOTHING if cause == NONE else _kind(c, i, cause)
    if status != ADOPTED:
        result[at.energy_lost] = 0.0
    for row in range(i.total.size):
        left = i.v[row] if status == OPPOSED else 0.0
        result[at.impulses + row] = i.total[row] if status == ADOPTED else left


@native_kernel
def _kind(c: Any, i: Any, k: int) -> int:
    """What has become of a candidate."""
    at = k * CHANGING
    before, after = i.kept[at + STATUS], c.changing[at + STATUS]
    normal = c.table[k * TABLE + NORMAL]
    if after == OPEN:
        if normal != NONE and i.total[normal] > 0.0:
            return BOUNCED
        return DELETED if before != OPEN else NOTHING
    if before == OPEN:
        return IMPOSED
    if before != after:
        return SLIPPED if after == SLIDING else STUCK
    turned = c.along[at + ALONG] * i.kept_along[at + ALONG] + c.along[at + ALONG + 1] * i.kept_along[at + ALONG + 1]
    return REVERSED if after == SLIDING and turned < 0.0 else NOTHING
