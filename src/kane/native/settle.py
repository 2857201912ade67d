"""A state put onto its constraints, and dependent speeds chosen anew, as a native program.

Coordinates move by the least change of the speeds (minimum norm) that takes the linearised residuals away, whatever
speeds are dependent: it stays small where a choice of dependent speeds is near its singularity, and redundant rows
need no choice. Speeds move by the dependent ones alone: the independent ones are the state, and the rest follows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kane.native.algebra import factor, factors_at, from_q, smallest_pivot, solve_lower
from kane.native.blocks import constraint_places, scratch_places, settled_places
from kane.native.call import (
    call_program,
    integers_at,
    native_inline,
    native_kernel,
    native_program,
    vector_at,
)
from kane.native.embedding import arrays_of, call, conditioning, correct_speeds, find_rows, load_columns
from kane.native.header import (
    AFRESH,
    CONFIGURATION,
    CONSTRAINTS,
    COORDINATES,
    FIXED,
    FRONTS,
    HEADER,
    KINEMATICS,
    MODE,
    OWN,
    OWN_SPEEDS,
    QUATERNIONS,
    RANK,
    RESIDUALS,
    STAGES,
    UNCHOSEN,
)
from kane.native.loops import WORSE, choose_by_fronts, least_by_fronts

# Residuals [m or rad] under this are rounding in mechanisms of metres; in others iteration ends where it gains nothing.
SMALL = 1e-14
ITERATIONS, HALVINGS = 50, 10


class Correction(NamedTuple):
    """Scratch of the correction of coordinates.

    Attributes:
        f: Factors of A^T, of the rows that belong to the configuration.
        residual: of the configuration, (rows,).
        s: the change of the speeds, (n,).
        q, slope: coordinates before the change, and their rates with s, (nq,).
        rows: the row of A of each residual.
        counted: of every row of A whether it is in force; empty where all are.
    """

    f: Any
    residual: Any
    s: Any
    q: Any
    slope: Any
    rows: Any
    counted: Any


native_inline(settled_places)


@native_inline
def _correction_of(a: Any, stage: Any, work: Any, counted: Any) -> Any:
    n, p, nq = a.f.order.size, a.head[RESIDUALS], a.head[COORDINATES]
    at = scratch_places(a.head)
    residual, s, q = vector_at(work, at.residual, p), vector_at(work, at.s, n), vector_at(work, at.q, nq)
    rows = integers_at(stage, HEADER + n, p)
    return Correction(
        factors_at(work, at.transposed, n, p), residual, s, q, vector_at(work, at.slope, nq), rows, counted
    )


@native_kernel
def _largest(x: Any) -> float:
    """max |x_i|; NaN where some is."""
    largest = 0.0
    for value in x:
        largest = largest if abs(value) <= largest else abs(value)
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
def _residual(a: Any, c: Any, rest: Any, stage: Any, work: Any) -> float:
    """The residual of the configuration, zero where a row is not in force; its largest entry."""
    call(a, CONFIGURATION, rest, stage, work, c.residual)
    if c.counted.size > 0:
        for k in range(c.rows.size):
            if c.counted[c.rows[k]] == 0:
                c.residual[k] = 0.0
    return float(_largest(c.residual))


@native_inline
def _direction(a: Any, c: Any, rest: Any, stage: Any, work: Any) -> None:
    """The rates ``slope`` that the least s with A s = -residual gives, which is left in the state.

    Speeds are the joints' own here: rates of coordinates are linear in them, and vanish with them.
    """
    n, first = c.s.size, 1 + c.q.size
    call(a, CONSTRAINTS, rest, stage, work, a.every)
    if a.head[FRONTS] > 0:
        least_by_fronts(a, c.rows, c.residual, c.s, stage, work)
    else:
        _least(a.every, c)
    for j in range(n):
        a.state[first + j] = c.s[j]
    call(a, KINEMATICS, rest, stage, work, c.slope)


@native_kernel
def _least(entries: Any, c: Any) -> None:
    """The least s with A s = -residual, for the rows in force that restrict the configuration."""
    n = c.s.size
    for k in range(c.rows.size):
        c.f.order[k] = k
        # A column of zeros is redundant: nothing moves for a row that is not in force.
        share = 1.0 if c.counted.size == 0 else float(c.counted[c.rows[k]])
        for j in range(n):
            c.f.A[j, k] = share * entries[c.rows[k] * n + j]
    rank = factor(c.f, UNCHOSEN)
    # A^T P = Q R, so that s = Q y with R^T y = -P^T residual: what lies beyond the rank is redundant.
    for j in range(n):
        c.s[j] = -c.residual[c.f.order[j]] if j < rank else 0.0
    solve_lower(c.f, rank, c.s)
    from_q(c.f, rank, c.s)


@native_inline
def _correct_coordinates(a: Any, c: Any, quaternions: Any, rest: Any, stage: Any, work: Any) -> float:
    """q onto the configuration constraints by Newton's method; the largest residual as it was before.

    A step that gains nothing is halved, and in the end taken back. The speeds of the state are used as scratch.
    """
    before = size = _residual(a, c, rest, stage, work)
    for _ in range(ITERATIONS):
        if not size > SMALL:
            break
        _direction(a, c, rest, stage, work)
        q, share, found = a.state[1 : 1 + c.q.size], 1.0, size
        for i in range(q.size):
            c.q[i] = q[i]
        for _ in range(HALVINGS):
            for i in range(q.size):
                q[i] = c.q[i] + share * c.slope[i]
            _normalise(a, quaternions)
            found = _residual(a, c, rest, stage, work)
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
def _correct_by_own_speeds(a: Any, rest: Any, stage: Any, work: Any) -> float:
    """q onto the configuration constraints by the joints' own speeds; the largest residual as it was before."""
    n, nq, at = a.head[OWN_SPEEDS], a.head[COORDINATES], scratch_places(a.head)
    given = settled_places(n, nq)
    state, found = vector_at(work, at.own_state, 1 + nq + n), vector_at(work, at.own_found, given.end)
    for i in range(1 + nq + n):
        state[i] = a.state[i] if i <= nq else 0.0
    part = vector_at(stage, a.head[STAGES + OWN], 0)
    call_program(a.head[OWN], state, vector_at(rest, 0, 0), part, found, vector_at(work, 0, 0))
    for i in range(nq):
        a.state[1 + i] = found[given.q + i]
    return float(found[given.configuration])


