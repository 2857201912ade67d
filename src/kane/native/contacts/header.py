"""The block of candidates in the stage of native functions, behind the header of ``kane.native.header`` and its lists.

64-bit integers: first the block's own, then a row of a table for each candidate, then a row each of what changes in a
run, of which the last five entries are doubles: from the direction of slip on. Behind it two doubles for each
residual of the configuration: first of all of them the value that is held, zero but for what is held as it was found,
and NaN where nothing was found yet; then of all of them room for what the program "configuration" gives.
"""

from __future__ import annotations

from typing import Any

from kane.native.header import HEADER, QUATERNIONS, RESIDUALS, SPEEDS

# The block's own: addresses and places of the stages of the programs "gaps", of the factor of M, of qdot and udot
# without any rows, of the permanent rows and of their velocities, of udot from what is divided by D, and of the
# solutions for as many rows as CAPACITIES says, without and with contacts that slide; how many candidates there are,
# how many rows are permanent, how many residuals the configuration has, whether impacts that meet come in turn; how
# many numbers rows share with the factor of M, how many columns the records of permanent rows have, how many numbers
# all records, how many entries L has below its diagonal, and where in the scratch of a call
# ``kane.native.contacts.quick`` has its own. The table is behind it.
GAPS, FACTOR, FREE, ALWAYS, MOVING, SUBSTITUTION, SOLUTIONS = range(0, 14, 2)
CAPACITIES = (3, 6, 9)
MOST = max(CAPACITIES)
CANDIDATES = SOLUTIONS + 4 * len(CAPACITIES)
PERMANENT, CLOSINGS, IN_TURN, SHARED, COLUMNS, ROOM, ENTRIES, SCRATCH = range(CANDIDATES + 1, CANDIDATES + 9)
BLOCK = SCRATCH + 1
# With more speeds the solutions for rows would be longer than what they save is worth, and records hold only the
# columns that a row can have, with a list of these.
MANY_SPEEDS = 24
# The table. The row along the gap, or NONE; the first of the tangents and how many there are; what bounds them; the
# law of restitution; whether the rows hold both ways; whether `on` and `off` are given; address and place
# of the stage of the program of its rows; the first residual that it holds as it was found, and how many there are;
# address and place of the stage of the program of its friction where that slips; how many columns its records have;
# address and place of the stage of the program of the velocities of its rows; the first column that its rows have, and
# the one behind the last.
NORMAL, TANGENT, TANGENTS, FRICTION, LAW, BILATERAL, TIMED, ENDED, ANSWER = range(9)
HOLDS, HOLDING, SLIDE, WIDTH, MOVES, BEGIN, END = 10, 11, 12, 14, 15, 17, 18
TABLE = 19
NONE = -1
# Bounds: none, a share of the normal force, a force of its own.
UNBOUNDED, COULOMB, THRESHOLDS = range(3)
POISSON, NEWTON = range(2)
# What changes: the status; whether the sign of `on` (open) or `off` (imposed) counts, or of what pushes only whether an
# approach does by less than elimination sees of its row; the direction of slip; how fast slip in space is before
# friction has its direction alone, see ``slip_direction``.
STATUS, ARMED, ALONG, BEGUN = 0, 1, 2, 4
CHANGING = 5
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


def held_at(head: Any, candidates: Any) -> Any:
    """Where start the values that residuals of the configuration are held at."""
    return changing_at(head, candidates) + CHANGING * candidates


# Kinds of change, of the candidate that caused it. HALTED: impacts that made each other anew were brought to an end.
# JAMMED: a sliding contact was struck without a collision.
NOTHING, IMPOSED, DELETED, SLIPPED, STUCK, REVERSED, BOUNCED, HALTED, JAMMED = range(9)
# How a change ended; the others are errors.
ADOPTED = 0
NO_MODE, ENERGY_GAINED, ENDLESS, CONTRADICTED, NOT_FINITE, OPPOSED, NO_ROWS = range(-2, -9, -1)
