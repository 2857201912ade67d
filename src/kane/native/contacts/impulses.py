"""Impulses at an instant: what touches, what is known of it, one impact.

Source: Gillespie 2003, section 4; Djerassi, Collision with friction, Multibody Syst. Dyn. 21, 2009.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.native.blocks import constraint_places
from kane.native.call import integers_at, matrix_at, native_inline, native_kernel, vector_at
from kane.native.contacts.blocks import contact_places
from kane.native.contacts.header import (
    ADOPTED,
    ARMED,
    BEGIN,
    BILATERAL,
    CANDIDATES,
    CHANGING,
    CONTRADICTED,
    COULOMB,
    END,
    ENDED,
    ENDLESS,
    ENERGY_GAINED,
    FRICTION,
    GAP,
    KINETIC,
    LAW,
    NEWTON,
    NONE,
    NORMAL,
    NUMBERS,
    OFF,
    OPEN,
    RESTITUTION,
    STATIC,
    STATUS,
    TABLE,
    TANGENT,
    TANGENTS,
    THRESHOLDS,
)
from kane.native.contacts.impact import DONE, IMMOVABLE, IMPACT, KINETIC_FRICTION, STATIC_FRICTION, G, P, V, strike
from kane.native.contacts.quick import REPEATED, SLOW
from kane.native.header import ROWS, SPEEDS

# A gap smaller than this is closed [m or rad].
TOUCHING = 1e-11
# Velocities under this share of what they are made of are rounding.
ROUNDING = 1e-12
# Of rows that repeat others elimination does not see this share.
UNSEEN = math.sqrt(REPEATED)


class Impulses(NamedTuple):
    """Scratch of a change.

    Attributes:
        J, Z: R^T J^T of the rows, M~^-1 of it, in the order of the choice, (m, n), where something holds both ways.
        G: what an impulse of one row does to the velocity of another, (m, m), among those of an island.
        island: of each candidate that responds the first that it may feel, over others too; NONE of the others.
        v, start: velocities of the rows, now and when the change began, (m,).
        impulse: of the rows in one impact, (m,).
        rounding: how much of the velocity of a row is rounding, with the speeds at the beginning, (m,).
        left: how much more may be left by impulses, (m,).
        total: of the rows in all, (m,).
        before: speeds before a projection, (n,).
        first: speeds at the beginning, (n,).
        kept: what changes in a run as it was at the beginning.
        undecided: of each candidate, see ``mode``.
        group: of each candidate, see ``collisions``.
        kept_along: ``kept`` read as doubles.
        body: of one impact.
        aimed, angle, turn, step, turns: of slips that begin in space, see ``mode``.
        present: forces in the mode that was tried first, (m,).
        lost: of the first candidate of each island, whether no mode of it was found, see ``search``.
        note: the candidate that caused the change, and the one that struck last or that an error is about, NONE where
            there is none; whether the impacts were brought to an end; the contact that was struck without a collision.
    """

    J: Any
    Z: Any
    G: Any
    island: Any
    v: Any
    start: Any
    impulse: Any
    rounding: Any
    left: Any
    total: Any
    before: Any
    first: Any
    kept: Any
    kept_along: Any
    undecided: Any
    group: Any
    body: Any
    aimed: Any
    angle: Any
    turn: Any
    step: Any
    turns: Any
    note: Any
    present: Any
    lost: Any


@native_inline
def impulses_of(a: Any, c: Any, work: Any) -> Any:
    """The Impulses of a call."""
    m, n, nc = a.head[ROWS], a.head[SPEEDS], c.block[CANDIDATES]
    at = contact_places(a.head, nc)
    return Impulses(
        matrix_at(work, at.J, m, n),
        matrix_at(work, at.Z, m, n),
        matrix_at(work, at.G, m, m),
        integers_at(work, at.island, nc),
        vector_at(work, at.v, m),
        vector_at(work, at.start, m),
        vector_at(work, at.impulse, m),
        vector_at(work, at.rounding, m),
        vector_at(work, at.left, m),
        vector_at(work, at.total, m),
        vector_at(work, at.before, n),
        vector_at(work, at.first, n),
        integers_at(work, at.kept, CHANGING * nc),
        vector_at(work, at.kept, CHANGING * nc),
        integers_at(work, at.undecided, nc),
        integers_at(work, at.group, nc),
        vector_at(work, at.body, IMPACT),
        integers_at(work, at.aimed, nc),
        vector_at(work, at.aimed + nc, nc),
        vector_at(work, at.aimed + 2 * nc, nc),
        vector_at(work, at.aimed + 3 * nc, nc),
        matrix_at(work, at.aimed + 4 * nc, nc, nc),
        integers_at(work, at.note, 4),
        vector_at(work, at.present, m),
        integers_at(work, at.lost, nc),
    )


@native_inline
def touches(c: Any, k: int) -> bool:
    """Whether a candidate that pushes only is closed; not beyond the ends of its features."""
    row = k * TABLE
    if c.table[row + NORMAL] == NONE or c.table[row + BILATERAL] == 1:
        return False
    if c.table[row + ENDED] == 1 and c.gaps[k * NUMBERS + OFF] > 0.0:
        return False
    return bool(c.changing[k * CHANGING + STATUS] != OPEN or c.gaps[k * NUMBERS + GAP] <= TOUCHING)


@native_inline
def rounding_of(c: Any, k: int, row: int, u: Any) -> float:
    """How much of the velocity of a row of a candidate is rounding, with speeds u.

    Of the normal row of what is open, and repeats rows in force, it is what elimination does not see, see ARMED.
    """
    n, total, share = u.size, 0.0, ROUNDING
    if row == c.table[k * TABLE + NORMAL] and c.changing[k * CHANGING + ARMED] == 0:
        share = UNSEEN if c.gaps[k * NUMBERS + GAP] >= -TOUCHING else ROUNDING
    for j in range(c.table[k * TABLE + BEGIN], c.table[k * TABLE + END]):
        total += abs(c.every[row * n + j] * u[j])
    return float(SLOW + share * total)


@native_kernel
def load_rounding(c: Any, i: Any) -> None:
    """How much of the velocities of what responds is rounding."""
    for k in range(c.block[CANDIDATES]):
        if responds(c, k):
            first, last = rows_of(c, k)
            for row in range(first, last):
                i.rounding[row] = rounding_of(c, k, row, i.first)


@native_kernel
def load_velocities(c: Any, i: Any) -> None:
    """A u + b of all rows, as the program "constraints" gave it."""
    motion = constraint_places(c.counted.size, i.first.size).motion
    for row in range(i.v.size):
        i.v[row] = c.every[motion + row]


@native_inline
def responds(c: Any, k: int) -> bool:
    """Whether what a candidate does to others may be asked: it touches, or has friction of its own."""
    return bool(touches(c, k) or c.table[k * TABLE + FRICTION] == THRESHOLDS)


@native_inline
def rows_of(c: Any, k: int) -> Any:
    """The first row of a candidate, and the one behind its last."""
    tangent, normal = c.table[k * TABLE + TANGENT], c.table[k * TABLE + NORMAL]
    tangents = c.table[k * TABLE + TANGENTS]
    return (tangent, tangent + tangents) if normal == NONE else (normal, normal + 1 + tangents)


@native_kernel
def hit(c: Any, i: Any, k: int) -> int:
    """One impact of a candidate; velocities and impulses of all rows after it."""
    row, b = k * TABLE, i.body
    first, last = rows_of(c, k)
    size = last - first
    for r in range(3):
        b[V + r] = i.v[first + r] if r < size else 0.0
        for s in range(3):
            b[G + 3 * r + s] = i.G[first + r, first + s] if r < size and s < size else 0.0
    coulomb = c.table[row + FRICTION] == COULOMB
    b[STATIC_FRICTION] = c.gaps[k * NUMBERS + STATIC] if coulomb else 0.0
    b[KINETIC_FRICTION] = c.gaps[k * NUMBERS + KINETIC] if coulomb else 0.0
    before = (b[V], b[V + 1], b[V + 2])
    ended = strike(b, size - 1 if coulomb else 0, c.table[row + LAW], c.gaps[k * NUMBERS + RESTITUTION])
    if ended != DONE:
        return CONTRADICTED if ended == IMMOVABLE else ENDLESS
    gained, size_of = 0.0, 0.0
    for r in range(3):
        gained += 0.5 * b[P + r] * (before[r] + b[V + r])
        size_of += abs(b[P + r] * before[r])
    if c.table[row + LAW] == NEWTON and gained > 1e-9 * size_of:
        return ENERGY_GAINED
    for r in range(size):
        i.impulse[first + r] += b[P + r]
    for other in range(c.block[CANDIDATES]):
        if touches(c, other) and i.island[other] == i.island[k]:
            begin, end = rows_of(c, other)
            for s in range(begin, end):
                for r in range(size):
                    i.v[s] += i.G[s, first + r] * b[P + r]
    # What the impact has ended at is exact.
    for r in range(size):
        i.v[first + r] = b[V + r]
    return ADOPTED


@native_kernel
def own_response(c: Any, i: Any, k: int) -> float:
    """Change of the normal velocity of a sliding contact per unit of its normal impulse, with friction: dv_n/dp_n."""
    row, at = k * TABLE, k * CHANGING + 2
    normal, tangent = c.table[row + NORMAL], c.table[row + TANGENT]
    share = i.G[normal, normal]
    for t in range(c.table[row + TANGENTS]):
        share -= c.gaps[k * NUMBERS + KINETIC] * c.along[at + t] * i.G[normal, tangent + t]
    return float(share)


@native_kernel
def jams(c: Any, i: Any, k: int) -> bool:
    """Whether a push at a sliding contact makes it approach (Painleve)."""
    return bool(-math.inf < own_response(c, i, k) < 0.0)