@native_inline
def choose(a: Any) -> int:
    """Factor A by the choice in force, or anew where that has become worse or the rank another; the rank."""
    n = a.f.order.size
    if a.head[MODE] == FIXED:
        load_columns(a.rows, a.f, a.kept, a.head[RANK])
        return factor(a.f, a.head[RANK])
    load_columns(a.rows, a.f, a.kept, UNCHOSEN)
    rank = factor(a.f, UNCHOSEN)
    if a.head[MODE] == AFRESH:
        return rank
    best = smallest_pivot(a.f, rank)
    if a.head[RANK] == rank:
        load_columns(a.rows, a.f, a.kept, rank)
        factor(a.f, rank)
        if smallest_pivot(a.f, rank) >= WORSE * best:
            return rank
        load_columns(a.rows, a.f, a.kept, UNCHOSEN)
        factor(a.f, UNCHOSEN)
    a.head[RANK] = rank
    for k in range(n):
        a.kept[k] = a.f.order[k]
    return rank


@native_inline
def settle_among(a: Any, rest: Any, stage: Any, out: Any, work: Any, counted: Any) -> None:
    """What ``settle`` gives, of the rows in force."""
    c = _correction_of(a, stage, work, counted)
    n, nq = c.s.size, c.q.size
    quaternions = integers_at(stage, HEADER + n + a.head[RESIDUALS], a.head[QUATERNIONS])
    at = settled_places(n, nq)
    result = vector_at(out, 0, at.end)
    find_rows(a, rest, stage, work)
    result[at.motion] = _largest(a.rows[constraint_places(a.f.A.shape[0], n).motion :])
    for j in range(n):
        result[at.u + j] = a.state[1 + nq + j]
    _normalise(a, quaternions)
    if a.head[OWN] != 0:
        result[at.configuration] = _correct_by_own_speeds(a, rest, stage, work)
    else:
        result[at.configuration] = _correct_coordinates(a, c, quaternions, rest, stage, work)
    for j in range(n):
        a.state[1 + nq + j] = result[at.u + j]
    find_rows(a, rest, stage, work)
    if a.head[FRONTS] > 0:
        result[at.conditioning] = choose_by_fronts(a, rest, stage, work)
    else:
        rank = choose(a)
        correct_speeds(a, rank, rest, stage, work)
        result[at.conditioning] = conditioning(a.rows, a.f, rank)
    for i in range(nq + n):
        result[at.q + i] = a.state[1 + i]


@native_program
def settle(state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """q, u, residuals of configuration and motion before the correction, conditioning of the choice."""
    a = arrays_of(state, stage, work)
    settle_among(a, rest, stage, out, work, a.active)
