"""Driver of runs: advances in chunks of steps, so that Ctrl-C and progress reports work."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum

from kane.simulation.integrator_state import IntegratorState, Status

# Wall time of a chunk [s]: short enough to respond to Ctrl-C, long enough to make the overhead negligible.
CHUNK_SECONDS = 0.05
FIRST_CHUNK, LONGEST_CHUNK = 64, 2**40  # steps

Advance = Callable[[IntegratorState, int], Status]


class Outcome(Enum):
    """Result of a run."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    NOT_FINITE = "not finite"
    STUCK = "stuck"
    STALLED = "stalled"
    REFUSED = "refused"
    NO_GUARD = "no guard"
    ENDLESS = "endless"


FAILURES = {
    Status.NOT_FINITE: Outcome.NOT_FINITE,
    Status.STUCK: Outcome.STUCK,
    Status.STALLED: Outcome.STALLED,
    Status.REFUSED: Outcome.REFUSED,
    Status.NO_GUARD: Outcome.NO_GUARD,
    Status.ENDLESS: Outcome.ENDLESS,
}


def advance_to_end(integration: IntegratorState, advance: Advance, progress: Callable[[float], None]) -> Outcome:
    """Advance to the end of the run.

    Args:
        integration: integrator state, advanced in place.
        advance: takes up to the given number of steps.
        progress: receives the completed fraction after each chunk.

    Returns:
        FINISHED; INTERRUPTED by Ctrl-C; NOT_FINITE: the next step gives infinity or NaN; STUCK: the next step would be
        shorter than the rounding of times; STALLED: steps make no progress. For modes, REFUSED: no next mode was found;
        NO_GUARD: a guard is NaN; ENDLESS: modes change without end at one state.
    """
    chunk = FIRST_CHUNK
    try:
        while not integration.finished:
            began, before = time.perf_counter(), integration.tried
            status = advance(integration, chunk)
            if status is not Status.GOING:
                return FAILURES[status]
            progress(integration.fraction)
            # The first call may compile or load the loop, so limit the change of the chunk length. At transitions a
            # loop ends early: count only the steps that were tried.
            scale = CHUNK_SECONDS / max(time.perf_counter() - began, 1e-9)
            chunk = min(max(1, int((integration.tried - before) * min(max(scale, 0.5), 8.0))), LONGEST_CHUNK)
    except KeyboardInterrupt:
        return Outcome.INTERRUPTED
    return Outcome.FINISHED
