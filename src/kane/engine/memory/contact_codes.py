"""Enumerations of models with intermittent constraints: programs, laws, statuses, results of transitions."""

from __future__ import annotations

# Value of an index that refers to nothing.
NONE = -1

# Programs of a ContactBlock, an index into its arrays.
GAPS = 0  # gaps, switches and coefficients: GapTerms
FACTOR = 1  # M = L^T D L: FactorTerms
FREE = 2  # dq/dt and udot without constraints
ALWAYS = 3  # records of the permanent rows
MOVING = 4  # velocities of the permanent rows
SUBSTITUTION = 5  # udot from z / D
SIGNALS = 6  # switches that depend on forces of rows: on and off of GapTerms
SOLUTIONS = 7  # for each of CAPACITIES a compiled solution without, then one with sliding contacts

# Largest numbers of rows of the compiled solutions.
CAPACITIES = (3, 6, 9)
MOST = max(CAPACITIES)
# Above this number of speeds, solutions are not compiled, because they would be longer than the time that they save.
# Records then have only the columns in which a row can have entries.
MANY_SPEEDS = 24

# Bounds of the tangential forces of a constraint.
UNBOUNDED = 0  # no bound
COULOMB = 1  # friction coefficient times the normal force
THRESHOLDS = 2  # a force of its own

# Laws of restitution.
POISSON = 0  # ratio of the impulses of restitution and compression
NEWTON = 1  # ratio of the normal velocities after and before
STRONGE = 2  # ratio of the works of the normal impulse in restitution and compression

# Statuses of a constraint.
OPEN = 0  # no row is active
STICKING = 1  # all rows are active
SLIDING = 2  # the normal row is active, with kinetic friction against the slip

# Kinds of change of the constraint that causes a transition.
NOTHING = 0  # no change
IMPOSED = 1  # the constraint becomes active
DELETED = 2  # the constraint becomes inactive
SLIPPED = 3  # sticking ends
SLIDING_ENDED = 4  # sliding ends, and the contact sticks
REVERSED = 5  # the slip changes its direction
BOUNCED = 6  # an impact separates the contact
HALTED = 7  # repeated impacts are brought to an end
JAMMED = 8  # an impulse acts on a sliding contact without a collision
MOREAU_JEAN_STEP = 9  # a time step passes states without a consistent mode

# Results of a transition; negative ones are errors.
ADOPTED = 0  # a consistent mode was found
NO_MODE = -2  # no mode is consistent
ENERGY_GAINED = -3  # an impact with Newton's restitution would create energy
ENDLESS_IMPACTS = -4  # simultaneous impacts do not end
CONTRADICTED = -5  # bilateral constraints contradict each other
NOT_FINITE_AFTER = -6  # the state after the transition is not finite
OPPOSED = -7  # no speeds satisfy all active constraints
NO_ROWS = -8  # the rows of a constraint are not finite at this state
