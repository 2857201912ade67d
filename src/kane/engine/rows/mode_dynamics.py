"""Accelerations and forces in a contact mode; the embedding is the solver of the row problem that takes every mode.

In: the state, the inputs, and the contact mode. Out: udot, the forces of all rows, and the response of each sliding
contact. The active rows are embedded. F_s is the generalized force of the friction per unit of normal force at the
sliding contact s:

    M udot + h = A^T lambda + sum F_s N_s,   A udot + remainder = 0,   udot = R udot_i + e_t.

The dynamic equations, projected by R^T, give udot_i by Cholesky factorization as a function of the normal forces N_s.
The kinetostatic equations of the sliding contacts are left; they give N_s.

Source: Gillespie 2003, section 4, Eqs. 43-46; Kane & Levinson 1985, Dynamics: Theory and Applications, section 4.9.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import call_program, native_inline, native_kernel, vector_at
from kane.engine.laws.internal_forces import keeps_bounds
from kane.engine.linear.elimination import solve_square
from kane.engine.linear.factorizations import (
    factor_positive,
    solve_cholesky,
    solve_upper,
    to_q,
)
from kane.engine.memory.constraint_codes import UNCONSTRAINED
from kane.engine.memory.contact_codes import COULOMB, GAPS, SLIDING, THRESHOLDS
from kane.engine.memory.loop_arguments import Indices
from kane.engine.rows.contact_arrays import Contacts, contacts_of
from kane.engine.rows.embedding import (
    Arrays,
    arrays_among,
    call,
    embed,
    find_dependent,
    project_loads,
    reduce_mass,
    remainders,
)
from kane.engine.rows.island_forces import share_in_islands
from kane.engine.rows.islands import share_friction
from kane.engine.rows.row_forces import direction, find_forces, find_responses, name_rows, rub
from kane.engine.rows.row_problem import (
    ACCELERATION,
    DEPENDENT,
    NO_SOLUTION,
    SOLVED,
    ActiveRows,
    RowProblem,
    active_rows_of,
    row_problem_of,
)
from kane.engine.rows.tree_response import LIMITS, accelerate_by_response, slips

# Smallest pivot of a selection of dependent speeds, relative to the longest column of A, with which it stays in use.
STALE_SELECTION = 1e-2


@native_inline
def copy_state(a: Arrays, state: Any) -> None:
    """Copy the state of a call to the arrays."""
    given = vector_at(state, 0, a.state.size)
    for i in range(given.size):
        a.state[i] = given[i]


@native_inline
def find_gaps(c: Contacts, a: Arrays, inputs: Any, constants: Any, work: Any) -> None:
    """Compute GapTerms (gaps, switching expressions and coefficients) at the state of the arrays."""
    part = vector_at(constants, c.block.places[GAPS], 0)
    call_program(c.block.addresses[GAPS], a.state, vector_at(inputs, 0, 0), part, c.gaps.whole, vector_at(work, 0, 0))


@native_inline
def mark_rows(c: Contacts, bilateral: bool) -> None:
    """Mark the active rows, or only those of permanent and bilateral constraints."""
    for i in range(c.row_mask.size):
        c.row_mask[i] = 1 if i < c.block.permanent else 0
    for k in range(c.block.constraints):
        first, rows = active_rows_of(c.table, c.state, k)
        for row in range(first, first if bilateral and c.table.bilateral[k] == 0 else first + rows):
            c.row_mask[row] = 1


@native_inline
def count_rows(c: Contacts, bilateral: bool) -> int:
    """Mark and list the active rows, or only those of permanent and bilateral constraints; return their number."""
    mark_rows(c, bilateral)
    m = 0
    for i in range(c.row_mask.size):
        if c.row_mask[i] == 1:
            c.active[m] = i
            m += 1
    return m


@native_inline
def active_arrays(c: Contacts, constants: Any, work: Any, bilateral: bool) -> Arrays:
    """Return the Arrays of the active rows, without a change of their values."""
    m = count_rows(c, bilateral)
    return arrays_among(constants, work, c.all_rows, c.active[:m], m)


@native_kernel
def _load_friction(c: Contacts, order: Indices, rank: int, n: int) -> int:
    """Compute the columns F of the sliding contacts, whose normal rows go to N; return their number.

    Columns have the order of the selection. Kinetic friction that depends on no normal force is added to h.
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
def move_by_response(
    c: Contacts, k: RowProblem, active: ActiveRows, state: Any, inputs: Any, constants: Any, work: Any
) -> bool:
    """Compute the forces of all rows by the tree response; udot is in the RowProblem.

    Args:
        c: Contacts with GapTerms at the state.
        k: RowProblem of the call.
        active: active rows of the contact mode.
        state, inputs, constants, work: of the call.

    Returns:
        False if the solver refuses the rows, or if redundant forces have to be moved into their bounds.
    """
    how = accelerate_by_response(k, active, state, inputs, constants, work, True)
    if how == NO_SOLUTION or (how == DEPENDENT and not _share_by_bounds(active.rows, constants, work)):
        return False
    _take_forces(c, k, active)
    return bool(how == SOLVED or _keeps_bounds(constants, work) or _move_into_bounds(active.rows, constants, work))


