"""The native programs of systems whose constraints come and go, all of the one convention and over one stage.

Source: Gillespie 2003, section 4 and Fig. 2.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.native.algebra import factor, longest_column, smallest_pivot, solve_columns
from kane.native.blocks import constraint_places, unconstrained_places
from kane.native.call import integers_at, native_inline, native_kernel, native_program, vector_at
from kane.native.contacts.blocks import contact_places
from kane.native.contacts.header import (
    ALONG,
    ARMED,
    BILATERAL,
    CANDIDATES,
    CHANGING,
    ENDED,
    FREE,
    GAP,
    GAPS,
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
    held_at,
)
from kane.native.contacts.impulses import (
    TOUCHING,
    rounding_of,
)
from kane.native.contacts.mode import (
    EXACT,
    SINGULAR,
    force_scale,
    friction_left,
)
from kane.native.contacts.motion import (
    accelerate,
    contacts_of,
    copy_state,
    direction,
    find_gaps,
    in_force,
    move_quickly,
    take_motion,
)
from kane.native.contacts.quick import (
    INDEPENDENT,
    accelerate_quickly,
    call_block,
    quick_of,
    rows_in_force,
    slip_left,
)
from kane.native.contacts.settling import settle_nearby, settle_quickly
from kane.native.embedding import arrays_among, call, correct_speeds, find_rows, load_columns
from kane.native.header import HEADER, OWN, RANK, SPEEDS, STAGES, UNCHOSEN, UNCONSTRAINED
from kane.native.settle import settle_among

# A choice of dependent speeds whose smallest pivot is less than this share of the longest column of A is not used.
STALE = 1e-2


@native_kernel
def _move_densely(c: Any, a: Any, rest: Any, stage: Any, work: Any) -> None:
    """Accelerations and forces by the embedding, whatever the rows are to each other."""
    rank = _embed(a, rest, stage, work)
    call(a, UNCONSTRAINED, rest, stage, work, a.free)
    accelerate(c, a, rank)


@native_inline
def _embed(a: Any, rest: Any, stage: Any, work: Any) -> int:
    """As ``kane.native.embedding.embed``, by a new choice of speeds where the one in force has become worse: rows that
    are settled by the factor of M need none.
    """
    find_rows(a, rest, stage, work)
    load_columns(a.rows, a.f, a.kept, a.head[RANK])
    rank = factor(a.f, a.head[RANK])
    if not smallest_pivot(a.f, rank) > STALE * longest_column(a.rows, a.f.w):
        load_columns(a.rows, a.f, a.kept, UNCHOSEN)
        rank = factor(a.f, UNCHOSEN)
    correct_speeds(a, rank, rest, stage, work)
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
def _put_quickly(k: Any, out: Any, place: int, work: Any) -> None:
    """The same as accelerations found quickly have left it."""
    _put(vector_at(work, k.given_at + k.at.rates, k.nq), vector_at(work, k.found_at, k.n), out, place)


@native_inline
def _put_embedded(c: Any, a: Any, k: Any, out: Any, place: int) -> None:
    """The same as the embedding has left it."""
    at = unconstrained_places(c.counted.size, k.n, k.nq).rates
    _put(a.free[at : at + k.nq], c.udot, out, place)


@native_program
def rhs(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """qdot and udot in the mode of the stage."""
    k, x = quick_of(stage, work), vector_at(state, 0, 0)
    counted = rows_in_force(k, stage)
    if counted[0] == 0 and not counted[2]:
        call_block(k, FREE, x, vector_at(rest, 0, 0), vector_at(out, 0, 0), stage, work)
        return
    if accelerate_quickly(k, counted, x, rest, stage, work, False):
        _put_quickly(k, out, 0, work)
        return
    c = contacts_of(stage, work)
    a = in_force(c, stage, work, False)
    copy_state(a, state)
    find_gaps(c, a, rest, stage, work)
    _move_densely(c, a, rest, stage, work)
    _put_embedded(c, a, k, out, 0)


@native_program
def reactions(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """The force of every row in the mode of the stage, zero where it is not in force; friction of what slides."""
    c = contacts_of(stage, work)
    a = in_force(c, stage, work, False)
    copy_state(a, state)
    find_gaps(c, a, rest, stage, work)
    k = quick_of(stage, work)
    if not move_quickly(c, k, rows_in_force(k, stage), a.state, rest, stage, work):
        _move_densely(c, a, rest, stage, work)
    result = vector_at(out, 0, c.forces.size)
    for row in range(c.forces.size):
        result[row] = c.forces[row]


@native_program
def settle(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """As ``kane.native.settle``, onto the rows in force; directions of slip go along."""
    c = contacts_of(stage, work)
    _settle(c, in_force(c, stage, work, False), state, rest, stage, out, work)


@native_program
def settle_end(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """As ``settle``, in a run whose calls have one scratch: what the last slope has left there serves where it can."""
    c = contacts_of(stage, work)
    if quick_of(stage, work).mode[0] != 0:
        a = arrays_among(stage, work, c.every, c.active[:0], 0)
        copy_state(a, state)
        if settle_nearby(c, a, rest, stage, out, work):
            return
    _settle(c, in_force(c, stage, work, False), state, rest, stage, out, work)


@native_inline
def _settle(c: Any, a: Any, state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    copy_state(a, state)
    if settle_quickly(c, a, rest, stage, out, work):
        return
    copy_state(a, state)
    if a.head[OWN] != 0:
        _hand_down(c, vector_at(stage, a.head[STAGES + OWN], 0), integers_at(stage, a.head[STAGES + OWN], HEADER))
    settle_among(a, rest, stage, out, work, c.counted, c.held)
    find_gaps(c, a, rest, stage, work)
    for k in range(c.block[CANDIDATES]):
        status = c.changing[k * CHANGING + STATUS]
        if status == SLIDING:
            at = k * CHANGING + ALONG
            c.along[at], c.along[at + 1] = direction(c, k, a.head[SPEEDS])


@native_kernel
def _hand_down(c: Any, inner: Any, head: Any) -> None:
    """The mode, and what it holds, into the stage that settles coordinates by the joints' own speeds."""
    start, held = changing_at(head, c.block[CANDIDATES]), held_at(head, c.block[CANDIDATES])
    for i in range(c.changing.size):
        inner[start + i] = c.along[i]
    for i in range(c.held.size):
        inner[held + i] = c.held[i]


