"""``kane.Stepper``: integrate a motion call by call, in loops of the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from kane.array_types import StateLike
from kane.dynamics.compiled_modes import statuses_in_words
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError, SimulationError
from kane.expression.node import Expr
from kane.expression.number_arguments import list_argument, number, require
from kane.formulation.equations import Equations
from kane.model.constraints import Constraint
from kane.model.named_vector import named_vector
from kane.simulation.events.event import Event, Occurrence
from kane.simulation.exclusive_calls import OneAtATime
from kane.simulation.integrators.integrator import Integrator, require_integrator
from kane.simulation.integrators.rk8 import RK8
from kane.simulation.modes.charts import Charts
from kane.simulation.modes.revisions import Revision, Revisions
from kane.simulation.modes.set_up import set_up
from kane.simulation.monitors.penetration import refuse_start
from kane.simulation.quick_steps import QuickSteps
from kane.simulation.results.contact_log import places_named
from kane.simulation.schedule.course import course_between
from kane.simulation.stepped_run import SteppedRun


class Stepper(SteppedRun):
    """dq/dt = qdot(t, q, u), du/dt = udot(t, q, u, inputs), integrated from call to call of ``step``.

    For loops that decide during the motion: a controller in Python, a display, a device. Inputs may be set between two
    calls; a call is one run of native code, for any number of steps. ``simulate`` uses the same code: with identical
    steps, the states are identical to the last bit until a transition is located. The time of a transition is rounded
    in the span of a run. Only one thread at a time may call; others get an error.

    Args:
        dyn: returned by ``kane.build``.
        q, u, inputs, parameters, events, start, charts: as for ``simulate``.
        integrator: by default RK8(), which takes as many steps as a relative tolerance of 1e-9 needs; a fixed-step
            method, such as kane.RK4(), takes one step per call.

    Raises:
        ModelError: an argument is invalid.
    """

    def __init__(
        self,
        dyn: Dynamics,
        *,
        q: StateLike | None = None,
        u: StateLike | None = None,
        inputs: Any = None,
        parameters: Any = None,
        integrator: Integrator | None = None,
        events: Event | Sequence[Event] = (),
        start: float = 0.0,
        charts: Charts | None = None,
    ) -> None:
        require(dyn, Dynamics, "Stepper needs Dynamics, as kane.build(equations) returns")
        watched = (
            (events,) if isinstance(events, Event) else list_argument(events, "events", "kane.Event(expression, ...)")
        )
        t = number(start, "start", "seconds")
        self._charts = charts
        self._alone = OneAtATime(
            "Stepper", "make a kane.Stepper for each thread, or hold one threading.Lock around each call"
        )
        method = RK8() if integrator is None else require_integrator(integrator)
        refuse_start(dyn, t, q, u, parameters)
        posed = set_up(dyn, inputs, parameters, watched, charts)
        self._revisions = Revisions(posed, lambda revised: set_up(revised, inputs, parameters, watched, charts))
        problem, x = posed.mode_source.start(posed, t, q, u)
        super().__init__(problem.integration(course_between(t, t), x), method)
        self._quick: QuickSteps | None = None
        self._tell()

    def __reduce__(self) -> NoReturn:
        raise ModelError(
            "a Stepper cannot be copied or pickled: native code owns its memory; make another from its state: "
            "kane.Stepper(dyn, q=stepper.q, u=stepper.u, start=stepper.time)"
        )

    def __repr__(self) -> str:
        return f"Stepper of {self._problem.layout.model!r} by {self._method.name} at t = {self.time:.9g} s"

    @property
    def equations(self) -> Equations:
        """Equations that are integrated."""
        return self._problem.dyn.equations

    @property
    def parameters(self) -> dict[str, float]:
        """Parameter values by name."""
        names = self._problem.layout.parameters
        return dict(zip(names, map(float, self._problem.parameters), strict=True))

    @property
    def time(self) -> float:
        """Current time t [s]."""
        return self._integration.time

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
        """Current inputs, (inputs,); set them by an array, or some of them by a dict from names to numbers.

        They stay constant until they are set again. Inputs given as samples, expressions or functions cannot be set;
        samples show the value that was last read.

        Raises:
            ModelError: an unknown input, a value that is not finite, or an input with another source.
        """
        return self._integration.system.inputs.copy()

    @inputs.setter
    def inputs(self, values: Any) -> None:
        plan, system = self._problem.plan, self._integration.system
        wanted = named_vector(values, plan.names, system.inputs.tolist(), "input")
        for name in plan.driven:
            if not isinstance(values, dict) or name in values:
                raise ModelError(
                    f"the input {name!r} is given by samples, an expression or a function; leave it out here, or out "
                    "of inputs= of kane.Stepper"
                )
        with self._alone:
            system.inputs[:] = wanted
            self._integration.counts.slope_known[0] = 0

    @property
    def mode(self) -> str:
        """Name of the mode at ``time``: the active intermittent constraints, such as "left held, right sliding".

        The first step activates the constraints that touch or are switched on at the start. Before it, the sticks of
        joints (``m.stick``) are held.
        """
        return statuses_in_words(self._problem.mode_source.mode(self._integration).tolist(), self._intermittent)

    def active(self, name: str) -> bool:
        """Return whether an intermittent constraint, or any of its parts, is active at ``time``.

        Raises:
            ModelError: the name is unknown.
        """
        places = places_named(name, self._intermittent)
        return bool((self._problem.mode_source.mode(self._integration)[places] > 0).any())

    @property
    def _intermittent(self) -> list[str]:
        return [c.name for c in self.equations.intermittents]

    def impose(self, motion: Expr | Constraint | Sequence[Expr], *, name: str | None = None) -> Revision:
        """Impose a new constraint; a thread formulates its equations while the stepper continues without it.

        Formulating and compiling the additional equations takes some tenths of a second. The first step that begins
        after that imposes the constraint: an impulse projects the momentum, so that the speeds satisfy it, and the step
        returns the event "imposed". To choose this step, call ``impose(...).wait()`` before it. The constraint stays
        active until ``delete(name)``.

        Args:
            motion: one or several expressions of rates or velocities that the constraint keeps at zero, or a
                constraint. If the motion is the time derivative of a configuration, the current configuration is held.
            name: unique name, for events and ``delete``.

        Returns:
            The revision: ``ready`` tells whether its equations are available, ``wait()`` waits for them.

        Raises:
            ModelError: the expression depends only on the configuration, the name is taken, or charts are used.

        ``wait`` and ``step`` raise ModelError if the constraint restricts nothing. ``step`` raises SimulationError if
        constraints contradict each other, and names them; the stepper then keeps its state, without the new constraint.

        Source: Gillespie 2003, section 4, block 1 of Fig. 2; the impulse by its Eqs. 44-45.
        """
        if self._charts is not None:
            raise ModelError(
                "a stepper with charts cannot take further constraints; leave charts out, or use kane.Spherical"
            )
        with self._alone:
            return self._revisions.impose(motion, name)

    def delete(self, name: str) -> Revision:
        """Delete a constraint permanently: one of ``impose``, or a contact, stop, stick, latch or switch of the model.

        A thread formulates new equations, as for ``impose``. The first step that begins when they are ready omits the
        constraint, and returns the event "deleted". The constraint imposed last is deleted by the next step, because
        the equations without it exist already. A constraint that no step has used yet is withdrawn without an event.

        Args:
            name: name of the constraint; the name of a constraint with several parts, such as the corners of a box,
                means all parts.

        Raises:
            ModelError: the name is unknown, or the constraint is permanent.
        """
        with self._alone:
            return self._revisions.delete(name)

    def step(self, dt: float) -> tuple[Occurrence, ...]:
        """Integrate by dt, exactly to t + dt or to a terminal event.

        Consecutive steps of the same dt end at multiples of dt, as in ``simulate``, so that times do not drift.

        Args:
            dt: length of the step [s].

        Returns:
            Located events, and transitions of intermittent constraints, in order.

        Raises:
            ModelError: dt is not positive or lost in the rounding of t, samples of an input end before t + dt, a new
                constraint cannot be imposed, or another thread is stepping.
            SimulationError: as ``simulate``; time, q and u are then the last state that was reached.
        """
        with self._alone:
            if self._revisions.waiting and (due := self._revisions.due()):
                return self._step_revised(dt, due)
            quick = self._quick
            if quick is None or not quick.fit(self._integration):
                return self._step_in_python(dt)
            complete = quick.take(dt)
            if complete is None:
                return self._step_in_python(dt)
            return () if complete else self._finish(quick.mode)

    def _step_in_python(self, dt: float) -> tuple[Occurrence, ...]:
        """Take a step that needs Python, and prepare quick steps after it."""
        found = self._step(dt)
        if self._charts is None and (self._quick is None or not self._quick.fit(self._integration)):
            self._quick = QuickSteps(self._integration, self._method, self._stops)
        if self._quick is not None:
            self._quick.follow(self._integration.course)
        return found

    def _step_revised(self, dt: float, due: Sequence[Revision]) -> tuple[Occurrence, ...]:
        """Take a step with revised constraints; restore the old ones if it fails before time advances."""
        problem, integration = self._problem, self._integration
        t, q, u = self.time, self.q, self.u
        self._problem = due[-1].problem
        self._integration = self._problem.integration(course_between(t, t), integration.x)
        self._integration.x[:], self._integration.system.inputs[:] = integration.x, integration.system.inputs
        self._integration.sampler = integration.sampler
        for then, now in self._problem.mode_source.shared_memory(self._integration, integration):
            now[:] = then
        try:
            found = self._step_in_python(dt)
        except BaseException as error:
            if self.time == t:
                self._problem, self._integration = problem, integration
                self._tell()
                if isinstance(error, SimulationError):
                    self._revisions.refused(due)
            else:
                self._revisions.adopted(due)
            raise
        self._revisions.adopted(due)
        return *(event for revision in due for event in revision.deletions(t, q, u)), *found
