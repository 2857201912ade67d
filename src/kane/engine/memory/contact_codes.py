"""Numbers in the memory of intermittent constraints: programs, laws, statuses, and how transitions end."""

from __future__ import annotations

# Programs of ContactBlock: gaps, the factor of M, qdot and udot without rows, records and velocities of the permanent
# rows, udot from z / D, and from SOLUTIONS on the solutions for as many rows as CAPACITIES says, each one without and
# with contacts that slide.
GAPS, FACTOR, FREE, ALWAYS, MOVING, SUBSTITUTION, SOLUTIONS = range(7)
CAPACITIES = (3, 6, 9)
MOST = max(CAPACITIES)
# With more speeds the solutions for rows would be longer than what they save is worth, and records hold only the
# columns that a row can have, with a list of these.
MANY_SPEEDS = 24
NONE = -1
# Bounds of the tangents: none, a fraction of the normal force, a force of its own.
UNBOUNDED, COULOMB, THRESHOLDS = range(3)
# Laws of restitution.
POISSON, NEWTON = range(2)
# Statuses: no active row; all rows active; the normal row active, with kinetic friction against the slip.
OPEN, STICKING, SLIDING = range(3)
# Kinds of change, of the constraint that caused it. HALTED: repeated impacts were brought to an end. JAMMED: a sliding
# contact was struck without a collision. MOREAU_JEAN_STEP: a time step passed states without a consistent mode.
NOTHING, IMPOSED, DELETED, SLIPPED, STUCK, REVERSED, BOUNCED, HALTED, JAMMED, MOREAU_JEAN_STEP = range(10)
# How a transition ended; the others are errors.
ADOPTED = 0
NO_MODE, ENERGY_GAINED, ENDLESS, CONTRADICTED, NOT_FINITE, OPPOSED, NO_ROWS = range(-2, -9, -1)
