"""The block of candidates in the stage of native functions, behind the header of ``kane.native.header`` and its lists.

64-bit integers: first the block's own, then a row of a table for each candidate, then a row each of what changes in a
run, of which the last two entries are doubles: the direction of slip.
"""

from __future__ import annotations

from typing import Any

from kane.native.header import HEADER, QUATERNIONS, RESIDUALS, SPEEDS

# The block's own: address and place of the stage of the program "gaps", how many candidates there are, how many rows
# are permanent.
GAPS, GAPS_STAGE, CANDIDATES, PERMANENT = range(4)
BLOCK = 4
# The table. The row along the gap, or NONE; the first of the tangents and how many there are; what bounds them; the
# law of restitution; whether the rows hold both ways; whether `on` and `off` are given.
NORMAL, TANGENT, TANGENTS, FRICTION, LAW, BILATERAL, TIMED, ENDED = range(8)
TABLE = 8
NONE = -1
# Bounds: none, a share of the normal force, a force of its own.
UNBOUNDED, COULOMB, THRESHOLDS = range(3)
POISSON, NEWTON = range(2)
# What changes: the status; whether the sign of `on` (open) or `off` (imposed) counts; the direction of slip.
STATUS, ARMED, ALONG = range(3)
CHANGING = 4
# Statuses: no row in force; all rows; the normal row and kinetic friction against the slip.
OPEN, HELD, SLIDING = range(3)
# What the program "gaps" gives of each candidate.
GAP, ON, OFF, STATIC, KINETIC, RESTITUTION = range(6)
NUMBERS = 6


def block_at(head: Any) -> Any:
    """Where the block starts."""
    return HEADER + head[SPEEDS] + head[RESIDUALS] + head[QUATERNIONS]


def changing_at(head: Any, candidates: Any) -> Any:
    """Where starts what changes in a run."""
    return block_at(head) + BLOCK + TABLE * candidates


# Kinds of change, of the candidate that caused it.
NOTHING, IMPOSED, DELETED, SLIPPED, STUCK, REVERSED, BOUNCED = range(7)
# How a change ended; the others are errors.
ADOPTED = 0
NO_MODE, ENERGY_GAINED, ENDLESS, CONTRADICTED, NOT_FINITE, OPPOSED = range(-2, -8, -1)
