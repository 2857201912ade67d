"""simulate: from Dynamics and an initial state to a Trajectory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, SimulationError, shown, warn
from kane.expression.arguments import listed
from kane.native.arrays import CHANGE_TIME, CHANGED, DONE, FOUND, ROWS, Course
from kane.progress import ProgressBar
from kane.simulation.asked.course import Span, fixed_course, free_course
from kane.simulation.asked.events import Event
from kane.simulation.asked.stops import Stops
from kane.simulation.failure import passages
from kane.simulation.inside import refuse_start
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.integrators.rk4 import RK4
from kane.simulation.integrators.rk8 import RK8
from kane.simulation.march import March
from kane.simulation.modes.charts import Charts
from kane.simulation.modes.pose import pose
from kane.simulation.problem import Problem
from kane.simulation.progress import told
from kane.simulation.recorded.trajectory import Trajectory
from kane.simulation.run import FAILURES, Outcome, run_march

USUAL_STEP = 1e-3  # s, of fixed steps


def simulate(
    dyn: Dynamics,
    *,
    until: float,
    q: Any = None,
    u: Any = None,
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
        dyn: what ``kane.build`` returned.
        until: last time [s]; before ``start``, time runs backwards.
        q, u: initial coordinates and speeds, an array or a dict from some of the names to numbers; what is not given is
            neutral (zero, identity quaternion) and at rest; dependent speeds that the model names follow from the
            others, unless one is given.
        inputs: None for the defaults that the model declares, zero unless given; an array of constants; samples of all
            inputs, ``Held`` or ``Interpolated`` or a pair (times, values), which is interpolated; or a dict from some
            of the names to numbers, samples or expressions of the model (controllers, compiled into the equations).
            Also a Python function of (t, q, u) that returns the inputs, in place of all or in the dict: a slow path,
            some hundred times slower, because each of the integrator's stages calls it, and so does each record. What
            is asked at ticks and held between them, as a digital controller, is a ``kane.Sampled``.
        integrator: RK8(), which chooses its steps for a relative error of 1e-9; RK4() where ``dt`` is given.
        dt: step of a fixed-step integrator, 1e-3 by default [s]; the last step ends exactly at ``until``.
        times: at which states are recorded besides the first and the last, from start to until [s]; steps do not end
            there, the integrator interpolates. By default 1,000 equal parts of the run.
        every: in place of times: every how many steps the state is recorded. With fixed steps the default is this, so
            that some 10,000 states are.
        events: sign changes to be found, one or several; the run ends at one that is terminal.
        parameters: array, or dict from some of the names to numbers; defaults for the others.
        start: first time [s].
        charts: that gimbals may take other angles near their singularities, and how near; not unless given.
        progress: called with the fraction done every 50 ms or so; by default a bar on terminals, for long runs, and
            elsewhere a warning of the logger "kane" after 10 s, 20 s, 40 s and so on.

    Returns:
        The trajectory. Ctrl-C ends a run early: the trajectory up to the state reached, which is its last record, is
        returned with a warning and marked interrupted.
        A warning also says where constraints nearly lost their grip, as where a linkage passes a flat position, so that
        a recorded state errs by a thousand times the tolerance or more, where slip lingers that is slower than steps
        err, and where fixed steps passed so near a state
        at which something is divided by zero that they cannot follow the motion.

    Raises:
        ModelError: an argument is not meaningful.
        SimulationError: the state stopped being finite, no step is short enough, an event does not end, or an
            integrator that chooses its steps gets nowhere: within a million evaluations it is given up. The message has
            the time and the state before, and what was found there: the expression at whose change of sign the run
            chatters, as dry friction does, a divisor of constraints or speeds near zero, digits that are lost; or what
            a sampled law in Python raised. Its ``trajectory`` is what was computed until then.
    """
    if not isinstance(dyn, Dynamics):
        raise ModelError(f"simulate needs Dynamics, as kane.build(equations) makes them, not {shown(dyn)}")
    events = (events,) if isinstance(events, Event) else listed(events, "events", "kane.Event(expression, ...)")
    method, span = _method(integrator, dt), Span.of(start, until, every, times)
    with ProgressBar(dyn.equations.name) as bar:
        listener = told(progress, bar)
        refuse_start(dyn, span.start, q, u, parameters)
        posed = pose(dyn, inputs, parameters, events, charts)
        problem, x = posed.switching.start(posed, start, q, u)
        march = problem.march(_course(method, problem, span, dt), x)
        bar.detail = lambda: _report(march)
        try:
            outcome = run_march(march, problem.advance(method), _told_and_renewed(march, listener))
            attributes = _attributes((problem, march, outcome), method)
            record = problem.record(march)
        except SimulationError as error:
            error.trajectory = _so_far(problem, march, method)
            raise
    doubt = "" if method.fixed else _lost(problem, march, method) or record.doubt(**method.settings)
    for said in filter(None, (*(list(passages(march)) or [march.near]), doubt, record.jammed())):
        warn(said)
    return Trajectory(record.labelled(attributes), dyn, method)


