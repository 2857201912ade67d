"""Reactions of all contacts together by Newton's method: the laws of Signorini and Coulomb on the circular cone.

In: a ReactionProblem with the Delassus matrix W and b of the rows a = W f + b; a are accelerations, or velocities. Out:
reactions f with

    f_n >= least, a_n >= 0, (f_n - least) a_n = 0,    |f_t| <= bound,    f_t = -bound a_t / |a_t| if a_t is not 0.

The bound is mu f_n for a contact, or given. With rho > 0 the laws read f = P(f - rho a), where P projects onto the
admissible reactions; ``generated_laws`` has their residuals and derivatives. Newton's method takes the derivative of
the current piece. If it does not converge, sweeps of projected relaxation give the next start, with another rho. The
interior-point method then gives further starts; it also converges with redundant rows, whose equations have many
solutions. Newton's method alternates between the f of least norm and the change of f of least norm.

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

# Residual relative to the largest force at which the iteration ends; residual of a solution if steps reduce it no more.
SOLVED_RESIDUAL, ADOPTABLE = 1e-13, 1e-12
# Rounds of Newton's method and relaxation; steps of a round; sweeps of the first round, doubled in each later round;
# halvings of a step that increases the residual, from the second round on.
ROUNDS, ROUND_STEPS, SWEEPS, HALVINGS = 8, 10, 20, 6
# Share of rho in sweeps. Friction that turns with normal forces makes full sweeps alternate between two reactions.
RELAXED = 0.5
# Starts of the interior-point method in a round; then Newton steps to the f of least norm, and steps with changes of
# least norm. They are tried if the interior-point method leaves a residual below PROMISING.
STARTS, SHORTEST, CHANGES, PROMISING = 4, 3, 5, 1e-4
# Residual at which the interior-point method ends; the same after Newton's method has failed once from there.
LOOSE_RESIDUAL, TIGHT_RESIDUAL = 1e-7, 1e-10


@native_kernel
def solve_complementarity(p: Any) -> float:
    """Find the reactions, starting from ``p.f``; return the residual of the laws relative to the largest force.

    With a residual above ADOPTABLE, f has the smallest residual of all iterates and is no solution.
    """
    least, share, sweeps = math.inf, 1.0, SWEEPS
    for turn in range(ROUNDS):
        scale_rows(p, share)
        reached = approach(p, turn % 2 == 0, ROUND_STEPS, HALVINGS if turn > 0 else 0)
        if not reached <= ADOPTABLE and turn > 0:
            reached = _approach_from_inside(p, 3.0 ** (turn - 1))
        if reached <= ADOPTABLE:
            return reached
        scale_rows(p, RELAXED)
        _copy(p.best, p.f)
        for _ in range(sweeps):
            _sweep(p)
        scale_rows(p, 1.0)
        share, sweeps = _next(share), 2 * sweeps
        least = find_residual(p)
        if not least < math.inf:
            for row in range(p.f.size):
                p.f[row] = 0.0
            least = find_residual(p)
    return least


@native_kernel
def solve_nearby(p: Any, enough: float) -> float:
    """Find reactions by Newton steps from ``p.f`` up to the residual ``enough``; else as ``solve_complementarity``.

    Changes of least norm keep redundant reactions near the guess. The velocities of a good guess need one or two steps.
    """
    scale_rows(p, 1.0)
    for _ in range(ROUND_STEPS):
        reached = find_residual(p)
        if reached <= enough:
            return reached
        _step(p, False)
    return solve_complementarity(p)


@native_inline
def _next(share: float) -> float:
    """Return the next factor of the sequence 1, 10, 1 / 10, 100, 1 / 100, ..."""
    return 1.0 / share if share > 1.0 else 10.0 / share


@native_kernel
def _approach_from_inside(p: Any, wider: float) -> float:
    """Run Newton's method from interior points: to the f of least norm, else by changes of least norm."""
    near = LOOSE_RESIDUAL
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
            near = TIGHT_RESIDUAL
        wider = _next(wider)
    return math.inf


@native_kernel
def approach(p: Any, whole: bool, steps: int, halvings: int) -> float:
    """Run Newton's method; return the residual, or infinity if it does not converge. ``p.best`` keeps the best f.

    Args:
        p: the problem.
        whole: see ``_step``.
        steps: largest number of steps.
        halvings: largest number of halvings of a step that increases the residual.
    """
    reached = least = find_residual(p)
    _copy(p.f, p.best)
    for _ in range(steps):
        if reached <= SOLVED_RESIDUAL:
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
            # The residual is rounding error, which further steps increase.
            _copy(p.best, p.f)
            return find_residual(p)
    return math.inf


@native_inline
def _refine(p: Any, reached: float) -> float:
    """Take one more step, which corrects velocities of bodies that move far more easily in one direction."""
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
    """Set rho = share / W of each row, and one rho for two tangents from a bound of their largest eigenvalue."""
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
    """Compute a; return the largest |f - P(f - rho a)| of a block relative to its largest force or rho b."""
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
    """Take one step of Newton's method from f, whose a and shifted reactions are known.

    With redundant rows the equations have many solutions: ``whole`` selects the f of least norm, else the change of
    least norm is taken.
    """
    count = choose_unknown(p, 0.0)
    solve_equations(p, count, whole)
    for i in range(count):
        row = p.unknown[i]
        p.f[row] = p.step[i] if whole else p.f[row] + p.step[i]


@native_kernel
def solve_equations(p: Any, count: int, whole: bool) -> None:
    """Solve the linearized laws of ``count`` unknowns for ``step``: f, or its change, of least norm."""
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
    """List the unknown reactions and return their number; open contacts get their least force, and a follows.

    A contact is open if its shifted normal reaction is not above ``least - closed``.
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
