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

from kane.engine.call import call_program, native_inline, native_kernel, vector_at
from kane.engine.laws.internal_forces import keeps_bounds
from kane.engine.linear.elimination import solve_square
from kane.engine.linear.factorizations import (
    factor_positive,
    solve_cholesky,
    solve_upper,
    to_q,
)
from kane.engine.memory.constraint_memory import contact_constants_of, contact_scratch_of
from kane.engine.memory.contact_codes import (
    COULOMB,
    GAPS,
    NONE,
    OPEN,
    SLIDING,
    STICKING,
    THRESHOLDS,
)
from kane.engine.memory.views import constraint_rows_at, factor_scratch_at, gap_terms_at
from kane.engine.rows.embedding import arrays_among, reduce_mass, remainders
from kane.engine.rows.islands import DETERMINED, REPEATING, UNSOLVED, share_friction
from kane.engine.rows.row_forces import direction, find_forces, find_responses, name_rows, rub
from kane.engine.rows.tree_response import LIMITS, accelerate_by_response, slips


class Contacts(NamedTuple):
    """The candidates of a model and what is known of them in a call.

    Attributes:
        block, table, state, held: see ContactConstants.
        all_rows, gaps: ConstraintRows of all rows, and GapTerms.
        active, row_mask, forces, F, Y, K, N, l, h, remainder, udot, pivots, redundant, B, H, path, response: see
            ContactScratch. The response is 1.0 where all rows are independent, see ``find_responses``.
    """

    block: Any
    table: Any
    state: Any
    held: Any
    all_rows: Any
    gaps: Any
    active: Any
    row_mask: Any
    forces: Any
    F: Any
    Y: Any
    K: Any
    N: Any
    l: Any
    h: Any
    remainder: Any
    udot: Any
    pivots: Any
    redundant: Any
    B: Any
    H: Any
    path: Any
    response: Any


@native_inline
def contacts_of(constants: Any, work: Any) -> Any:
    """The Contacts of a call."""
    c = contact_constants_of(constants)
    m, n, nc = c.head.rows, c.head.speeds, c.block.constraints
    s = contact_scratch_of(c.head, nc, work)
    all_rows, gaps = constraint_rows_at(work, s.all_rows, m, n), gap_terms_at(work, s.gaps, nc)
    return Contacts(
        c.block, c.table, c.state, c.held, all_rows, gaps, s.active, s.row_mask, s.forces, s.F, s.Y, s.K, s.N, s.l, s.h,
        s.remainder, s.udot, s.pivots, factor_scratch_at(work, s.redundant, n, m), s.B, s.H, s.path, s.response,
    )  # fmt: skip


@native_inline
def copy_state(a: Any, state: Any) -> None:
    """The state of a call into the arrays."""
    given = vector_at(state, 0, a.state.size)
    for i in range(given.size):
        a.state[i] = given[i]


@native_inline
def find_gaps(c: Any, a: Any, inputs: Any, constants: Any, work: Any) -> None:
    """GapTerms, signs and coefficients at the state of the arrays."""
    part = vector_at(constants, c.block.places[GAPS], 0)
    call_program(c.block.addresses[GAPS], a.state, vector_at(inputs, 0, 0), part, c.gaps.whole, vector_at(work, 0, 0))


@native_inline
def mark_rows(c: Any, bilateral: bool) -> None:
    """Mark the active rows, or only those that hold both ways."""
    for i in range(c.row_mask.size):
        c.row_mask[i] = 1 if i < c.block.permanent else 0
    for k in range(c.block.constraints):
        status = c.state.status[k]
        if status == OPEN or (bilateral and c.table.bilateral[k] == 0):
            continue
        if c.table.normal[k] != NONE:
            c.row_mask[c.table.normal[k]] = 1
        if status == STICKING:
            for i in range(c.table.tangents[k]):
                c.row_mask[c.table.tangent[k] + i] = 1


@native_inline
def count_rows(c: Any, bilateral: bool) -> int:
    """Mark and list the active rows, or only those that hold both ways; return their number."""
    mark_rows(c, bilateral)
    m = 0
    for i in range(c.row_mask.size):
        if c.row_mask[i] == 1:
            c.active[m] = i
            m += 1
    return m


@native_inline
def in_force(c: Any, constants: Any, work: Any, bilateral: bool) -> Any:
    """The Arrays of the rows in force; what they hold stays."""
    m = count_rows(c, bilateral)
    return arrays_among(constants, work, c.all_rows, c.active[:m], m)


