"""Driver of runs: advances in chunks of steps, so that Ctrl-C and progress reports work, and monitors these steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from kane.engine.memory.run_codes import PROJECT
from kane.simulation.events.event import event_names
from kane.simulation.events.zeno import require_end
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState, Outcome, Status
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.mode_table import stage_in_force
from kane.simulation.monitors.failure import chattering
from kane.simulation.monitors.stall_detection import StallDetector

if TYPE_CHECKING:
    from kane.simulation.monitors.singularity_monitor import SingularityMonitor

# Wall time of a chunk [s]: short enough to respond to Ctrl-C, long enough to make the overhead negligible.
CHUNK_SECONDS = 0.05
FIRST_CHUNK, LONGEST_CHUNK = 64, 2**40  # steps

Advance = Callable[[IntegratorState, int], Status]

# Failures after which a Moreau-Jean time step may be tried, see ``ModeSource``.
PASSED_OVER = (Status.REFUSED, Status.ENDLESS, Status.STUCK, Status.STALLED, Status.NOT_FINITE)

FAILURES = {
    Status.NOT_FINITE: Outcome.NOT_FINITE,
    Status.STUCK: Outcome.STUCK,
    Status.STALLED: Outcome.STALLED,
    Status.REFUSED: Outcome.REFUSED,
    Status.NO_GUARD: Outcome.NO_GUARD,
    Status.ENDLESS: Outcome.ENDLESS,
}


def monitored_advance(problem: InitialValueProblem, method: Integrator) -> Advance:
    """Return the method's ``advance`` for one run, with stall detection and transitions to new modes.

    It raises exceptions of input functions, and SimulationError if an event repeats without end.
    """
    pace: StallDetector | None = None
    nearness: dict[int, SingularityMonitor | None] = {}
    names = event_names(problem.events)

    def advance(integration: IntegratorState, steps: int) -> Status:
        nonlocal pace
        status = advance_once(integration, integration.steps_within_plan(steps))
        if status in PASSED_OVER and integration.problem.mode_source.step_over(integration, status):
            pace = None
            return Status.GOING
        return status

    def advance_once(integration: IntegratorState, steps: int) -> Status:
        nonlocal pace
        clock, counts = integration.clock, integration.counts
        before = int(counts.events[0]), int(counts.transitions[0])
        if pace is None and not method.fixed:
            pace = StallDetector(integration.course, integration.time)
        if method.fixed and integration.problem.key not in nearness:
            nearness[integration.problem.key] = _nearness(integration.problem)
        tolerate_slow_slip(integration, method)
        near = nearness.get(integration.problem.key)
        if near is not None:
            status = near.advance(method, integration, steps)
        else:
            status = method.advance(integration, min(steps, pace.left(counts)) if pace else steps)
        for asked in (integration.slow, integration.sampler):
            if asked is not None:
                asked.raise_kept()
        if (counts.events[0], counts.transitions[0]) != before:
            require_end(integration, names, before, fixed=method.fixed, status=status)
        if status is Status.UNKNOWN_MODE:
            problem.mode_source.admit(integration, int(counts.wanted_key[0]))
            return Status.GOING
        if status is Status.GOING and pace and pace.is_lost(clock, counts, lambda: chattering(integration) is not None):
            return Status.STALLED
        return status

    return advance


def _nearness(problem: InitialValueProblem) -> SingularityMonitor | None:
    from kane.simulation.monitors.singularity_monitor import SingularityMonitor

    return SingularityMonitor.of(problem)


def tolerate_slow_slip(integration: IntegratorState, method: Integrator) -> None:
    """Set the slip speed below which friction keeps its previous direction, from the method's tolerance."""
    project = integration.problem.project
    if project is not None:
        from kane.simulation.integrators.slip_threshold import tolerate

        tolerate(project, stage_in_force(integration.system, PROJECT, project), method.settings.get("atol", 0.0))


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
