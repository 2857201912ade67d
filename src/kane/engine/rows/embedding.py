"""Constraints embedded in numbers at a state: u_d = D u_i + e, M~ = R^T M R, as native programs.

A program's ``constants`` begins with a ConstraintHeader and holds the stages of the programs that it calls.

Source: Gillespie 2003, Eqs. 4-5, 43-45.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    longest_column,
    smallest_pivot,
    solve_cholesky,
    solve_columns,
    solve_upper,
    to_q,
)
from kane.engine.memory.constraint_codes import AFRESH, CONSTRAINTS, UNCHOSEN, UNCONSTRAINED
from kane.engine.memory.constraint_memory import lists_of, scratch_of
from kane.engine.memory.views import (
    constraint_header_at,
    constraint_rows_at,
    embedding_terms_at,
    factor_scratch_at,
    unconstrained_terms_at,
)

# Rows that are not linear in the speeds: Newton's method, until the change is rounding.
ITERATIONS, CONVERGED = 20, 1e-14


class Arrays(NamedTuple):
    """Scratch of a call, with what it knows of the model.

    Attributes:
        head, lists: ConstraintHeader and ConstraintLists.
        state: [t, q, u].
        all_rows: ConstraintRows of all rows.
        rows: ConstraintRows of the active rows; ``every`` itself if all are active.
        active: numbers of the active rows; empty if ``rows`` is ``every``.
        unconstrained: UnconstrainedTerms.
        f: FactorScratch of A.
        x, M, W, reduced, e, z, udot: see ConstraintScratch; x has as many numbers as A has rows.
    """

    head: Any
    lists: Any
    state: Any
    all_rows: Any
    rows: Any
    active: Any
    unconstrained: Any
    f: Any
    x: Any
    M: Any
    W: Any
    reduced: Any
    e: Any
    z: Any
    udot: Any


@native_inline
def arrays_of(state: Any, constants: Any, work: Any) -> Any:
    """The Arrays of a call, the state copied."""
    head = constraint_header_at(constants, 0)
    all_rows = constraint_rows_at(work, scratch_of(head, work).rows, head.rows, head.speeds)
    a = arrays_among(constants, work, all_rows, integers_at(constants, 0, 0), head.rows)
    given = vector_at(state, 0, a.state.size)
    for i in range(given.size):
        a.state[i] = given[i]
    return a


@native_inline
def arrays_among(constants: Any, work: Any, all_rows: Any, active: Any, m: int) -> Any:
    """The Arrays of a call in which m rows are in force; what they hold stays."""
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
def call(a: Any, which: int, inputs: Any, constants: Any, work: Any, out: Any) -> None:
    """Call a program of the header at the state of the arrays."""
    part = vector_at(constants, a.head.places[which], 0)
    call_program(a.head.addresses[which], a.state, vector_at(inputs, 0, 0), part, out, vector_at(work, 0, 0))


@native_inline
def find_rows(a: Any, inputs: Any, constants: Any, work: Any) -> None:
    """A and A u + b of the rows in force, at the state of the arrays."""
    call(a, CONSTRAINTS, inputs, constants, work, a.all_rows.whole)
    gather_rows(a.all_rows, a.active, a.rows)


@native_kernel
def gather_rows(all_rows: Any, active: Any, rows: Any) -> None:
    """Copy the rows ``active`` of ``every`` into ``rows``, both ConstraintRows."""
    for k in range(active.size):
        for j in range(all_rows.A.shape[1]):
            rows.A[k, j] = all_rows.A[active[k], j]
        rows.motion[k] = all_rows.motion[active[k]]


@native_inline
def load_columns(A: Any, f: Any, kept: Any, rank: int) -> None:
    """Copy A into the FactorScratch, its columns in the order kept unless the rank is UNCHOSEN."""
    m, n = f.A.shape
    for k in range(n):
        f.order[k] = kept[k] if rank != UNCHOSEN else k
    for i in range(m):
        for k in range(n):
            f.A[i, k] = A[i, f.order[k]]


@native_inline
def _change(f: Any, rank: int, motion: Any, x: Any, u: Any) -> float:
    """u_d -= A_d^+ (A u + b); the largest change over the largest speed changed."""
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
def correct_speeds(a: Any, rank: int, inputs: Any, constants: Any, work: Any) -> None:
    """u_d from u_i, where A and its Factors stand for the state; rows that are not linear are solved by iteration."""
    u = a.state[a.state.size - a.f.order.size :]
    change = _change(a.f, rank, a.rows.motion, a.x, u)
    if a.head.linear == 1:
        return
    for _ in range(ITERATIONS):
        if not change > CONVERGED:
            return
        find_rows(a, inputs, constants, work)
        load_columns(a.rows.A, a.f, a.f.order, rank)
        factor(a.f, rank)
        change = _change(a.f, rank, a.rows.motion, a.x, u)


@native_inline
def embed(a: Any, inputs: Any, constants: Any, work: Any) -> int:
    """Choose dependent speeds as the mode says, put u_d = D u_i + e into the state, and D into the Factors.

    D[k, j] is then A[k, j], k < rank <= j: of the dependent speed order[k] by the independent one order[j].

    Returns:
        How many speeds are dependent.
    """
    find_rows(a, inputs, constants, work)
    chosen = a.head.rank[0] if a.head.mode != AFRESH else UNCHOSEN
    load_columns(a.rows.A, a.f, a.lists.order, chosen)
    rank = factor(a.f, chosen)
    correct_speeds(a, rank, inputs, constants, work)
    solve_columns(a.f, rank)
    return rank


@native_inline
def conditioning(f: Any, rank: int, longest: float) -> float:
    """The smallest pivot of the choice over the largest that any choice has, which is the longest column of A.

    Not over its own largest pivot, which says nothing where there is one.
    """
    return min(1.0, smallest_pivot(f, rank) / longest) if rank > 0 else 1.0


@native_kernel
def remainders(f: Any, rank: int, given: Any, x: Any, e: Any) -> None:
    """e_t of udot_d = D udot_i + e_t, in the order of the choice, zero at independent speeds."""
    for i in range(x.size):
        x[i] = given[i]
    to_q(f, rank, x)
    solve_upper(f, rank, x)
    for k in range(e.size):
        e[k] = -x[k] if k < rank else 0.0


@native_kernel
def reduce_mass(f: Any, rank: int, lower: Any, M: Any, W: Any, reduced: Any) -> None:
    """M in the order of the choice, W = M R and M~ = R^T M R (lower triangle), R = [D; 1]."""
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


@native_kernel
def solve_motion(f: Any, rank: int, h: Any, M: Any, reduced: Any, e: Any, z: Any, udot: Any) -> None:
    """M~ udot_i = -R^T (h + M e_t), udot_d = D udot_i + e_t, in the order of the choice."""
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
    factor_positive(reduced, n - rank)
    solve_cholesky(reduced, n - rank, udot[rank:])
    for k in range(rank):
        udot[k] = e[k]
        for j in range(rank, n):
            udot[k] += D[k, j] * udot[j]


@native_inline
def _accelerated(a: Any, rank: int, inputs: Any, constants: Any, work: Any) -> None:
    """Compute the terms of M udot + h = A^T lambda, and e_t."""
    call(a, UNCONSTRAINED, inputs, constants, work, a.unconstrained.whole)
    remainders(a.f, rank, a.unconstrained.remainder, a.x, a.e)


@native_program
def rhs(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """qdot and udot."""
    a = arrays_of(state, constants, work)
    rank = embed(a, inputs, constants, work)
    _accelerated(a, rank, inputs, constants, work)
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
    """Conditioning; 1 for each independent speed, else 0; u; e_t; R by rows, its columns of dependent speeds zero."""
    a = arrays_of(state, constants, work)
    rank = embed(a, inputs, constants, work)
    _accelerated(a, rank, inputs, constants, work)
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