@native_kernel
def _share_by_bounds(rows: int, constants: Any, work: Any) -> bool:
    """Share redundant friction in each island, see ``share_friction``."""
    return bool(share_friction(row_problem_of(constants, work), rows, contacts_of(constants, work).gaps, LIMITS))


@native_kernel
def _keeps_bounds(constants: Any, work: Any) -> bool:
    """Check the bounds of all contacts, see ``keeps_bounds``."""
    return bool(keeps_bounds(contacts_of(constants, work)))


@native_kernel
def _move_into_bounds(rows: int, constants: Any, work: Any) -> bool:
    """Move redundant forces into the bounds of their contacts, see ``share_in_islands``."""
    return bool(share_in_islands(contacts_of(constants, work), row_problem_of(constants, work), rows, LIMITS))


@native_inline
def _take_forces(c: Contacts, k: RowProblem, active: ActiveRows) -> None:
    """Copy the forces of the active rows to the forces of all rows, and add sliding friction."""
    name_rows(k)
    for row in range(c.forces.size):
        c.forces[row] = 0.0
    for j in range(active.rows):
        c.forces[k.row[j]] = k.force[j]
    for i in range(k.block.constraints if active.slides or active.rubs else 0):
        c.response[i] = 1.0  # all pivots exceed INDEPENDENT
        if slips(k, i):
            rub(c, i, k.slip[i, 0], k.slip[i, 1])


@native_inline
def take_motion(c: Contacts, k: RowProblem) -> None:
    """Copy udot of the tree response, and its z as a measure of the loads h."""
    for j in range(k.n):
        c.udot[j], c.h[j] = k.udot[j], k.given.z[j]


@native_kernel
def move_by_embedding(c: Contacts, a: Arrays, inputs: Any, constants: Any, work: Any) -> None:
    """Compute accelerations and forces by the embedding, with a new selection of speeds if the present one is stale.

    Projection by the tree response does not update the selection.
    """
    rank = embed(a, a.head.rank[0], STALE_SELECTION, inputs, constants, work)
    call(a, UNCONSTRAINED, inputs, constants, work, a.unconstrained.whole)
    accelerate(c, a, rank)


@native_inline
def accelerate(c: Contacts, a: Arrays, rank: int) -> None:
    """Compute udot and the forces of all rows, with D in the factors and the unconstrained terms at the state."""
    positive = reduce_rows(c, a, rank, ACCELERATION)
    sliding = accelerate_reduced(c, a, rank, positive)
    find_forces(c, a, rank, sliding)


@native_kernel
def reduce_rows(c: Contacts, a: Arrays, rank: int, level: int) -> bool:
    """Compute e_t of the level, M~ and its Cholesky factor; return whether M~ is positive.

    At the level VELOCITY the speeds satisfy A u + b = 0, so that e_t is zero.
    """
    n, m = a.f.order.size, a.f.A.shape[0]
    for k in range(m):
        c.remainder[k] = a.unconstrained.remainder[c.active[k]] if level == ACCELERATION else 0.0
    remainders(a.f, rank, c.remainder[:m], a.x, a.e)
    reduce_mass(a.f, rank, a.unconstrained.M, a.M, a.W, a.reduced)
    return factor_positive(a.reduced, n - rank)


@native_kernel
def accelerate_reduced(c: Contacts, a: Arrays, rank: int, positive: bool) -> int:
    """Compute udot with the Cholesky factor of M~, NaN without a unique solution.

    Returns:
        The number of contacts that slide with friction proportional to their normal forces.
    """
    order, n, good = a.f.order, a.f.order.size, positive
    for j in range(n):
        c.h[j] = a.unconstrained.h[j]
    sliding = _load_friction(c, order, rank, n)
    project_loads(a.f, rank, c.h, a.M, a.e, a.z, a.udot)
    solve_cholesky(a.reduced, n - rank, a.udot[rank:])
    if sliding > 0:
        good = _solve_normal(c, a, rank, sliding) and good
        for s in range(sliding):
            for j in range(rank, n):
                a.udot[j] += c.N[s] * c.Y[s, j]
    find_dependent(a.f, rank, a.e, a.udot)
    for k in range(n):
        c.udot[order[k]] = a.udot[k] if good else math.nan
    return sliding


@native_kernel
def _place(c: Contacts, m: int, row: int) -> int:
    """Return the number of a row among the active rows."""
    for k in range(m):
        if c.active[k] == row:
            return k
    return 0


@native_kernel
def _solve_normal(c: Contacts, a: Arrays, rank: int, sliding: int) -> bool:
    """Compute the normal forces N of sliding contacts by the kinetostatic equations; return whether they are unique."""
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
