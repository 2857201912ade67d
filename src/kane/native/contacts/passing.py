"""One step of Moreau and Jean as a native program: over a short time the laws are kept that no accelerations keep.

Over a step of h seconds from q, u, with h f the impulse of all forces,

    M (u+ - u) = h f + A^T p,   0 <= v_n+, p_n >= 0, one of them zero, Coulomb's law between p_t and v_t+,
    q+ = q + h qdot(q, u+),

for the contacts that touch, or would within the step; what holds both ways, and what sticks in a joint, is held. There
is a solution where friction leaves none for accelerations (Painleve), and the step passes over whatever happens within
it, as impacts that accumulate. Its impulses take energy; what the step misses is of the order of h^2.

Source: Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988; Jean, The non-smooth contact
dynamics method, Comput. Methods Appl. Mech. Eng. 177, 1999; Genot & Brogliato, New results on Painleve paradoxes,
Eur. J. Mech. A 18, 1999.
"""

from __future__ import annotations

from typing import Any

from kane.native.blocks import constraint_places, unconstrained_places
from kane.native.call import native_inline, native_kernel, native_program, vector_at
from kane.native.contacts.blocks import change_places
from kane.native.contacts.collisions import approaches, find_groups, strike_together
from kane.native.contacts.header import (
    ADOPTED,
    ALONG,
    BILATERAL,
    CANDIDATES,
    CHANGING,
    GAP,
    HELD,
    JAMMED,
    NO_MODE,
    NONE,
    NORMAL,
    NUMBERS,
    OPEN,
    SLIDING,
    STATUS,
    TABLE,
)
from kane.native.contacts.impulses import impulses_of, load_rounding, load_velocities, rows_of
from kane.native.contacts.mode import moves
from kane.native.contacts.momentum import add_impulses, load_impulses, project
from kane.native.contacts.motion import accelerate, contacts_of, copy_state, find_gaps, in_force
from kane.native.embedding import call, find_rows
from kane.native.header import COORDINATES, SPEEDS, UNCONSTRAINED
from kane.native.settle import choose
from kane.native.state import is_finite

# A kind of change besides those of ``excursion``: what was stepped over.
STEPPED = JAMMED + 1

for places in (change_places, constraint_places, unconstrained_places):
    native_inline(places)


