"""Projection of a state [q, u] onto phi(q) = 0 and A u + b = 0, with a new selection of dependent speeds.

Coordinates move by Newton steps along the displacements s of least norm, A s = -phi. These steps do not depend on the
speed selection, so that they remain small near a singular selection, and redundant rows need no treatment. Dependent
speeds then follow from the independent speeds, u_d = D u_i + e; the independent speeds do not change.

Source: Hairer & Wanner 1996, VII.2.
"""

from __future__ import annotations

from typing import Any

from kane.deferred import NamedTuple
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
from kane.engine.linear.vectors import normalise
from kane.engine.memory.constraint_codes import AFRESH, CONFIGURATION, CONSTRAINTS, FIXED, KINEMATICS, OWN, UNCHOSEN
from kane.engine.memory.constraint_memory import scratch_of
from kane.engine.memory.loop_arguments import Indices, Matrix, Vector
from kane.engine.memory.views import FactorScratch, projected_state_at
from kane.engine.project.newton import ROUNDED_RESIDUAL, SMALL, iterate
from kane.engine.rows.embedding import Arrays, arrays_of, call, conditioning, correct_speeds, find_rows, load_columns
from kane.engine.rows.front_embedding import WORSE, least_by_fronts, select_speeds_by_fronts

# Largest number of Newton steps, and of trial lengths of a step, each half the last.
DAMPED_STEPS, TRIAL_LENGTHS = 50, 10
# Largest ratio of a projected speed to its value before that counts as rounding errors of zero, so that bodies at rest
# have speeds that are exactly zero.
CANCELLATION = 2.0**-40


class Correction(NamedTuple):
    """Scratch of the correction of coordinates.

    Attributes:
        gram, y, residual, s, q, slope: see ConstraintScratch.
        rows: row of A of each residual.
        row_mask: 1 for each active row of A; empty if all rows are active.
        held: value that each residual keeps, NaN for a residual that is not held; read if ``row_mask`` is not empty.
    """

    gram: Matrix
    y: Vector
    residual: Vector
    s: Vector
    q: Vector
    slope: Vector
    rows: Indices
    row_mask: Indices
    held: Vector


@native_inline
def _correction_of(a: Arrays, work: Any, row_mask: Indices, held: Vector) -> Correction:
    s, rows = scratch_of(a.head, work), a.lists.rows_of_residuals
    return Correction(s.gram, s.y, s.residual, s.s, s.q, s.slope, rows, row_mask, held)


@native_kernel
def _largest(x: Vector) -> float:
    """Return max |x_i|, or NaN if a component is NaN."""
    largest = 0.0
    for value in x:
        if largest == largest and not abs(value) <= largest:
            largest = abs(value)
    return largest


@native_inline
def find_residual(
    a: Arrays, residual: Vector, row_mask: Indices, held: Vector, inputs: Any, constants: Any, work: Any
) -> float:
    """Evaluate the configuration residuals of the active rows minus their held values; zero for inactive rows.

    Args:
        a: arrays with the state.
        residual: written, (p,).
        row_mask, held: see Correction.
        inputs, constants, work: pointers of the program.

    Returns:
        Largest residual [m or rad].
    """
    call(a, CONFIGURATION, inputs, constants, work, residual)
    if row_mask.size > 0:
        rows = a.lists.rows_of_residuals
        for k in range(residual.size):
            counts = row_mask[rows[k]] == 1 and held[k] == held[k]
            residual[k] = residual[k] - held[k] if counts else 0.0
    return float(_largest(residual))


@native_inline
def _find_direction(a: Arrays, c: Correction, inputs: Any, constants: Any, work: Any) -> None:
    """Write the rates of q along the displacements s of least norm with A s = -residual into ``slope``.

    The speeds of the state become s. Rates of q are linear in these speeds, which are the joints' own speeds.
    """
    n, first = c.s.size, 1 + c.q.size
    if a.head.fronts > 0:
        least_by_fronts(a, c.rows, c.residual, c.s, constants, work)
    else:
        _solve_minimum_norm(a.all_rows.A, c)
    for j in range(n):
        a.state[first + j] = c.s[j]
    call(a, KINEMATICS, inputs, constants, work, c.slope)


@native_kernel
def _solve_minimum_norm(A: Matrix, c: Correction) -> None:
    """Solve A s = -residual for the s of least norm, with the active rows that restrict the configuration.

    s = A^T y and A A^T y = -residual by Cholesky factorization. This takes a third of the operations of an orthogonal
    factorization and loses twice the digits, which the next Newton step corrects. The factorization omits redundant
    rows.
    """
    G, y, n = c.gram, c.y, c.s.size
    for k in range(c.rows.size):
        y[k] = -c.residual[k]
        for l in range(k + 1):
            G[k, l] = 0.0
        if c.row_mask.size > 0 and c.row_mask[c.rows[k]] == 0:
            continue
        for j in range(n):
            entry = A[c.rows[k], j]
            if entry != 0.0:
                for l in range(k + 1):
                    G[k, l] += entry * A[c.rows[l], j]
    factor_cholesky(G, c.rows.size, REPEATED)
    solve_cholesky(G, c.rows.size, y)
    for j in range(n):
        c.s[j] = 0.0
    for k in range(c.rows.size):
        if y[k] != 0.0:
            for j in range(n):
                c.s[j] += y[k] * A[c.rows[k], j]


