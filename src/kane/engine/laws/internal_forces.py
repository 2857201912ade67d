"""Forces of sticking contacts with redundant rows, moved into their bounds by internal forces.

In: forces lambda of the active rows. Out: lambda + B x, where the columns of B span the internal forces, A^T B = 0. The
unknowns x maximize the least margin t,

    mu N - |f| >= t,   N >= t   for all sticking contacts,

up to the ratio ENOUGH of the largest force. The margin is negative only if no forces within the bounds exist. This is a
second-order cone program with as many unknowns as redundant rows; Newton's method follows its central path.

Source: Boyd & Vandenberghe, Convex Optimization, 2004, sections 9.6 and 11.6.
"""

from __future__ import annotations

import math
from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.linear.factorizations import factor, factor_cholesky, solve_cholesky, solve_columns
from kane.engine.memory.constraint_codes import UNCHOSEN
from kane.engine.memory.contact_codes import COULOMB, NONE, SLIDING, STICKING, UNBOUNDED
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.views import FactorScratch, factor_scratch_at

# Largest margin, relative to the largest force. Among forces with this margin the norm of x is minimized: WEIGHT is
# the weight of the norm relative to the weight of the margin.
ENOUGH, WEIGHT = 0.1, 1e-7
# Weights of the margin on the central path: the first, the factor to the next, and the last but one. With a smaller
# first weight the path would leave the bounds far behind and return. The end of the path is extrapolated from two
# points, with an error of the order of 1 / LAST^2.
SLIGHT, WEIGHT_RATIO, LAST = 100.0, 10.0, 1e8
# Largest number of Newton steps for a point of the path; Newton decrement of a point that is found; decrement below
# which Newton's method converges without damping.
CENTER_STEPS, FOUND, FULL_STEP_DECREMENT = 50, 1e-9, 0.25
# Rows of Contacts.path: unknowns (x, then t), the step, slopes of a bound and of two tangents, the point before.
X, STEP, BOUND, FIRST, SECOND, BEFORE = range(6)


@native_kernel
def widen_margin(c: Any, count: int, d: int, scale: float) -> None:
    """Move the forces of the listed contacts along the first d columns of B to the greatest least margin.

    Args:
        c: Contacts; the first ``count`` entries of ``pivots`` list the contacts.
        count: number of contacts.
        d: number of columns.
        scale: largest force.
    """
    for j in range(d):
        c.path[X, j] = 0.0
    c.path[X, d] = least_margin(c, count, 0, scale) - 1.0
    weight = SLIGHT
    while weight < LAST:
        _find_center(c, count, d, scale, weight, FULL_STEP_DECREMENT)
        weight *= WEIGHT_RATIO
    _find_center(c, count, d, scale, LAST, FOUND)
    for j in range(d + 1):
        c.path[BEFORE, j] = c.path[X, j]
    _find_center(c, count, d, scale, 2.0 * LAST, FOUND)
    _extrapolate(c, count, d, scale)
    for j in range(d):
        for row in range(c.forces.size):
            c.forces[row] += scale * c.B[row, j] * c.path[X, j]


@native_kernel
def _extrapolate(c: Any, count: int, d: int, scale: float) -> None:
    """Extrapolate the end of the path from its last two points; keep the last point if its margin is larger.

    If forces can grow at nearly the same margin, as for balls between two walls, the last two points are far apart.
    """
    reached = least_margin(c, count, d, scale)
    for j in range(d):
        ahead = 2.0 * c.path[X, j] - c.path[BEFORE, j]
        c.path[BEFORE, j], c.path[X, j] = c.path[X, j], ahead
    if not least_margin(c, count, d, scale) >= reached:
        for j in range(d):
            c.path[X, j] = c.path[BEFORE, j]


@native_kernel
def keeps_bounds(c: Any) -> bool:
    """Check whether all sticking contacts push and stay inside their bounds; true if a force is not finite."""
    scale = largest_force(c)
    return bool(scale == 0.0 or not scale < math.inf or least_margin(c, list_sticking(c), 0, scale) >= 0.0)


