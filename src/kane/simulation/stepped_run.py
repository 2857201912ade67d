"""One run that a caller advances step by step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kane.engine.call import PreparedCall
from kane.engine.memory.loop_arguments import Course, RowSteps
from kane.errors import warn
from kane.simulation.driver import FAILURES, advance_to_end, monitored_advance
from kane.simulation.events.event import Occurrence, event_names
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState, Outcome
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.monitors.failure import failure_of
from kane.simulation.monitors.long_steps import describe_long_steps
from kane.simulation.quick_steps import course_in, prepared_steps
from kane.simulation.schedule.course import course_between, grid_course, step_length
from kane.simulation.schedule.step_ends import Stops


class SteppedRun:
    """Run that is integrated from call to call; the base of ``Stepper``, and a row of ``Steppers``."""

    def __init__(self, integration: IntegratorState, method: Integrator) -> None:
        """Take the integrator state at the start, whose problem is the run's, and the method."""
        method.require(integration)
        self._integration, self._problem, self._method = integration, integration.problem, method
        self._names = event_names(self._problem.events)
        self._stops, self._warned = Stops(self._problem, inputs_vary=True), False
        self._x, self._found = integration.x, np.zeros((0, 2 + len(integration.x)))

    def _step(self, dt: float) -> tuple[Occurrence, ...]:
        integration = self._integration
        course, mode = self._course(dt), self._problem.mode_source.mode(integration).astype(np.int8)
        self._problem.plan.require_cover(integration.time, course.until)
        integration.go(course)
        counts = integration.counts
        if counts.ended[0]:
            counts.ended[0] = counts.started[0] = counts.slope_known[0] = 0
        counts.events[0] = counts.transitions[0] = counts.stop[0] = counts.rejected[0] = counts.evaluations[0] = 0
        counts.rows[0], integration.store.rows[0, : 1 + len(integration.x)] = 1, [integration.time, *integration.x]
        return self._finish(mode)

    def _finish(self, mode: NDArray[np.int8]) -> tuple[Occurrence, ...]:
        """Advance to the end of the course and return the events; ``mode`` is the contact mode at the first record."""
        integration, counts = self._integration, self._integration.counts
        try:
            self._advance()
            self._warn_once(describe_long_steps(integration))
            integration.problem.kept(integration.states()[1:], integration.notes()[1:], drifts=integration.drifts)
        except BaseException:
            counts.started[0] = counts.slope_known[0] = (
                0  # evaluate slopes again: a failed input function leaves NaN in them
            )
            raise
        finally:
            self._tell()
        nq = len(self._problem.layout.coordinates)
        found = [
            Occurrence(self._names[int(number)], float(t), x[:nq], x[nq:])
            for number, t, x in ((row[0], row[1], row[2:].copy()) for row in self._found)
        ]
        log = self._problem.mode_source.contact_log(integration, mode)
        return tuple(found if log is None else sorted([*found, *log.occurrences()], key=lambda event: event.time))

    def _warn_once(self, message: str) -> None:
        """Warn, unless this stepper has warned before."""
        if message and not self._warned:
            self._warned = True
            warn(message)

    def _tell(self) -> None:
        """Store the current state and the located events, in declared coordinates."""
        integration, found = self._integration, self._integration.located_events()
        _, found[:, 1:], self._x = self._problem.mode_source.declared(integration, integration.states(), found[:, 1:])
        self._found = found

    def _advance(self) -> None:
        """Advance to the end of the course; raise if it is not reached."""
        integration, advance = self._integration, monitored_advance(self._problem, self._method)
        if self._method.fixed:
            outcome = Outcome.FINISHED
            while outcome is Outcome.FINISHED and not integration.finished:  # transitions divide the step
                outcome = FAILURES.get(advance(integration, 1), Outcome.FINISHED)
        else:
            integration.counts.steps[0] = 0
            outcome = advance_to_end(integration, advance, lambda _: None)
        integration.problem.mode_source.renew(integration)
        if outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        if outcome is not Outcome.FINISHED:
            raise failure_of(integration, outcome)

    def _course(self, dt: float) -> Course:
        integration, t = self._integration, self._integration.time
        dt = step_length(dt, t)
        if self._stops.problem is not self._problem:
            self._stops = Stops(self._problem, inputs_vary=True)
        if not self._method.fixed:
            return course_between(t, t + dt, self._stops.between(t, t + dt))
        bends = self._stops.within_steps(t, t + dt, dt)
        if integration.course.step != dt or integration.counts.ended[0]:
            integration.counts.steps[0] = 0
            return grid_course(t, dt, 1, bends)
        return grid_course(integration.course.start, dt, int(integration.counts.steps[0]) + 1, bends)


def problem_of(run: SteppedRun) -> InitialValueProblem:
    """Return the initial value problem of the current mode of a run."""
    return run._integration.problem


def steps_of(run: SteppedRun, method: Integrator) -> PreparedCall | None:
    """Return the native call of a step of a run from its current state; None if it has another method."""
    return prepared_steps(run._integration, method) if method == run._method else None


def resume(run: SteppedRun, rows: RowSteps, i: int) -> tuple[Occurrence, ...]:
    """Complete and check the step that row i of ``rows`` has begun in the memory of a run; return its events.

    Raises:
        SimulationError: as ``simulate``.
    """
    integration, store = run._integration, run._integration.store
    integration.course = course_in(rows, i, integration.course)
    try:
        return run._finish(rows.before[i].astype(np.int8))
    finally:
        if integration.store is not store:  # some of its arrays have grown
            prepared = prepared_steps(integration, run._method)
            rows.words[i] = prepared.integers if prepared else rows.words[i]
