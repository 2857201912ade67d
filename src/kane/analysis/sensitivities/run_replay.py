"""Replay of a run with all its steps, cut into pieces of one mode each, with the transitions between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kane.analysis.sensitivities.chart_changes import ChartChange, charted_pieces, charts_of
from kane.analysis.sensitivities.contact_motions import ContactMotions
from kane.analysis.sensitivities.force_jumps import require_smooth
from kane.analysis.sensitivities.mode_changes import Jump, pieces_of
from kane.analysis.sensitivities.variations import Array, Leg, ModeSlopes
from kane.analysis.sensitivities.zero_order_hold import HeldAnswers, answers_of, require_derivatives, with_answers
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.run_interface import STEPPED_OVER, recorded_parameters
from kane.errors import ModelError, SimulationError, shown
from kane.formulation.constraints.intermittent_rows import commanding_inputs
from kane.simulation import integrators
from kane.simulation.driver import advance_to_end, monitored_advance
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.inputs.closed_loop import with_laws
from kane.simulation.integrator_state import IntegratorState, Outcome
from kane.simulation.integrators import RK8
from kane.simulation.integrators.explicit import Explicit
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.mode_source import ONE_MODE
from kane.simulation.modes.chart_switching import ChartSwitching
from kane.simulation.modes.charted_contact_switching import ChartedContactSwitching
from kane.simulation.modes.set_up import set_up
from kane.simulation.results.contact_log import JAMS
from kane.simulation.results.trajectory import Trajectory
from kane.simulation.schedule.course import fixed_course, free_course
from kane.simulation.schedule.step_ends import Stops


@dataclass(frozen=True, eq=False)
class Replay:
    """Run as a sequence of steps.

    Attributes:
        problem: initial value problem of the run.
        method: integrator.
        pieces: steps in one mode each, in order.
        jumps: transitions between the pieces, one fewer than pieces.
        answers: answers of sampled laws.
        times: times of the records.
    """

    problem: InitialValueProblem
    method: Explicit
    pieces: Sequence[Leg]
    jumps: Sequence[Jump | ChartChange]
    answers: HeldAnswers
    times: Array


def replayed(run: Trajectory, inputs: Any, integrator: Integrator | None, direct: Sequence[str]) -> Replay:
    """Repeat a run.

    Args:
        run: result of ``simulate``.
        inputs: inputs as given to ``simulate``; None for constant inputs.
        integrator: None for the method of the run, or RK8() if that is not an explicit Runge-Kutta method.
        direct: names of the parameters that are varied.

    Raises:
        ModelError, SimulationError: as ``sensitivities``.
    """
    dyn = run.dynamics()
    require_no_step_over(dyn.equations.name, (e.time for e in run.events), (e.cause for e in run.events))
    values = recorded_parameters(run, dyn.equations)
    problem = set_up(dyn, _inputs(run, inputs), values, (), charts_of(run))
    _require_derivable(problem)
    method = _method(run, integrator)
    integration = _integrated(run, problem, method)
    said = integration.sampler.answers() if integration.sampler is not None else []
    laws, plan = problem.plan.expressions, with_answers(problem.plan, said, float(run.time[0]))

    def slopes(of: Dynamics) -> ModeSlopes:
        return ModeSlopes(with_laws(of, laws) if laws else of, plan, values, tuple(direct))

    states, whole, source = integration.states(), slopes(dyn), problem.mode_source
    pieces: Sequence[Leg]
    jumps: Sequence[Jump | ChartChange]
    if isinstance(source, ChartSwitching):
        pieces, jumps = charted_pieces(run, integration, method, lambda key: slopes(source.problem(key).dyn))
    else:
        log = None if source is ONE_MODE else problem.record(integration).contact_log
        if log is not None:
            require_no_step_over(dyn.equations.name, log.times, log.kinds)
        pieces, jumps = pieces_of(ContactMotions(whole.dyn, plan, values, tuple(direct)), method, states, log)
    for piece in pieces:
        require_smooth(piece)
    answers = HeldAnswers.of(answers_of(whole, said, states))
    return Replay(problem, method, pieces, jumps, answers, np.array(run.time))


def _require_derivable(problem: InitialValueProblem) -> None:
    """Raise if inputs, or their combination with contacts and charts, have no derivatives."""
    if problem.plan.needs_python:
        raise ModelError(
            "inputs that are functions of Python have no derivatives; give expressions, kane.Interpolated, kane.Held, "
            "or a kane.Sampled with derivative="
        )
    signals = commanding_inputs(problem.dyn.equations.intermittents, ("on", "off"))
    if signals:
        raise ModelError(
            f"on= or off= of {next(iter(signals.values()))!r} depends on an input or a reaction, and the times of "
            "its transitions have no derivatives; give an expression of time and parameters"
        )
    if isinstance(problem.mode_source, ChartedContactSwitching):
        raise ModelError(
            f"{problem.layout.model!r} ran in charts with intermittent constraints; derivatives of both together are "
            "not available: use kane.Spherical in place of the gimbal"
        )
    if isinstance(problem.mode_source, ChartSwitching) and problem.laws:
        raise ModelError(
            f"{problem.layout.model!r} ran in charts under sampled laws; derivatives of both together are not "
            "available: use kane.Spherical in place of the gimbal"
        )
    require_derivatives(problem.laws)


def _integrated(run: Trajectory, problem: InitialValueProblem, method: Explicit) -> IntegratorState:
    """Repeat the run with a record of each step.

    Raises:
        SimulationError: the run does not reach its end.
    """
    start, until = float(run.time[0]), float(run.time[-1])
    if method.fixed:
        course = fixed_course(start, until, float(run._run.attributes["dt"]), 1, None, stops=Stops(problem))
    else:
        course = free_course(start, until, 1, None, Stops(problem).between(start, until))
    begin, x = problem, np.concatenate([run.q[0], run.u[0]])
    if isinstance(problem.mode_source, ChartSwitching):
        begin, x = problem.mode_source.start(problem, start, run.q[0], run.u[0])
    integration = begin.integration(course, x)
    outcome = advance_to_end(integration, monitored_advance(begin, method), lambda fraction: None)
    if outcome is not Outcome.FINISHED:
        raise SimulationError(f"the run of {problem.layout.model!r} could not be taken again: {outcome.value}")
    return integration


def require_no_step_over(name: str, times: Iterable[float], kinds: Iterable[str]) -> None:
    """Raise if a run has a Moreau-Jean time step or a dynamic jam, which have no derivatives."""
    for t, kind in zip(times, kinds, strict=True):
        if kind == JAMS:
            raise ModelError(
                f"a contact of {name!r} jams at t = {t:.9g} s (Painleve), where the motion has no derivatives; derive "
                "a run that ends before"
            )
        if kind == STEPPED_OVER:
            raise ModelError(
                f"the run of {name!r} takes a Moreau-Jean time step at t = {t:.9g} s, whose derivatives are not "
                "available; derive a run that ends before"
            )


def _inputs(run: Trajectory, given: Any) -> Any:
    """Return the inputs as given, or the constant inputs of the run."""
    if given is not None:
        return given
    recorded = run.inputs
    if recorded.size and np.ptp(recorded, axis=0).any():
        raise ModelError("the inputs of this run vary; give them as they were given to simulate (inputs=)")
    return recorded[0] if recorded.size else None


def _method(run: Trajectory, given: Integrator | None) -> Explicit:
    """Return the method for the repetition: by default the method of the run if it is explicit."""
    if given is not None:
        if not isinstance(given, Explicit) or given.fixed:
            raise ModelError(
                f"the integrator is {shown(given)}; give an explicit one that chooses its steps, such as kane.RK8()"
            )
        return given
    own, about = run._method, run._run.attributes
    if own is None:  # the run is from a file
        kind = getattr(integrators, str(about["integrator"]), None)
        if kind is None:
            raise ModelError(
                f"the run was made with {about['integrator']}, which is no integrator of kane; give integrator="
            )
        own = kind(**{word: float(about[word]) for word in ("rtol", "atol") if word in about})
    return own if isinstance(own, Explicit) else RK8()
