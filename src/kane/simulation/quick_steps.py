"""Steps of runs by native calls, as long as nothing in them needs Python."""

from __future__ import annotations

import math
from typing import final

import numpy as np
from numpy.typing import NDArray

from kane.engine.call import PreparedCall
from kane.engine.memory.loop_arguments import Course, IndexRows, Projection, RowSteps, StateEquation, StepWords, Store
from kane.engine.memory.run_codes import COMPLETE, NOT_BEGUN
from kane.engine.step.row_steps import step_rows
from kane.simulation.driver import FIRST_CHUNK
from kane.simulation.integrator_state import IntegratorState
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.monitors.long_steps import short_moves
from kane.simulation.projection import UNPROJECTED
from kane.simulation.schedule.step_ends import Stops

# Indices of the equations, the course and the store in ``IntegratorState.step_arguments``.
EQUATIONS, COURSE, STORE = 0, 2, 4


@final
class QuickSteps:
    """Native call for the steps of one integrator state, whose arguments keep their places."""

    def __init__(self, integration: IntegratorState, method: Integrator, stops: Stops) -> None:
        """Prepare the call."""
        self._integration, self._store, self._system = integration, integration.store, integration.system
        found, self._call = native_steps(integration, method, stops), None
        if isinstance(found, str):
            return
        self._rows = row_steps(integration, method, found, np.array(found.integers)[None, :])
        self._call = step_rows.prepared(self._rows, 0.0, 0, 0, 1)
        self._length, self._arguments = self._call.place(1), found.arguments  # which must live as long as the call

    def fit(self, integration: IntegratorState) -> bool:
        """Check whether the call is for an integrator state with these arrays."""
        return integration.store is self._store and integration.system is self._system

    @property
    def mode(self) -> NDArray[np.int8]:
        """The contact mode before the last step."""
        return self._rows.before[0].astype(np.int8)

    def take(self, dt: float) -> bool | None:
        """Take a step of dt [s].

        Returns:
            True if the step is complete and has no events. False if Python has to complete or to check it. None if it
            has not begun, because it needs Python, or because dt is no valid step. Then the course of the integrator
            state is that of the step, or of the last one.
        """
        if self._call is None or dt.__class__ is not float:
            return None
        self._call.reals[self._length] = dt
        result = self._call()
        if result == COMPLETE:
            return True
        self._integration.course = course_in(self._rows, 0, self._arguments[COURSE])
        return None if result == NOT_BEGUN else False

    def follow(self, course: Course) -> None:
        """Continue after a step that Python has taken."""
        if self._call is not None:
            write_course(self._rows, 0, course)


def native_steps(integration: IntegratorState, method: Integrator, stops: Stops) -> PreparedCall | str:
    """Return the native call of a step, with a course of its own, or the name of a property that needs Python."""
    problem = integration.problem
    reasons = {
        "inputs that are functions of Python": integration.slow,
        "sampled inputs": integration.sampler,
        "samples of inputs, or expressions of time that are not smooth": not stops.is_empty,
        "modes that a thread compiles during runs (kane.compile_modes)": problem.dyn.compiled_modes.met,
    }
    found = next((reason for reason, needed in reasons.items() if needed), "")
    return found or prepared_steps(integration, method) or f"steps of {method.name}"


def prepared_steps(integration: IntegratorState, method: Integrator) -> PreparedCall | None:
    """Return the native call of a step, with a course of its own; None if the method does more than call."""
    integration.course = integration.course._replace(stops=np.array([integration.course.until]))
    return method.prepared(integration, 1 if method.fixed else FIRST_CHUNK)


def row_steps(integration: IntegratorState, method: Integrator, call: PreparedCall, words: IndexRows) -> RowSteps:
    """Return runs that take the steps of a call; row by row, ``words`` are its words with the arrays of each run."""
    notes, mode = integration.system.projection.notes, integration.problem.mode_source.mode(integration)
    course, equations, store = Course._fields.index, StateEquation._fields.index, Store._fields.index
    places = [
        *(call.place(COURSE, course(name)) for name in ("start", "until", "step", "steps", "stops")),
        *(call.place(EQUATIONS, equations(name)) for name in ("stages", "work")),
        call.place(EQUATIONS, equations("projection"), Projection._fields.index("notes")),
        *(call.place(STORE, store(name)) for name in ("x", "clock", "counts", "rows")),
    ]
    return RowSteps(
        loop=call.addresses[0],
        words=words,
        reals=words.view(np.float64),
        places=StepWords._make(places),
        fixed=int(method.fixed),
        nx=len(integration.x),
        statuses=(mode.ctypes.data - integration.system.stages.ctypes.data) // 8 if len(mode) else 0,
        before=np.zeros((len(words), len(mode)), np.int64),
        unprojected=UNPROJECTED if len(notes) and not integration.drifts else math.inf,
        moves=short_moves(integration.problem.layout) if integration.drifts else np.zeros(0),
        results=np.zeros(len(words), np.int64),
    )


def course_in(rows: RowSteps, i: int, course: Course) -> Course:
    """Return the course of the last step of a run; ``course`` has its arrays."""
    at, reals = rows.places, rows.reals[i]
    start, until, step = (float(reals[place]) for place in (at.start, at.until, at.step))
    return course._replace(start=start, until=until, step=step, steps=int(rows.words[i, at.steps]))


def write_course(rows: RowSteps, i: int, course: Course) -> None:
    """Let the next step of a run follow a course, whose arrays are not read."""
    at, reals = rows.places, rows.reals[i]
    reals[at.start], reals[at.step], rows.words[i, at.steps] = course.start, course.step, course.steps