@native_kernel
def list_sticking(c: Any) -> int:
    """List the unilateral constraints that stick in ``pivots``; return their number."""
    count = 0
    for k in range(c.block.constraints):
        if c.state.status[k] == STICKING and c.table.bilateral[k] == 0:
            c.pivots[count] = k
            count += 1
    return count


@native_inline
def largest_force(c: Any) -> float:
    """Return the largest magnitude of the forces."""
    scale = 0.0
    for row in range(c.forces.size):
        scale = max(scale, abs(c.forces[row]))
    return scale


@native_kernel
def find_null_space(c: Any) -> int:
    """Find B, whose columns are forces of active rows with A^T f = 0; return their number.

    A^T, with columns scaled to length 1, is factored by QR with column pivoting: A^T P = Q [R S], B = P [-R^-1 S; 1].
    The normal forces of sliding contacts stay as they are, because friction depends on them.
    """
    lengths, n, d = c.path[BOUND], c.h.size, 0
    held = _list_rows(c, lengths)
    f = factor_scratch_at(c.redundant, 0, n, held)
    _load_scaled_rows(c, f, lengths)
    rank = factor(f, UNCHOSEN)
    solve_columns(f, rank)
    for j in range(rank, held):
        for row in range(c.forces.size):
            c.B[row, d] = 0.0
        free = int(c.l[f.order[j]])
        c.B[free, d] = lengths[free]
        for k in range(rank):
            row = int(c.l[f.order[k]])
            c.B[row, d] = f.A[k, j] * lengths[row]
        d += 1
    return d


@native_kernel
def _list_rows(c: Any, lengths: Vector) -> int:
    """List the active rows in ``l``, except normal rows of sliding contacts; return their number."""
    held = 0
    for row in range(c.forces.size):
        lengths[row] = float(c.row_mask[row])
    for k in range(c.block.constraints):
        if c.state.status[k] == SLIDING and c.table.normal[k] != NONE:
            lengths[c.table.normal[k]] = 0.0
    for row in range(c.forces.size):
        if lengths[row] == 1.0:
            c.l[held] = float(row)
            held += 1
    return held


@native_kernel
def _load_scaled_rows(c: Any, f: FactorScratch, lengths: Vector) -> None:
    """Load the transposed listed rows, with columns scaled to length 1, into ``f``; keep the scales in ``lengths``."""
    n, held = f.A.shape
    for i in range(held):
        row, square = int(c.l[i]), 0.0
        for j in range(n):
            square += c.all_rows.A[row, j] * c.all_rows.A[row, j]
        scale = 1.0 / math.sqrt(square) if square > 0.0 else 0.0
        lengths[row], f.order[i] = scale, i
        for j in range(n):
            f.A[j, i] = c.all_rows.A[row, j] * scale


@native_kernel
def _force(c: Any, row: int, d: int, scale: float, factor: float, slopes: int) -> float:
    """Return ``factor`` times the scaled force of a row, and write its derivatives by x to a row of ``path``."""
    total = factor * c.forces[row] / scale
    for j in range(d):
        c.path[slopes, j] = factor * c.B[row, j]
        total += c.path[slopes, j] * c.path[X, j]
    c.path[slopes, d] = 0.0
    return float(total)


@native_kernel
def _read_bound(c: Any, k: int, part: int, d: int, scale: float) -> Any:
    """Return the number of tangents of a bound of constraint k, or NONE; the bound, and the tangents' forces.

    Part 0 is N >= 0, part 1 the friction bound.
    """
    normal = c.table.normal[k]
    tangents = c.table.tangents[k] if part == 1 else 0
    if part == 0 and normal == NONE:
        return NONE, 0.0, 0.0, 0.0
    if part == 1 and (tangents == 0 or c.table.friction[k] == UNBOUNDED):
        return NONE, 0.0, 0.0, 0.0
    static, x, y = c.gaps.static[k], 0.0, 0.0
    if part == 0 or c.table.friction[k] == COULOMB:
        bound = _force(c, normal, d, scale, static if part == 1 else 1.0, BOUND)
    else:
        bound = static / scale
        for j in range(d):
            c.path[BOUND, j] = 0.0
    if tangents > 0:
        x = _force(c, c.table.tangent[k], d, scale, 1.0, FIRST)
    if tangents > 1:
        y = _force(c, c.table.tangent[k] + 1, d, scale, 1.0, SECOND)
    return tangents, bound, x, y