def _lost(problem: Problem, march: March, method: Integrator) -> str:
    """Where in the run, recorded or not, rounding cost more than the tolerances allow, in words."""
    least = march.system.settling.least
    return problem.constraints.lost(least, **method.settings) if problem.constraints and least.size else ""


def _so_far(problem: Problem, march: March, method: Integrator) -> Trajectory | None:
    """What a run that failed has recorded while constraints were kept; None where not even that can be told."""
    attributes = {"integrator": method.name, **method.settings, **problem.switching.attributes, "interrupted": 1}
    counts, changes = march.store.counts, march.store.changes[: march.store.counts[CHANGED], CHANGE_TIME]
    found, told, lost = None, 0, int(counts[ROWS]) + 1
    records = lost - 1
    while lost - told > 1:
        last = march.store.rows[records - 1, 0]
        counts[ROWS], counts[CHANGED] = records, np.count_nonzero((changes - last) * march.way <= 0.0)
        try:
            found, told = Trajectory(problem.record(march).labelled(attributes), problem.dyn), records
        except SimulationError:
            lost = records
        records = (told + lost) // 2
    return found


def _report(march: March) -> str:
    """Time, steps and events of a run so far, in words."""
    counts = march.store.counts
    found = f"{int(counts[DONE]):,} steps, {int(counts[FOUND] + counts[CHANGED]):,} events"
    return f"(t = {march.time:.6g} s of {march.course.until:.6g} s, {found})"


def _told_and_renewed(march: March, listener: Callable[[float], None]) -> Callable[[float], None]:
    """What is called after each chunk of a march."""

    def chunk_done(fraction: float) -> None:
        march.problem.switching.renew(march)
        listener(fraction)

    return chunk_done


def _attributes(ended: tuple[Problem, March, Outcome], method: Integrator) -> dict[str, Any]:
    """How the run was made; raises where it failed and warns where it was interrupted."""
    problem, march, outcome = ended
    if outcome in FAILURES.values():
        raise problem.failure(march, outcome)
    step = {"dt": abs(march.course.step)} if method.fixed else {}
    attributes = {"integrator": method.name, **step, **method.settings, **problem.switching.attributes}
    attributes["interrupted"] = int(outcome is Outcome.INTERRUPTED)
    if outcome is Outcome.INTERRUPTED:
        march.record_now()
        attributes["message"] = f"interrupted at t = {march.time:.9g} s of {march.course.until:.9g} s"
        warn(f"the simulation of {problem.layout.model!r} was {attributes['message']}")
    return attributes


def _method(integrator: Integrator | None, dt: float | None) -> Integrator:
    method = integrator if integrator is not None else RK8() if dt is None else RK4()
    if not isinstance(method, Integrator):
        raise ModelError(f"the integrator is {shown(method)}; give one such as kane.RK8()")
    if dt is not None and not method.fixed:
        raise ModelError(f"dt = {shown(dt)}, but {method.name} chooses its steps; leave dt out, or set its max_step")
    return method


def _course(method: Integrator, problem: Problem, span: Span, dt: float | None) -> Course:
    if method.fixed:
        dt = USUAL_STEP if dt is None else dt
        return fixed_course(*span[:2], dt, *span[2:], stops=Stops(problem))
    return free_course(*span, Stops(problem).between(*span[:2]))
