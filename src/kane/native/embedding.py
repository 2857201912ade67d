"""Constraints embedded in numbers at a state: u_d = D u_i + e, M~ = R^T M R, as native programs.

A program's ``stage`` starts with the header of ``kane.native.header`` and holds the stages of the programs it calls.

Source: Gillespie 2003, Eqs. 4-5, 43-45.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kane.native.algebra import (
    factor,
    factors_at,
    longest_column,
    smallest_pivot,
    solve_columns,
    solve_positive,
    solve_upper,
    to_q,
)
from kane.native.blocks import constraint_places, embedding_places, scratch_places, unconstrained_places
from kane.native.call import (
    call_program,
    integers_at,
    matrix_at,
    native_inline,
    native_kernel,
    native_program,
    vector_at,
)
from kane.native.header import (
    AFRESH,
    CONSTRAINTS,
    COORDINATES,
    HEADER,
    LINEAR,
    MODE,
    RANK,
    ROWS,
    SPEEDS,
    STAGES,
    UNCHOSEN,
    UNCONSTRAINED,
)

# Rows that are not linear in the speeds: Newton's method, until the change is rounding.
ITERATIONS, CONVERGED = 20, 1e-14


class Arrays(NamedTuple):
    """Scratch of a call, with what it knows of the model.

    Attributes:
        head: the header and, behind it, ``kept``, the order of the columns.
        state: [t, q, u].
        every: what the program "constraints" gives.
        rows: the same of the rows in force: ``every`` itself where all are.
        active: which rows of all those are; empty where ``rows`` is ``every``.
        free: what the program "unconstrained" gives.
        f: Factors of A.
        x: a vector as long as A has rows.
        M: mass matrix, its columns in the order of the choice, (n, n).
        W: M R, in its columns of independent speeds, (n, n).
        reduced: M~, (n, n).
        e, z, udot: in the order of the choice, (n,).
    """

    head: Any
    kept: Any
    state: Any
    every: Any
    rows: Any
    active: Any
    free: Any
    f: Any
    x: Any
    M: Any
    W: Any
    reduced: Any
    e: Any
    z: Any
    udot: Any


for places in (constraint_places, unconstrained_places, embedding_places, scratch_places):
    native_inline(places)


@native_inline
def arrays_of(state: Any, stage: Any, work: Any) -> Any:
    """The Arrays of a call, the state copied."""
    head = integers_at(stage, 0, HEADER)
    every = vector_at(work, scratch_places(head).rows, constraint_places(head[ROWS], head[SPEEDS]).end)
    a = arrays_among(stage, work, every, integers_at(stage, 0, 0), head[ROWS])
    given = vector_at(state, 0, a.state.size)
    for i in range(given.size):
        a.state[i] = given[i]
    return a


@native_inline
def arrays_among(stage: Any, work: Any, every: Any, active: Any, m: int) -> Any:
    """The Arrays of a call in which m rows are in force; what they hold stays."""
    head = integers_at(stage, 0, HEADER)
    n, nq = head[SPEEDS], head[COORDINATES]
    at = scratch_places(head)
    s = vector_at(work, at.state, 1 + nq + n)
    rows = vector_at(work, at.rows, constraint_places(m, n).end)
    free = vector_at(work, at.free, unconstrained_places(head[ROWS], n, nq).end)
    f, x = factors_at(work, at.f, m, n), vector_at(work, at.x, m)
    M, W, reduced = matrix_at(work, at.M, n, n), matrix_at(work, at.W, n, n), matrix_at(work, at.reduced, n, n)
    e, z, udot = vector_at(work, at.e, n), vector_at(work, at.z, n), vector_at(work, at.udot, n)
    return Arrays(head, integers_at(stage, HEADER, n), s, every, rows, active, free, f, x, M, W, reduced, e, z, udot)


@native_inline
def call(a: Any, which: int, rest: Any, stage: Any, work: Any, out: Any) -> None:
    """Call a program of the header at the state of the arrays."""
    part = vector_at(stage, a.head[STAGES + which], 0)
    call_program(a.head[which], a.state, vector_at(rest, 0, 0), part, out, vector_at(work, 0, 0))


@native_inline
def find_rows(a: Any, rest: Any, stage: Any, work: Any) -> None:
    """A and A u + b of the rows in force, at the state of the arrays."""
    call(a, CONSTRAINTS, rest, stage, work, a.every)
    gather_rows(a.every, a.active, a.head[ROWS], a.f.order.size, a.rows)


@native_kernel
def gather_rows(every: Any, active: Any, m: int, n: int, rows: Any) -> None:
    """The rows ``active`` of m, as the program "constraints" would give them if there were no others."""
    for k in range(active.size):
        for j in range(n):
            rows[k * n + j] = every[active[k] * n + j]
        rows[active.size * n + k] = every[m * n + active[k]]


@native_inline
def load_columns(rows: Any, f: Any, kept: Any, rank: int) -> None:
    """A into the Factors, its columns in the order kept where there is one."""
    m, n = f.A.shape
    for k in range(n):
        f.order[k] = kept[k] if rank != UNCHOSEN else k
    for i in range(m):
        for k in range(n):
            f.A[i, k] = rows[i * n + f.order[k]]


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
def correct_speeds(a: Any, rank: int, rest: Any, stage: Any, work: Any) -> None:
    """u_d from u_i, where A and its Factors stand for the state; rows that are not linear are solved by iteration."""
    m, n = a.f.A.shape
    u, motion = a.state[a.state.size - n :], a.rows[constraint_places(m, n).motion :]
    change = _change(a.f, rank, motion, a.x, u)
    if a.head[LINEAR] == 1:
        return
    for _ in range(ITERATIONS):
        if not change > CONVERGED:
            return
        find_rows(a, rest, stage, work)
        load_columns(a.rows, a.f, a.f.order, rank)
        factor(a.f, rank)
        change = _change(a.f, rank, motion, a.x, u)


@native_inline
def embed(a: Any, rest: Any, stage: Any, work: Any) -> int:
    """Choose dependent speeds as the mode says, put u_d = D u_i + e into the state, and D into the Factors.

    D[k, j] is then A[k, j], k < rank <= j: of the dependent speed order[k] by the independent one order[j].

    Returns:
        How many speeds are dependent.
    """
    find_rows(a, rest, stage, work)
    chosen = a.head[RANK] if a.head[MODE] != AFRESH else UNCHOSEN
    load_columns(a.rows, a.f, a.kept, chosen)
    rank = factor(a.f, chosen)
    correct_speeds(a, rank, rest, stage, work)
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
    solve_positive(reduced, n - rank, udot[rank:])
    for k in range(rank):
        udot[k] = e[k]
        for j in range(rank, n):
            udot[k] += D[k, j] * udot[j]


@native_inline
def _accelerated(a: Any, rank: int, rest: Any, stage: Any, work: Any) -> Any:
    """e_t into the arrays; the places of the terms of M udot + h = A^T lambda, which are then in ``free``."""
    call(a, UNCONSTRAINED, rest, stage, work, a.free)
    m, n = a.f.A.shape
    at = unconstrained_places(m, n, a.head[COORDINATES])
    remainders(a.f, rank, a.free[at.remainder : at.rates], a.x, a.e)
    return at


@native_program
def rhs(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """qdot and udot."""
    a = arrays_of(state, stage, work)
    rank = embed(a, rest, stage, work)
    at = _accelerated(a, rank, rest, stage, work)
    reduce_mass(a.f, rank, a.free, a.M, a.W, a.reduced)
    solve_motion(a.f, rank, a.free[at.h : at.remainder], a.M, a.reduced, a.e, a.z, a.udot)
    rates, n = a.free[at.rates :], a.f.order.size
    result = vector_at(out, 0, rates.size + n)
    for i in range(rates.size):
        result[i] = rates[i]
    for k in range(n):
        result[rates.size + a.f.order[k]] = a.udot[k]


@native_program
def embedding(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """Conditioning; 1 for each independent speed, else 0; u; e_t; R by rows, its columns of dependent speeds zero."""
    a = arrays_of(state, stage, work)
    rank = embed(a, rest, stage, work)
    _accelerated(a, rank, rest, stage, work)
    order, D, n = a.f.order, a.f.A, a.f.order.size
    at = embedding_places(n)
    result, R = vector_at(out, 0, at.R), matrix_at(out, at.R, n, n)
    result[at.conditioning] = conditioning(a.f, rank, longest_column(a.rows, a.f.w))
    for k in range(n):
        j = order[k]
        result[at.independent + j] = 1.0 if k >= rank else 0.0
        result[at.u + j] = a.state[a.state.size - n + j]
        result[at.e_t + j] = a.e[k]
        for i in range(n):
            R[i, j] = 0.0
        if k >= rank:
            R[j, j] = 1.0
            for l in range(rank):
                R[order[l], j] = D[l, k]
