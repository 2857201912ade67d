"""Numerical embedding of constraints at one state: u_d = D u_i + e, udot = R udot_i + e_t, M~ = R^T M R.

In: the state [t, q, u], inputs, and constants that begin with a ConstraintHeader. Out: qdot and udot, or the terms of
the embedding. QR factorization with column pivoting selects the dependent speeds u_d and gives D; Cholesky
factorization of M~ gives the accelerations udot_i of the independent speeds:

    M~ udot_i = -R^T (h + M e_t),   R = [D; 1].

Arrays "in the order of the selection" begin with the ``rank`` dependent speeds.

Source: Gillespie 2003, Eqs. 4-5, 43-45.
"""

from __future__ import annotations

from typing import Any

from kane.deferred import NamedTuple
from kane.engine.call import (
    call_program,
    integers_at,
    native_inline,
    native_kernel,
    native_program,
    vector_at,
)
from kane.engine.linear.factorizations import (
    factor,
    factor_positive,
    from_q,
    longest_column,
    smallest_pivot,
    solve_cholesky,
    solve_columns,
    solve_lower,
    solve_upper,
    to_q,
)
from kane.engine.memory.constraint_codes import AFRESH, CONSTRAINTS, UNCHOSEN, UNCONSTRAINED
from kane.engine.memory.constraint_memory import lists_of, scratch_of
from kane.engine.memory.loop_arguments import Indices, Matrix, Vector
from kane.engine.memory.views import (
    ConstraintHeader,
    ConstraintLists,
    ConstraintRows,
    FactorScratch,
    UnconstrainedTerms,
    constraint_header_at,
    constraint_rows_at,
    embedding_terms_at,
    factor_scratch_at,
    unconstrained_terms_at,
)

# Newton iterations for rows that are not linear in the speeds, and the relative change at which they end.
SPEED_ITERATIONS, CONVERGED = 20, 1e-14


class Arrays(NamedTuple):
    """Scratch memory of one embedding, with the constants of the model.

    Attributes:
        head, lists: ConstraintHeader and ConstraintLists.
        state: [t, q, u].
        all_rows: all constraint rows.
        rows: the m active rows; ``all_rows`` itself if all rows are active.
        active: numbers of the active rows; empty if ``rows`` is ``all_rows``.
        unconstrained: terms of M udot + h = A^T lambda.
        f: QR factors of the active rows A; D after ``solve_columns``.
        x: right-hand sides of the active rows, (m,).
        M, W, reduced, e, z, udot: see ConstraintScratch.
    """

    head: ConstraintHeader
    lists: ConstraintLists
    state: Vector
    all_rows: ConstraintRows
    rows: ConstraintRows
    active: Indices
    unconstrained: UnconstrainedTerms
    f: FactorScratch
    x: Vector
    M: Matrix
    W: Matrix
    reduced: Matrix
    e: Vector
    z: Vector
    udot: Vector


@native_inline
def arrays_of(state: Any, constants: Any, work: Any) -> Arrays:
    """Return the Arrays of a model whose rows are all active, with a copy of the state."""
    head = constraint_header_at(constants, 0)
    all_rows = constraint_rows_at(work, scratch_of(head, work).rows, head.rows, head.speeds)
    a = arrays_among(constants, work, all_rows, integers_at(constants, 0, 0), head.rows)
    given = vector_at(state, 0, a.state.size)
    for i in range(given.size):
        a.state[i] = given[i]
    return a


@native_inline
def arrays_among(constants: Any, work: Any, all_rows: ConstraintRows, active: Indices, m: int) -> Arrays:
    """Return the Arrays of m active rows, without a change of the scratch memory."""
    head = constraint_header_at(constants, 0)
    n, s = head.speeds, scratch_of(head, work)
    return Arrays(
        head,
        lists_of(constants, head),
        s.state,
        all_rows,
        constraint_rows_at(work, s.rows, m, n),
        active,
        unconstrained_terms_at(work, s.unconstrained, head.rows, n, head.coordinates),
        factor_scratch_at(work, s.factors, m, n),
        vector_at(s.x, 0, m),
        s.M,
        s.W,
        s.reduced,
        s.e,
        s.z,
        s.udot,
    )


@native_inline
def call(a: Arrays, which: int, inputs: Any, constants: Any, work: Any, out: Any) -> None:
    """Call a program of the ConstraintHeader at the state of the arrays."""
    part = vector_at(constants, a.head.places[which], 0)
    call_program(a.head.addresses[which], a.state, vector_at(inputs, 0, 0), part, out, vector_at(work, 0, 0))


@native_inline
def find_rows(a: Arrays, inputs: Any, constants: Any, work: Any) -> None:
    """Compute A and A u + b of all rows at the state of the arrays, and gather the active rows."""
    call(a, CONSTRAINTS, inputs, constants, work, a.all_rows.whole)
    gather_rows(a.all_rows, a.active, a.rows)


