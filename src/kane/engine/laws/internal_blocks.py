"""Redundant forces of sticking contacts moved into their bounds, block by block.

In: forces of all rows, and internal forces n, A^T n = 0. Out: forces plus multiples of the internal forces. Two
internal forces with a common contact are in the same block. Internal forces are local: a ball on a floor and a wall has
one, whatever else pushes the ball. In each block, contacts that pull are released if that is possible. Else the block
gets its greatest least margin, see ``internal_forces``.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import matrix_at, native_inline, native_kernel
from kane.engine.laws.internal_forces import (
    X,
    find_null_space,
    keeps_bounds,
    largest_force,
    least_margin,
    list_sticking,
    widen_margin,
)
from kane.engine.linear.factorizations import factor_cholesky, solve_cholesky
from kane.engine.memory.contact_codes import NONE
from kane.engine.memory.loop_arguments import Matrix

# Entries of internal forces below this ratio of the largest entry are rounding error.
VANISHING = 1e-10
# Negative margin, relative to the largest force, that is rounding error.
MARGIN_ROUNDING = 1e-13


@native_kernel
def share_within_bounds(c: Any) -> None:
    """Move the forces of sticking contacts into their bounds, or as near as possible, if they violate them."""
    if keeps_bounds(c):
        return
    found, n = find_null_space(c), c.h.size
    if found > n:
        widen_margin(c, list_sticking(c), found, largest_force(c))
        return
    Z = matrix_at(c.redundant, 0, n, c.forces.size)
    for j in range(found):
        for row in range(c.forces.size):
            Z[j, row] = c.B[row, j]
    share_in_blocks(c, Z, found)


@native_kernel
def share_in_blocks(c: Any, Z: Matrix, found: int) -> bool:
    """Move the forces along the internal forces into their bounds; return whether they keep them.

    Args:
        c: Contacts with the forces of all rows.
        Z: internal forces by rows; entries that are rounding error are set to zero.
        found: number of internal forces.
    """
    scale = largest_force(c)
    _clear_rounding(Z, found)
    _label_blocks(c, Z, found)
    for first in range(found):
        d = _gather_block(c, Z, first, found)
        count = _list_members(c, d)
        if least_margin(c, count, 0, scale) < 0.0 and not _release_pulling(c, count, d, scale):
            widen_margin(c, count, d, scale)
    return bool(least_margin(c, list_sticking(c), 0, scale) >= -MARGIN_ROUNDING)


@native_inline
def _clear_rounding(Z: Matrix, found: int) -> None:
    for j in range(found):
        largest = 0.0
        for row in range(Z.shape[1]):
            largest = max(largest, abs(Z[j, row]))
        for row in range(Z.shape[1]):
            if abs(Z[j, row]) <= VANISHING * largest:
                Z[j, row] = 0.0


@native_inline
def _rows_of_contact(c: Any, k: int) -> Any:
    """Return the first row of a sticking constraint, and the number of its rows."""
    normal, tangents = c.table.normal[k], c.table.tangents[k]
    return (c.table.tangent[k], tangents) if normal == NONE else (normal, 1 + tangents)


@native_kernel
def _release_pulling(c: Any, count: int, d: int, scale: float) -> bool:
    """Add internal forces that leave the least forces at contacts that pull; return whether all bounds are kept then.

    Otherwise the forces are unchanged. A ball that leans on a wall without a load has only this solution, with forces
    of exactly zero at the wall.
    """
    for j in range(d):
        c.path[X, j] = 0.0
    for i in range(count):
        c.l[i] = 0.0
    while _mark_pulling(c, count, d, scale):
        _solve_released(c, count, d, scale)
    if not least_margin(c, count, d, scale) >= -MARGIN_ROUNDING:
        return False
    for row in range(c.forces.size):
        c.forces[row] = scale * _scaled_force(c, row, d, scale)
    for i in range(count):
        first, rows = _rows_of_contact(c, c.pivots[i])
        for row in range(first, first + rows if c.l[i] == 1.0 else first):
            if abs(c.forces[row]) <= MARGIN_ROUNDING * scale:
                c.forces[row] = 0.0
    return True


@native_inline
def _scaled_force(c: Any, row: int, d: int, scale: float) -> float:
    total = c.forces[row] / scale
    for j in range(d):
        total += c.B[row, j] * c.path[X, j]
    return float(total)


@native_inline
def _mark_pulling(c: Any, count: int, d: int, scale: float) -> bool:
    """Mark contacts in ``l`` that pull; return whether there are new ones."""
    found = False
    for i in range(count):
        k = c.pivots[i]
        if c.l[i] == 0.0 and c.table.normal[k] != NONE and _scaled_force(c, c.table.normal[k], d, scale) < 0.0:
            c.l[i], found = 1.0, True
    return found


@native_inline
def _solve_released(c: Any, count: int, d: int, scale: float) -> None:
    """Compute the internal forces with the least squares of the forces at the marked contacts."""
    for i in range(d):
        c.path[X, i] = 0.0
        for j in range(d):
            c.H[i, j] = 0.0
    for k in range(count):
        first, rows = _rows_of_contact(c, c.pivots[k])
        for row in range(first, first + rows if c.l[k] == 1.0 else first):
            for i in range(d):
                c.path[X, i] -= c.B[row, i] * c.forces[row] / scale
                for j in range(i + 1):
                    c.H[i, j] += c.B[row, i] * c.B[row, j]
    factor_cholesky(c.H, d, VANISHING)
    solve_cholesky(c.H, d, c.path[X])


@native_inline
def _acts_on(c: Any, Z: Matrix, j: int, k: int) -> bool:
    """Check whether internal force j acts on a row of constraint k."""
    acts, (first, rows) = False, _rows_of_contact(c, k)
    for row in range(first, first + rows):
        acts = acts or Z[j, row] != 0.0
    return bool(acts)


@native_kernel
def _label_blocks(c: Any, Z: Matrix, found: int) -> None:
    """Store in ``remainder`` the number of the first internal force of the block of each internal force."""
    for j in range(found):
        c.remainder[j] = float(j)
    for i in range(list_sticking(c)):
        k, before = c.pivots[i], NONE
        for j in range(found):
            if not _acts_on(c, Z, j, k):
                continue
            if before != NONE:
                low, high = min(c.remainder[before], c.remainder[j]), max(c.remainder[before], c.remainder[j])
                for other in range(found):
                    if c.remainder[other] == high:
                        c.remainder[other] = low
            before = j


@native_inline
def _gather_block(c: Any, Z: Matrix, first: int, found: int) -> int:
    """Copy the internal forces of a block to the columns of B; return their number, 0 without a block."""
    d = 0
    for j in range(found):
        if c.remainder[j] == float(first):
            for row in range(c.forces.size):
                c.B[row, d] = Z[j, row]
            d += 1
    return d


@native_inline
def _list_members(c: Any, d: int) -> int:
    """List the unilateral sticking contacts on which the first d columns of B act; return their number."""
    count = 0
    for i in range(list_sticking(c)):
        acts, (first, rows) = False, _rows_of_contact(c, c.pivots[i])
        for row in range(first, first + rows):
            for j in range(d):
                acts = acts or c.B[row, j] != 0.0
        if acts:
            c.pivots[count] = c.pivots[i]
            count += 1
    return count
