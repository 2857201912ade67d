"""The block of candidates in the stage of native functions, behind the header of ``kane.native.header`` and its lists.

64-bit integers: first the block's own, then a row of a table for each candidate, then a row each of what changes in a
run, of which the last two entries are doubles: the direction of slip.
"""

from __future__ import annotations

from typing import Any

from kane.native.header import HEADER, QUATERNIONS, RESIDUALS, SPEEDS

# The block's own: addresses and places of the stages of the programs "gaps", of the factor of M, of qdot and udot
# without any rows, of the permanent rows, and of the solutions for as many rows as CAPACITIES says, without and with
# contacts that slide; how many candidates there are, how many rows are permanent. The table is behind it.
GAPS, FACTOR, FREE, ALWAYS, SOLUTIONS = range(0, 10, 2)
CAPACITIES = (3, 6, 9)
MOST = max(CAPACITIES)
CANDIDATES, PERMANENT = range(SOLUTIONS + 4 * len(CAPACITIES), SOLUTIONS + 4 * len(CAPACITIES) + 2)
BLOCK = PERMANENT + 1
# The table. The row along the gap, or NONE; the first of the tangents and how many there are; what bounds them; the
# law of restitution; whether the rows hold both ways; whether `on` and `off` are given; address and place
# of the stage of the program of its rows.
NORMAL, TANGENT, TANGENTS, FRICTION, LAW, BILATERAL, TIMED, ENDED, ANSWER = range(9)
TABLE = 10
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


def table_at(head: Any) -> Any:
    """Where the table starts."""
    return block_at(head) + BLOCK


def changing_at(head: Any, candidates: Any) -> Any:
    """Where starts what changes in a run."""
    return table_at(head) + TABLE * candidates


# Kinds of change, of the candidate that caused it. HALTED: impacts that made each other anew were brought to an end.
NOTHING, IMPOSED, DELETED, SLIPPED, STUCK, REVERSED, BOUNCED, HALTED = range(8)
# How a change ended, or impacts that would not; the others are errors.
ADOPTED, PRESSED = 0, 1
NO_MODE, ENERGY_GAINED, ENDLESS, CONTRADICTED, NOT_FINITE, OPPOSED = range(-2, -8, -1)