@native_kernel
def gather_rows(all_rows: ConstraintRows, active: Indices, rows: ConstraintRows) -> None:
    """Copy the active rows of ``all_rows`` to ``rows``."""
    for k in range(active.size):
        for j in range(all_rows.A.shape[1]):
            rows.A[k, j] = all_rows.A[active[k], j]
        rows.motion[k] = all_rows.motion[active[k]]


@native_inline
def load_columns(A: Matrix, f: FactorScratch, kept: Indices, rank: int) -> None:
    """Copy A, (m, n), to the FactorScratch, with its columns in the order ``kept`` unless the rank is UNCHOSEN."""
    m, n = f.A.shape
    for k in range(n):
        f.order[k] = kept[k] if rank != UNCHOSEN else k
    for i in range(m):
        for k in range(n):
            f.A[i, k] = A[i, f.order[k]]


@native_inline
def _change(f: FactorScratch, rank: int, motion: Vector, x: Vector, u: Vector) -> float:
    """Subtract A_d^+ (A u + b) from u_d; return the largest change relative to the largest changed speed."""
    for i in range(x.size):
        x[i] = motion[i]
    to_q(f, rank, x)
    solve_upper(f, rank, x)
    change, size = 0.0, 0.0
    for k in range(rank):
        j = f.order[k]
        u[j] -= x[k]
        change, size = max(change, abs(x[k])), max(size, abs(u[j]))
    return change / size if size > 0.0 else 0.0


@native_inline
def correct_speeds(a: Arrays, rank: int, inputs: Any, constants: Any, work: Any) -> None:
    """Compute u_d from u_i with the QR factors of A at the state; iterate if rows are not linear in the speeds."""
    u = a.state[a.state.size - a.f.order.size :]
    change = _change(a.f, rank, a.rows.motion, a.x, u)
    if a.head.linear == 1:
        return
    for _ in range(SPEED_ITERATIONS):
        if not change > CONVERGED:
            return
        find_rows(a, inputs, constants, work)
        load_columns(a.rows.A, a.f, a.f.order, rank)
        factor(a.f, rank)
        change = _change(a.f, rank, a.rows.motion, a.x, u)


@native_inline
def embed(a: Arrays, chosen: int, stale: float, inputs: Any, constants: Any, work: Any) -> int:
    """Select dependent speeds, put u_d = D u_i + e into the state, and D into the factors.

    D[k, j] = A[k, j] of the factors, k < rank <= j, is the dependence of the speed order[k] on the speed order[j].

    Args:
        a: the Arrays of the active rows.
        chosen: number of dependent speeds of the present selection, or UNCHOSEN for a new selection.
        stale: a new selection replaces the present one if its smallest pivot is below ``stale`` times the longest
            column of A; 0 keeps the selection.
        inputs, constants, work: of the call.

    Returns:
        The number of dependent speeds.
    """
    find_rows(a, inputs, constants, work)
    load_columns(a.rows.A, a.f, a.lists.order, chosen)
    rank = factor(a.f, chosen)
    if stale > 0.0 and not smallest_pivot(a.f, rank) > stale * longest_column(a.rows.A, a.f.w):
        load_columns(a.rows.A, a.f, a.lists.order, UNCHOSEN)
        rank = factor(a.f, UNCHOSEN)
    correct_speeds(a, rank, inputs, constants, work)
    solve_columns(a.f, rank)
    return int(rank)


@native_inline
def conditioning(f: FactorScratch, rank: int, longest: float) -> float:
    """Return the smallest pivot of the selection relative to the longest column of A, at most 1.

    The longest column is the largest pivot of all selections. The largest pivot of this selection is no scale, because
    a selection of one speed has one pivot only.
    """
    return min(1.0, smallest_pivot(f, rank) / longest) if rank > 0 else 1.0


@native_kernel
def remainders(f: FactorScratch, rank: int, given: Vector, x: Vector, e: Vector) -> None:
    """Compute e_t of udot_d = D udot_i + e_t, in the order of the selection, zero at independent speeds."""
    for i in range(x.size):
        x[i] = given[i]
    to_q(f, rank, x)
    solve_upper(f, rank, x)
    for k in range(e.size):
        e[k] = -x[k] if k < rank else 0.0


