"""``kane.simulate_many``: integrate many trajectories of one model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from kane.dynamics.dynamics import Dynamics
from kane.dynamics.inertia_left import require_inertia
from kane.engine.memory.loop_arguments import Course, Matrix, Trajectories
from kane.engine.memory.run_codes import FINISHED, WAITING
from kane.engine.memory.views import projection_notes_size
from kane.ensembles.conditions import Conditions, course_of, split_inputs
from kane.ensembles.ensemble import Ensemble
from kane.ensembles.projected_lanes import ProjectedLanes
from kane.errors import ModelError, shown, warn
from kane.expression.number_arguments import require
from kane.progress import ProgressBar
from kane.simulation.driver import FAILURES
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import IntegratorState, Status
from kane.simulation.integrators.explicit import Adaptive
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.integrators.rk8 import RK8
from kane.simulation.integrators.slip_threshold import tolerate
from kane.simulation.modes.set_up import set_up
from kane.simulation.monitors.failure import failure_of
from kane.simulation.monitors.penetration import refuse_starts
from kane.simulation.monitors.run_progress import told
from kane.simulation.schedule.course import Span, free_course, select_stops
from kane.simulation.schedule.step_ends import Stops
from kane.simulation.state_layout import Layout


def simulate_many(
    dyn: Dynamics,
    *,
    until: float,
    q: Any = None,
    u: Any = None,
    inputs: Any = None,
    parameters: Any = None,
    integrator: Integrator | None = None,
    times: Any = None,
    start: float = 0.0,
    progress: Callable[[float], None] | None = None,
) -> Ensemble:
    """Integrate n trajectories of one model in SIMD lanes and on several processors.

    Each trajectory has its own steps. Its result equals a run of ``simulate`` to the last bit for any number of threads
    that ``LLVM(threads=...)`` allows. With numerically embedded constraints, and with intermittent constraints, each
    thread computes one trajectory at a time, without SIMD lanes. With compiled modes (``kane.compile_modes``) it uses
    lanes, each in its own mode. If a trajectory fails, the others continue; ``Ensemble.failures`` has the reason.

    Args:
        dyn: returned by ``kane.build``.
        until: last time [s]; time runs backwards if it is before ``start``.
        q, u: initial coordinates (n, nq) and speeds (n, nu), or one row for all; or a dict from names to numbers or
            (n,) arrays. By default the neutral configuration at rest.
        inputs: constants, (n, inputs) or one row for all; or a dict from names to numbers, (n,) arrays or expressions
            of the model (controllers, compiled into the equations).
        parameters: as q, for parameters; declared defaults unless given.
        integrator: explicit, with step-size control; RK8(), with a relative tolerance of 1e-9, unless given.
        times: times from start to until [s] at which states are recorded, in addition to the first and the last; by
            default only the first and the last.
        start: first time [s].
        progress: function of the completed fraction, called about every 50 ms; by default progress is shown as by
            ``simulate``.

    Returns:
        The ensemble. Ctrl-C ends the computation early with a warning: the result has the trajectories computed so far
        and is marked as interrupted.

    Raises:
        ModelError: an argument is invalid for all trajectories, or every trajectory starts with penetrating bodies.
    """
    require(dyn, Dynamics, "simulate_many needs Dynamics, as kane.build(equations) returns")
    method = integrator if integrator is not None else RK8()
    if not isinstance(method, Adaptive):
        raise ModelError(
            f"simulate_many needs an integrator with step-size control: kane.RK5() or kane.RK8(), not {shown(method)}"
        )
    span = Span.of(start, until, None, () if times is None else times)
    constants, expressions = split_inputs(inputs)
    conditions = Conditions.of(Layout.of(dyn.equations), q, u, constants, parameters)
    if len(conditions.parameters) == 1:  # one row for all trajectories
        dyn.equations.parameter_bounds.require(conditions.parameters)
        require_inertia(dyn, conditions.parameters)
    refuse_starts(dyn, span.start, np.column_stack([conditions.q, conditions.u]), conditions.parameters)
    # Lanes that share one row of parameters take it from the problem.
    problem = set_up(dyn, expressions, conditions.parameters[0] if len(conditions.parameters) == 1 else None, ())
    course = free_course(*span)
    with ProgressBar(problem.layout.model) as bar:
        listener = told(progress, bar)
        failures = conditions.project(problem.layout, dyn)
        conditions.u[:] = problem.with_dependent(start, conditions.q, conditions.u, u, conditions.parameters)
        return _run((problem, conditions, course, method), failures, progress=listener)


Posed = tuple[InitialValueProblem, Conditions, Course, Adaptive]


def _run(posed: Posed, failures: dict[int, str], *, progress: Callable[[float], None]) -> Ensemble:
    problem, conditions, course, method = posed
    projected = ProjectedLanes.of(problem, conditions) if problem.project is not None else None
    if projected is not None:
        failures.update(projected.refuse(course, [i for i in range(len(conditions)) if i not in failures]))
    trajectories = _trajectories(problem, conditions, course, failures)
    if projected is not None:
        projected.begin(course.start, trajectories)
        tolerate(problem.project, trajectories.stages, method.settings.get("atol", 0.0))
    complete = True
    if course.start != course.until and len(trajectories.order):
        complete = _carried(posed, (trajectories, projected), failures, progress)
    else:
        nx = trajectories.starts.shape[1]
        trajectories.rows[:, 0, 0], trajectories.rows[:, 0, 1 : 1 + nx] = course.start, trajectories.starts
        trajectories.status[trajectories.order] = FINISHED
    for i in np.flatnonzero(trajectories.status != FINISHED):
        if int(i) not in failures:
            failures[int(i)] = _reason(problem, conditions, course, trajectories, int(i))
    attributes: dict[str, Any] = {"integrator": method.name, **method.settings, "interrupted": int(not complete)}
    if not complete:
        done = int(np.count_nonzero(trajectories.status == FINISHED))
        attributes["message"] = f"interrupted after {done} of {len(conditions)} trajectories"
        warn(f"the ensemble of {problem.layout.model!r} was {attributes['message']}")
    nq = len(problem.layout.coordinates)
    return Ensemble(
        time=course.times,
        q=trajectories.rows[:, :, 1 : 1 + nq],
        u=trajectories.rows[:, :, 1 + nq : 1 + trajectories.starts.shape[1]],
        inputs=conditions.inputs,
        parameters=conditions.parameters,
        steps=trajectories.steps,
        rejected=trajectories.rejected,
        failures=dict(sorted(failures.items())),
        layout=replace(problem.layout, joints=()),  # names and units only: joints would keep the whole model alive
        attributes=attributes,
    )


def _carried(
    posed: tuple[InitialValueProblem, Conditions, Course, Adaptive],
    asked: tuple[Trajectories, ProjectedLanes | None],
    failures: dict[int, str],
    progress: Callable[[float], None],
) -> bool:
    """Compute the trajectories, in lanes or one by one; return whether all were completed."""
    from kane.ensembles.one_by_one import OneByOne
    from kane.ensembles.workers import Workers  # imported late: thread pools take milliseconds to import

    (problem, conditions, course, method), (trajectories, projected) = posed, asked
    single_run = partial(_as_single_run, problem, conditions, course, trajectories)
    lanes = Workers(problem, course, method, trajectories, len(trajectories.stages) > 1, single_run, projected)
    if problem.project is None:
        return lanes.run(progress)
    complete, left = True, trajectories.order
    lost: dict[int, str] = {}
    doubts: dict[int, str] = {}
    if projected is not None:
        complete, left = lanes.run(progress), projected.left(trajectories)
        lost, doubts = projected.judge(trajectories, method)
    if complete and len(left):
        trajectories.status[left] = WAITING
        each = OneByOne(problem, conditions, course, method, trajectories._replace(order=left))
        complete, lost, doubts = each.run(progress), lost | each.failures, doubts | each.doubts
    failures.update(lost)
    if doubts:
        first = min(doubts)
        many = f"{len(doubts)} of {len(conditions)} trajectories may be inaccurate"
        warn(f"{many}; trajectory {first}: {doubts[first]}")
    return complete


def _trajectories(
    problem: InitialValueProblem, conditions: Conditions, course: Course, failures: Mapping[int, str]
) -> Trajectories:
    """Allocate the arrays of the native loop; its order excludes trajectories that cannot start."""
    n = len(conditions)
    starts = np.ascontiguousarray(np.concatenate([conditions.q, conditions.u], axis=1))
    try:
        notes = projection_notes_size() if problem.project is not None else 0
        rows = np.full((n, len(course.times), 1 + starts.shape[1] + notes), math.nan)
    except (MemoryError, ValueError):
        raise ModelError(
            f"{n} trajectories of {len(course.times)} states do not fit in memory; give fewer times, or compute fewer "
            "trajectories at once"
        ) from None
    return Trajectories(
        order=np.array([i for i in range(n) if i not in failures], dtype=np.int64),
        starts=starts,
        inputs=conditions.inputs,
        stages=np.ascontiguousarray((problem.project or problem.rhs).stage(conditions.parameters)),
        stops=_stops(problem, conditions, course),
        rows=rows,
        last=np.zeros((n, 1 + starts.shape[1])),
        steps=np.zeros(n, np.int64),
        rejected=np.zeros(n, np.int64),
        status=np.full(n, WAITING),
    )


def _stops(problem: InitialValueProblem, conditions: Conditions, course: Course) -> Matrix:
    """Return the stops of each trajectory; see ``Trajectories``."""
    eqs, span = problem.dyn.equations, (course.start, course.until)
    given = dict(zip((*eqs.parameters, *eqs.inputs), (*conditions.parameters.T, *conditions.inputs.T), strict=True))
    each = [select_stops(*span, bends) for bends in Stops(problem).of_rows(span, given)]
    found = np.full((len(each), max(map(len, each))), course.until)
    for row, own in zip(found, each, strict=True):
        row[: len(own)] = own
    return found


def _reason(
    problem: InitialValueProblem, conditions: Conditions, course: Course, trajectories: Trajectories, i: int
) -> str:
    """Return why trajectory i did not finish, in the words of ``simulate``."""
    if trajectories.status[i] == WAITING:
        return "interrupted"
    run = _as_single_run(problem, conditions, course, trajectories, i)
    return str(failure_of(run, FAILURES[Status(trajectories.status[i])]))


def _as_single_run(
    problem: InitialValueProblem, conditions: Conditions, course: Course, trajectories: Trajectories, i: int
) -> IntegratorState:
    """Return trajectory i as a single run, at the last state that it reached."""
    own = problem.of_values(conditions.row("parameters", i), conditions.row("inputs", i))
    integration = own.integration(course_of(course, trajectories, i), trajectories.last[i, 1:])
    integration.clock.time[0] = trajectories.last[i, 0]
    return integration