@native_inline
def _take_damped_step(problem: Any, residual: float, taken: int) -> float:
    """Take a Newton step of the first trial length that reduces the residual; return the residual after it.

    A residual within rounding errors has one trial length. The first step uses the A that the arrays contain.
    """
    a, c, inputs, constants, work = problem
    if taken > 0:
        call(a, CONSTRAINTS, inputs, constants, work, a.all_rows.whole)
    _find_direction(a, c, inputs, constants, work)
    q, fraction, after = a.state[1 : 1 + c.q.size], 1.0, residual
    for i in range(q.size):
        c.q[i] = q[i]
    for _ in range(TRIAL_LENGTHS):
        for i in range(q.size):
            q[i] = c.q[i] + fraction * c.slope[i]
        normalise(q, a.lists.quaternions)
        after = find_residual(a, c.residual, c.row_mask, c.held, inputs, constants, work)
        if after < residual or residual <= ROUNDED_RESIDUAL:
            break
        fraction *= 0.5
    return after


@native_inline
def _restore_coordinates(problem: Any) -> None:
    """Restore the coordinates before the last step."""
    a, c, _, _, _ = problem
    for i in range(c.q.size):
        a.state[1 + i] = c.q[i]


@native_inline
def _correct_coordinates(a: Arrays, c: Correction, inputs: Any, constants: Any, work: Any) -> float:
    """Project q by damped Newton steps; return the largest residual before.

    The arrays contain A at the state. The speeds of the state become scratch.
    """
    before = find_residual(a, c.residual, c.row_mask, c.held, inputs, constants, work)
    iterate((a, c, inputs, constants, work), before, DAMPED_STEPS, _take_damped_step, _restore_coordinates)
    return before


@native_inline
def _correct_by_own_speeds(a: Arrays, inputs: Any, constants: Any, work: Any) -> float:
    """Project q with the program OWN, which uses the joints' own speeds; return the largest residual before."""
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
def is_good_selection(f: FactorScratch, rank: int, longest: float) -> bool:
    """Check whether a factored speed selection needs no replacement; the columns after the rank become D.

    No entry of D exceeds 1 / WORSE: the exchange of two speeds multiplies the volume of the dependent columns by the
    entry of D (Gu & Eisenstat 1996). The rank is that of A: the remaining columns are zero beyond it.
    """
    m, n = f.A.shape
    tiny = RANK_TOLERANCE * longest
    if not smallest_pivot(f, rank) > tiny:  # zero if the rank exceeds the number of rows
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
def select_speeds(a: Arrays) -> tuple[int, float]:
    """Factor A with the present selection, or with a new one if the present one is much worse or has another rank.

    Returns:
        Rank, and the length of the longest column of A.
    """
    n, rank, order = a.f.order.size, a.head.rank[0], a.lists.order
    if a.f.A.shape[0] == 0 and rank == 0:
        return 0, 0.0
    longest = longest_column(a.rows.A, a.f.w)
    if a.head.mode != AFRESH and rank != UNCHOSEN:
        load_columns(a.rows.A, a.f, order, rank)
        factor(a.f, rank)
        if a.head.mode == FIXED or is_good_selection(a.f, rank, longest):
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
def projected_speed(projected: float, before: float) -> float:
    """Return a projected speed, or zero if only rounding errors of its value before remain."""
    return projected if abs(projected) > CANCELLATION * abs(before) else 0.0


@native_inline
def project_onto_rows(
    a: Arrays, inputs: Any, constants: Any, out: Any, work: Any, row_mask: Indices, held: Vector
) -> None:
    """Write the ProjectedState for the active rows, see Correction."""
    c = _correction_of(a, work, row_mask, held)
    n, nq = c.s.size, c.q.size
    result = projected_state_at(out, 0, n, nq)
    normalise(a.state[1:], a.lists.quaternions)
    find_rows(a, inputs, constants, work)
    result.motion[0] = _largest(a.rows.motion)
    for j in range(n):
        result.u[j] = a.state[1 + nq + j]
    if a.head.addresses[OWN] != 0:
        result.configuration[0] = _correct_by_own_speeds(a, inputs, constants, work)
    else:
        result.configuration[0] = _correct_coordinates(a, c, inputs, constants, work)
    if not result.configuration[0] <= SMALL:  # otherwise q and the rows are unchanged
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
        result.u[j] = projected_speed(a.state[1 + nq + j], result.u[j])


@native_program
def project(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Write the ProjectedState for all rows."""
    a = arrays_of(state, constants, work)
    project_onto_rows(a, inputs, constants, out, work, a.active, vector_at(work, 0, 0))
