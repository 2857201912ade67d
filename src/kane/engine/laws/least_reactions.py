"""The shortest reactions among those that keep all laws, where rows repeat others.

The fourth corner of a flat face keeps still with the other three. Its normal force is not determined, and neither are
friction and slip, so that Newton's method ends at one of many solutions, and rounding says at which. From there the
solutions are followed to the one of least norm: by a step to the shortest solution of the linearized equations, no
longer than bounds allow, then by Newton's method with the shortest changes, until no step is left.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_inline, native_kernel
from kane.engine.laws.newton import (
    ADOPTABLE,
    CHANGES,
    approach,
    choose_unknown,
    find_residual,
    scale_rows,
    solve_equations,
)

# Steps at most. For a box that falls flat each is 50 times shorter than the one before.
STEPS = 20
# Steps and reactions below this share of the largest reaction are rounding; norms that differ by less are equal. A way
# that moves nothing by more than the last share of itself shares reactions out anew, and no more.
ROUNDING, EQUAL, UNMOVED = 1e-12, 1e-14, 1e-9
# Ways to a shorter solution: there is none, reactions alone change on it, or accelerations as well.
NO_WAY, SHARES, MOVES = range(3)


@native_kernel
def shorten(p: Any) -> None:
    """Lead the solution of a ReactionProblem to the shortest one in reach; a and ``shift`` are those of its end."""
    scale_rows(p, 1.0)
    share, way, steps = 1.0, MOVES, 0
    while way != NO_WAY and steps < STEPS:
        find_residual(p)
        before, way = _square(p.f), _take_step(p, share)
        if way != NO_WAY:
            found = approach(p, False, CHANGES, 0)
            if not (found <= ADOPTABLE and _square(p.f) <= (1.0 + EQUAL) * before):
                share *= 0.5
                for row in range(p.f.size):
                    p.f[row] = p.inner[row]
        steps += 1
    find_residual(p)


@native_inline
def _square(f: Any) -> float:
    total = 0.0
    for x in f:
        total += x * x
    return total


@native_kernel
def _take_step(p: Any, share: float) -> int:
    """Go a share of the way to the shortest solution of the linearized equations, as far as nothing pulls.

    The start is kept in ``inner``. Contacts that keep still and take their least count as closed, unless the way would
    make them pull.

    Returns:
        NO_WAY, SHARES or MOVES.
    """
    rounding = 0.0
    for row in range(p.f.size):
        p.inner[row] = p.f[row]
        rounding = max(rounding, ROUNDING * abs(p.f[row]), ROUNDING * abs(p.rho[row] * p.b[row]))
    count, opens = 0, True
    while opens:
        count = choose_unknown(p, rounding)
        solve_equations(p, count, True)
        opens = _opens(p, rounding)
    reach = share
    for k in range(p.bound.size):
        row = p.row[k]
        if p.pushes[k] == 1 and p.place[row] >= 0 and p.step[p.place[row]] < p.least[k]:
            reach = min(reach, (p.f[row] - p.least[k]) / (p.f[row] - p.step[p.place[row]]))
    longest, moved = 0.0, 0.0
    for row in range(p.f.size):
        change = 0.0
        for i in range(count):
            other = p.unknown[i]
            change += p.W[row, other] * (p.step[i] - p.f[other])
        moved = max(moved, abs(p.rho[row] * change))
    for i in range(count):
        row = p.unknown[i]
        longest = max(longest, abs(p.step[i] - p.f[row]))
        p.f[row] += reach * (p.step[i] - p.f[row])
    if not (longest > rounding and reach > 0.0):
        return NO_WAY
    return MOVES if moved > UNMOVED * longest else SHARES


@native_inline
def _opens(p: Any, rounding: float) -> bool:
    """Mark contacts as parting that take their least and that the step would make pull; whether there are any."""
    found = False
    for k in range(p.bound.size):
        row, least = p.row[k], p.least[k]
        if p.pushes[k] == 1 and p.place[row] >= 0 and p.f[row] <= least + rounding:
            if p.step[p.place[row]] < least - rounding:
                p.shift[row], found = least - 2.0 * rounding, True
    return found
