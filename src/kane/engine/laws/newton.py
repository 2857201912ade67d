"""Reactions of contacts that push and rub, all at once: Signorini's and Coulomb's laws on the round cone.

Of rows with accelerations, or velocities, a = W f + b the reactions f are looked for with

    f_n >= least, a_n >= 0, (f_n - least) a_n = 0,    |f_t| <= bound,    f_t = -bound a_t / |a_t| where a_t is not 0,

bound = mu f_n of a contact, or given; least is mostly zero. With rho > 0 that is f = P(f - rho a), where P projects on
what is admissible. Its zeros are found by Newton's method, whose derivative is that of the piece at hand; where it goes
in circles, sweeps of projected relaxation over the contacts, which come near slowly, say where it starts again, with
another rho, and then inner points from several starts, see ``interior``, which come near where rows repeat each other
too: a start that leads nowhere shows it after a few steps, and the next one is tried at once. Where rows
repeat each other, equations have many solutions, of which the shortest is taken: by turns the shortest f, which is the
solution then, and the shortest change, which leads on where that is not admissible.

Source: Alart & Curnier, A mixed formulation for frictional contact problems prone to Newton like solution methods,
Comput. Methods Appl. Mech. Eng. 92, 1991; Acary & Brogliato, Numerical Methods for Nonsmooth Dynamical Systems, 2008.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.laws.generated_laws import (
    BY_ACCELERATION,
    BY_FORCE,
    BY_NORMAL,
    RESIDUAL,
    closed_slopes,
    coulomb_residuals,
    coulomb_slopes,
    signorini,
)
from kane.engine.laws.interior_point import approach_inside
from kane.engine.linear.elimination import solve_square

# What is left below this share of the largest force is rounding; below the second where steps lead no further.
SOLVED, ADOPTABLE = 1e-13, 1e-12
# Newton's method and relaxation in turn at most; steps of the one, sweeps of the other in the first turn, and twice as
# many in each one that follows; halvings of a step that makes the residual larger, from the second turn on.
TURNS, STEPS, SWEEPS, HALVINGS = 8, 10, 20, 6
# Starts of inner points in a turn. Behind them come steps without halvings to the shortest f, then by the shortest
# changes: what finds one finds it in so many. They are tried where the inner points leave less than that of the laws.
STARTS, SHORTEST, CHANGES, PROMISING = 4, 3, 5, 1e-4
# What inner points are to leave, and from where Newton's method has led nowhere once.
NEAR, NEARER = 1e-7, 1e-10


@native_kernel
def solve_complementarity(p: Any) -> float:
    """The reactions, from those given on: what is left of the laws, over the largest force; see ReactionProblem.

    What is larger than rounding is no solution: then the reactions are the best that were met. The same numbers give
    the same bits.
    """
    least, share, sweeps = math.inf, 1.0, SWEEPS
    for turn in range(TURNS):
        scale_rows(p, share)
        reached = approach(p, turn % 2 == 0, STEPS, HALVINGS if turn > 0 else 0)
        if not reached <= ADOPTABLE and turn > 0:
            reached = _approach_from_inside(p, 3.0 ** (turn - 1))
        if reached <= ADOPTABLE:
            return reached
        scale_rows(p, 1.0)
        _copy(p.best, p.f)
        for _ in range(sweeps):
            _sweep(p)
        share, sweeps = _next(share), 2 * sweeps
        least = find_residual(p)
        if not least < math.inf:
            for row in range(p.f.size):
                p.f[row] = 0.0
            least = find_residual(p)
    return least


@native_inline
def _next(share: float) -> float:
    """1, 10, 1 / 10, 100, 1 / 100, ..."""
    return 1.0 / share if share > 1.0 else 10.0 / share


@native_kernel
def _approach_from_inside(p: Any, wider: float) -> float:
    """Newton's method from where inner points lead: to the shortest f, else by the shortest changes."""
    near = NEAR
    for _ in range(STARTS):
        if approach_inside(p, wider, near) < PROMISING:
            scale_rows(p, 1.0)
            _copy(p.f, p.inner)
            reached = approach(p, True, SHORTEST, 0)
            if not reached <= ADOPTABLE:
                _copy(p.inner, p.f)
                reached = approach(p, False, CHANGES, 0)
            if reached <= ADOPTABLE:
                return reached
            near = NEARER
        wider = _next(wider)
    return math.inf


