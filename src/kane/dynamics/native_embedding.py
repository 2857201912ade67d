"""Constraints embedded in numbers at a state: u_d = D u_i + e, M~ = R^T M R, as native programs.

A program's ``stage`` starts with a header of 64-bit integers (the places below, then three lists: the columns of u,
dependent ones first; the row of A of each configuration residual; where in q each unit quaternion starts), and then
holds the stages of the programs it calls.

Source: Gillespie 2003, Eqs. 4-5, 43-45.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kane.codegen.native_call import (
    call_program,
    integers_at,
    matrix_at,
    native_kernel,
    native_program,
    vector_at,
)
from kane.dynamics.native_algebra import Factors, conditioning, factor, solve_positive, solve_upper, to_q

# Places in the header: address and stage of the programs called, ...
CONSTRAINTS, CONFIGURATION, KINEMATICS, UNCONSTRAINED = range(4)
STAGES = 4
# ... how dependent speeds are chosen, whether all rows are linear in u, sizes, the rank of the choice and where in
# ``work`` the arrays lie.
MODE, LINEAR, ROWS, SPEEDS, COORDINATES, RESIDUALS, QUATERNIONS, RANK, WORK = range(8, 17)
HEADER = 17
# Modes: chosen at each call; the choice kept in the header, made anew by settling; the choice of the header for good.
AFRESH, KEPT, FIXED = range(3)
UNCHOSEN = -1

# Rows that are not linear in the speeds: Newton's method, until the change is rounding.
ITERATIONS, CONVERGED = 20, 1e-14


class Arrays(NamedTuple):
    """Scratch of a call, with what it knows of the model.

    Attributes:
        head: the header and, behind it, ``kept``, the order of the columns.
        state: [t, q, u].
        rows: what the program "constraints" gives.
        free: what the program "unconstrained" gives.
        f: Factors of A.
        x: a vector as long as A has rows.
        M: mass matrix, its columns in the order of the choice, (n, n).
        W: M R, by columns, (n, n).
        reduced: M~, (n, n).
        e, z, udot: in the order of the choice, (n,).
    """

    head: Any
    kept: Any
    state: Any
    rows: Any
    free: Any
    f: Any
    x: Any
    M: Any
    W: Any
    reduced: Any
    e: Any
    z: Any
    udot: Any


@native_kernel
def arrays_of(state: Any, stage: Any, work: Any) -> Any:
    """The Arrays of a call, the state copied."""
    head = integers_at(stage, 0, HEADER)
    m, n, nq = head[ROWS], head[SPEEDS], head[COORDINATES]
    at = head[WORK]
    s = vector_at(work, at, 1 + nq + n)
    given = vector_at(state, 0, 1 + nq + n)
    for i in range(s.size):
        s[i] = given[i]
    at += 1 + nq + n
    rows = vector_at(work, at, m * n + m)
    at += m * n + m
    free = vector_at(work, at, n * (n + 1) // 2 + n + m + nq)
    at += n * (n + 1) // 2 + n + m + nq
    f = Factors(
        matrix_at(work, at, n, m),
        integers_at(work, at + n * m, n),
        vector_at(work, at + n * m + n, n),
        vector_at(work, at + n * m + 2 * n, n),
        integers_at(work, at + n * m + 3 * n, n),
    )
    at += n * m + 4 * n
    x = vector_at(work, at, m)
    at += m
    M, W, reduced = matrix_at(work, at, n, n), matrix_at(work, at + n * n, n, n), matrix_at(work, at + 2 * n * n, n, n)
    at += 3 * n * n
    e, z, udot = vector_at(work, at, n), vector_at(work, at + n, n), vector_at(work, at + 2 * n, n)
    return Arrays(head, integers_at(stage, HEADER, n), s, rows, free, f, x, M, W, reduced, e, z, udot)


@native_kernel
def work_length(m: int, n: int, nq: int) -> int:
    """Doubles that ``arrays_of`` lays out."""
    return 1 + nq + n + m * n + m + n * (n + 1) // 2 + n + m + nq + n * m + 4 * n + m + 3 * n * n + 3 * n


@native_kernel
def call(a: Any, which: int, rest: Any, stage: Any, work: Any, out: Any) -> None:
    """Call a program of the header at the state of the arrays."""
    part = vector_at(stage, a.head[STAGES + which], 0)
    call_program(a.head[which], a.state, vector_at(rest, 0, 0), part, out, vector_at(work, 0, 0))


@native_kernel
def load_columns(a: Any, rank: int) -> None:
    """Columns of A into the Factors, in the order kept where there is one (rank >= 0)."""
    n, m = a.f.F.shape
    for k in range(n):
        j = a.kept[k] if rank >= 0 else k
        a.f.order[k] = j
        for i in range(m):
            a.f.F[k, i] = a.rows[i * n + j]


@native_kernel
def correct_speeds(a: Any, rank: int, rest: Any, stage: Any, work: Any) -> None:
    """u_d from u_i, where A and its Factors stand for the state; rows that are not linear are solved by iteration."""
    n, m = a.f.F.shape
    first = a.state.size - n
    for _ in range(ITERATIONS):
        for i in range(m):
            a.x[i] = a.rows[m * n + i]
        to_q(a.f, rank, a.x)
        solve_upper(a.f, rank, a.x)
        change, size = 0.0, 0.0
        for k in range(rank):
            j = first + a.f.order[k]
            a.state[j] -= a.x[k]
            change, size = max(change, abs(a.x[k])), max(size, abs(a.state[j]))
        if a.head[LINEAR] == 1 or not change > CONVERGED * size:
            return
        call(a, CONSTRAINTS, rest, stage, work, a.rows)
        for k in range(n):
            for i in range(m):
                a.f.F[k, i] = a.rows[i * n + a.f.order[k]]
        factor(a.f, rank)


@native_kernel
def embed(a: Any, rest: Any, stage: Any, work: Any) -> int:
    """Choose dependent speeds as the mode says, put u_d = D u_i + e into the state, and D into the Factors.

    Row k >= rank of F then starts with the column of D of the independent speed order[k].

    Returns:
        How many speeds are dependent.
    """
    call(a, CONSTRAINTS, rest, stage, work, a.rows)
    kept = a.head[RANK] if a.head[MODE] != AFRESH else UNCHOSEN
    load_columns(a, kept)
    rank = factor(a.f, kept)
    correct_speeds(a, rank, rest, stage, work)
    for j in range(rank, a.head[SPEEDS]):
        x = a.f.F[j]
        solve_upper(a.f, rank, x)
        for k in range(rank):
            x[k] = -x[k]
    return rank


@native_kernel
def remainders(a: Any, rank: int) -> None:
    """e_t of udot_d = D udot_i + e_t, in the order of the choice, zero at independent speeds."""
    n, m = a.f.F.shape
    first = n * (n + 1) // 2 + n
    for i in range(m):
        a.x[i] = a.free[first + i]
    to_q(a.f, rank, a.x)
    solve_upper(a.f, rank, a.x)
    for k in range(n):
        a.e[k] = -a.x[k] if k < rank else 0.0


@native_kernel
def mass_by_choice(a: Any, rank: int) -> None:
    """M in the order of the choice, W = M R and M~ = R^T M R (lower triangle)."""
    n, order, D = a.f.order.size, a.f.order, a.f.F
    for k in range(n):
        for l in range(k + 1):
            i, j = max(order[k], order[l]), min(order[k], order[l])
            a.M[k, l] = a.M[l, k] = a.free[i * (i + 1) // 2 + j]
    for j in range(rank, n):
        for i in range(n):
            total = a.M[i, j]
            for k in range(rank):
                total += a.M[i, k] * D[j, k]
            a.W[j, i] = total
    for j in range(rank, n):
        for i in range(rank, j + 1):
            total = a.W[i, j]
            for k in range(rank):
                total += a.W[i, k] * D[j, k]
            a.reduced[j - rank, i - rank] = total


@native_kernel
def accelerate(a: Any, rest: Any, stage: Any, work: Any) -> None:
    """udot of all speeds, in the order of the choice: M~ udot_i = -R^T (h + M e_t), udot_d = D udot_i + e_t."""
    rank = embed(a, rest, stage, work)
    call(a, UNCONSTRAINED, rest, stage, work, a.free)
    remainders(a, rank)
    mass_by_choice(a, rank)
    n, D = a.f.order.size, a.f.F
    h = a.free[n * (n + 1) // 2 :]
    for i in range(n):
        total = h[a.f.order[i]]
        for k in range(rank):
            total += a.M[i, k] * a.e[k]
        a.z[i] = total
    independent = a.udot[rank:]
    for j in range(rank, n):
        total = a.z[j]
        for k in range(rank):
            total += D[j, k] * a.z[k]
        a.udot[j] = -total
    solve_positive(a.reduced, n - rank, independent)
    for k in range(rank):
        total = a.e[k]
        for j in range(rank, n):
            total += D[j, k] * a.udot[j]
        a.udot[k] = total


@native_program
def forward(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """udot of all speeds."""
    a = arrays_of(state, stage, work)
    accelerate(a, rest, stage, work)
    n = a.udot.size
    result = vector_at(out, 0, n)
    for k in range(n):
        result[a.f.order[k]] = a.udot[k]


@native_program
def rhs(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """qdot and udot."""
    a = arrays_of(state, stage, work)
    accelerate(a, rest, stage, work)
    n, nq = a.udot.size, a.head[COORDINATES]
    result, first = vector_at(out, 0, nq + n), a.free.size - nq
    for i in range(nq):
        result[i] = a.free[first + i]
    for k in range(n):
        result[nq + a.f.order[k]] = a.udot[k]


@native_program
def embedding(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """Conditioning; 1 for each independent speed, else 0; u; e_t; R by rows, its columns of dependent speeds zero."""
    a = arrays_of(state, stage, work)
    rank = embed(a, rest, stage, work)
    n, order, D = a.f.order.size, a.f.order, a.f.F
    call(a, UNCONSTRAINED, rest, stage, work, a.free)
    remainders(a, rank)
    result, R = vector_at(out, 0, 1 + 3 * n), matrix_at(out, 1 + 3 * n, n, n)
    result[0] = conditioning(a.f, rank)
    for k in range(n):
        j = order[k]
        result[1 + j] = 1.0 if k >= rank else 0.0
        result[1 + n + j] = a.state[a.state.size - n + j]
        result[1 + 2 * n + j] = a.e[k]
        for i in range(n):
            R[i, j] = 0.0
        if k >= rank:
            R[j, j] = 1.0
            for l in range(rank):
                R[order[l], j] = D[k, l]
