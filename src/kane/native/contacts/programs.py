"""The native programs of systems whose constraints come and go, all of the one convention and over one stage.

Source: Gillespie 2003, section 4 and Fig. 2.
"""

from __future__ import annotations

from typing import Any

from kane.native.blocks import constraint_places, unconstrained_places
from kane.native.call import integers_at, native_inline, native_kernel, native_program, vector_at
from kane.native.contacts.header import (
    ALONG,
    ARMED,
    BILATERAL,
    CANDIDATES,
    CHANGING,
    ENDED,
    FREE,
    GAP,
    HELD,
    NONE,
    NORMAL,
    NUMBERS,
    OFF,
    ON,
    OPEN,
    SLIDING,
    STATUS,
    TABLE,
    TANGENT,
    TANGENTS,
    TIMED,
    changing_at,
)
from kane.native.contacts.impulses import (
    TOUCHING,
    rounding_of,
)
from kane.native.contacts.mode import (
    EXACT,
    force_scale,
    friction_left,
    normal_excess,
)
from kane.native.contacts.motion import (
    accelerate,
    contacts_of,
    copy_state,
    direction,
    find_gaps,
    in_force,
    move_quickly,
)
from kane.native.contacts.quick import accelerate_quickly, call_block, quick_of, rows_in_force
from kane.native.embedding import call, embed, find_rows
from kane.native.header import COORDINATES, HEADER, OWN, SPEEDS, STAGES, UNCONSTRAINED
from kane.native.settle import settle_among


@native_inline
def _moved(state: Any, rest: Any, stage: Any, work: Any) -> Any:
    """Contacts and Arrays in the mode of the stage, with accelerations and forces."""
    c = contacts_of(stage, work)
    a = in_force(c, stage, work, False)
    copy_state(a, state)
    find_gaps(c, a, rest, stage, work)
    find_rows(a, rest, stage, work)
    if not move_quickly(c, a, rest, stage, work):
        rank = embed(a, rest, stage, work)
        call(a, UNCONSTRAINED, rest, stage, work, a.free)
        accelerate(c, a, rank)
    return c, a


@native_program
def rhs(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """qdot and udot in the mode of the stage."""
    k, x, result = quick_of(stage, work), vector_at(state, 0, 0), vector_at(out, 0, 0)
    m, _ = rows_in_force(k)
    if m == 0 and not _slips(k):
        call_block(k, FREE, x, vector_at(rest, 0, 0), result, stage, work)
        return
    if accelerate_quickly(k, x, rest, stage, work, False) != NONE:
        for i in range(k.nq):
            result[i] = k.given[k.at.rates + i]
        for i in range(k.n):
            result[k.nq + i] = k.found[i]
        return
    c, a = _moved(state, rest, stage, work)
    n, nq = c.udot.size, a.head[COORDINATES]
    at = unconstrained_places(c.counted.size, n, nq)
    result = vector_at(out, 0, nq + n)
    for i in range(nq):
        result[i] = a.free[at.rates + i]
    for j in range(n):
        result[nq + j] = c.udot[j]


@native_inline
def _slips(k: Any) -> bool:
    """Whether anything slides, with a normal force or without."""
    found = False
    for c in range(k.block[CANDIDATES]):
        found = found or k.changing[c * CHANGING + STATUS] == SLIDING
    return found


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
    copy_state(a, state)
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
        return float(gap if watched else max(gap, 0.0))
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