@native_kernel
def approach(p: Any, whole: bool, steps: int, halvings: int) -> float:
    """Steps of Newton's method until nothing is left, or they lead nowhere, which is infinity; the best f met is kept.

    Args:
        p: the problem.
        whole: see ``_step``.
        steps: at most.
        halvings: of a step that leaves more.
    """
    reached = least = find_residual(p)
    _copy(p.f, p.best)
    for _ in range(steps):
        if reached <= SOLVED:
            return _refine(p, reached)
        before = reached
        _copy(p.f, p.before)
        _step(p, whole)
        reached = find_residual(p)
        for _ in range(halvings):
            if reached < before:
                break
            for row in range(p.f.size):
                p.f[row] = 0.5 * (p.f[row] + p.before[row])
            reached = find_residual(p)
        if reached < least:
            least = reached
            _copy(p.f, p.best)
        if least <= ADOPTABLE and not reached < 0.5 * before:
            # What is left is rounding, of which steps make more.
            _copy(p.best, p.f)
            return find_residual(p)
    return math.inf


@native_inline
def _refine(p: Any, reached: float) -> float:
    """One more step, a change: of what moves a billion times as easily in one direction, velocities are right then."""
    _copy(p.f, p.best)
    _step(p, False)
    found = find_residual(p)
    if found <= reached:
        return found
    _copy(p.best, p.f)
    return find_residual(p)


@native_kernel
def _copy(given: Any, to: Any) -> None:
    for row in range(given.size):
        to[row] = given[row]


@native_kernel
def scale_rows(p: Any, share: float) -> None:
    """rho = share / W of each row; of two tangents one for both, no more than by their largest eigenvalue."""
    for k in range(p.bound.size):
        row = p.row[k]
        if p.pushes[k] == 1:
            p.rho[row] = share / p.W[row, row] if p.W[row, row] > 0.0 else share
            row += 1
        if p.tangents[k] == 1:
            p.rho[row] = share / p.W[row, row] if p.W[row, row] > 0.0 else share
        elif p.tangents[k] == 2:
            most = max(p.W[row, row], p.W[row + 1, row + 1]) + abs(p.W[row, row + 1])
            p.rho[row] = p.rho[row + 1] = share / most if most > 0.0 else share


@native_kernel
def find_residual(p: Any) -> float:
    """Find a; the largest of f - P(f - rho a), over the largest force, or rho b where that is more."""
    most, force = 0.0, 0.0
    for row in range(p.f.size):
        total = p.b[row]
        for other in range(p.f.size):
            total += p.W[row, other] * p.f[other]
        if not abs(total) < math.inf:
            return math.inf
        p.a[row] = total
        p.shift[row] = p.f[row] - p.rho[row] * total
        force = max(force, abs(p.f[row]))
    for k in range(p.bound.size):
        row, tangents, normal = p.row[k], p.tangents[k], 1.0
        left, size = 0.0, force
        if p.pushes[k] == 1:
            normal = max(p.f[row], 0.0)
            left = abs(signorini(p.f[row], p.a[row], p.shift[row], p.rho[row], p.least[k]))
            size = max(size, abs(p.least[k]), abs(p.rho[row] * p.b[row]))
            row += 1
        x, y = coulomb_residuals(normal, p.f, p.a, p.shift, p.rho, row, tangents, p.bound[k])
        left = max(left, abs(x), abs(y))
        for r in range(row, row + tangents):
            size = max(size, abs(p.rho[r] * p.b[r]))
        if not left <= most * size:
            most = left / size
    return most


@native_kernel
def _step(p: Any, whole: bool) -> None:
    """One step of Newton's method from f, where a and the shifted reactions are known.

    Where rows repeat others, it is the shortest f that solves the equations if the whole is asked for, else the
    shortest change of f.
    """
    count = choose_unknown(p, 0.0)
    solve_equations(p, count, whole)
    for i in range(count):
        row = p.unknown[i]
        p.f[row] = p.step[i] if whole else p.f[row] + p.step[i]


