"""Stepper: a motion taken step by step, for loops of a user's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from kane.dynamics.ahead import statuses_in_words
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, SimulationError, shown
from kane.expression.arguments import listed, number
from kane.expression.node import Expr
from kane.formulation.equations import Equations
from kane.model.constraints import Constraint
from kane.model.named_vector import named_vector
from kane.native.arrays import (
    CHANGED,
    DONE,
    ENDED,
    EVALUATIONS,
    FOUND,
    KNOWN,
    REJECTED,
    ROWS,
    STARTED,
    STOP,
    Course,
    Vector,
)
from kane.simulation.asked.course import ahead_course, grid_course, step_length
from kane.simulation.asked.events import Event, Occurrence, event_names
from kane.simulation.asked.stops import Stops
from kane.simulation.inside import refuse_start
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.integrators.rk8 import RK8
from kane.simulation.modes.charts import Charts
from kane.simulation.modes.pose import pose
from kane.simulation.modes.revisions import Revision, Revisions
from kane.simulation.one_at_a_time import OneAtATime
from kane.simulation.recorded.story import places_named
from kane.simulation.run import FAILURES, Outcome, run_march


class Stepper:
    """dq/dt = qdot(t, q, u), du/dt = udot(t, q, u, inputs), integrated from call to call of ``step``.

    For loops that decide as they go: a controller in Python, a display, a device. Between two calls inputs may be set;
    a call is one run of native code, however many steps it takes. ``simulate`` is made of the same pieces: where a
    method takes the same steps, the states have the same bits. A Stepper refuses a call while another thread is in one.

    Args:
        dyn: what ``kane.build`` returned.
        q, u, inputs, parameters, events, start, charts: as ``simulate`` takes them.
        integrator: RK8(), which takes what steps it needs for a relative error of 1e-9; one of fixed steps, such as
            kane.RK4(), takes one step a call.

    Raises:
        ModelError: an argument is not meaningful.
    """

    def __init__(
        self,
        dyn: Dynamics,
        *,
        q: Any = None,
        u: Any = None,
        inputs: Any = None,
        parameters: Any = None,
        integrator: Integrator | None = None,
        events: Event | Sequence[Event] = (),
        start: float = 0.0,
        charts: Charts | None = None,
    ) -> None:
        if not isinstance(dyn, Dynamics):
            raise ModelError(f"Stepper needs Dynamics, as kane.build(equations) makes them, not {shown(dyn)}")
        if integrator is not None and not isinstance(integrator, Integrator):
            raise ModelError(f"the integrator is {shown(integrator)}; give one such as kane.RK8()")
        watched = (events,) if isinstance(events, Event) else listed(events, "events", "kane.Event(expression, ...)")
        t = number(start, "start", "seconds")
        self._charts = charts
        self._alone = OneAtATime(
            "Stepper", "make a kane.Stepper for each thread, or hold one threading.Lock around each call"
        )
        self._method = RK8() if integrator is None else integrator
        refuse_start(dyn, t, q, u, parameters)
        posed = pose(dyn, inputs, parameters, watched, charts)
        self._revisions = Revisions(posed, lambda revised: pose(revised, inputs, parameters, watched, charts))
        self._problem, x = posed.switching.start(posed, t, q, u)
        self._names = event_names(watched)
        self._march, self._stops = self._problem.march(ahead_course(t, t), x), Stops(self._problem, inputs_vary=True)
        self._x, self._found = x, np.zeros((0, 2 + len(x)))
        self._tell()

    def __reduce__(self) -> NoReturn:
        raise ModelError(
            "a Stepper lives in memory of native code, which is neither copied nor sent; make another where this one "
            "stands: kane.Stepper(dyn, q=stepper.q, u=stepper.u, start=stepper.time)"
        )

    def __repr__(self) -> str:
        return f"Stepper of {self._problem.layout.model!r} by {self._method.name} at t = {self.time:.9g} s"

    @property
    def equations(self) -> Equations:
        """The equations that are integrated."""
        return self._problem.dyn.equations

    @property
    def parameters(self) -> dict[str, float]:
        """Values of the parameters by name."""
        names = self._problem.layout.parameters
        return dict(zip(names, map(float, self._problem.parameters), strict=True))

    @property
    def time(self) -> float:
        """t [s]."""
        return self._march.time

    @property
    def q(self) -> Vector:
        """Coordinates at ``time``, (nq,)."""
        return self._x[: len(self._problem.layout.coordinates)].copy()

    @property
    def u(self) -> Vector:
        """Generalized speeds at ``time``, (n,)."""
        return self._x[len(self._problem.layout.coordinates) :].copy()

    @property
    def inputs(self) -> Vector:
        """Values of the inputs, (inputs,); set them by an array, or some of them by a dict from names to numbers.

        They hold until they are set again. Inputs that were given as samples, expressions or functions cannot be set;
        samples are shown as they were last read.

        Raises:
            ModelError: no such input, a value that is not finite, or one that something else gives.
        """
        return self._march.system.inputs.copy()

    @inputs.setter
    def inputs(self, values: Any) -> None:
        plan, system = self._problem.plan, self._march.system
        wanted = named_vector(values, plan.names, system.inputs.tolist(), "input")
        sampled = (i for columns in plan.sampled_laws for i in columns)
        given = {*plan.expressions, *(plan.names[i] for i in (*plan.samples, *plan.functions, *sampled))}
        for name in values if isinstance(values, dict) else plan.names:
            if name in given or plan.function is not None:
                raise ModelError(
                    f"the input {name!r} is given by samples, an expression or a function; leave it out here, or out "
                    "of inputs= of kane.Stepper"
                )
        with self._alone:
            system.inputs[:] = wanted
            self._march.store.counts[KNOWN] = 0

    @property
    def mode(self) -> str:
        """The mode at ``time`` in words, which constraints that come and go are in force: "left held, right sliding".

        The first step begins with what touches and is switched on at the start; before it, what sticks is held.
        """
        return statuses_in_words(self._problem.switching.mode(self._march).tolist(), self._candidates)

    def active(self, name: str) -> bool:
        """Whether a constraint that comes and goes, or any of its parts, is in force at ``time``.

        Raises:
            ModelError: there is none of this name.
        """
        places = places_named(name, self._candidates)
        return bool((self._problem.switching.mode(self._march)[places] > 0).any())

    @property
    def _candidates(self) -> list[str]:
        return [c.name for c in self.equations.candidates]

    def impose(self, motion: Expr | Constraint | Sequence[Expr], *, name: str | None = None) -> Revision:
        """Impose a constraint that nobody foresaw: its equations are formulated while the stepper goes on without it.

        A thread formulates and compiles what the constraint adds to the equations, some tenths of a second. The first
        step that begins when that is ready begins with it: an impulse puts the speeds onto it, by projection of the
        momentum, and the step returns the event, "imposed". ``impose(...).wait()`` in front of a step makes it that
        step. It stays in force until ``delete(name)``.

        Args:
            motion: what vanishes from then on: an expression of rates or velocities, several, or a constraint. The
                configuration is held as it is found, where the motion is the time derivative of some.
            name: for events and ``delete``; unique.

        Returns:
            The revision: ``ready`` says whether its equations are there, ``wait()`` waits for them.

        Raises:
            ModelError: what is imposed is of the configuration, a name is taken, charts are switched. What restricts
                nothing is refused by ``wait``, or by ``step``; constraints that contradict it there, by ``step`` with a
                SimulationError that names them: the stepper then stands where it was, without what was imposed.

        Source: Gillespie 2003, section 4, block 1 of Fig. 2; the impulse by its Eqs. 44-45.
        """
        if self._charts is not None:
            raise ModelError(
                "a stepper with charts takes no constraints on-line; leave charts out, or use kane.Spherical"
            )
        with self._alone:
            return self._revisions.impose(motion, name)

    def delete(self, name: str) -> Revision:
        """Delete for good what ``impose`` imposed, or a contact, stop, stick, latch or switch of the model.

        As with ``impose`` new equations are formulated by a thread; the first step that begins when they are ready
        begins without the constraint, and returns the event, "deleted". What was imposed last is deleted by the next
        step: the equations without it are there already. What no step has begun with yet is withdrawn, without an
        event.

        Args:
            name: of the constraint; of one with several parts, such as the corners of a box, its own name means all.

        Raises:
            ModelError: there is none of this name, or it is permanent.
        """
        with self._alone:
            return self._revisions.delete(name)

    def step(self, dt: float) -> tuple[Occurrence, ...]:
        """Go on by dt, exactly to t + dt or to a terminal event.

        Steps of one dt in a row end at multiples of it, as those of ``simulate`` do, so that times do not drift.

        Args:
            dt: how far [s].

        Returns:
            The events found, and what happened to constraints that come and go, in order.

        Raises:
            ModelError: dt is not positive or lost in the rounding of t, samples of an input end before t + dt, a
                constraint that was to be imposed cannot be, another thread is stepping.
            SimulationError: as ``simulate``; time, q and u are then what was reached.
        """
        with self._alone:
            due = self._revisions.due()
            return self._step_revised(dt, due) if due else self._step(dt)

    def _step_revised(self, dt: float, due: Sequence[Revision]) -> tuple[Occurrence, ...]:
        """A step that begins with other constraints; the old ones stay where it does not get anywhere."""
        problem, march = self._problem, self._march
        t, q, u = self.time, self.q, self.u
        self._problem = due[-1].problem
        self._march = self._problem.march(ahead_course(t, t), march.x)
        self._march.x[:], self._march.system.inputs[:] = march.x, march.system.inputs
        self._march.sampler = march.sampler
        self._problem.switching.take_over(self._march, march)
        try:
            found = self._step(dt)
        except BaseException as error:
            if self.time == t:
                self._problem, self._march = problem, march
                self._tell()
                if isinstance(error, SimulationError):
                    self._revisions.refused(due)
            else:
                self._revisions.adopted(due)
            raise
        self._revisions.adopted(due)
        return *(event for revision in due for event in revision.occurrences(t, q, u)), *found

    def _step(self, dt: float) -> tuple[Occurrence, ...]:
        march = self._march
        course, mode = self._course(dt), self._problem.switching.mode(march)
        self._problem.plan.require_cover(march.time, course.until)
        march.go(course)
        counts = march.store.counts
        if counts[ENDED]:
            counts[[ENDED, STARTED, KNOWN]] = 0
        counts[[FOUND, CHANGED, STOP, REJECTED, EVALUATIONS]] = 0
        counts[ROWS], march.store.rows[0, : 1 + len(march.x)] = 1, [march.time, *march.x]
        try:
            self._advance()
            march.problem.kept(march.states()[1:], march.notes()[1:])
        except BaseException:
            counts[[STARTED, KNOWN]] = 0  # an input function that fails leaves slopes that are no numbers
            raise
        finally:
            self._tell()
        nq = len(self.q)
        found = [
            Occurrence(self._names[int(number)], float(t), x[:nq], x[nq:])
            for number, t, x in ((row[0], row[1], row[2:].copy()) for row in self._found)
        ]
        changes = self._problem.switching.occurrences(march, mode)
        return tuple(sorted([*found, *changes], key=lambda event: event.time) if changes else found)

    def _tell(self) -> None:
        """Keep the state reached and the events found, in the coordinates that were declared."""
        march, found = self._march, self._march.occurrences()
        _, found[:, 1:], self._x = self._problem.switching.declared(march, march.states(), found[:, 1:])
        self._found = found

    def _advance(self) -> None:
        """To the end of the course of the march; raises where that is not reached."""
        march, advance = self._march, self._problem.advance(self._method)
        if self._method.fixed:
            outcome = Outcome.FINISHED
            while outcome is Outcome.FINISHED and not march.finished:  # a step that is divided by a change of modes
                outcome = FAILURES.get(advance(march, 1), Outcome.FINISHED)
        else:
            march.store.counts[DONE] = 0
            outcome = run_march(march, advance, lambda _: None)
        march.problem.switching.renew(march)
        if outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        if outcome is not Outcome.FINISHED:
            raise self._problem.failure(march, outcome)

    def _course(self, dt: float) -> Course:
        march, t = self._march, self._march.time
        dt = step_length(dt, t)
        if self._stops.problem is not self._problem:
            self._stops = Stops(self._problem, inputs_vary=True)
        if not self._method.fixed:
            return ahead_course(t, t + dt, self._stops.between(t, t + dt))
        bends = self._stops.within_steps(t, t + dt, dt)
        if march.course.step != dt or march.store.counts[ENDED]:
            march.store.counts[DONE] = 0
            return grid_course(t, dt, 1, bends)
        return grid_course(march.course.start, dt, int(march.store.counts[DONE]) + 1, bends)
