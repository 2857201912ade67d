"""Reactions of least norm among all that satisfy the laws, for contacts with redundant rows.

The normal force of the fourth corner of a flat face is indeterminate, and so are friction and slip. Newton's method
ends at one of many solutions, selected by rounding errors. From there this method follows the solutions to the one of
least norm. It steps towards the solution of least norm of the linearized laws, as far as normal forces stay admissible.
Newton's method with changes of least norm corrects each step.
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

# Largest number of steps. For a box that falls flat, each step is 50 times shorter than the one before.
NORM_STEPS = 20
# Relative size of a step or reaction that is rounding error; relative difference of equal norms; ratio of accelerations
# to reactions below which a step changes reactions only.
NEGLIGIBLE, EQUAL, UNMOVED = 1e-12, 1e-14, 1e-9
# Result of a step: no step was possible, reactions alone changed, or accelerations changed as well.
NO_WAY, SHARES, MOVES = range(3)


@native_kernel
def shorten(p: Any) -> None:
    """Replace the solution of a ReactionProblem by the nearby one of least norm, with its a and ``shift``."""
    scale_rows(p, 1.0)
    share, way, steps = 1.0, MOVES, 0
    while way != NO_WAY and steps < NORM_STEPS:
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
    """Step by a ratio towards the solution of least norm of the linearized laws, as far as no contact pulls.

    ``inner`` keeps the start. Contacts that are at rest with their least force count as closed, unless the step would
    make them pull.

    Returns:
        NO_WAY, SHARES or MOVES.
    """
    rounding = 0.0
    for row in range(p.f.size):
        p.inner[row] = p.f[row]
        rounding = max(rounding, NEGLIGIBLE * abs(p.f[row]), NEGLIGIBLE * abs(p.rho[row] * p.b[row]))
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
    """Mark contacts as open that have their least force and would pull after the step; return whether there are any."""
    found = False
    for k in range(p.bound.size):
        row, least = p.row[k], p.least[k]
        if p.pushes[k] == 1 and p.place[row] >= 0 and p.f[row] <= least + rounding:
            if p.step[p.place[row]] < least - rounding:
                p.shift[row], found = least - 2.0 * rounding, True
    return found