@native_kernel
def solve_equations(p: Any, count: int, whole: bool) -> None:
    """Solve the linearized equations of ``count`` unknowns: the shortest f, or its shortest change, into ``step``."""
    for k in range(p.bound.size):
        _load_block(p, k, count)
    for i in range(count if whole else 0):
        for j in range(count):
            p.x[i] += p.K[i, j] * p.f[p.unknown[j]]
    for i in range(count):
        p.step[i] = p.x[i]
    solve_square(p.K, count, p.pivots, p.step)


@native_inline
def choose_unknown(p: Any, closed: float) -> int:
    """Which reactions are unknown; what parts takes its least, in f and in a. How many are unknown.

    A contact parts whose shifted reaction is not above its least; ``closed`` is how far below it may be.
    """
    m, count = p.f.size, 0
    for k in range(p.bound.size):
        row = p.row[k]
        pushes = p.pushes[k]
        parts = pushes == 1 and not p.shift[row] > p.least[k] - closed
        for r in range(row, row + pushes + p.tangents[k]):
            if not parts or (r > row and p.least[k] != 0.0):
                p.place[r], p.unknown[count] = count, r
                count += 1
                continue
            p.place[r] = -1
            change = (p.least[k] if r == row else 0.0) - p.f[r]
            if change != 0.0:
                p.f[r] += change
                for other in range(m):
                    p.a[other] += p.W[other, r] * change
    return count


@native_inline
def _load_block(p: Any, k: int, count: int) -> None:
    """Write the linearized laws of block k: a row of K and an entry of x for each unknown reaction."""
    row, tangents, normal = p.row[k], p.tangents[k], 1.0
    pushes = p.pushes[k] == 1
    if pushes:
        normal = max(p.f[row], 0.0)
        if p.place[row] >= 0:
            closed_slopes(p.f[row], p.a[row], p.shift[row], p.rho[row], p.least[k], p.slopes)
            _load_row(p, 0, row, 1, count)
        row += 1
    if tangents == 0 or p.place[row] < 0:
        return
    coulomb_slopes(normal, p.f, p.a, p.shift, p.rho, row, tangents, p.bound[k], p.slopes)
    for t in range(tangents):
        _load_row(p, t, row, tangents, count)
        if pushes and p.place[row - 1] >= 0:
            p.K[p.place[row + t], p.place[row - 1]] += p.slopes[t, BY_NORMAL]


@native_inline
def _load_row(p: Any, t: int, first: int, rows: int, count: int) -> None:
    """Write the linearized law of row ``first + t`` from row t of the slopes, which depend on ``rows`` rows."""
    i, K, W, slopes = p.place[first + t], p.K, p.W, p.slopes
    p.x[i] = -slopes[t, RESIDUAL]
    x, y = slopes[t, BY_ACCELERATION], slopes[t, BY_ACCELERATION + 1]
    for j in range(count):
        column = p.unknown[j]
        K[i, j] = x * W[first, column] + y * W[first + 1, column] if rows == 2 else x * W[first, column]
    for other in range(rows):
        K[i, p.place[first + other]] += slopes[t, BY_FORCE + other]


@native_kernel
def _sweep(p: Any) -> None:
    """Solve the laws of one block after the other with the reactions of the other blocks: f = P(f - rho a)."""
    for k in range(p.bound.size):
        row, tangents, normal = p.row[k], p.tangents[k], 1.0
        if p.pushes[k] == 1:
            _shift(p, row)
            p.f[row] -= signorini(p.f[row], p.a[row], p.shift[row], p.rho[row], p.least[k])
            normal = max(p.f[row], 0.0)
            row += 1
        for r in range(row, row + tangents):
            _shift(p, r)
        x, y = coulomb_residuals(normal, p.f, p.a, p.shift, p.rho, row, tangents, p.bound[k])
        if tangents > 0:
            p.f[row] -= x
        if tangents > 1:
            p.f[row + 1] -= y


@native_inline
def _shift(p: Any, row: int) -> None:
    """Compute the acceleration of a row, and its shifted reaction f - rho a."""
    total = p.b[row]
    for other in range(p.f.size):
        total += p.W[row, other] * p.f[other]
    p.a[row] = total
    p.shift[row] = p.f[row] - p.rho[row] * total
