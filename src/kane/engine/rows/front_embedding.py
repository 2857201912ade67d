"""Numerical embedding of constraints of many loops, loop by loop, with the fronts of ``kane.engine.linear.fronts``.

The programs have the inputs, outputs and equations of ``kane.engine.rows.embedding``. Their results agree up to
rounding error.

Source: Duff & Reid 1983, The multifrontal solution of indefinite sparse symmetric linear equations.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import integers_at, native_inline, native_kernel, native_program, vector_at
from kane.engine.linear.factorizations import RANK_TOLERANCE, longest_column
from kane.engine.linear.fronts import (
    PARENT,
    Fronts,
    accelerations,
    back,
    factor_fronts,
    fronts_at,
    particular,
    reduce_fronts,
)
from kane.engine.memory.constraint_codes import AFRESH, CONSTRAINTS, KEPT, UNCHOSEN, UNCONSTRAINED
from kane.engine.memory.constraint_memory import scratch_of
from kane.engine.memory.loop_arguments import Indices, Matrix, Vector
from kane.engine.memory.views import embedding_terms_at
from kane.engine.rows.embedding import CONVERGED, SPEED_ITERATIONS, Arrays, arrays_of, call

# A new selection replaces the present one if the smallest pivot of that is below this ratio of the new one. A change
# costs nothing, and equations with a poor selection are hard to integrate.
WORSE = 0.5
# Upper bound of the length of a plan, which contains its own length.
PLAN = 2**24


@native_inline
def _fronts_of(a: Arrays, constants: Any, work: Any) -> Fronts:
    """Return the Fronts of a call."""
    plan = integers_at(constants, a.lists.end, PLAN)
    return fronts_at(a.rows.A, plan, work, scratch_of(a.head, work).front_lists, a.head.fronts)


@native_kernel
def propose(t: Fronts, kept: Indices, rank: int) -> None:
    """Set the candidates: the dependent speeds of the present selection, or all speeds without a selection."""
    for k in range(kept.size):
        t.candidates[kept[k]] = 1 if k < rank or rank == UNCHOSEN else 0


@native_kernel
def keep(t: Fronts, m: int) -> None:
    """Restrict the candidates to the dependent speeds."""
    n = t.candidates.size
    for k in range(n):
        t.candidates[k] = 0
    for f in range(t.number):
        for k in range(t.pivots[f]):
            t.candidates[t.lists[f * (n + m) + k]] = 1


@native_kernel
def _change(t: Fronts, motion: Vector, x: Vector, e: Vector, v: Vector, u: Vector) -> float:
    """Subtract A_d^+ (A u + b) from u_d; return the largest change relative to the largest changed speed."""
    for i in range(x.size):
        x[i] = motion[i]
    particular(t, t.A, x, e)
    for k in range(v.size):
        v[k] = 0.0
    back(t, t.A, e, v)
    change, size = 0.0, 0.0
    for k in range(v.size):
        if v[k] != 0.0:
            u[k] += v[k]
            change, size = max(change, abs(v[k])), max(size, abs(u[k]))
    return change / size if size > 0.0 else 0.0


@native_inline
def correct_speeds_by_fronts(a: Arrays, t: Fronts, inputs: Any, constants: Any, work: Any) -> None:
    """Compute u_d from u_i; iterate if rows are not linear in the speeds."""
    m, n = t.A.shape
    u = a.state[a.state.size - n :]
    change = _change(t, a.rows.motion, a.x, a.e, a.z, u)
    if a.head.linear == 1:
        return
    keep(t, m)
    for _ in range(SPEED_ITERATIONS):
        if not change > CONVERGED:
            return
        call(a, CONSTRAINTS, inputs, constants, work, a.rows.whole)
        factor_fronts(t, t.A)
        change = _change(t, a.rows.motion, a.x, a.e, a.z, u)


@native_inline
def _embed(a: Arrays, t: Fronts, inputs: Any, constants: Any, work: Any) -> int:
    """Select dependent speeds by the mode, put u_d = D u_i + e into the state and D into A; return the rank."""
    call(a, CONSTRAINTS, inputs, constants, work, a.rows.whole)
    propose(t, a.lists.order, a.head.rank[0] if a.head.mode != AFRESH else UNCHOSEN)
    rank = factor_fronts(t, t.A)
    correct_speeds_by_fronts(a, t, inputs, constants, work)
    return rank


@native_inline
def _remainders(a: Arrays, t: Fronts, inputs: Any, constants: Any, work: Any) -> None:
    """Compute the terms of M udot + h = A^T lambda, and e_t by columns."""
    call(a, UNCONSTRAINED, inputs, constants, work, a.unconstrained.whole)
    for i in range(a.x.size):
        a.x[i] = a.unconstrained.remainder[i]
    particular(t, t.A, a.x, a.e)


@native_kernel
def fill_mass(t: Fronts, lower: Vector, M: Matrix) -> None:
    """Copy the lower triangle of M to all entries of M that can be nonzero."""
    n = M.shape[0]
    for i in range(n):
        for j in range(n):
            M[i, j] = 0.0
    pairs = 1 + t.number
    for p in range(t.plan[0]):
        i, j = t.plan[pairs + 2 * p], t.plan[pairs + 2 * p + 1]
        M[i, j] = M[j, i] = lower[i * (i + 1) // 2 + j]


@native_kernel
def solve_motion_by_fronts(t: Fronts, M: Matrix, h: Vector, e: Vector, z: Vector, udot: Vector) -> None:
    """Solve M~ udot_i = -R^T (h + M e) and udot_d = D udot_i + e, by columns.

    The accelerations are NaN if M~ is not positive up to rounding error.
    """
    for k in range(h.size):
        z[k] = h[k]
        udot[k] = 0.0
    positive = reduce_fronts(t, t.A, M, z, e, udot)
    accelerations(t, t.A, M, z, e, udot)
    if not positive:
        for k in range(h.size):
            udot[k] = math.nan


@native_program
def rhs(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Compute qdot and udot."""
    a = arrays_of(state, constants, work)
    t = _fronts_of(a, constants, work)
    _embed(a, t, inputs, constants, work)
    _remainders(a, t, inputs, constants, work)
    fill_mass(t, a.unconstrained.M, a.M)
    rates, n = a.unconstrained.rates, a.f.order.size
    result = vector_at(out, 0, rates.size + n)
    for i in range(rates.size):
        result[i] = rates[i]
    solve_motion_by_fronts(t, a.M, a.unconstrained.h, a.e, a.z, result[rates.size :])


