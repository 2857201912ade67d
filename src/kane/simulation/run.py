"""The driver: advances a march chunk by chunk, so that Ctrl-C and progress work."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum

from kane.simulation.march import March, Status

# Wall time of a chunk [s]: short enough to answer Ctrl-C at once, long enough for the call to cost nothing.
CHUNK_SECONDS = 0.05
FIRST_CHUNK, LONGEST_CHUNK = 64, 2**40  # steps

Advance = Callable[[March, int], Status]


class Outcome(Enum):
    """How a run ended."""

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


def run_march(march: March, advance: Advance, progress: Callable[[float], None]) -> Outcome:
    """Advance to the end.

    Args:
        march: moved in place.
        advance: takes up to so many steps.
        progress: told the fraction done after each chunk.

    Returns:
        FINISHED; INTERRUPTED by Ctrl-C; NOT_FINITE: the next step leads to infinity or to no number; STUCK: it would
        have to be shorter than times are told apart; STALLED: steps are taken and lead nowhere; of modes, REFUSED: no
        next one is found, NO_GUARD: a guard is no number, ENDLESS: they change without end at one state.
    """
    chunk = FIRST_CHUNK
    try:
        while not march.finished:
            began, before = time.perf_counter(), march.tried
            status = advance(march, chunk)
            if status is not Status.GOING:
                return FAILURES[status]
            progress(march.fraction)
            # The first call may compile or load the loop: let the size recover from what that makes of it. Where modes
            # change, a loop ends early, and a time that is short says nothing of steps that were not tried.
            scale = CHUNK_SECONDS / max(time.perf_counter() - began, 1e-9)
            chunk = min(max(1, int((march.tried - before) * min(max(scale, 0.5), 8.0))), LONGEST_CHUNK)
    except KeyboardInterrupt:
        return Outcome.INTERRUPTED
    return Outcome.FINISHED