@native_kernel
def _load_friction(c: Any, order: Any, rank: int, n: int) -> int:
    """Columns F of the sliding contacts, in the order of the choice, their candidates in N; how many.

    Kinetic friction that does not depend on a normal force is put into h.
    """
    s = 0
    for k in range(c.block.constraints):
        c.response[k] = 1.0
        tangents, kinetic = c.table.tangents[k], c.gaps.kinetic[k]
        if c.state.status[k] != SLIDING or tangents == 0 or kinetic == 0.0:
            continue
        t = c.table.tangent[k]
        x, y = direction(c, k)
        for i in range(n):
            j = order[i]
            along = x * c.all_rows.A[t, j]
            if tangents == 2:
                along += y * c.all_rows.A[t + 1, j]
            if c.table.friction[k] == THRESHOLDS:
                c.h[j] += kinetic * along
            else:
                c.F[s, i] = -kinetic * along
        if c.table.friction[k] == COULOMB:
            c.N[s] = float(c.table.normal[k])
            s += 1
    return s


@native_inline
def move_by_response(c: Any, k: Any, counted: Any, state: Any, inputs: Any, constants: Any, work: Any) -> bool:
    """The forces of all rows at a state, where they are found by the factor of M; udot is in ``found`` of the Quick.

    Redundant forces that have to be moved into their bounds are not found so.

    Args:
        c: what the program "gaps" gives is there.
        k: a Quick.
        counted: what ``rows_in_force`` says.
        state, inputs, constants, work: of the call.
    """
    how = accelerate_by_response(k, counted, state, inputs, constants, work, True)
    if how == UNSOLVED or (how == REPEATING and not share_friction(k, counted[0], c.gaps, LIMITS)):
        return False
    _take_forces(c, k, counted)
    return bool(how == DETERMINED or keeps_bounds(c))


@native_inline
def _take_forces(c: Any, k: Any, counted: Any) -> None:
    """What the quick way has found, into the forces of all rows."""
    m, slides, sticks, _ = counted
    name_rows(k)
    for row in range(c.forces.size):
        c.forces[row] = 0.0
    for j in range(m):
        c.forces[k.row[j]] = k.force[j]
    for i in range(k.block.constraints if slides or sticks else 0):
        c.response[i] = 1.0  # all pivots are INDEPENDENT
        if slips(k, i):
            rub(c, i, k.slip[i, 0], k.slip[i, 1])


@native_inline
def take_motion(c: Any, k: Any) -> None:
    """udot that the quick way has found; z in the place of h, whose size it has."""
    for j in range(k.n):
        c.udot[j], c.h[j] = k.udot[j], k.given.z[j]


@native_inline
def accelerate(c: Any, a: Any, rank: int) -> None:
    """udot and forces of all rows, where A is factored, D in the Factors, and the program "unconstrained" called."""
    positive = reduce_rows(c, a, rank)
    sliding = accelerate_reduced(c, a, rank, positive)
    find_forces(c, a, rank, sliding)


@native_kernel
def reduce_rows(c: Any, a: Any, rank: int) -> bool:
    """What rows in force make of M, whatever slips and wherever to; whether M~ is positive."""
    n, m = a.f.order.size, a.f.A.shape[0]
    for k in range(m):
        c.remainder[k] = a.unconstrained.remainder[c.active[k]]
    remainders(a.f, rank, c.remainder[:m], a.x, a.e)
    reduce_mass(a.f, rank, a.unconstrained.M, a.M, a.W, a.reduced)
    return factor_positive(a.reduced, n - rank)


@native_kernel
def accelerate_reduced(c: Any, a: Any, rank: int, positive: bool) -> int:
    """udot, NaN where there is not one solution, and how many contacts slide with friction of their normal forces."""
    D, order, n, good = a.f.A, a.f.order, a.f.order.size, positive
    for j in range(n):
        c.h[j] = a.unconstrained.h[j]
    sliding = _load_friction(c, order, rank, n)
    for i in range(n):
        a.z[i] = c.h[order[i]]
        for k in range(rank):
            a.z[i] += a.M[i, k] * a.e[k]
    for j in range(rank, n):
        a.udot[j] = -a.z[j]
    for k in range(rank):
        for j in range(rank, n):
            a.udot[j] -= D[k, j] * a.z[k]
    solve_cholesky(a.reduced, n - rank, a.udot[rank:])
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
    return sliding


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
        solve_cholesky(a.reduced, n - rank, c.Y[s, rank:])
        for i in range(rank):
            c.Y[s, i] = c.F[s, i]
            for j in range(rank, n):
                c.Y[s, i] -= a.W[i, j] * c.Y[s, j]
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
                entry += a.x[i] * c.Y[other, i]
            c.K[s, other] = entry
    find_responses(c, sliding)
    for s in range(sliding):
        c.N[s] = c.l[s]
    return bool(solve_square(c.K, sliding, c.pivots, c.N) == sliding)
