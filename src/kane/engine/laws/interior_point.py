"""Approximate reactions of all contacts by an interior-point method, as starts of Newton's method (``newton``).

Friction cones are K = {f: |f_t| <= mu f_n}. With y = a + mu |a_t| n the laws of Signorini and Coulomb are f in K, y in
the dual cone, f . y = 0 (De Saxce & Feng). The scaled variables f = (mu f_n, f_t) and y = (a_n / mu + |a_t|, a_t) are
in circular cones. Newton's method follows the central path f o y = s e to s = 0, with the Jordan product
f o y = (f . y; f_n y_t + y_n f_t). A predictor step chooses the next s (Mehrotra). Redundant rows are allowed: the path
ends in the middle of the set of solutions. The method loses digits near its end.

Source: De Saxce & Feng, The bipotential method, Math. Comput. Modelling 28, 1998; Alizadeh & Goldfarb, Second-order
cone programming, Math. Program. 95, 2003; Acary, Armand, Nguyen & Shpakovych, Second-order cone programming for
frictional contact mechanics using interior point algorithm, Optim. Methods Softw. 39, 2024.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.linear.elimination import factor_rows, solve_factored_rows

# Largest number of steps; smallest ratio of s from one step to the next.
PATH_STEPS, LEAST = 30, 1e-6
# Start values of f and y relative to the size of b; ratio of a step to the way to the boundary; smoothing of |a_t|
# relative to y.
START_FORCE, START_SLACK = 30.0, 100.0
SHORTER, SMOOTH = 0.95, 0.1
# Stop when the residual exceeds LOST times its best value, or after SHORTS steps of a ratio below SHORT: 99 of 100
# converging runs have fewer such steps.
LOST, SHORT, SHORTS = 1e5, 0.2, 3


@native_kernel
def approach_inside(p: Any, wider: float, near: float) -> float:
    """Find reactions near a solution and return the residual of the laws; infinity if a law is not one of cones.

    All laws are laws of cones if each block has a normal row whose least force is zero.

    Args:
        p: ReactionProblem; during the iteration ``rho`` has the scales of the rows, ``shift`` y, ``a`` the residual
            of y, ``before`` the change of y.
        wider: factor of the start value of f.
        near: residual at which the iteration ends.
    """
    for k in range(p.bound.size):
        if p.pushes[k] == 0 or p.least[k] != 0.0:
            return math.inf
    size, least, done, short = _enter(p, wider), math.inf, 0, 0
    while done < PATH_STEPS and short < SHORTS:
        mean, left = _look(p, size)
        if left < least:
            least = left
            for row in range(p.f.size):
                p.best[row] = p.f[row]
        if not (left > near and left < LOST * least):
            break
        _load(p)
        if factor_rows(p.S, p.f.size, p.pivots, 0.0) < p.f.size:
            break
        _solve(p, 1.0)
        reach = min(1.0, _reach(p))
        ahead = 0.0
        for row in range(p.f.size):
            ahead += (p.f[row] + reach * p.step[row]) * (p.shift[row] + reach * p.before[row])
        kept = min(1.0, max(ahead / (mean * p.bound.size), LEAST))
        _correct(p, kept, mean, reach)
        _solve(p, 1.0 - kept)
        reach = min(1.0, SHORTER * _reach(p))
        for row in range(p.f.size):
            p.f[row] += reach * p.step[row]
            p.shift[row] += reach * p.before[row]
        done, short = done + 1, short + 1 if reach < SHORT else short
    for row in range(p.f.size):
        p.f[row] = p.best[row] = p.best[row] * p.rho[row]
    return least


@native_inline
def _cone(p: Any, k: int) -> Any:
    """Return the first row of a block, and the number of rows of its cone: 1 without friction."""
    tangents = p.tangents[k] if p.bound[k] > 0.0 else 0
    return p.row[k], 1 + tangents


@native_kernel
def _enter(p: Any, wider: float) -> float:
    """Set scales and start values of f and y; return the largest scaled |b|."""
    size, response = 0.0, 0.0
    for k in range(p.bound.size):
        row, rows = _cone(p, k)
        for r in range(row, row + 1 + p.tangents[k]):
            p.rho[r], p.f[r], p.shift[r], p.best[r] = 1.0, 0.0, 0.0, 0.0
        p.rho[row] = 1.0 / p.bound[k] if rows > 1 else 1.0
        for r in range(row, row + rows):
            size = max(size, abs(p.b[r] * p.rho[r]))
            response += abs(p.W[r, r]) * p.rho[r] * p.rho[r] / p.f.size
    for k in range(p.bound.size):
        row, rows = _cone(p, k)
        p.f[row], p.shift[row] = wider * START_FORCE * size / response, START_SLACK * size
    return size


@native_kernel
def _look(p: Any, size: float) -> Any:
    """Compute K = dy/df and the residual a of y; return the mean of f . y per cone, and the relative residual."""
    m, total, largest, lack = p.f.size, 0.0, 0.0, 0.0
    for k in range(p.bound.size):
        row, rows = _cone(p, k)
        for r in range(row, row + rows):
            made = p.b[r] * p.rho[r]
            for j in range(m):
                p.K[r, j] = p.W[r, j] * (p.rho[r] * p.rho[j])
                made += p.K[r, j] * p.f[j]
            p.a[r] = made
            total += p.f[r] * p.shift[r]
        largest = max(largest, p.f[row])
    mean = total / p.bound.size
    for k in range(p.bound.size):
        row, rows = _cone(p, k)
        if rows > 1:
            slow = SMOOTH * min(SMOOTH * size, mean / p.f[row])
            square = slow * slow
            for r in range(row + 1, row + rows):
                square += p.a[r] * p.a[r]
            speed = math.sqrt(square)
            p.a[row] += speed
            for r in range(row + 1, row + rows):
                along = p.a[r] / speed
                for j in range(m):
                    p.K[row, j] += along * p.K[r, j]
        for r in range(row, row + rows):
            p.a[r] = p.shift[r] - p.a[r]
            lack = max(lack, abs(p.a[r]))
    return mean, max(mean / (largest * size), lack / size)


@native_kernel
def _load(p: Any) -> None:
    """Write the linear equations S step = x of f o (y + change of y) + step o y = 0."""
    S, K, m, x = p.S, p.K, p.f.size, p.x
    for k in range(p.bound.size):
        row, rows = _cone(p, k)
        for r in range(row, row + 1 + p.tangents[k]):
            x[r] = 0.0
            for j in range(m):
                S[r, j] = p.f[row] * K[r, j] if r < row + rows else 0.0
            S[r, r] += p.shift[row] if r < row + rows else 1.0
        x[row] = p.f[row] * (p.a[row] - p.shift[row])
        for r in range(row + 1, row + rows):
            for j in range(m):
                S[row, j] += p.f[r] * K[r, j]
                S[r, j] += p.f[r] * K[row, j]
            S[row, r] += p.shift[r]
            S[r, row] += p.shift[r]
            x[row] += p.f[r] * (p.a[r] - p.shift[r])
            x[r] = p.f[row] * (p.a[r] - p.shift[r]) + p.f[r] * (p.a[row] - p.shift[row])


@native_kernel
def _correct(p: Any, kept: float, mean: float, reach: float) -> None:
    """Correct x: keep a ratio of f . y and of the residual, and add the second-order term of the predictor."""
    for k in range(p.bound.size):
        row, rows = _cone(p, k)
        p.x[row] += kept * (mean - p.f[row] * p.a[row]) - reach * p.step[row] * p.before[row]
        for r in range(row + 1, row + rows):
            p.x[row] -= kept * p.f[r] * p.a[r] + reach * p.step[r] * p.before[r]
            p.x[r] -= kept * (p.f[row] * p.a[r] + p.f[r] * p.a[row])
            p.x[r] -= reach * (p.step[row] * p.before[r] + p.step[r] * p.before[row])


@native_kernel
def _solve(p: Any, share: float) -> None:
    """Solve for the step of f by the factors of S, and for the change of y, which removes a ratio of the residual."""
    m, step = p.f.size, p.step
    for k in range(m):
        step[k] = p.x[k]
    solve_factored_rows(p.S, m, p.pivots, step)
    for k in range(p.bound.size):
        row, rows = _cone(p, k)
        for r in range(row, row + 1 + p.tangents[k]):
            p.before[r] = 0.0
            if r < row + rows:
                p.before[r] = -share * p.a[r]
                for j in range(m):
                    p.before[r] += p.K[r, j] * step[j]


@native_kernel
def _reach(p: Any) -> float:
    """Return the multiple of the step that puts f or y on the boundary of its cone."""
    reach = math.inf
    for k in range(p.bound.size):
        row, rows = _cone(p, k)
        reach = min(reach, _distance(p.f, p.step, row, rows), _distance(p.shift, p.before, row, rows))
    return reach


@native_inline
def _distance(x: Any, d: Any, row: int, rows: int) -> float:
    """Return the first t > 0 with x + t d on the boundary of its cone; infinity if there is none."""
    t = -x[row] / d[row] if d[row] < 0.0 else math.inf
    a, b, c = d[row] * d[row], x[row] * d[row], x[row] * x[row]
    for r in range(row + 1, row + rows):
        a -= d[r] * d[r]
        b -= x[r] * d[r]
        c -= x[r] * x[r]
    root = b * b - a * c
    if root >= 0.0:
        # Roots of a t^2 + 2 b t + c = 0 without cancellation.
        q = -(b + math.copysign(math.sqrt(root), b))
        first, second = c / q, q / a
        t = min(t, first) if first > 0.0 else t
        t = min(t, second) if second > 0.0 else t
    return t
