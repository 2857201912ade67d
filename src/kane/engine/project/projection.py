"""A state put onto its constraints, and dependent speeds chosen anew, as a native program.

Coordinates move by the least change of the speeds (minimum norm) that takes the linearised residuals away, whatever
speeds are dependent: it stays small where a choice of dependent speeds is near its singularity, and redundant rows
need no choice. Speeds move by the dependent ones alone: the independent ones are the state, and the rest follows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.engine.call import (
    call_program,
    native_inline,
    native_kernel,
    native_program,
    vector_at,
)
from kane.engine.linear.factorizations import (
    RANK_TOLERANCE,
    REPEATED,
    factor,
    factor_cholesky,
    longest_column,
    smallest_pivot,
    solve_cholesky,
    solve_columns,
)
from kane.engine.memory.constraint_codes import AFRESH, CONFIGURATION, CONSTRAINTS, FIXED, KINEMATICS, OWN, UNCHOSEN
from kane.engine.memory.constraint_memory import scratch_of
from kane.engine.memory.views import projected_state_at
from kane.engine.rows.embedding import arrays_of, call, conditioning, correct_speeds, find_rows, load_columns
from kane.engine.rows.front_embedding import WORSE, least_by_fronts, select_speeds_by_fronts

# Residuals [m or rad] under this are rounding in mechanisms of metres; in others iteration ends where it gains nothing.
SMALL = 1e-14
ITERATIONS, HALVINGS = 50, 10
# A speed of which constraints leave no more than this share has been taken away: what is at rest is so exactly.
ROUNDED = 2.0**-40


class Correction(NamedTuple):
    """Scratch of the correction of coordinates.

    Attributes:
        gram, y, residual, s, q, slope: see ConstraintScratch.
        rows: the row of A of each residual.
        row_mask: of every row of A whether it is in force; empty where all are.
        held: where rows are counted, what each residual is held at; NaN where it is not.
    """

    gram: Any
    y: Any
    residual: Any
    s: Any
    q: Any
    slope: Any
    rows: Any
    row_mask: Any
    held: Any


@native_inline
def _correction_of(a: Any, work: Any, counted: Any, held: Any) -> Any:
    s, rows = scratch_of(a.head, work), a.lists.rows_of_residuals
    return Correction(s.gram, s.y, s.residual, s.s, s.q, s.slope, rows, counted, held)


@native_kernel
def _largest(x: Any) -> float:
    """max |x_i|; NaN where some is."""
    largest = 0.0
    for value in x:
        if largest == largest and not abs(value) <= largest:
            largest = abs(value)
    return largest


@native_kernel
def _normalise(a: Any, quaternions: Any) -> None:
    q = a.state[1:]
    for start in quaternions:
        length = 0.0
        for i in range(start, start + 4):
            length += q[i] * q[i]
        length = math.sqrt(length)
        for i in range(start, start + 4):
            q[i] /= length


@native_inline
def _residual(a: Any, c: Any, inputs: Any, constants: Any, work: Any) -> float:
    """The residual of the configuration, zero where a row is not in force; its largest entry."""
    call(a, CONFIGURATION, inputs, constants, work, c.residual)
    if c.row_mask.size > 0:
        for k in range(c.rows.size):
            counts = c.row_mask[c.rows[k]] == 1 and c.held[k] == c.held[k]
            c.residual[k] = c.residual[k] - c.held[k] if counts else 0.0
    return float(_largest(c.residual))


@native_inline
def _direction(a: Any, c: Any, inputs: Any, constants: Any, work: Any) -> None:
    """The rates ``slope`` that the least s with A s = -residual gives, which is left in the state.

    Speeds are the joints' own here: rates of coordinates are linear in them, and vanish with them.
    """
    n, first = c.s.size, 1 + c.q.size
    if a.head.fronts > 0:
        least_by_fronts(a, c.rows, c.residual, c.s, constants, work)
    else:
        _least(a.all_rows.A, c)
    for j in range(n):
        a.state[first + j] = c.s[j]
    call(a, KINEMATICS, inputs, constants, work, c.slope)


@native_kernel
def _least(A: Any, c: Any) -> None:
    """The least s with A s = -residual, for the rows in force that restrict the configuration.

    s = A^T y with A A^T y = -residual by Cholesky, a third of the work of an orthogonal factorization. It loses twice
    the digits, which Newton's method gets back. Rows that repeat others, or are not in force, are left out.
    """
    G, y, n = c.gram, c.y, c.s.size
    for k in range(c.rows.size):
        y[k] = -c.residual[k]
        for l in range(k + 1):
            G[k, l] = 0.0
        if c.row_mask.size > 0 and c.row_mask[c.rows[k]] == 0:
            continue
        for j in range(n):
            share = A[c.rows[k], j]
            if share != 0.0:
                for l in range(k + 1):
                    G[k, l] += share * A[c.rows[l], j]
    factor_cholesky(G, c.rows.size, REPEATED)
    solve_cholesky(G, c.rows.size, y)
    for j in range(n):
        c.s[j] = 0.0
    for k in range(c.rows.size):
        if y[k] != 0.0:
            for j in range(n):
                c.s[j] += y[k] * A[c.rows[k], j]


@native_inline
def _correct_coordinates(a: Any, c: Any, quaternions: Any, inputs: Any, constants: Any, work: Any) -> float:
    """q onto the configuration constraints by Newton's method; the largest residual as it was before.

    A step that gains nothing is halved, and in the end taken back. The speeds of the state are used as scratch. A is
    that of the state when this begins.
    """
    before = size = _residual(a, c, inputs, constants, work)
    for k in range(ITERATIONS):
        if not size > SMALL:
            break
        if k > 0:
            call(a, CONSTRAINTS, inputs, constants, work, a.all_rows.whole)
        _direction(a, c, inputs, constants, work)
        q, share, found = a.state[1 : 1 + c.q.size], 1.0, size
        for i in range(q.size):
            c.q[i] = q[i]
        for _ in range(HALVINGS):
            for i in range(q.size):
                q[i] = c.q[i] + share * c.slope[i]
            _normalise(a, quaternions)
            found = _residual(a, c, inputs, constants, work)
            if found < size:
                break
            share *= 0.5 if size > 1e3 * SMALL else 0.0
        if not found < size:
            for i in range(q.size):
                q[i] = c.q[i]
            break
        size = found
    return before


@native_inline
def _correct_by_own_speeds(a: Any, inputs: Any, constants: Any, work: Any) -> float:
    """q onto the configuration constraints by the joints' own speeds; the largest residual as it was before."""
    n, nq, s = a.head.own_speeds, a.head.coordinates, scratch_of(a.head, work)
    state, found = s.own_state, projected_state_at(work, s.own_found, n, nq)
    for i in range(1 + nq + n):
        state[i] = a.state[i] if i <= nq else 0.0
    part = vector_at(constants, a.head.places[OWN], 0)
    call_program(a.head.addresses[OWN], state, vector_at(inputs, 0, 0), part, found.whole, vector_at(work, 0, 0))
    for i in range(nq):
        a.state[1 + i] = found.q[i]
    return float(found.configuration[0])


