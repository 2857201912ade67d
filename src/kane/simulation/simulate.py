"""``kane.simulate``: integrate the motion from an initial state to a Trajectory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.array_types import StateLike
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Course
from kane.errors import ModelError, SimulationError, shown, warn
from kane.expression.number_arguments import list_argument, require
from kane.progress import ProgressBar
from kane.simulation.driver import FAILURES, advance_to_end, monitored_advance
from kane.simulation.events.event import Event
from kane.simulation.events.zeno import many_transitions
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState, Outcome
from kane.simulation.integrators.integrator import Integrator, require_integrator
from kane.simulation.integrators.rk8 import RK8
from kane.simulation.modes.set_up import set_up
from kane.simulation.monitors.failure import failure_of, passages
from kane.simulation.monitors.long_steps import describe_long_steps
from kane.simulation.monitors.penetration import refuse_start
from kane.simulation.monitors.run_progress import told
from kane.simulation.results.trajectory import Trajectory
from kane.simulation.schedule.course import Span, fixed_course, free_course
from kane.simulation.schedule.step_ends import Stops

if TYPE_CHECKING:
    from kane.simulation.modes.charts import Charts

USUAL_STEP = 1e-3  # s, of fixed steps


def simulate(
    dyn: Dynamics,
    *,
    until: float,
    q: StateLike | None = None,
    u: StateLike | None = None,
    inputs: Any = None,
    integrator: Integrator | None = None,
    dt: float | None = None,
    times: Any = None,
    every: int | None = None,
    events: Event | Sequence[Event] = (),
    parameters: Any = None,
    start: float = 0.0,
    charts: Charts | None = None,
    progress: Callable[[float], None] | None = None,
) -> Trajectory:
    """Integrate the equations of motion, dq/dt = qdot(t, q, u), du/dt = udot(t, q, u, inputs).

    Args:
        dyn: returned by ``kane.build``.
        until: last time [s]; time runs backwards if it is before ``start``.
        q, u: initial coordinates and speeds, an array or a dict from names to numbers; by default the neutral
            configuration (zero, identity quaternion) at rest. Named dependent speeds follow from the others, unless one
            of them is given.
        inputs: None for the declared defaults; an array of constants; samples of all inputs (``Held``,
            ``Interpolated``, or a pair (times, values), which is interpolated). Or a dict from names to numbers,
            samples, or expressions of the model (controllers, compiled into the equations). Or a Python function of (t,
            q, u), for all inputs or in the dict. The function is called in every stage, so that the run is about a
            hundred times slower. For a digital controller use ``kane.Sampled``, which is evaluated at
            ticks and held between them.
        integrator: by default RK8() with step-size control and a relative tolerance of 1e-9; RK4() if ``dt`` is given.
        dt: step of a fixed-step integrator [s], 1e-3 by default; the last step ends exactly at ``until``.
        times: times from start to until [s] at which states are recorded, in addition to the first and the last; the
            integrator interpolates there. By default the ends of 1,000 equal parts of the run.
        every: instead of times: record the state after every ``every`` steps. With fixed steps this is the default,
            chosen so that about 10,000 states are recorded.
        events: one or several sign changes to locate; a terminal event ends the run.
        parameters: array, or dict from names to numbers; declared defaults unless given.
        start: first time [s].
        charts: lets gimbals change to other angles near their singularities; by default they do not.
        progress: function of the completed fraction, called about every 50 ms; by default long runs show a bar on
            terminals, and elsewhere the logger "kane" warns after 10 s, 20 s, 40 s and so on.

    Returns:
        The trajectory. Ctrl-C ends a run early with a warning: the last record is the state reached, and the trajectory
        is marked as interrupted.
        A warning names nearly dependent constraints, as in a flat linkage, where a recorded state may err by a thousand
        tolerances or more. Other warnings report slip whose speed stays below the integration errors, and fixed steps
        that pass too near a singularity to follow the motion.

    Raises:
        ModelError: an argument is invalid.
        SimulationError: the state became infinite or NaN, no step is short enough, an event repeats without end, or a
            Python law raised an exception. Also if a run with step-size control stalls, after at most a million
            evaluations. The message has the time, the last state and the cause: the expression at whose sign change the
            run chatters (as with dry friction), a divisor of constraints or speeds near zero, or lost digits. The
            attribute ``trajectory`` of the error has the results up to this time.
    """
    require(dyn, Dynamics, "simulate needs Dynamics, as kane.build(equations) returns")
    events = (events,) if isinstance(events, Event) else list_argument(events, "events", "kane.Event(expression, ...)")
    method, span = _method(integrator, dt), Span.of(start, until, every, times)
    with ProgressBar(dyn.equations.name) as bar:
        listener = told(progress, bar)
        refuse_start(dyn, span.start, q, u, parameters)
        posed = set_up(dyn, inputs, parameters, events, charts)
        problem, x = posed.mode_source.start(posed, start, q, u)
        integration = problem.integration(_course(method, problem, span, dt), x)
        bar.detail = lambda: _report(integration)
        try:
            advance = monitored_advance(problem, method)
            outcome = advance_to_end(integration, advance, _told_and_renewed(integration, listener))
            attributes = _attributes((problem, integration, outcome), method)
            record = problem.record(integration)
        except SimulationError as error:
            error.trajectory = _so_far(problem, integration, method)
            raise
    doubt = "" if method.fixed else _lost(problem, integration, method) or record.doubt(**method.settings)
    told_once = doubt, record.jammed(), many_transitions(integration), describe_long_steps(integration)
    for message in filter(None, (*(list(passages(integration)) or [integration.near]), *told_once)):
        warn(message)
    return Trajectory(record.labelled(attributes), dyn, method)


def _lost(problem: InitialValueProblem, integration: IntegratorState, method: Integrator) -> str:
    """Describe a state, recorded or not, at which rounding exceeded the tolerances; may be empty."""
    least = integration.system.projection.least
    return problem.constraints.lost(least, **method.settings) if problem.constraints and least.size else ""


def _so_far(problem: InitialValueProblem, integration: IntegratorState, method: Integrator) -> Trajectory | None:
    """Return the records of a failed run up to the last one that satisfies the constraints; may be None."""
    attributes = {"integrator": method.name, **method.settings, **problem.mode_source.attributes, "interrupted": 1}
    counts, changes = integration.counts, integration.transitions.time
    found, told, lost = None, 0, int(counts.rows[0]) + 1
    records = lost - 1
    while lost - told > 1:
        last = integration.store.rows[records - 1, 0]
        counts.rows[0], counts.transitions[0] = records, np.count_nonzero((changes - last) * integration.way <= 0.0)
        try:
            found, told = Trajectory(problem.record(integration).labelled(attributes), problem.dyn), records
        except SimulationError:
            lost = records
        records = (told + lost) // 2
    return found


def _report(integration: IntegratorState) -> str:
    """Return time, steps and events of a run so far as text."""
    counts = integration.counts
    found = f"{int(counts.steps[0]):,} steps, {int(counts.events[0] + counts.transitions[0]):,} events"
    return f"(t = {integration.time:.6g} s of {integration.course.until:.6g} s, {found})"


def _told_and_renewed(integration: IntegratorState, listener: Callable[[float], None]) -> Callable[[float], None]:
    """Return the function to call after each chunk of steps."""

    def chunk_done(fraction: float) -> None:
        integration.problem.mode_source.renew(integration)
        listener(fraction)

    return chunk_done


def _attributes(ended: tuple[InitialValueProblem, IntegratorState, Outcome], method: Integrator) -> dict[str, Any]:
    """Return the settings of the run; raise if it failed, and warn if it was interrupted."""
    problem, integration, outcome = ended
    if outcome in FAILURES.values():
        raise failure_of(integration, outcome)
    step = {"dt": abs(integration.course.step)} if method.fixed else {}
    attributes = {"integrator": method.name, **step, **method.settings, **problem.mode_source.attributes}
    attributes["interrupted"] = int(outcome is Outcome.INTERRUPTED)
    if outcome is Outcome.INTERRUPTED:
        integration.record_now()
        attributes["message"] = f"interrupted at t = {integration.time:.9g} s of {integration.course.until:.9g} s"
        warn(f"the simulation of {problem.layout.model!r} was {attributes['message']}")
    return attributes


def _method(integrator: Integrator | None, dt: float | None) -> Integrator:
    from kane.simulation.integrators.rk4 import RK4

    method = require_integrator(integrator if integrator is not None else RK8() if dt is None else RK4())
    if dt is not None and not method.fixed:
        raise ModelError(f"dt = {shown(dt)}, but {method.name} chooses its steps; leave dt out, or set its max_step")
    return method


def _course(method: Integrator, problem: InitialValueProblem, span: Span, dt: float | None) -> Course:
    if method.fixed:
        dt = USUAL_STEP if dt is None else dt
        return fixed_course(*span[:2], dt, *span[2:], stops=Stops(problem))
    return free_course(*span, Stops(problem).between(*span[:2]))
