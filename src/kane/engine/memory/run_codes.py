"""Enumerations of runs: programs of a mode, and results of native loops."""

from __future__ import annotations

# Programs of a mode, an index into the arrays of ModePrograms.
RHS = 0  # x' = f(t, x, inputs)
PROJECT = 1  # projects the end of a step onto the constraints
GUARDS = 2  # the mode ends when one of its outputs becomes negative
ASIDE = 3  # projects states within a step; its constants follow those of PROJECT and have the same length
EVENTS = 4  # event functions of the user
TRANSITION = 5  # computes a transition: out = [q, u, key of the next mode, notes]; a negative key reports an error

# Results of a chunk of steps.
GOING = 0  # no failure
NOT_FINITE = 1  # the next step does not end in a finite state
STUCK = 2  # the next step would be shorter than the rounding of times
STALLED = 3  # steps make no progress; only Python detects this
UNKNOWN_MODE = 4  # the table of modes has no row for the key that TRANSITION found
REFUSED = 5  # TRANSITION finds no next mode
NO_GUARD = 6  # a guard is NaN
ENDLESS = 7  # transitions at one state do not end

# Results of a step of one of many runs, see ``step_rows``.
COMPLETE = 0
CHANGED = 1
BEGUN = 2
NOT_BEGUN = 3

# Further results of a trajectory of an ensemble.
WAITING = -1  # not computed yet
FINISHED = GOING  # computed up to the end

# Value of ``Block.carries`` for a lane without a trajectory.
NO_TRAJECTORY = -1

# Samples of guards within a step, indices of SAMPLES and of the rows of GuardSamples.
FIRST_PROBE = 2  # the first probe, after two samples at the start
AT_END = 6  # the end of the step
SAMPLES_BETWEEN = (0, 1, 5)  # samples that are no probes