@native_kernel
def reduce_mass(f: FactorScratch, rank: int, lower: Vector, M: Matrix, W: Matrix, reduced: Matrix) -> None:
    """Compute M in the order of the selection, W = M R, and the lower triangle of M~ = R^T M R, with R = [D; 1].

    Args:
        f: the factors with D.
        rank: number of dependent speeds.
        lower: lower triangle of M by rows, (n (n + 1) / 2,) [kg, kg m, kg m^2].
        M, W, reduced: outputs, (n, n).
    """
    D, order, n = f.A, f.order, f.order.size
    for k in range(n):
        for l in range(k + 1):
            i, j = max(order[k], order[l]), min(order[k], order[l])
            M[k, l] = M[l, k] = lower[i * (i + 1) // 2 + j]
    for i in range(n):
        for j in range(rank, n):
            W[i, j] = M[i, j]
        for k in range(rank):
            c = M[i, k]
            if c != 0.0:
                for j in range(rank, n):
                    W[i, j] += c * D[k, j]
    for i in range(rank, n):
        for j in range(rank, i + 1):
            reduced[i - rank, j - rank] = W[i, j]
    for k in range(rank):
        for i in range(rank, n):
            c = D[k, i]
            if c != 0.0:
                for j in range(rank, i + 1):
                    reduced[i - rank, j - rank] += c * W[k, j]


@native_inline
def project_loads(f: FactorScratch, rank: int, h: Vector, M: Matrix, e: Vector, z: Vector, udot: Vector) -> None:
    """Compute z = h + M e_t and udot_i = -R^T z, the right-hand side of M~, in the order of the selection."""
    D, n = f.A, f.order.size
    for i in range(n):
        z[i] = h[f.order[i]]
        for k in range(rank):
            z[i] += M[i, k] * e[k]
    for j in range(rank, n):
        udot[j] = -z[j]
    for k in range(rank):
        for j in range(rank, n):
            udot[j] -= D[k, j] * z[k]


@native_inline
def find_dependent(f: FactorScratch, rank: int, e: Vector, udot: Vector) -> None:
    """Compute udot_d = D udot_i + e_t, in the order of the selection."""
    for k in range(rank):
        udot[k] = e[k]
        for j in range(rank, f.order.size):
            udot[k] += f.A[k, j] * udot[j]


@native_inline
def find_multipliers(a: Arrays, rank: int) -> None:
    """Compute x = lambda of least norm with A^T lambda = z + M R udot_i at the dependent speeds."""
    n = a.f.order.size
    for k in range(a.x.size):
        a.x[k] = 0.0
    for i in range(rank):
        a.x[i] = a.z[i]
        for j in range(rank, n):
            a.x[i] += a.W[i, j] * a.udot[j]
    solve_lower(a.f, rank, a.x)
    from_q(a.f, rank, a.x)


@native_kernel
def solve_motion(
    f: FactorScratch, rank: int, h: Vector, M: Matrix, reduced: Matrix, e: Vector, z: Vector, udot: Vector
) -> None:
    """Solve M~ udot_i = -R^T (h + M e_t) and udot_d = D udot_i + e_t, in the order of the selection."""
    n = f.order.size
    project_loads(f, rank, h, M, e, z, udot)
    factor_positive(reduced, n - rank)
    solve_cholesky(reduced, n - rank, udot[rank:])
    find_dependent(f, rank, e, udot)


@native_inline
def _load_motion(a: Arrays, rank: int, inputs: Any, constants: Any, work: Any) -> None:
    """Compute the terms of M udot + h = A^T lambda, and e_t."""
    call(a, UNCONSTRAINED, inputs, constants, work, a.unconstrained.whole)
    remainders(a.f, rank, a.unconstrained.remainder, a.x, a.e)


@native_inline
def _embed_by_mode(a: Arrays, inputs: Any, constants: Any, work: Any) -> int:
    """Embed with a new selection in the mode AFRESH, else with the present selection."""
    return int(embed(a, a.head.rank[0] if a.head.mode != AFRESH else UNCHOSEN, 0.0, inputs, constants, work))


@native_program
def rhs(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Compute qdot and udot."""
    a = arrays_of(state, constants, work)
    rank = _embed_by_mode(a, inputs, constants, work)
    _load_motion(a, rank, inputs, constants, work)
    reduce_mass(a.f, rank, a.unconstrained.M, a.M, a.W, a.reduced)
    solve_motion(a.f, rank, a.unconstrained.h, a.M, a.reduced, a.e, a.z, a.udot)
    rates, n = a.unconstrained.rates, a.f.order.size
    result = vector_at(out, 0, rates.size + n)
    for i in range(rates.size):
        result[i] = rates[i]
    for k in range(n):
        result[rates.size + a.f.order[k]] = a.udot[k]


@native_program
def embedding(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Compute EmbeddingTerms: conditioning, independent speeds, u, e_t, and R with zero columns at dependent speeds."""
    a = arrays_of(state, constants, work)
    rank = _embed_by_mode(a, inputs, constants, work)
    _load_motion(a, rank, inputs, constants, work)
    order, D, n = a.f.order, a.f.A, a.f.order.size
    result = embedding_terms_at(out, 0, n)
    result.conditioning[0] = conditioning(a.f, rank, longest_column(a.rows.A, a.f.w))
    for k in range(n):
        j = order[k]
        result.independent[j] = 1.0 if k >= rank else 0.0
        result.u[j] = a.state[a.state.size - n + j]
        result.e_t[j] = a.e[k]
        for i in range(n):
            result.R[i, j] = 0.0
        if k >= rank:
            result.R[j, j] = 1.0
            for l in range(rank):
                result.R[order[l], j] = D[l, k]