@native_program
def guards(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """Two numbers for each candidate, of its normal row and of its tangents, negative where the mode ends; then what
    ``rhs`` gives, which is made of the same forces.

    Where a mode ends by more than rounding, a number that has just been adopted is not negative by rounding. What that
    is compared with is found only where a number would not be positive without it.
    """
    c, k, x = contacts_of(stage, work), quick_of(stage, work), vector_at(state, 0, 0)
    call_block(k, GAPS, x, vector_at(rest, 0, 0), c.gaps, stage, work)
    first, counted = 2 * c.block[CANDIDATES], rows_in_force(k, stage)
    moves, quick = counted[0] > 0 or counted[2], True
    if not moves:
        call_block(k, FREE, x, vector_at(rest, 0, 0), vector_at(out, first, 0), stage, work)
    elif move_quickly(c, k, counted, x, rest, stage, work):
        _put_quickly(k, out, first, work)
    else:
        quick = False
    if quick and _fill_quickly(c, k, out, stage, work) > 0.0:
        return
    a = in_force(c, stage, work, False)
    copy_state(a, state)
    if quick:
        find_rows(a, rest, stage, work)
        if moves:
            take_motion(c, k)
    else:
        _move_densely(c, a, rest, stage, work)
        _put_embedded(c, a, k, out, first)
    _fill_guards(c, a, k, out, stage, work)


@native_inline
def _fill_quickly(c: Any, k: Any, out: Any, stage: Any, work: Any) -> float:
    """The guards without what rounding is compared with, and without velocities of rows; the least of them, which is
    not positive where these count.
    """
    least = math.inf
    for i in range(c.block[CANDIDATES]):
        of, result = _look_of(c, k, i, stage, work), vector_at(out, 2 * i, 2)
        slides = of.status == SLIDING and of.row[TANGENTS] > 0
        result[0] = _normal_guard(c, of, 0.0, c.udot)
        result[1] = k.slip[3 * i] if slides else _tangent_guard(c, of, 0.0, c.udot)
        least = min(least, min(result[0], result[1]))
    return least


@native_inline
def _fill_guards(c: Any, a: Any, k: Any, out: Any, stage: Any, work: Any) -> None:
    scale = EXACT * force_scale(c, a)
    u = a.state[a.state.size - c.udot.size :]
    for i in range(c.block[CANDIDATES]):
        of, result = _look_of(c, k, i, stage, work), vector_at(out, 2 * i, 2)
        result[0] = _normal_guard(c, of, scale, u)
        result[1] = _tangent_guard(c, of, scale, u)


class Look(NamedTuple):
    """What the guards of a candidate are made of.

    Attributes:
        candidate, status: its number, its status.
        row: of the table.
        armed: whether the sign of what imposes or deletes it counts.
        numbers: what the program "gaps" gives of it.
    """

    candidate: Any
    status: Any
    row: Any
    armed: Any
    numbers: Any


@native_inline
def _look_of(c: Any, k: Any, i: int, stage: Any, work: Any) -> Any:
    """The Look of a candidate."""
    changing = integers_at(stage, k.changing_at + i * CHANGING, CHANGING)
    numbers = vector_at(work, contact_places(integers_at(stage, 0, HEADER), c.block[CANDIDATES]).gaps + i * NUMBERS, 0)
    return Look(i, changing[STATUS], integers_at(stage, k.rows_at + i * TABLE, TABLE), changing[ARMED] == 1, numbers)


@native_inline
def _sign_guard(x: float, armed: bool) -> float:
    """Negative where x has become positive; what does not count yet ends the step where x is positive no longer.

    That it counts again is a change like others, made at the end of a step: a step that is tried and cut forgets it.
    """
    if armed:
        return float(-x)
    return float(x if x > 0.0 else min(x, -1e-300))


@native_inline
def _normal_guard(c: Any, of: Any, rounding: float, u: Any) -> float:
    row, normal = of.row, of.row[NORMAL]
    if of.status == OPEN and row[TIMED] == 1:
        return _sign_guard(of.numbers[ON], of.armed)
    if of.status == OPEN and normal != NONE:
        gap, motion = of.numbers[GAP], constraint_places(c.counted.size, c.udot.size).motion
        if row[BILATERAL] == 1 and not of.armed:
            return float(TOUCHING - gap)
        if gap >= 0.0:
            return float(gap)
        closes = c.every[motion + normal] < -rounding_of(c, of.candidate, normal, u)
        return float(gap if closes else max(gap, 0.0))
    if row[BILATERAL] == 1:
        return 1.0 if row[ENDED] == 0 else _sign_guard(of.numbers[OFF], of.armed)
    if normal == NONE:
        return 1.0
    left = -of.numbers[OFF] if row[ENDED] == 1 else math.inf
    if of.status == SLIDING and c.response[of.candidate] < INDEPENDENT:
        left = min(left, c.response[of.candidate] - SINGULAR)
    return float(min(c.forces[normal] + rounding, left))


@native_inline
def _tangent_guard(c: Any, of: Any, rounding: float, u: Any) -> float:
    tangents = of.row[TANGENTS]
    if of.status == OPEN or tangents == 0 or of.row[BILATERAL] == 1:
        return 1.0
    if of.status == HELD:
        return float(min(friction_left(c, of.candidate) + rounding, 1e300))
    motion, t = constraint_places(c.counted.size, c.udot.size).motion, of.row[TANGENT]
    at, v, k = of.candidate * CHANGING + ALONG, c.every[motion + t :], of.candidate
    if tangents == 2:
        left = slip_left(c.along[at], c.along[at + 1], v[0], v[1])
        return float(left + rounding_of(c, k, t, u) + rounding_of(c, k, t + 1, u))
    return float(c.along[at] * v[0] + rounding_of(c, k, t, u))