@native_inline
def _serves(f: Any, rank: int, longest: float) -> bool:
    """Whether a choice as factored is so good that no other needs to be looked for; columns beyond the rank become D.

    No entry of D is above 1 / WORSE: exchanging two speeds would multiply the volume of the dependent columns by no
    more than that (Gu & Eisenstat 1996). And the rank is that of A: what is left beyond it is nothing.
    """
    m, n = f.A.shape
    tiny = RANK_TOLERANCE * longest
    if not smallest_pivot(f, rank) > tiny:  # zero where the rank is more than A has rows
        return False
    for j in range(rank, n):
        left = 0.0
        for i in range(rank, m):
            left += f.A[i, j] * f.A[i, j]
        if left > tiny * tiny:
            return False
    solve_columns(f, rank)
    largest = 0.0
    for k in range(rank):
        for j in range(rank, n):
            largest = max(largest, abs(f.A[k, j]))
    return largest <= 1.0 / WORSE


@native_inline
def select_speeds(a: Any) -> Any:
    """Factor A by the choice in force, or anew where that has become worse or the rank another.

    Returns:
        The rank, and the length of the longest column of A.
    """
    n, rank, order = a.f.order.size, a.head.rank[0], a.lists.order
    if a.f.A.shape[0] == 0 and rank == 0:
        return 0, 0.0
    longest = longest_column(a.rows.A, a.f.w)
    if a.head.mode != AFRESH and rank != UNCHOSEN:
        load_columns(a.rows.A, a.f, order, rank)
        factor(a.f, rank)
        if a.head.mode == FIXED or _serves(a.f, rank, longest):
            return rank, longest
    load_columns(a.rows.A, a.f, order, UNCHOSEN)
    rank = factor(a.f, UNCHOSEN)
    if a.head.mode == AFRESH:
        return rank, longest
    best = smallest_pivot(a.f, rank)
    if a.head.rank[0] == rank:
        load_columns(a.rows.A, a.f, order, rank)
        factor(a.f, rank)
        if smallest_pivot(a.f, rank) >= WORSE * best:
            return rank, longest
        load_columns(a.rows.A, a.f, order, UNCHOSEN)
        factor(a.f, UNCHOSEN)
    a.head.rank[0] = rank
    for k in range(n):
        order[k] = a.f.order[k]
    return rank, longest


@native_inline
def project_among(a: Any, inputs: Any, constants: Any, out: Any, work: Any, counted: Any, held: Any) -> None:
    """What ``settle`` gives, of the rows in force."""
    c = _correction_of(a, work, counted, held)
    n, nq, quaternions = c.s.size, c.q.size, a.lists.quaternions
    result = projected_state_at(out, 0, n, nq)
    _normalise(a, quaternions)
    find_rows(a, inputs, constants, work)
    result.motion[0] = _largest(a.rows.motion)
    for j in range(n):
        result.u[j] = a.state[1 + nq + j]
    if a.head.addresses[OWN] != 0:
        result.configuration[0] = _correct_by_own_speeds(a, inputs, constants, work)
    else:
        result.configuration[0] = _correct_coordinates(a, c, quaternions, inputs, constants, work)
    if not result.configuration[0] <= SMALL:  # else q is as it was
        for j in range(n):
            a.state[1 + nq + j] = result.u[j]
        find_rows(a, inputs, constants, work)
    if a.head.fronts > 0:
        result.conditioning[0] = select_speeds_by_fronts(a, inputs, constants, work)
    else:
        rank, longest = select_speeds(a)
        correct_speeds(a, rank, inputs, constants, work)
        result.conditioning[0] = conditioning(a.f, rank, longest)
    for i in range(nq):
        result.q[i] = a.state[1 + i]
    for j in range(n):
        given, left = result.u[j], a.state[1 + nq + j]
        result.u[j] = left if abs(left) > ROUNDED * abs(given) else 0.0


@native_program
def project(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """q, u, residuals of configuration and motion before the correction, conditioning of the choice."""
    a = arrays_of(state, constants, work)
    project_among(a, inputs, constants, out, work, a.active, vector_at(work, 0, 0))