@native_kernel
def conditioning_of_fronts(t: Fronts, m: int, longest: float) -> float:
    """Return the smallest pivot of the selection relative to the longest column of A."""
    n, smallest = t.diag.size, math.inf
    for f in range(t.number):
        for k in range(t.pivots[f]):
            smallest = min(smallest, abs(t.diag[t.lists[f * (n + m) + k]]))
    return min(1.0, smallest / longest) if smallest < math.inf else 1.0


@native_kernel
def _fill_embedding(t: Fronts, R: Matrix, independent: Vector) -> None:
    """Compute R by rows, and mark the independent speeds."""
    m, n = t.A.shape
    for i in range(n):
        for j in range(n):
            R[i, j] = 0.0
        R[i, i] = independent[i] = 1.0
    for f in range(t.number - 1, -1, -1):
        base, done = f * (n + m), t.pivots[f]
        for k in range(done):
            d, row = t.lists[base + k], t.lists[base + n + k]
            R[d, d] = independent[d] = 0.0
            for l in range(done, t.columns[f]):
                c = t.lists[base + l]
                for j in range(n):
                    R[d, j] += t.A[row, c] * R[c, j]


@native_program
def embedding(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Compute EmbeddingTerms: conditioning, independent speeds, u, e_t, and R with zero columns at dependent speeds."""
    a = arrays_of(state, constants, work)
    t = _fronts_of(a, constants, work)
    call(a, CONSTRAINTS, inputs, constants, work, a.rows.whole)
    longest, n = longest_column(a.rows.A, t.beta), a.f.order.size
    _embed(a, t, inputs, constants, work)
    _remainders(a, t, inputs, constants, work)
    result = embedding_terms_at(out, 0, n)
    result.conditioning[0] = conditioning_of_fronts(t, t.A.shape[0], longest)
    _fill_embedding(t, result.R, result.independent)
    for k in range(n):
        result.u[k] = a.state[a.state.size - n + k]
        a.z[k] = 0.0
    back(t, t.A, a.e, a.z)  # e of a front is valid for given dependent speeds beyond it
    for k in range(n):
        result.e_t[k] = a.z[k]


@native_inline
def least_by_fronts(a: Arrays, rows: Indices, residual: Vector, s: Vector, constants: Any, work: Any) -> None:
    """Compute the least s with A s = -residual, for the listed rows: the motion with a unit mass matrix."""
    t = _fronts_of(a, constants, work)
    _only(t, rows, residual, a.x)
    propose(t, a.lists.order, UNCHOSEN)
    factor_fronts(t, t.A)
    particular(t, t.A, a.x, a.e)
    _unit_mass(a.M, a.udot)
    solve_motion_by_fronts(t, a.M, a.udot, a.e, a.z, s)


@native_kernel
def _only(t: Fronts, rows: Indices, residual: Vector, x: Vector) -> None:
    """Set the rows of A that are not listed to zero; copy the residual to the listed rows."""
    m, n = t.A.shape
    for i in range(m):
        x[i] = math.inf
    for k in range(rows.size):
        x[rows[k]] = residual[k]
    for i in range(m):
        if x[i] == math.inf:
            x[i] = 0.0
            for j in range(n):
                t.A[i, j] = 0.0


@native_kernel
def _unit_mass(M: Matrix, h: Vector) -> None:
    """Set M to the unit matrix and h to zero."""
    for i in range(h.size):
        for j in range(h.size):
            M[i, j] = 0.0
        M[i, i], h[i] = 1.0, 0.0


@native_kernel
def _serves(t: Fronts, m: int, longest: float) -> bool:
    """Check whether a factored selection stays in use without a trial of others, as ``project`` does for dense rows.

    No entry of D exceeds 1 / WORSE, and nothing is left beyond the rank.
    """
    n, largest, left = t.diag.size, 0.0, 0.0
    for f in range(t.number):
        base = f * (n + m)
        done, columns, last = t.pivots[f], t.columns[f], t.plan[t.plan[1 + f] + PARENT] < 0
        for k in range(t.rows[f] if last else done):
            row = t.lists[base + n + k]
            for l in range(done, columns):
                entry = abs(t.A[row, t.lists[base + l]])
                if k < done:
                    largest = max(largest, entry)
                else:
                    left = max(left, entry)
    return largest <= 1.0 / WORSE and left <= RANK_TOLERANCE * longest


@native_inline
def select_speeds_by_fronts(a: Arrays, inputs: Any, constants: Any, work: Any) -> float:
    """Use the present selection, or a new one if that is worse or the rank has changed; compute u_d from u_i.

    Returns:
        The conditioning of the selection.
    """
    t, rank = _fronts_of(a, constants, work), a.head.rank[0]
    m, longest = t.A.shape[0], longest_column(a.rows.A, t.beta)
    kept = a.head.mode != AFRESH and rank != UNCHOSEN
    propose(t, a.lists.order, rank if kept else UNCHOSEN)
    found = factor_fronts(t, t.A)
    if a.head.mode == KEPT and not (kept and found == rank and _serves(t, m, longest)):
        _look_for_better(a, t, longest, inputs, constants, work)
    conditioning = conditioning_of_fronts(t, m, longest)
    correct_speeds_by_fronts(a, t, inputs, constants, work)
    return conditioning


@native_inline
def _look_for_better(a: Arrays, t: Fronts, longest: float, inputs: Any, constants: Any, work: Any) -> None:
    """Factor A with the best selection if it is much better or has another rank, else with the present selection."""
    m = t.A.shape[0]
    call(a, CONSTRAINTS, inputs, constants, work, a.rows.whole)
    propose(t, a.lists.order, UNCHOSEN)
    rank = factor_fronts(t, t.A)
    best, adopted = conditioning_of_fronts(t, m, longest), a.head.rank[0] != rank
    if not adopted:
        call(a, CONSTRAINTS, inputs, constants, work, a.rows.whole)
        propose(t, a.lists.order, rank)
        adopted = factor_fronts(t, t.A) != rank or conditioning_of_fronts(t, m, longest) < WORSE * best
        if adopted:
            call(a, CONSTRAINTS, inputs, constants, work, a.rows.whole)
            propose(t, a.lists.order, UNCHOSEN)
            factor_fronts(t, t.A)
    if adopted:
        _adopt(t, a.head.rank, a.lists.order, rank)


@native_kernel
def _adopt(t: Fronts, rank_kept: Indices, kept: Indices, rank: int) -> None:
    """Store the new selection as the present one, dependent speeds first."""
    keep(t, t.A.shape[0])
    first, last = 0, rank
    for j in range(kept.size):
        if t.candidates[j] == 1:
            kept[first] = j
            first += 1
        else:
            kept[last] = j
            last += 1
    rank_kept[0] = rank
