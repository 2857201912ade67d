"""Impulses at an instant: momentum projected on what holds both ways, one impact.

With the rows that hold both ways embedded, u = R u_i + e, impulses P of rows J change the independent speeds by
M~^-1 R^T J^T P, and momentum is projected by M~ w = R^T M (u- - u), where u keeps the rows and u- is given.

Source: Gillespie 2003, section 4 and Eqs. 44-45; Djerassi, Collision with friction, Multibody Syst. Dyn. 21, 2009.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.native.algebra import factor, factor_positive, from_q, solve_columns, solve_factored, solve_lower
from kane.native.blocks import constraint_places
from kane.native.call import integers_at, matrix_at, native_inline, native_kernel, vector_at
from kane.native.contacts.blocks import contact_places
from kane.native.contacts.header import (
    ADOPTED,
    BILATERAL,
    CANDIDATES,
    CHANGING,
    CONTRADICTED,
    COULOMB,
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
    OPPOSED,
    RESTITUTION,
    STATIC,
    STATUS,
    TABLE,
    TANGENT,
    TANGENTS,
    THRESHOLDS,
)
from kane.native.contacts.impact import DONE, IMMOVABLE, IMPACT, KINETIC_FRICTION, STATIC_FRICTION, G, P, V, strike
from kane.native.contacts.quick import SLOW
from kane.native.embedding import call, correct_speeds, find_rows, load_columns, reduce_mass
from kane.native.header import ROWS, SPEEDS, UNCHOSEN, UNCONSTRAINED

# A gap smaller than this is closed [m or rad].
TOUCHING = 1e-11
# Velocities under this share of what they are made of are rounding.
ROUNDING = 1e-12
# Rows that are off by more than this share of what they are made of contradict each other.
OPPOSED_BY = 1e-8


class Impulses(NamedTuple):
    """Scratch of a change.

    Attributes:
        J, Z, G: R^T J^T of the rows, M~^-1 of it, in the order of the choice, (m, n); J Z, (m, m).
        v, start: velocities of the rows, now and when the change began, (m,).
        impulse: of the rows in one impact, (m,).
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
            there is none; whether the impacts were brought to an end.
    """

    J: Any
    Z: Any
    G: Any
    v: Any
    start: Any
    impulse: Any
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
        vector_at(work, at.v, m),
        vector_at(work, at.start, m),
        vector_at(work, at.impulse, m),
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
        integers_at(work, at.note, 3),
        vector_at(work, at.present, m),
        integers_at(work, at.lost, nc),
    )


@native_kernel
def project(a: Any, c: Any, i: Any, rest: Any, stage: Any, work: Any) -> int:
    """Momentum projected on the rows in force, whose impulses are added up; the rank.

    The Factors hold D afterwards, ``reduced`` the factor of M~; ``free`` is what "unconstrained" gives.
    """
    n = a.f.order.size
    u = a.state[a.state.size - n :]
    for j in range(n):
        i.before[j] = u[j]
    find_rows(a, rest, stage, work)
    load_columns(a.rows, a.f, a.kept, UNCHOSEN)
    rank = factor(a.f, UNCHOSEN)
    correct_speeds(a, rank, rest, stage, work)
    solve_columns(a.f, rank)
    call(a, UNCONSTRAINED, rest, stage, work, a.free)
    reduce_mass(a.f, rank, a.free, a.M, a.W, a.reduced)
    factor_positive(a.reduced, n - rank)
    _add_momentum(a, c, i, rank, u)
    return int(rank)


@native_kernel
def _add_momentum(a: Any, c: Any, i: Any, rank: int, u: Any) -> None:
    D, order, n = a.f.A, a.f.order, a.f.order.size
    if rank == 0:
        return
    for k in range(n):
        a.z[k] = 0.0
        for l in range(n):
            a.z[k] += a.M[k, l] * (i.before[order[l]] - u[order[l]])
    for j in range(rank, n):
        a.udot[j] = a.z[j]
        for k in range(rank):
            a.udot[j] += D[k, j] * a.z[k]
    solve_factored(a.reduced, n - rank, a.udot[rank:])
    for k in range(rank):
        a.udot[k] = 0.0
        for j in range(rank, n):
            a.udot[k] += D[k, j] * a.udot[j]
    for k in range(n):
        u[order[k]] += a.udot[k]
    for l in range(n):
        a.udot[l] = u[order[l]] - i.before[order[l]]
    _add_transmitted(a, c, i, rank, 0)


@native_kernel
def _add_transmitted(a: Any, c: Any, i: Any, rank: int, struck: int) -> None:
    """Impulses P of the rows in force: A^T P = M (u+ - u-), less those of impacts where something was struck.

    The change of the speeds is in ``udot``, in the order of the choice; the dependent ones say P of least norm.
    """
    order, n = a.f.order, a.f.order.size
    for k in range(a.x.size):
        a.x[k] = 0.0
    for k in range(rank):
        for l in range(n):
            a.x[k] += a.M[k, l] * a.udot[l]
        for row in range(struck * i.impulse.size):
            a.x[k] -= c.every[row * n + order[k]] * i.impulse[row]
    solve_lower(a.f, rank, a.x)
    from_q(a.f, rank, a.x)
    for k in range(a.x.size):
        i.total[c.active[k]] += a.x[k]


@native_kernel
def opposed(a: Any, c: Any, i: Any) -> int:
    """Whether no speeds keep all rows in force: ADOPTED or OPPOSED; what is left of every row is in ``i.v``."""
    n, ended = c.udot.size, ADOPTED
    u, motion = a.state[a.state.size - n :], constraint_places(c.counted.size, n).motion
    for row in range(i.v.size):
        i.v[row], size = c.every[motion + row] if c.counted[row] == 1 else 0.0, 1.0
        for j in range(n):
            size += abs(c.every[row * n + j]) * max(abs(u[j]), abs(i.first[j]))
        if abs(i.v[row]) > OPPOSED_BY * size:
            ended = OPPOSED
    return ended


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
def rounding_of(c: Any, row: int, u: Any) -> float:
    """How much of the velocity of a row is rounding, with speeds u."""
    n, total = u.size, 0.0
    for j in range(n):
        total += abs(c.every[row * n + j] * u[j])
    return SLOW + ROUNDING * total


@native_kernel
def load_velocities(c: Any, i: Any) -> None:
    """A u + b of all rows, as the program "constraints" gave it."""
    motion = constraint_places(c.counted.size, i.first.size).motion
    for row in range(i.v.size):
        i.v[row] = c.every[motion + row]


@native_kernel
def load_impulses(a: Any, c: Any, i: Any, rank: int) -> None:
    """Velocities of all rows, and J, Z and G of those of what responds."""
    D, order, n = a.f.A, a.f.order, a.f.order.size
    m = c.counted.size
    load_velocities(c, i)
    for row in range(m):
        i.impulse[row] = 0.0
    for k in range(c.block[CANDIDATES]):
        if responds(c, k):
            first, last = rows_of(c, k)
            for row in range(first, last):
                for j in range(rank, n):
                    i.J[row, j] = c.every[row * n + order[j]]
                    for d in range(rank):
                        i.J[row, j] += c.every[row * n + order[d]] * D[d, j]
                    i.Z[row, j] = i.J[row, j]
                _respond(a.reduced, i.Z[row, rank:])
    for k in range(c.block[CANDIDATES]):
        if responds(c, k):
            first, last = rows_of(c, k)
            for row in range(first, last):
                _load_row(c, i, row, rank)


@native_kernel
def _respond(L: Any, x: Any) -> None:
    """L L^T y = x, in place, without what is zero: of many bodies a row moves few."""
    n = x.size
    for k in range(n):
        if x[k] != 0.0:
            x[k] /= L[k, k]
            for j in range(k + 1, n):
                x[j] -= L[j, k] * x[k]
    for k in range(n - 1, -1, -1):
        if x[k] != 0.0:
            x[k] /= L[k, k]
            for j in range(k):
                x[j] -= L[k, j] * x[k]


@native_inline
def _load_row(c: Any, i: Any, row: int, rank: int) -> None:
    """What impulses of all rows that respond do to one of them, into G; of many bodies it moves few, side by side."""
    begin, end = rank, i.J.shape[1]
    while begin < end and i.J[row, begin] == 0.0:
        begin += 1
    while begin < end and i.J[row, end - 1] == 0.0:
        end -= 1
    for l in range(c.block[CANDIDATES]):
        if responds(c, l):
            first, last = rows_of(c, l)
            for s in range(first, last):
                total = 0.0
                for j in range(begin, end):
                    total += i.J[row, j] * i.Z[s, j]
                i.G[row, s] = total


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
        if touches(c, other):
            begin, end = rows_of(c, other)
            for s in range(begin, end):
                for r in range(size):
                    i.v[s] += i.G[s, first + r] * b[P + r]
    # What the impact has ended at is exact.
    for r in range(size):
        i.v[first + r] = b[V + r]
    return ADOPTED


@native_kernel
def add_impulses(a: Any, c: Any, i: Any, rank: int) -> None:
    """The speeds after the impulses of the impacts, which are added to the total."""
    D, order, n = a.f.A, a.f.order, a.f.order.size
    u = a.state[a.state.size - n :]
    for j in range(n):
        a.udot[j] = 0.0
    for k in range(c.block[CANDIDATES]):
        if touches(c, k):
            first, last = rows_of(c, k)
            for row in range(first, last):
                i.total[row] += i.impulse[row]
                for j in range(rank, n):
                    a.udot[j] += i.Z[row, j] * i.impulse[row]
    for k in range(rank):
        for j in range(rank, n):
            a.udot[k] += D[k, j] * a.udot[j]
    for k in range(n):
        u[order[k]] += a.udot[k]
    _add_transmitted(a, c, i, rank, 1)


@native_kernel
def energy_lost(a: Any, i: Any) -> float:
    """(u- - u+)^T M (u- + u+) / 2 [J]: of the motion against what moves by itself."""
    n = a.f.order.size
    u, total = a.state[a.state.size - n :], 0.0
    for j in range(n):
        for k in range(n):
            entry = a.free[max(j, k) * (max(j, k) + 1) // 2 + min(j, k)]
            total += entry * (i.first[j] - u[j]) * (i.first[k] + u[k])
    return 0.5 * total


@native_kernel
def jams(c: Any, i: Any, k: int) -> bool:
    """Whether a push at a sliding contact makes it approach: dv_n/dp_n < 0 (Painleve)."""
    row, at = k * TABLE, k * CHANGING + 2
    normal, tangent = c.table[row + NORMAL], c.table[row + TANGENT]
    share = i.G[normal, normal]
    for t in range(c.table[row + TANGENTS]):
        share -= c.gaps[k * NUMBERS + KINETIC] * c.along[at + t] * i.G[normal, tangent + t]
    return bool(share < 0.0 and math.isfinite(share))