@native_program
def step_over(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """The step from [t, q, u] over as many seconds as the number behind the state says.

    Coordinates come out as they are, neither on the constraints nor of unit quaternions. Outputs are those of "change",
    of kind STEPPED. Where no impulses are found, NO_MODE among them, the mode of the stage stays as it was.
    """
    c = contacts_of(stage, work)
    a = in_force(c, stage, work, False)
    copy_state(a, state)
    i, h = impulses_of(a, c, work), vector_at(state, a.state.size, 1)[0]
    n, nc = a.head[SPEEDS], c.block[CANDIDATES]
    for j in range(n):
        i.first[j] = a.state[a.state.size - n + j]
    for j in range(c.changing.size):
        i.kept[j] = c.changing[j]
    for row in range(i.total.size):
        i.total[row] = 0.0
    i.note[0], i.note[1], i.note[2] = NONE, NONE, 0
    find_gaps(c, a, rest, stage, work)
    find_rows(a, rest, stage, work)
    _open(c)
    b = in_force(c, stage, work, False)
    rank = project(b, c, i, rest, stage, work)
    accelerate(c, b, rank)
    for j in range(n):
        b.state[b.state.size - n + j] += h * c.udot[j]
    rank = project(b, c, i, rest, stage, work)
    find_rows(b, rest, stage, work)
    _look_ahead(c, n, h)
    load_rounding(c, i)
    load_impulses(b, c, i, rank)
    for row in range(i.v.size):
        i.start[row] = i.v[row]
    solved = _strike(b, c, i, work)
    if solved:
        add_impulses(b, c, i, rank)
        call(b, UNCONSTRAINED, rest, stage, work, b.free)
        find_rows(b, rest, stage, work)
        load_velocities(c, i)
        _decide(c, i)
        rates = unconstrained_places(i.v.size, n, b.head[COORDINATES]).rates
        for j in range(b.head[COORDINATES]):
            b.state[1 + j] += h * b.free[rates + j]
        solved = is_finite(b.state)
    if solved:
        _choose(c, rest, stage, work)
    else:
        for j in range(c.changing.size):
            c.changing[j] = i.kept[j]
    result = vector_at(out, 0, change_places(nc, i.v.size, n, b.head[COORDINATES]).end)
    _describe(c, i, b.state, result, ADOPTED if solved else NO_MODE)


@native_inline
def _choose(c: Any, rest: Any, stage: Any, work: Any) -> None:
    """The choice of speeds with which the mode behind the step starts."""
    d = in_force(c, stage, work, False)
    find_rows(d, rest, stage, work)
    choose(d)


@native_kernel
def _pushes(c: Any, k: int) -> bool:
    return bool(c.table[k * TABLE + NORMAL] != NONE and c.table[k * TABLE + BILATERAL] == 0)


@native_kernel
def _open(c: Any) -> None:
    """Contacts are open until impulses say otherwise; what was closed has no gap."""
    for k in range(c.block[CANDIDATES]):
        if _pushes(c, k) and c.changing[k * CHANGING + STATUS] != OPEN:
            c.changing[k * CHANGING + STATUS] = OPEN
            c.gaps[k * NUMBERS + GAP] = 0.0


@native_kernel
def _look_ahead(c: Any, n: int, h: float) -> None:
    """Gaps as they would be at the end of the step if nothing pushed, where they become smaller."""
    motion = constraint_places(c.counted.size, n).motion
    for k in range(c.block[CANDIDATES]):
        if _pushes(c, k):
            c.gaps[k * NUMBERS + GAP] += h * min(0.0, c.every[motion + c.table[k * TABLE + NORMAL]])


@native_kernel
def _strike(a: Any, c: Any, i: Any, work: Any) -> bool:
    """Impulses of all contacts, one problem for those that feel each other; whether there are any, and were found."""
    find_groups(c, i)
    found = False
    for k in range(c.block[CANDIDATES]):
        found = found or i.group[k] != NONE
        if approaches(c, i, k) and not strike_together(a, c, i, k, False, work):
            return False
    return found


@native_kernel
def _decide(c: Any, i: Any) -> None:
    """Statuses behind the step, by impulses and velocities; the contact with the largest impulse is the cause."""
    most = 0.0
    for k in range(c.block[CANDIDATES]):
        if not _pushes(c, k):
            continue
        pushed = i.impulse[c.table[k * TABLE + NORMAL]]
        if pushed > 0.0:
            c.changing[k * CHANGING + STATUS] = SLIDING if moves(c, i, k) else HELD
        if pushed > most:
            most, i.note[0] = pushed, k


@native_kernel
def _describe(c: Any, i: Any, x: Any, result: Any, ended: int) -> None:
    """What the step has come to, and what its impulses have taken, - p (v- + v+) / 2."""
    nc, m, n = c.block[CANDIDATES], i.v.size, i.first.size
    at = change_places(nc, m, n, x.size - 1 - n)
    for j in range(at.status):
        result[j] = x[1 + j]
    result[at.status], result[at.cause], result[at.kind] = ended, i.note[0], STEPPED
    lost = 0.0
    for k in range(nc):
        first, last = rows_of(c, k)
        for row in range(first, last):
            if _pushes(c, k):
                lost -= 0.5 * i.impulse[row] * (i.start[row] + i.v[row])
        result[at.statuses + k] = c.changing[k * CHANGING + STATUS]
        result[at.directions + 2 * k] = c.along[k * CHANGING + ALONG]
        result[at.directions + 2 * k + 1] = c.along[k * CHANGING + ALONG + 1]
    for row in range(m):
        result[at.impulses + row] = i.total[row]
    result[at.energy_lost] = lost
