"""Steps of a ``Stepper`` by one native call each, as long as nothing in them needs Python."""

from __future__ import annotations

from typing import final

import numpy as np

from kane.engine.call import PreparedCall
from kane.engine.memory.loop_arguments import Course
from kane.engine.memory.run_codes import GOING
from kane.engine.memory.run_memory import notes_of
from kane.simulation.driver import FIRST_CHUNK
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.monitors.long_steps import SMALL_MOVE
from kane.simulation.monitors.singularity_monitor import SingularityMonitor
from kane.simulation.projection import UNPROJECTED
from kane.simulation.schedule.step_ends import Stops

# Index of the course in ``IntegratorState.step_arguments``.
COURSE_ARGUMENT = 2


@final
class QuickSteps:
    """Native call for the steps of one integrator state, whose arguments keep their places.

    Attributes:
        mode: contact mode before the last step.
    """

    def __init__(self, integration: IntegratorState, method: Integrator, stops: Stops) -> None:
        """Prepare the call, after a step that has made room for the next ones."""
        counts, first = integration.counts, integration.store.rows[0]
        self._integration, self._store, self._system = integration, integration.store, integration.system
        self._call, self._fixed = _prepared(integration, method, stops), method.fixed
        self._stops, self._time = integration.course.stops, integration.clock.time.data
        self._steps, self._rows, self._transitions = counts.steps.data, counts.rows.data, counts.transitions.data
        self._others = [x.data for x in (counts.events, counts.stop, counts.rejected, counts.evaluations)]
        self._first_time, self._first_state = first[:1].data, first[1 : 1 + len(integration.x)]
        projection = integration.system.projection
        kept = notes_of(projection) if projection.notes.size and not integration.drifts else None
        self._residuals = [kept.configuration.data, kept.motion.data] if kept else []
        nq = len(integration.problem.layout.coordinates) if integration.drifts else 0
        self._turning, self._before = integration.x[:nq], self._first_state[:nq]
        self._statuses = integration.problem.mode_source.mode(integration)
        self.mode = self._statuses.astype(np.int8)
        if self._call is not None:
            self._start_word, self._until_word, self._step_word, self._steps_word = (
                self._call.place(COURSE_ARGUMENT, Course._fields.index(name))
                for name in ("start", "until", "step", "steps")
            )

    def fit(self, integration: IntegratorState) -> bool:
        """Check whether the call is for an integrator state with these arrays."""
        return integration.store is self._store and integration.system is self._system

    def take(self, dt: float) -> bool | None:
        """Take a step of dt [s].

        Returns:
            True if the step is complete and has no events. False if it has begun: the course of the integrator state
            is that of the step, and may lead further. None if it has not begun, because it needs Python, or because dt
            is not that of the last step or no valid step.
        """
        call, t, course = self._call, self._time[0], self._integration.course
        if call is None or dt.__class__ is not float or not dt > 0.0 or t + dt / 2 == t:
            return None
        if self._fixed:
            if dt != course.step:
                return None
            steps = self._steps[0] + 1
            start, until = course.start, course.start + steps * dt
            call.reals[self._step_word], call.integers[self._steps_word] = dt, steps + 1
        else:
            start, until = t, t + dt
            self._steps[0] = 0
        call.reals[self._start_word], call.reals[self._until_word], self._stops[0] = start, until, until
        self._rows[0], self._transitions[0] = 1, 0
        for count in self._others:
            count[0] = 0
        self._first_time[0], self._first_state[:] = t, self._store.x
        if len(self._statuses):
            self.mode[:] = self._statuses
        complete = call() == GOING and self._time[0] == until and not self._transitions[0]
        complete = complete and all(residual[0] <= UNPROJECTED for residual in self._residuals)
        if complete and (not len(self._turning) or np.abs(self._turning - self._before).max() < SMALL_MOVE):
            return True
        self._integration.course = course._replace(start=start, until=until, steps=call.integers[self._steps_word])
        return False


def _prepared(integration: IntegratorState, method: Integrator, stops: Stops) -> PreparedCall | None:
    """Return the call of a step with a course of its own; None if steps need Python besides."""
    problem = integration.problem
    if integration.slow or integration.sampler or len(integration.watch.out) or not stops.is_empty:
        return None
    if problem.dyn.compiled_modes.met or (method.fixed and SingularityMonitor.of(problem) is not None):
        return None
    integration.course = integration.course._replace(stops=np.array([integration.course.until]))
    return method.prepared(integration, 1 if method.fixed else FIRST_CHUNK)
