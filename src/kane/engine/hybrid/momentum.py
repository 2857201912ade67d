"""What impulses do to speeds: by the factor of M, island by island, or embedded where something holds both ways.

An impulse P of a row a changes the speeds by M^-1 a P = L^-1 w P, and the velocities of rows by y^T w P. The records of
``rows.tree_response`` hold y and w, which are zero where the row moves nothing. So rows that move no column in common
are islands, of which one knows nothing of the others.

With rows that hold both ways embedded, u = R u_i + e, impulses P of rows J change the independent speeds by
M~^-1 R^T J^T P, and momentum is projected by M~ w = R^T M (u- - u), where u keeps the rows and u- is given.

Source: Gillespie 2003, section 4 and Eqs. 44-45.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import call_program, native_inline, native_kernel, vector_at
from kane.engine.linear.factorizations import (
    factor,
    factor_positive,
    from_q,
    solve_columns,
    solve_factored,
    solve_lower,
)
from kane.engine.memory.constraint_codes import UNCHOSEN, UNCONSTRAINED
from kane.engine.memory.contact_codes import (
    ADOPTED,
    FACTOR,
    NONE,
    OPPOSED,
    SUBSTITUTION,
)
from kane.engine.project.contact_projection import are_satisfied, correct_velocities, load_row_velocities, load_rows
from kane.engine.rows.embedding import call, correct_speeds, find_rows, load_columns, reduce_mass
from kane.engine.rows.impulses import load_velocities, responds, rows_of, touches
from kane.engine.rows.islands import answer_islands, column_of, note_group, record_of
from kane.engine.rows.row_forces import name_rows
from kane.engine.rows.tree_response import (
    INDEPENDENT,
    call_block,
    clear,
    response_of,
    rows_in_force,
    solution_for,
)

# Rows that are off by more than this share of what they are made of contradict each other.
OPPOSED_BY = 1e-8
# Of what impulses change a velocity by this share is rounding: a few products and sums.
LOST = 8 * 2.0**-52


@native_kernel
def respond_by_tree(a: Any, c: Any, i: Any, inputs: Any, constants: Any, work: Any) -> bool:
    """Velocities of all rows, and G of those of what responds, island by island; whether nothing holds both ways.

    The rows have been found at this state.
    """
    k = response_of(constants, work)
    if a.f.A.shape[0] > 0 or a.head.linear == 0 or k.block.addresses[SUBSTITUTION] == 0:
        return False
    _begin(c, i)
    k.mode[0] = 0
    call_block(k, FACTOR, a.state, vector_at(inputs, 0, 0), k.given.whole, constants, work)
    groups, place = 0, 0
    for candidate in range(c.block.constraints):
        if responds(c, candidate):
            first, last = rows_of(c, candidate)
            part = vector_at(constants, k.table.answer_place[candidate], 0)
            out = vector_at(k.given.records, place, 0)
            call_program(k.table.answer[candidate], a.state, k.given.whole, part, out, vector_at(work, 0, 0))
            place = note_group(k, groups, candidate, place, last - first, k.table.width[candidate])
            groups += 1
    answer_islands(k, groups, i.G, i.island)
    return True


@native_kernel
def push(a: Any, c: Any, i: Any, inputs: Any, constants: Any, work: Any) -> None:
    """The speeds after the impulses of the impacts, which are added to the total, by what has answered quickly."""
    k, group, struck = response_of(constants, work), 0, False
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
def _add(a: Any, k: Any) -> None:
    """What has been found to the speeds."""
    first = a.state.size - k.n
    for j in range(k.n):
        a.state[first + j] += k.udot[j]


@native_inline
def _begin(c: Any, i: Any) -> None:
    """Velocities of all rows, no impulses, and no islands."""
    load_velocities(c, i)
    for row in range(i.v.size):
        i.impulse[row] = i.left[row] = 0.0
    for k in range(c.block.constraints):
        i.island[k] = NONE


@native_kernel
def _load_left(c: Any, i: Any) -> None:
    """How much of the velocities of rows may be rounding of impulses: 1e-16 of them moves a light foot by more."""
    for k in range(c.block.constraints):
        first, last = rows_of(c, k)
        for row in range(first, last):
            if i.island[k] == NONE or i.impulse[row] == 0.0:
                continue
            for l in range(c.block.constraints):
                if i.island[l] == i.island[k]:
                    begin, end = rows_of(c, l)
                    for s in range(begin, end):
                        i.left[s] += LOST * abs(i.G[s, row] * i.impulse[row])


@native_kernel
def project_speeds_by_response(a: Any, c: Any, i: Any, inputs: Any, constants: Any, work: Any) -> bool:
    """The speeds on the rows in force, by impulses that are added to the total; whether rows allow it."""
    k = response_of(constants, work)
    m, slides, _, _ = rows_in_force(k)
    if a.head.linear == 0 or k.block.addresses[SUBSTITUTION] == 0:
        return False
    load_row_velocities(k, a.state, inputs, constants, work)
    if are_satisfied(k, m):
        return True
    which, capacity = solution_for(k, m, False)
    rows = m, which if m < k.n else NONE, capacity
    load_rows(k, a, rows, slides, inputs, constants, work)
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
def _agree(k: Any, m: int) -> bool:
    """Whether speeds keep the rows in force: those that contradict others have been left out."""
    agree = True
    for r in range(m):
        agree = agree and abs(k.velocity[r, 0]) <= OPPOSED_BY * (1.0 + k.velocity[r, 1])
    return bool(agree)


@native_kernel
def project_momentum(a: Any, c: Any, i: Any, inputs: Any, constants: Any, work: Any) -> int:
    """Momentum projected on the rows in force, whose impulses are added up; the rank.

    The Factors hold D afterwards, ``reduced`` the factor of M~; ``free`` is what "unconstrained" gives.
    """
    n = a.f.order.size
    u = a.state[a.state.size - n :]
    for j in range(n):
        i.before[j] = u[j]
    find_rows(a, inputs, constants, work)
    load_columns(a.rows.A, a.f, a.lists.order, UNCHOSEN)
    rank = factor(a.f, UNCHOSEN)
    correct_speeds(a, rank, inputs, constants, work)
    solve_columns(a.f, rank)
    call(a, UNCONSTRAINED, inputs, constants, work, a.unconstrained.whole)
    reduce_mass(a.f, rank, a.unconstrained.M, a.M, a.W, a.reduced)
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
            a.x[k] -= c.all_rows.A[row, order[k]] * i.impulse[row]
    solve_lower(a.f, rank, a.x)
    from_q(a.f, rank, a.x)
    for k in range(a.x.size):
        i.total[c.active[k]] += a.x[k]


@native_kernel
def opposed(a: Any, c: Any, i: Any) -> int:
    """Whether no speeds keep all rows in force: ADOPTED or OPPOSED; what is left of every row is in ``i.v``."""
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
def load_impulses(a: Any, c: Any, i: Any, rank: int) -> None:
    """Velocities of all rows, and J, Z and G of those of what responds, which is one island."""
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
                _respond(a.reduced, i.Z[row, rank:])
    for k in range(c.block.constraints):
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
    for l in range(c.block.constraints):
        if responds(c, l):
            first, last = rows_of(c, l)
            for s in range(first, last):
                total = 0.0
                for j in range(begin, end):
                    total += i.J[row, j] * i.Z[s, j]
                i.G[row, s] = total


@native_kernel
def add_impulses(a: Any, c: Any, i: Any, rank: int) -> None:
    """The speeds after the impulses of the impacts, which are added to the total."""
    D, order, n = a.f.A, a.f.order, a.f.order.size
    u = a.state[a.state.size - n :]
    for j in range(n):
        a.udot[j] = 0.0
    for k in range(c.block.constraints):
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
    _load_left(c, i)
    _add_transmitted(a, c, i, rank, 1)


@native_kernel
def energy_lost(a: Any, i: Any) -> float:
    """(u- - u+)^T M (u- + u+) / 2 [J]: of the motion against what moves by itself."""
    n = a.f.order.size
    u, total = a.state[a.state.size - n :], 0.0
    for j in range(n):
        lost = i.first[j] - u[j]
        for k in range(n if lost != 0.0 else 0):
            entry = a.unconstrained.M[max(j, k) * (max(j, k) + 1) // 2 + min(j, k)]
            total += entry * lost * (i.first[k] + u[k])
    return 0.5 * total
