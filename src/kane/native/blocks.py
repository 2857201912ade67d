"""Where what lies in the flat arrays of constraints, for Python and native code alike.

Each class names the blocks of one array by the place where they start, one after the other, and ``end``; the function
below it gives the places for a model of m rows, n speeds and nq coordinates. Matrices lie row by row, M as its lower
triangle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kane.native.header import COORDINATES, FRONTS, OWN_SPEEDS, RESIDUALS, ROWS, SPEEDS, WORK


class ConstraintPlaces(NamedTuple):
    """Outputs of the program "constraints": A (m, n), and A u + b (m)."""

    A: int
    motion: int
    end: int


def constraint_places(m: int, n: int) -> ConstraintPlaces:
    """The places for m rows and n speeds."""
    return ConstraintPlaces(0, m * n, m * n + m)


class UnconstrainedPlaces(NamedTuple):
    """Outputs of the program "unconstrained": M (n (n + 1) / 2) and h (n) with M udot + h = A^T lambda, the remainder
    (m) with A udot + remainder = 0, and dq/dt (nq).
    """

    M: int
    h: int
    remainder: int
    rates: int
    end: int


def unconstrained_places(m: int, n: int, nq: int) -> UnconstrainedPlaces:
    """The places for m rows, n speeds and nq coordinates."""
    h = n * (n + 1) // 2
    return UnconstrainedPlaces(0, h, h + n, h + n + m, h + n + m + nq)


class EmbeddingPlaces(NamedTuple):
    """Outputs of the program "embedding", of u = R u + e and udot = R udot + e_t: the conditioning of the choice (1), 1
    for each independent speed and else 0 (n), u (n), e_t (n), and R (n, n), its columns of dependent speeds zero.
    """

    conditioning: int
    independent: int
    u: int
    e_t: int
    R: int
    end: int


def embedding_places(n: int) -> EmbeddingPlaces:
    """The places for n speeds."""
    return EmbeddingPlaces(0, 1, 1 + n, 1 + 2 * n, 1 + 3 * n, 1 + 3 * n + n * n)


class SettledPlaces(NamedTuple):
    """Outputs of "settle": q (nq) and u (n); the largest residual of configuration (1) and motion (1) before that; the
    conditioning of the choice (1).
    """

    q: int
    u: int
    configuration: int
    motion: int
    conditioning: int
    end: int


def settled_places(n: int, nq: int) -> SettledPlaces:
    """The places for n speeds and nq coordinates."""
    x = nq + n
    return SettledPlaces(0, nq, x, x + 1, x + 2, x + 3)


class FactorPlaces(NamedTuple):
    """Scratch of a factored matrix (rows, columns): itself, and five vectors as long as its rows."""

    A: int
    order: int
    diag: int
    beta: int
    norms: int
    w: int
    end: int


def factor_places(at: int, rows: int, columns: int) -> FactorPlaces:
    """The places from ``at`` on."""
    order = at + rows * columns
    return FactorPlaces(
        at, order, order + columns, order + 2 * columns, order + 3 * columns, order + 5 * columns, order + 6 * columns
    )


class FrontPlaces(NamedTuple):
    """Scratch of fronts, see ``kane.native.fronts``: lists of integers, then D or R (n) and reflectors (n)."""

    lists: int
    sizes: int
    first: int
    after: int
    candidates: int
    diag: int
    beta: int
    end: int


def front_places(at: int, fronts: int, m: int, n: int) -> FrontPlaces:
    """The places from ``at`` on, for m rows and n speeds."""
    sizes = at + fronts * (m + n)
    after = sizes + 7 * fronts
    candidates = after + m + n
    return FrontPlaces(
        at, sizes, sizes + 5 * fronts, after, candidates, candidates + n, candidates + 2 * n, candidates + 3 * n
    )


class ScratchPlaces(NamedTuple):
    """Scratch of native code of constraints, behind that of the programs it calls.

    The state [t, q, u]; outputs of the programs "constraints" and "unconstrained"; Factors of A (m, n); x (m); M, W and
    the reduced mass matrix (n, n each); e, z and udot (n each). Of settling: A A^T (p, p) of the p rows of the
    configuration; what is solved for and its scale (2 p); their residual (p); s (n); q and slope (nq each); and [t, q,
    w] of the joints' own speeds w, of which there are n_own, with what settling them gives. Last the scratch of fronts.
    """

    state: int
    rows: int
    free: int
    f: int
    x: int
    M: int
    W: int
    reduced: int
    e: int
    z: int
    udot: int
    gram: int
    y: int
    residual: int
    s: int
    q: int
    slope: int
    own_state: int
    own_found: int
    fronts: int
    end: int


def scratch_places(head: Any) -> ScratchPlaces:
    """The places for a model with this header."""
    at, m, n, nq = head[WORK], head[ROWS], head[SPEEDS], head[COORDINATES]
    p, n_own = head[RESIDUALS], head[OWN_SPEEDS]
    rows = at + 1 + nq + n
    free = rows + constraint_places(m, n).end
    f = free + unconstrained_places(m, n, nq).end
    x = factor_places(f, m, n).end
    M = x + m
    e = M + 3 * n * n
    gram = e + 3 * n
    y = gram + p * p
    residual = y + 2 * p
    s = residual + p
    q = s + n
    own_state = q + 2 * nq
    own_found = own_state + 1 + nq + n_own
    fronts = own_found + settled_places(n_own, nq).end
    return ScratchPlaces(
        at,
        rows,
        free,
        f,
        x,
        M,
        M + n * n,
        M + 2 * n * n,
        e,
        e + n,
        e + 2 * n,
        gram,
        y,
        residual,
        s,
        q,
        q + nq,
        own_state,
        own_found,
        fronts,
        front_places(fronts, head[FRONTS], m, n).end,
    )
