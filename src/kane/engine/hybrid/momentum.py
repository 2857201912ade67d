"""Impulses and speeds: the row problem at the level of velocities, and the responses of rows to impulses.

In: the state with speeds u-, the active rows, and impulses P of impacts. Out: speeds u+ with A u+ + b = 0, and the
total impulses of all rows [N s, N m s]. An impulse P of a row a changes the speeds by M^-1 a P = L^-1 w P, and the
velocities of rows by y^T w P. The records of ``rows.tree_response`` hold y and w. Rows without a common column are on
different islands, which do not feel each other.

Active bilateral rows are embedded, u = R u_i + e. Impulses of rows J then change the independent speeds by
M~^-1 R^T J^T P, and the projection of the momentum is M~ w = R^T M (u- - u), where u satisfies the rows.

Source: Gillespie 2003, section 4 and Eqs. 44-45.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline, native_kernel, vector_at
from kane.engine.linear.factorizations import solve_cholesky
from kane.engine.memory.constraint_codes import UNCHOSEN, UNCONSTRAINED
from kane.engine.memory.contact_codes import ADOPTED, FACTOR, NONE, OPPOSED, SUBSTITUTION
from kane.engine.memory.loop_arguments import Vector
from kane.engine.project.contact_projection import are_satisfied, correct_velocities, load_row_velocities, load_rows
from kane.engine.rows.contact_arrays import Contacts
from kane.engine.rows.embedding import Arrays, call, embed, find_dependent, find_multipliers, project_loads
from kane.engine.rows.impulses import Impulses, load_velocities, responds, rows_of, touches
from kane.engine.rows.islands import answer_islands, column_of, note_group, record_of
from kane.engine.rows.mode_dynamics import reduce_rows
from kane.engine.rows.row_forces import name_rows
from kane.engine.rows.row_problem import VELOCITY, RowProblem, row_problem_of
from kane.engine.rows.tree_response import (
    INDEPENDENT,
    call_block,
    clear,
    find_active_rows,
    load_record,
    solution_for,
)

# Remaining velocity of a row, relative to its terms, above which rows contradict each other.
OPPOSED_BY = 1e-8
# Rounding error of a change of velocity by impulses, relative to the change: a few products and sums.
IMPULSE_ROUNDING = 8 * 2.0**-52


@native_kernel
def respond_by_tree(a: Arrays, c: Contacts, i: Impulses, inputs: Any, constants: Any, work: Any) -> bool:
    """Compute the velocities of all rows, and G of the rows that respond, island by island.

    The rows were computed at this state.

    Returns:
        False if a bilateral row is active, or the model has no tree response.
    """
    k = row_problem_of(constants, work)
    if a.f.A.shape[0] > 0 or a.head.linear == 0 or k.block.addresses[SUBSTITUTION] == 0:
        return False
    _begin(c, i)
    k.mode[0] = 0
    call_block(k, FACTOR, a.state, vector_at(inputs, 0, 0), k.given.whole, constants, work)
    groups, place = 0, 0
    for candidate in range(c.block.constraints):
        if responds(c, candidate):
            first, last = rows_of(c, candidate)
            load_record(k, candidate, place, a.state, constants, work)
            place = note_group(k, groups, candidate, place, last - first, k.table.width[candidate])
            groups += 1
    answer_islands(k, groups, i.G, i.island)
    return True


@native_kernel
def push(a: Arrays, c: Contacts, i: Impulses, inputs: Any, constants: Any, work: Any) -> None:
    """Add the changes of the speeds by the impulses of impacts, and the impulses to the total, by the tree response."""
    k, group, struck = row_problem_of(constants, work), 0, False
    clear(k.given.scaled)
    for candidate in range(c.block.constraints):
        if not responds(c, candidate):
            continue
        first, last = rows_of(c, candidate)
        for row in range(first, last):
            if i.impulse[row] != 0.0:
                w = record_of(k, group, row - first).w
                i.total[row] += i.impulse[row]
                for j in range(w.size):
                    k.given.scaled[column_of(k, group, j)] += w[j] * i.impulse[row]
                struck = True
        group += 1
    if struck:
        _load_left(c, i)
        call_block(k, SUBSTITUTION, a.state, k.given.whole, k.found, constants, work)
        _add(a, k)


@native_inline
def _add(a: Arrays, k: RowProblem) -> None:
    """Add the solution to the speeds."""
    first = a.state.size - k.n
    for j in range(k.n):
        a.state[first + j] += k.udot[j]


@native_inline
def _begin(c: Contacts, i: Impulses) -> None:
    """Load the velocities of all rows; clear impulses and islands."""
    load_velocities(c, i)
    for row in range(i.v.size):
        i.impulse[row] = i.left[row] = 0.0
    for k in range(c.block.constraints):
        i.island[k] = NONE


@native_kernel
def _load_left(c: Contacts, i: Impulses) -> None:
    """Add the rounding errors of impulses to ``left``; those of a light foot exceed all other rounding errors."""
    for k in range(c.block.constraints):
        first, last = rows_of(c, k)
        for row in range(first, last):
            if i.island[k] == NONE or i.impulse[row] == 0.0:
                continue
            for l in range(c.block.constraints):
                if i.island[l] == i.island[k]:
                    begin, end = rows_of(c, l)
                    for s in range(begin, end):
                        i.left[s] += IMPULSE_ROUNDING * abs(i.G[s, row] * i.impulse[row])


@native_kernel
def project_speeds_by_response(a: Arrays, c: Contacts, i: Impulses, inputs: Any, constants: Any, work: Any) -> bool:
    """Project the speeds onto the active rows by the tree response, and add the impulses to the total.

    Returns:
        False if rows are nearly dependent or contradict each other; the speeds are then unchanged.
    """
    k = row_problem_of(constants, work)
    active = find_active_rows(k)
    m = active.rows
    if a.head.linear == 0 or k.block.addresses[SUBSTITUTION] == 0:
        return False
    load_row_velocities(k, a.state, inputs, constants, work)
    if are_satisfied(k, m):
        return True
    which, capacity = solution_for(k, m, False)
    rows = m, which if m < k.n else NONE, capacity
    load_rows(k, a, rows, active.slides, inputs, constants, work)
    if not correct_velocities(k, rows, True, a.state, constants, work) > INDEPENDENT:
        return False
    u = a.state[a.state.size - k.n :]
    for j in range(k.n):
        i.before[j] = u[j]
    _add(a, k)
    load_row_velocities(k, a.state, inputs, constants, work)
    if not _agree(k, m):
        for j in range(k.n):
            u[j] = i.before[j]
        return False
    name_rows(k)
    for r in range(m):
        i.total[k.row[r]] += k.force[r]
    return True


@native_inline
def _agree(k: RowProblem, m: int) -> bool:
    """Check whether the speeds satisfy the active rows; the solution omits rows that contradict others."""
    agree = True
    for r in range(m):
        agree = agree and abs(k.velocity[r, 0]) <= OPPOSED_BY * (1.0 + k.velocity[r, 1])
    return bool(agree)


@native_kernel
def project_momentum(a: Arrays, c: Contacts, i: Impulses, inputs: Any, constants: Any, work: Any) -> int:
    """Project the momentum onto the active rows by the embedding, and add their impulses; return the rank.

    Afterwards the factors hold D, ``a.reduced`` the Cholesky factor of M~, and ``a.unconstrained`` its terms.
    """
    u = a.state[a.state.size - a.f.order.size :]
    for j in range(u.size):
        i.before[j] = u[j]
    rank = embed(a, UNCHOSEN, 0.0, inputs, constants, work)
    call(a, UNCONSTRAINED, inputs, constants, work, a.unconstrained.whole)
    reduce_rows(c, a, rank, VELOCITY)
    if rank > 0:
        _solve_momentum(a, c, i, rank, u)
    return int(rank)


@native_kernel
def _solve_momentum(a: Arrays, c: Contacts, i: Impulses, rank: int, u: Vector) -> None:
    """Solve M (u+ - u-) = A^T P and A u+ + b = 0 from speeds u that satisfy the rows: the load is M (u - u-)."""
    order, n = a.f.order, a.f.order.size
    for k in range(n):
        c.h[order[k]] = 0.0
        for l in range(n):
            c.h[order[k]] += a.M[k, l] * (u[order[l]] - i.before[order[l]])
    project_loads(a.f, rank, c.h, a.M, a.e, a.z, a.udot)
    solve_cholesky(a.reduced, n - rank, a.udot[rank:])
    _add_change(a, c, i, rank, u)


@native_inline
def _add_change(a: Arrays, c: Contacts, i: Impulses, rank: int, u: Vector) -> None:
    """Add R udot_i to the speeds, and the impulses of the active rows, of least norm, to the total."""
    find_dependent(a.f, rank, a.e, a.udot)
    for k in range(u.size):
        u[a.f.order[k]] += a.udot[k]
    find_multipliers(a, rank)
    for k in range(a.x.size):
        i.total[c.active[k]] += a.x[k]


@native_kernel
def opposed(a: Arrays, c: Contacts, i: Impulses) -> int:
    """Return OPPOSED if no speeds satisfy all active rows, else ADOPTED; ``i.v`` holds the remaining velocities."""
    n, nc, ended = c.udot.size, c.block.constraints, ADOPTED
    u = a.state[a.state.size - n :]
    for k in range(-1, nc):
        first, last = (0, c.block.permanent) if k < 0 else rows_of(c, k)
        begin, end = (0, n) if k < 0 else (c.table.first_column[k], c.table.last_column[k])
        for row in range(first, last):
            i.v[row], size = c.all_rows.motion[row] if c.row_mask[row] == 1 else 0.0, 1.0
            for j in range(begin, end):
                size += abs(c.all_rows.A[row, j]) * max(abs(u[j]), abs(i.first[j]))
            if abs(i.v[row]) > OPPOSED_BY * size:
                ended = OPPOSED
    return ended


@native_kernel
def load_impulses(a: Arrays, c: Contacts, i: Impulses, rank: int) -> None:
    """Compute the velocities of all rows, and J, Z and G of the rows that respond, which are one island."""
    D, order, n = a.f.A, a.f.order, a.f.order.size
    _begin(c, i)
    for k in range(c.block.constraints):
        if responds(c, k):
            first, last = rows_of(c, k)
            i.island[k] = 0
            for row in range(first, last):
                for j in range(rank, n):
                    i.J[row, j] = c.all_rows.A[row, order[j]]
                    for d in range(rank):
                        i.J[row, j] += c.all_rows.A[row, order[d]] * D[d, j]
                    i.Z[row, j] = i.J[row, j]
                solve_cholesky(a.reduced, n - rank, i.Z[row, rank:])
    for k in range(c.block.constraints):
        if responds(c, k):
            first, last = rows_of(c, k)
            for row in range(first, last):
                _load_row(c, i, row, rank)


@native_inline
def _load_row(c: Contacts, i: Impulses, row: int, rank: int) -> None:
    """Compute the velocities of one row per unit impulse of each row that responds, in G, over its nonzero columns."""
    begin, end = rank, i.J.shape[1]
    while begin < end and i.J[row, begin] == 0.0:
        begin += 1
    while begin < end and i.J[row, end - 1] == 0.0:
        end -= 1
    for l in range(c.block.constraints):
        if responds(c, l):
            first, last = rows_of(c, l)
            for s in range(first, last):
                total = 0.0
                for j in range(begin, end):
                    total += i.J[row, j] * i.Z[s, j]
                i.G[row, s] = total


@native_kernel
def add_impulses(a: Arrays, c: Contacts, i: Impulses, rank: int) -> None:
    """Add the changes of the speeds by the impulses of impacts, and all impulses to the total.

    It follows ``project_momentum``, because M~, D and e_t = 0 belong to the level of velocities.
    """
    order, n = a.f.order, a.f.order.size
    for j in range(n):
        a.z[j] = a.udot[j] = 0.0
    for k in range(c.block.constraints):
        if touches(c, k):
            first, last = rows_of(c, k)
            for row in range(first, last):
                i.total[row] += i.impulse[row]
                for j in range(rank, n):
                    a.udot[j] += i.Z[row, j] * i.impulse[row]
                for j in range(rank):
                    a.z[j] -= c.all_rows.A[row, order[j]] * i.impulse[row]
    _load_left(c, i)
    _add_change(a, c, i, rank, a.state[a.state.size - n :])


@native_kernel
def energy_lost(a: Arrays, i: Impulses) -> float:
    """Return the energy (u- - u+)^T M (u- + u+) / 2 [J] that the transition has dissipated."""
    n = a.f.order.size
    u, total = a.state[a.state.size - n :], 0.0
    for j in range(n):
        lost = i.first[j] - u[j]
        for k in range(n if lost != 0.0 else 0):
            entry = a.unconstrained.M[max(j, k) * (max(j, k) + 1) // 2 + min(j, k)]
            total += entry * lost * (i.first[k] + u[k])
    return 0.5 * total