@native_kernel
def least_margin(c: Any, count: int, d: int, scale: float) -> float:
    """Return the least of mu N - |f| and N of the listed contacts, over the scale."""
    margin = math.inf
    for i in range(count):
        for part in range(2):
            tangents, bound, x, y = _read_bound(c, c.pivots[i], part, d, scale)
            if tangents != NONE:
                margin = min(margin, bound - math.sqrt(x * x + y * y))
    return margin


@native_kernel
def _find_center(c: Any, count: int, d: int, scale: float, weight: float, found: float) -> None:
    """Find the point of the central path with a weight of the margin, by damped Newton steps."""
    before = math.inf
    for _ in range(CENTER_STEPS):
        left = ENOUGH - c.path[X, d]
        for i in range(d):
            for j in range(d + 1):
                c.H[i, j] = c.H[j, i] = 0.0
            c.H[i, i] = weight * WEIGHT
            c.path[STEP, i] = -weight * WEIGHT * c.path[X, i]
        c.H[d, d] = 1.0 / (left * left)
        c.path[STEP, d] = weight - 1.0 / left
        for i in range(count):
            for part in range(2):
                _add_barrier(c, c.pivots[i], part, d, scale)
        for j in range(d + 1):
            c.path[BOUND, j] = c.path[STEP, j]
        if factor_cholesky(c.H, d + 1, 0.0) < d + 1:
            return
        solve_cholesky(c.H, d + 1, c.path[STEP])
        decrement = 0.0
        for j in range(d + 1):
            decrement += c.path[BOUND, j] * c.path[STEP, j]
        decrement = math.sqrt(max(decrement, 0.0))
        if not decrement < math.inf:
            return
        share = 1.0 / (1.0 + decrement) if decrement > FULL_STEP_DECREMENT else 1.0
        for j in range(d + 1):
            c.path[X, j] += share * c.path[STEP, j]
        if decrement < found or (decrement < FULL_STEP_DECREMENT and not decrement < 0.5 * before):
            return  # the rest of the decrement is rounding error
        before = decrement


@native_kernel
def _add_barrier(c: Any, k: int, part: int, d: int, scale: float) -> None:
    """Add the barrier -log((b - t)^2 - f^2) of a bound b: second derivatives to H, negative first ones to the step."""
    tangents, bound, x, y = _read_bound(c, k, part, d, scale)
    if tangents == NONE:
        return
    c.path[BOUND, d] = -1.0
    bound -= c.path[X, d]
    size = math.sqrt(x * x + y * y)
    q = (bound - size) * (bound + size)
    for i in range(d + 1):
        slope_i = bound * c.path[BOUND, i]
        if tangents > 0:
            slope_i -= x * c.path[FIRST, i]
        if tangents > 1:
            slope_i -= y * c.path[SECOND, i]
        c.path[STEP, i] += 2.0 * slope_i / q
        for j in range(i + 1):
            slope_j, product = bound * c.path[BOUND, j], c.path[BOUND, i] * c.path[BOUND, j]
            if tangents > 0:
                slope_j -= x * c.path[FIRST, j]
                product -= c.path[FIRST, i] * c.path[FIRST, j]
            if tangents > 1:
                slope_j -= y * c.path[SECOND, j]
                product -= c.path[SECOND, i] * c.path[SECOND, j]
            c.H[i, j] += 4.0 * slope_i * slope_j / (q * q) - 2.0 * product / q
