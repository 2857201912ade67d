"""The native loop of runs that take steps together, each as if it were alone."""

from __future__ import annotations

import math

from kane.engine.call import call_loop, integers_at, memory_at, native_inline, native_loop, vector_at
from kane.engine.memory.loop_arguments import RowSteps
from kane.engine.memory.run_codes import BEGUN, CHANGED, COMPLETE, GOING, NOT_BEGUN
from kane.engine.memory.views import (
    RunClock,
    RunCounts,
    projection_notes_at,
    projection_notes_size,
    run_clock_at,
    run_clock_size,
    run_counts_at,
    run_counts_size,
)

# Largest number of calls in one fixed step, which transitions divide; Python goes on after them.
MOST_CALLS = 100


@native_loop
def step_rows(rows: RowSteps, dt: float, work: int, first: int, end: int) -> int:
    """Take a step of dt in some of the runs.

    Args:
        rows: the runs; ``results`` gets for each COMPLETE; CHANGED: complete with transitions; BEGUN: Python has to
            complete or to check the step; or NOT_BEGUN: dt is no step from its time.
        dt: length of the step [s].
        work: address of scratch memory of the programs, which runs stepped one after the other share; 0: own memory.
        first, end: the first of these runs, and the end.

    Returns:
        The largest of these results.
    """
    worst = COMPLETE
    for i in range(first, end):
        if work != 0:
            rows.words[i, rows.places.work] = work
        rows.results[i] = _step_row(rows, dt, i)
        worst = max(worst, rows.results[i])
    return worst


@native_inline
def _step_row(rows: RowSteps, dt: float, i: int) -> int:
    """Take a step of one run; return its result."""
    words, places = rows.words[i], rows.places
    clock = run_clock_at(vector_at(memory_at(words[places.clock]), 0, run_clock_size()), 0)
    counts = run_counts_at(integers_at(memory_at(words[places.counts]), 0, run_counts_size()), 0)
    t = clock.time[0]
    if not 0.0 < dt < math.inf or not abs(t) + dt / 2 > abs(t):
        return NOT_BEGUN
    until = _begin_course(rows, clock, counts, dt, i)
    x = vector_at(memory_at(words[places.x]), 0, rows.nx)
    record = vector_at(memory_at(words[places.rows]), 0, 1 + rows.nx)
    record[0] = t
    for k in range(rows.nx):
        record[1 + k] = x[k]
    statuses = integers_at(memory_at(words[places.stages]), rows.statuses, rows.before.shape[1])
    for k in range(statuses.size):
        rows.before[i, k] = statuses[k]
    status = GOING
    for _ in range(MOST_CALLS if rows.fixed != 0 else 1):
        status = call_loop(rows.loop, words)
        if status != GOING or clock.time[0] == until or counts.events[0] > 0:
            break
    if status != GOING or clock.time[0] != until or counts.events[0] > 0 or _needs_check(rows, i):
        return BEGUN
    return CHANGED if counts.transitions[0] > 0 else COMPLETE


@native_inline
def _begin_course(rows: RowSteps, clock: RunClock, counts: RunCounts, dt: float, i: int) -> float:
    """Set the course of a step of one run, and its counters; return its end [s]."""
    words, reals, places, t = rows.words[i], rows.reals[i], rows.places, clock.time[0]
    k = 1
    if rows.fixed == 0 or dt != reals[places.step] or counts.ended[0] != 0:
        reals[places.start] = t
        counts.steps[0] = 0
    else:
        k = counts.steps[0] + 1
    if rows.fixed != 0:
        reals[places.step], words[places.steps] = dt, k + 1
    until = reals[places.start] + k * dt
    stops = vector_at(memory_at(words[places.stops]), 0, 1)
    stops[0] = reals[places.until] = until
    if counts.ended[0] != 0:
        counts.ended[0] = counts.started[0] = counts.slope_known[0] = 0
    counts.events[0] = counts.transitions[0] = counts.stop[0] = counts.rejected[0] = counts.evaluations[0] = 0
    counts.rows[0] = 1
    return until


@native_inline
def _needs_check(rows: RowSteps, i: int) -> bool:
    """Return whether the residuals or the length of a step are so large that Python has to look at them."""
    words, places = rows.words[i], rows.places
    if rows.unprojected < math.inf:
        notes = projection_notes_at(vector_at(memory_at(words[places.notes]), 0, projection_notes_size()), 0)
        if not (notes.configuration[0] <= rows.unprojected and notes.motion[0] <= rows.unprojected):
            return True
    x = vector_at(memory_at(words[places.x]), 0, rows.moves.size)
    record = vector_at(memory_at(words[places.rows]), 0, 1 + rows.moves.size)
    far = False
    for k in range(rows.moves.size):
        far = far or not abs(x[k] - record[1 + k]) <= rows.moves[k]
    return far
