"""Newton's method for the configuration constraints phi(q) = 0: all projections share this iteration.

A projection supplies a function that takes one step q -= J^+ phi, with the generalized inverse J^+ of its choice. The
iteration ends when the residual max |phi| is small, or when a step does not reduce it.

Source: Hairer & Wanner 1996, VII.2; natural monotonicity test without damping: Deuflhard 2004, 3.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kane.engine.call import native_inline

# Residual [m or rad] up to which a state satisfies its constraints: rounding errors in mechanisms of metres.
SMALL = 1e-14
# Largest residual [m or rad] that counts as rounding errors if a step does not reduce it: mechanisms of kilometres.
ROUNDED_RESIDUAL = 1e3 * SMALL
# Residual that a step returns if no correction exists, because its rows are dependent.
NO_STEP = -1.0


@native_inline
def iterate(
    problem: Any,
    residual: float,
    steps: int,
    take_step: Callable[[Any, float, int], float],
    take_back: Callable[[Any], None],
) -> tuple[int, float, bool]:
    """Take Newton steps until the residual is at most SMALL or a step does not reduce it.

    Args:
        problem: record that the two functions read.
        residual: largest residual at the start [m or rad].
        steps: largest number of steps.
        take_step: moves the state by one step. It gets the problem, the residual and the number of steps before. It
            returns the residual after the step, or NO_STEP.
        take_back: restores the state before the last step.

    Returns:
        Number of steps that reduced the residual, the residual, and whether it is small or rounding errors. The
        residual is infinite if a step returned NO_STEP; the state then has no meaning.
    """
    taken, reduces = 0, True
    while reduces and residual > SMALL and taken < steps:
        after = take_step(problem, residual, taken)
        if after == NO_STEP:
            return taken, math.inf, False
        reduces = after < residual
        if reduces:
            residual = after
            taken += 1
        else:
            take_back(problem)
    return taken, residual, satisfies(residual, reduces)


@native_inline
def satisfies(residual: float, reduces: bool) -> bool:
    """Check whether a residual is small, or rounding errors that the last step did not reduce."""
    return residual <= SMALL or (residual <= ROUNDED_RESIDUAL and not reduces)
