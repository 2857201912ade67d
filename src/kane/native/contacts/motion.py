"""Accelerations and forces in a mode: rows in force embedded, friction of sliding contacts from their normal forces.

With F_s the column of generalized forces that friction makes of a normal force of 1 N at the sliding contact s,

    M udot + h = A^T lambda + sum F_s N_s,   A udot + remainder = 0,   udot = R udot_i + e_t.

The p dynamic equations, projected by R^T, and the s kinetostatic ones, which give N_s, are solved together: the first
by Cholesky for udot_i as a function of the N_s, which leaves s equations for these.

Source: Gillespie 2003, section 4, Eqs. 43-46; Kane & Levinson 1985, Dynamics: Theory and Applications, section 4.9.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.native.algebra import (
    factor_positive,
    solve_factored,
    solve_upper,
    to_q,
)
from kane.native.blocks import constraint_places, unconstrained_places
from kane.native.call import call_program, integers_at, matrix_at, native_inline, native_kernel, vector_at
from kane.native.contacts.blocks import contact_places
from kane.native.contacts.forces import add_friction, direction, find_forces
from kane.native.contacts.header import (
    BILATERAL,
    BLOCK,
    CANDIDATES,
    CHANGING,
    COULOMB,
    FRICTION,
    GAPS,
    HELD,
    KINETIC,
    NONE,
    NORMAL,
    NUMBERS,
    OPEN,
    PERMANENT,
    SLIDING,
    STATUS,
    TABLE,
    TANGENT,
    TANGENTS,
    THRESHOLDS,
    block_at,
    changing_at,
    table_at,
)
from kane.native.contacts.quick import accelerate_quickly, quick_of
from kane.native.embedding import arrays_among, reduce_mass, remainders
from kane.native.header import COORDINATES, HEADER, ROWS, SPEEDS


class Contacts(NamedTuple):
    """The candidates of a model and what is known of them in a call.

    Attributes:
        block, table, changing: the block's own integers; a row for each candidate, one after the other.
        along: ``changing`` read as doubles.
        every: what the program "constraints" gives.
        active, counted: rows in force, and of every row whether it is.
        gaps, forces: what the program "gaps" gives; of every row, (m,).
        F, Y, K, N: by sliding contact, (nc, n); equations of normal forces, and these.
        l, h, remainder, udot, E, B, H, path: see ``ContactPlaces``.
    """

    block: Any
    table: Any
    changing: Any
    along: Any
    every: Any
    active: Any
    counted: Any
    gaps: Any
    forces: Any
    F: Any
    Y: Any
    K: Any
    N: Any
    l: Any
    h: Any
    remainder: Any
    udot: Any
    E: Any
    B: Any
    H: Any
    path: Any


for places in (block_at, changing_at, contact_places):
    native_inline(places)


@native_inline
def contacts_of(stage: Any, work: Any) -> Any:
    """The Contacts of a call."""
    head = integers_at(stage, 0, HEADER)
    m, n = head[ROWS], head[SPEEDS]
    block = integers_at(stage, block_at(head), BLOCK)
    nc = block[CANDIDATES]
    at, changing = contact_places(head, nc), changing_at(head, nc)
    return Contacts(
        block,
        integers_at(stage, table_at(head), TABLE * nc),
        integers_at(stage, changing, CHANGING * nc),
        vector_at(stage, changing, CHANGING * nc),
        vector_at(work, at.every, constraint_places(m, n).end),
        integers_at(work, at.active, m),
        integers_at(work, at.counted, m),
        vector_at(work, at.gaps, NUMBERS * nc),
        vector_at(work, at.forces, m),
        matrix_at(work, at.F, nc, n),
        matrix_at(work, at.Y, nc, n),
        matrix_at(work, at.K, nc, nc),
        vector_at(work, at.N, nc),
        vector_at(work, at.l, m),
        vector_at(work, at.h, n),
        vector_at(work, at.remainder, m),
        vector_at(work, at.udot, n),
        matrix_at(work, at.E, n, m),
        matrix_at(work, at.B, m, m),
        matrix_at(work, at.H, m + 1, m + 1),
        matrix_at(work, at.path, 6, m + 1),
    )


@native_inline
def copy_state(a: Any, state: Any) -> None:
    """The state of a call into the arrays."""
    given = vector_at(state, 0, a.state.size)
    for i in range(given.size):
        a.state[i] = given[i]


@native_inline
def find_gaps(c: Any, a: Any, rest: Any, stage: Any, work: Any) -> None:
    """Gaps, signs and coefficients at the state of the arrays."""
    part = vector_at(stage, c.block[GAPS + 1], 0)
    call_program(c.block[GAPS], a.state, vector_at(rest, 0, 0), part, c.gaps, vector_at(work, 0, 0))


@native_kernel
def count_rows(c: Any, bilateral: bool) -> int:
    """Which rows are in force, of those that hold both ways alone where asked; how many."""
    for i in range(c.counted.size):
        c.counted[i] = 1 if i < c.block[PERMANENT] else 0
    for k in range(c.block[CANDIDATES]):
        row, status = k * TABLE, c.changing[k * CHANGING + STATUS]
        if status == OPEN or (bilateral and c.table[row + BILATERAL] == 0):
            continue
        if c.table[row + NORMAL] != NONE:
            c.counted[c.table[row + NORMAL]] = 1
        if status == HELD:
            for i in range(c.table[row + TANGENTS]):
                c.counted[c.table[row + TANGENT] + i] = 1
    m = 0
    for i in range(c.counted.size):
        if c.counted[i] == 1:
            c.active[m] = i
            m += 1
    return m


@native_inline
def in_force(c: Any, stage: Any, work: Any, bilateral: bool) -> Any:
    """The Arrays of the rows in force; what they hold stays."""
    m = count_rows(c, bilateral)
    return arrays_among(stage, work, c.every, c.active[:m], m)


@native_kernel
def _load_friction(c: Any, order: Any, rank: int, n: int) -> int:
    """Columns F of the sliding contacts, in the order of the choice, their candidates in N; how many.

    Kinetic friction that does not depend on a normal force is put into h.
    """
    s = 0
    for k in range(c.block[CANDIDATES]):
        row = k * TABLE
        tangents, kinetic = c.table[row + TANGENTS], c.gaps[k * NUMBERS + KINETIC]
        if c.changing[k * CHANGING + STATUS] != SLIDING or tangents == 0 or kinetic == 0.0:
            continue
        t = c.table[row + TANGENT]
        x, y = direction(c, k, n)
        for i in range(n):
            j = order[i]
            along = x * c.every[t * n + j]
            if tangents == 2:
                along += y * c.every[(t + 1) * n + j]
            if c.table[row + FRICTION] == THRESHOLDS:
                c.h[j] += kinetic * along
            else:
                c.F[s, i] = -kinetic * along
        if c.table[row + FRICTION] == COULOMB:
            c.N[s] = float(c.table[row + NORMAL])
            s += 1
    return s


@native_inline
def move_quickly(c: Any, a: Any, rest: Any, stage: Any, work: Any) -> bool:
    """udot and the forces of all rows at the state of the arrays, where the rows in force are independent.

    What the program "constraints" gives is there.
    """
    k = quick_of(stage, work)
    m = accelerate_quickly(k, a.state, rest, stage, work, True)
    if m != NONE:
        _take(c, k, m)
    return bool(m != NONE)


@native_kernel
def _take(c: Any, k: Any, m: int) -> None:
    """What the quick way has found; z in the place of h, whose size it has."""
    n = c.udot.size
    for j in range(n):
        c.udot[j], c.h[j] = k.found[j], k.given[k.at.z + j]
    for row in range(c.forces.size):
        c.forces[row] = 0.0
    for j in range(m):
        c.forces[k.row[j]] = k.found[n + j]
    add_friction(c, n)


@native_kernel
def accelerate(c: Any, a: Any, rank: int) -> bool:
    """udot in the order of the choice, where A is factored, D in the Factors, and the program "unconstrained" called.

    Returns:
        Whether there is one solution.
    """
    D, order, n, m = a.f.A, a.f.order, a.f.order.size, a.f.A.shape[0]
    at = unconstrained_places(c.counted.size, n, a.head[COORDINATES])
    for k in range(m):
        c.remainder[k] = a.free[at.remainder + c.active[k]]
    remainders(a.f, rank, c.remainder[:m], a.x, a.e)
    for j in range(n):
        c.h[j] = a.free[at.h + j]
    sliding = _load_friction(c, order, rank, n)
    reduce_mass(a.f, rank, a.free, a.M, a.W, a.reduced)
    for i in range(n):
        a.z[i] = c.h[order[i]]
        for k in range(rank):
            a.z[i] += a.M[i, k] * a.e[k]
    good = factor_positive(a.reduced, n - rank)
    for j in range(rank, n):
        a.udot[j] = -a.z[j]
    for k in range(rank):
        for j in range(rank, n):
            a.udot[j] -= D[k, j] * a.z[k]
    solve_factored(a.reduced, n - rank, a.udot[rank:])
    if sliding > 0:
        good = _solve_normal(c, a, rank, sliding) and good
        for s in range(sliding):
            for j in range(rank, n):
                a.udot[j] += c.N[s] * c.Y[s, j]
    for k in range(rank):
        a.udot[k] = a.e[k]
        for j in range(rank, n):
            a.udot[k] += D[k, j] * a.udot[j]
    for k in range(n):
        c.udot[order[k]] = a.udot[k] if good else math.nan
    find_forces(c, a, rank, sliding)
    return good


@native_kernel
def _place(c: Any, m: int, row: int) -> int:
    """Which of the rows in force a row is."""
    for k in range(m):
        if c.active[k] == row:
            return k
    return 0


@native_kernel
def _solve_normal(c: Any, a: Any, rank: int, sliding: int) -> bool:
    """Normal forces N of the sliding contacts, from the kinetostatic equations; whether there is one solution."""
    D, n, m = a.f.A, a.f.order.size, a.f.A.shape[0]
    for s in range(sliding):
        for j in range(rank, n):
            c.Y[s, j] = c.F[s, j]
        for k in range(rank):
            for j in range(rank, n):
                c.Y[s, j] += D[k, j] * c.F[s, k]
        solve_factored(a.reduced, n - rank, c.Y[s, rank:])
    for s in range(sliding):
        # N_s = l . (M udot + h - F N)_d, with l = R^-1 Q^T of the unit vector of its row.
        place = _place(c, m, int(c.N[s]))
        for k in range(m):
            a.x[k] = 1.0 if k == place else 0.0
        to_q(a.f, rank, a.x)
        solve_upper(a.f, rank, a.x)
        total = 0.0
        for i in range(rank):
            known = a.z[i]
            for j in range(rank, n):
                known += a.W[i, j] * a.udot[j]
            total += a.x[i] * known
        c.l[s] = total
        for other in range(sliding):
            entry = 1.0 if other == s else 0.0
            for i in range(rank):
                share = c.F[other, i]
                for j in range(rank, n):
                    share -= a.W[i, j] * c.Y[other, j]
                entry += a.x[i] * share
            c.K[s, other] = entry
    return solve_square(c.K, sliding, c.l, c.N)


@native_kernel
def solve_square(K: Any, n: int, b: Any, x: Any) -> bool:
    """K x = b by elimination with row pivoting, K and b overwritten; whether no pivot is rounding."""
    good, largest = True, 0.0
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(K[i, k]) > abs(K[pivot, k]):
                pivot = i
        largest = max(largest, abs(K[pivot, k]))
        good = good and abs(K[pivot, k]) > 1e-14 * largest
        for j in range(n):
            K[k, j], K[pivot, j] = K[pivot, j], K[k, j]
        b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, n):
            share = K[i, k] / K[k, k] if K[k, k] != 0.0 else 0.0
            for j in range(k, n):
                K[i, j] -= share * K[k, j]
            b[i] -= share * b[k]
    for k in range(n - 1, -1, -1):
        total = b[k]
        for j in range(k + 1, n):
            total -= K[k, j] * x[j]
        x[k] = total / K[k, k] if K[k, k] != 0.0 else 0.0
    return good
