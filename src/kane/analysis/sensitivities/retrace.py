"""Repetition of a run with all its steps, cut into pieces of one mode each, with the transitions between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kane.analysis.sensitivities.changed_charts import ChartChange, ChartedLeg, charted_pieces, charts_of
from kane.analysis.sensitivities.held_laws import HeldAnswers, answers_of, require_derivatives, with_answers
from kane.analysis.sensitivities.impacts import STRIKES, Meeting, Strike
from kane.analysis.sensitivities.saltation import Saltation, held
from kane.analysis.sensitivities.same_steps import require_same_steps
from kane.analysis.sensitivities.sliding import BeginOfSlip, Drag, SlidingSlopes, StaticBound, sliding
from kane.analysis.sensitivities.slow_slip import graded
from kane.analysis.sensitivities.switches import require_smooth
from kane.analysis.sensitivities.variations import Array, Leg, ModeSlopes
from kane.dynamics.compiled_modes import statuses_in_words
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.run_interface import recorded_parameters
from kane.engine.memory.contact_codes import SLIDING, STICKING
from kane.errors import ModelError, SimulationError, shown
from kane.expression.node import Expr
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.constraints.rows import Equation
from kane.simulation import integrators
from kane.simulation.driver import advance_to_end, monitored_advance
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.inputs.closed_loop import with_laws
from kane.simulation.inputs.input_plan import InputPlan
from kane.simulation.integrator_state import IntegratorState, Outcome
from kane.simulation.integrators import RK8
from kane.simulation.integrators.explicit import Explicit
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.mode_source import ONE_MODE
from kane.simulation.modes.charted import ChartSwitching
from kane.simulation.modes.charted_contacts import ChartedContactSwitching
from kane.simulation.modes.set_up import set_up
from kane.simulation.results.contact_log import JAMS, ContactLog
from kane.simulation.results.trajectory import Trajectory
from kane.simulation.schedule.course import fixed_course, free_course
from kane.simulation.schedule.step_ends import Stops

# Kinds of transitions between sticking and sliding.
_SLIPS = ("slips", "sticks", "reverses")
# Kinds of transitions without a consistent mode, or with endless transitions.
STEPPED_OVER = "is stepped over"
# Normal speed of contacts closed from the start after projection, relative to the largest speed.
AT_THE_START = 1e-12
# Time of a transition, and the states before and after it.
Jump = tuple[float, Array, Array]


@dataclass(frozen=True, eq=False)
class Retraced:
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
    jumps: Sequence[Saltation | Meeting | ChartChange]
    answers: HeldAnswers
    times: Array


def retraced(run: Trajectory, inputs: Any, integrator: Integrator | None, direct: Sequence[str]) -> Retraced:
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
    if problem.plan.needs_python:
        raise ModelError(
            "inputs that are functions of Python have no derivatives; give expressions, kane.Interpolated, kane.Held, "
            "or a kane.Sampled with derivative="
        )
    if isinstance(problem.mode_source, ChartedContactSwitching):
        raise ModelError(
            f"{problem.layout.model!r} ran in charts with constraints that come and go, of which both together are not "
            "derived; let kane.Spherical take the place of the gimbal"
        )
    require_derivatives(problem.laws)
    method = _method(run, integrator)
    integration = _integrated(run, problem, method)
    laws, plan = problem.plan.expressions, problem.plan

    def slopes(of: Dynamics) -> ModeSlopes:
        return ModeSlopes(with_laws(of, laws) if laws else of, plan, values, tuple(direct))

    if isinstance(problem.mode_source, ChartSwitching):
        return _in_charts(run, integration, problem, method, slopes)
    states = integration.states()
    log = None if problem.mode_source is ONE_MODE else problem.record(integration).contact_log
    if log is not None:
        require_no_step_over(dyn.equations.name, log.times, log.kinds)
    said = integration.sampler.answers() if integration.sampler is not None else []
    plan = with_answers(problem.plan, said, float(run.time[0]))
    whole = slopes(dyn)
    pieces, changes = Cutter(whole.dyn, plan, values, tuple(direct), method).cut(states, log)
    for piece in pieces:
        require_smooth(piece)
    answers = HeldAnswers.of(answers_of(whole, said, states))
    return Retraced(problem, method, pieces, changes, answers, np.array(run.time))


def _in_charts(
    run: Trajectory,
    integration: IntegratorState,
    problem: InitialValueProblem,
    method: Explicit,
    slopes: Callable[[Dynamics], ModeSlopes],
) -> Retraced:
    """Return a run that changed charts, as pieces in the charts of each stretch."""
    mode_source = problem.mode_source
    assert isinstance(mode_source, ChartSwitching)
    if problem.laws:
        raise ModelError(
            f"{problem.layout.model!r} ran in charts under sampled laws, of which both together are not derived; let "
            "kane.Spherical take the place of the gimbal"
        )
    pieces, jumps = charted_pieces(run, integration, mode_source, lambda key: slopes(mode_source.problem(key).dyn))
    for piece in pieces:
        require_same_steps(piece, method, ", in another chart" if isinstance(piece, ChartedLeg) and piece.key else "")
        require_smooth(piece)
    return Retraced(problem, method, pieces, jumps, HeldAnswers.of(()), np.array(run.time))


def _integrated(run: Trajectory, problem: InitialValueProblem, method: Explicit) -> IntegratorState:
    """Repeat the run with a record of each step.

    Raises:
        SimulationError: the run does not reach its end.
    """
    start, until = float(run.time[0]), float(run.time[-1])
    if method.fixed:
        course = fixed_course(start, until, float(run.to_xarray().attrs["dt"]), 1, None, stops=Stops(problem))
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
                f"the run of {name!r} is stepped over at t = {t:.9g} s, by a step of Moreau and Jean, which is not "
                "derived; derive a run that ends before"
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
    own, about = run._method, run.to_xarray().attrs
    if own is None:  # the run is from a file
        kind = vars(integrators).get(str(about["integrator"]))
        if kind is None:
            raise ModelError(
                f"the run was made with {about['integrator']}, which is no integrator of kane; give integrator="
            )
        own = kind(**{word: float(about[word]) for word in ("rtol", "atol") if word in about})
    return own if isinstance(own, Explicit) else RK8()


@dataclass(frozen=True, eq=False)
class Cutter:
    """Cuts the states of a run at transitions between modes."""

    dyn: Dynamics
    plan: InputPlan
    parameters: Array
    direct: tuple[str, ...]
    method: Explicit

    def cut(self, states: Array, log: ContactLog | None) -> tuple[list[Leg], list[Saltation | Meeting]]:
        if log is None:
            whole = Leg(self._motion(()), states[:, 0], states[:, 1:])
            require_same_steps(whole, self.method, "")
            return [whole], []
        there = _there_from_the_start(log, states[0, 0])
        groups = _together(log, there)
        changes = [_change(log, group) for group in groups]
        begins = [states[0], *(np.concatenate([[t], after]) for t, _, after in changes)]
        ends = [*(np.concatenate([[t], before]) for t, before, _ in changes), states[-1]]
        modes = [first_statuses(log, states[0, 0]), *(log.after[group[-1]] for group in groups)]
        pieces = [
            _piece(self._mode(mode), states, begin, end) for mode, begin, end in zip(modes, begins, ends, strict=True)
        ]
        parts = list(self._graded(log, groups, pieces))  # raises for slips that are too stiff for their steps
        for mode, piece in zip(modes, pieces, strict=True):
            require_same_steps(piece, self.method, f", with {statuses_in_words(mode, log.intermittents)}")
        jumps: list[Saltation | Meeting] = []
        for k, legs in enumerate(parts):
            if k:
                jumps.append(self._jump(log, groups[k - 1], [parts[k - 1][-1], legs[0]], changes[k - 1]))
            for a, b in pairwise(legs):
                jumps.append(Saltation(a.motion, b.motion, float(b.t[0]), b.x[0], b.x[0], None, (), "slip"))
        return [leg for legs in parts for leg in legs], jumps

    def _graded(self, log: ContactLog, groups: Sequence[Sequence[int]], pieces: Sequence[Leg]) -> Iterator[list[Leg]]:
        """The pieces, those with short steps where a slip in space begins or ends; one where it does both is two."""
        intermittents = self.dyn.equations.intermittents

        def slow(group: Sequence[int], kind: str) -> list[IntermittentEquations]:
            causes = (intermittents[log.causes[i]] for i in group if log.kinds[i] == kind)
            return [c for c in causes if len(c.tangents) == 2]

        for k, piece in enumerate(pieces):
            begin, end = slow(groups[k - 1] if k else (), "slips"), slow(groups[k] if k < len(groups) else (), "sticks")
            parts = [piece]
            if begin:
                whole = graded(piece, self.method, begin, begins=True)
                half = int(np.argmin(np.abs(whole.t - 0.5 * (whole.t[0] + whole.t[-1]))))
                parts = [Leg(whole.motion, whole.t[: half + 1], whole.x[: half + 1])]
                parts.append(Leg(piece.motion, whole.t[half:], whole.x[half:]))
            if end:
                parts[-1] = graded(parts[-1], self.method, end, begins=False)
            yield parts

    def _motion(self, rows: Sequence[Equation]) -> ModeSlopes:
        return ModeSlopes(held(self.dyn, rows), self.plan, self.parameters, self.direct)

    def _mode(self, statuses: Array) -> ModeSlopes:
        rows: list[Equation] = []
        drags: list[Drag] = []
        for c, status in zip(self.dyn.equations.intermittents, statuses, strict=True):
            if status == STICKING:
                rows += c.rows
            elif status == SLIDING:
                rows += [] if c.normal is None else [c.normal]
                drags += [Drag(c.normal, c.tangents, c.numbers.kinetic)] if c.tangents else []
        motion = self._motion(rows)
        return sliding(motion, drags) if drags else motion

    def _jump(self, log: ContactLog, group: Sequence[int], pieces: Sequence[Leg], at: Jump) -> Saltation | Meeting:
        before, after = (piece.motion for piece in pieces)
        k = group[0]
        intermittents, kind = self.dyn.equations.intermittents, log.kinds[k]
        if kind in _SLIPS:
            return self._slip(log, group, (before, after), at)
        first = Strike(intermittents[log.causes[k]], kind)
        strikes = [Strike(intermittents[log.causes[i]], log.kinds[i]) for i in group if log.kinds[i] in STRIKES]
        together = [guard for other in strikes[1:] if (guard := other.guard) is not None]
        then = log.after[group[-1]]
        jump = first.change((before, after), at, self._closed(then, first.c), together)
        if len(strikes) < 2 or (jump.lawful and jump.always_together):
            return jump
        return self._meeting(strikes, log.after[k - 1] if k else log.statuses[0], then, at) or jump

    def _meeting(self, strikes: Sequence[Strike], before: Array, after: Array, at: Jump) -> Meeting | None:
        """Impacts that meet; None where something else changes with them."""
        intermittents = self.dyn.equations.intermittents
        changed = [c for c, a, b in zip(intermittents, before, after, strict=True) if a != b]
        if any(all(c is not strike.c for strike in strikes) for c in changed):
            return None
        return Meeting(strikes, intermittents, self.dyn.equations.constraints, before, after, self._mode, at)

    def _closed(self, statuses: Array, beside: IntermittentEquations) -> list[Equation]:
        """Rows that are in force besides those of one contact."""
        pairs = zip(self.dyn.equations.intermittents, statuses, strict=True)
        closed = (row for c, status in pairs if status == STICKING and c is not beside for row in c.rows)
        return [*self.dyn.equations.constraints, *closed]

    def _slip(
        self, log: ContactLog, group: Sequence[int], motions: tuple[ModeSlopes, ModeSlopes], at: Jump
    ) -> Saltation:
        """What friction does between sticking and sliding, at several contacts of a body together."""
        causes = [self.dyn.equations.intermittents[log.causes[i]] for i in group]
        c, kind, (t, x, x_after) = causes[0], log.kinds[group[0]], at
        if kind == "slips" and self.plan.jumps(t):
            return Saltation(*motions, t, x, x_after, None, (), c.name)
        if any(len(other.tangents) != len(c.tangents) for other in causes):
            raise ModelError(
                f"{c.name!r} {kind} at t = {t:.9g} s together with another contact, one of the two in a plane and "
                "one in space; such changes are not derived: end the run before that time"
            )
        if kind == "slips":
            bounds = tuple(StaticBound(other.normal, other.tangents, other.numbers.static) for other in causes)
            return BeginOfSlip(*motions, t, x, x_after, None, (), c.name, bounds=bounds)
        if len(c.tangents) == 1:
            return Saltation(*motions, t, x, x_after, c.tangents[0].motion, (), c.name)
        if kind == "reverses":
            raise ModelError(
                f"{c.name!r} reverses at t = {t:.9g} s in space, where a slip turns and does not pass through rest but "
                "by rounding; give the run smaller tolerances, and where static friction is hardly above kinetic, more "
                "of it"
            )
        closed = self._closed(log.after[group[-1]], c)
        rows, drags = Strike(c, kind).rows(closed, c.tangents), list[tuple[Equation, Expr, int]]()
        if isinstance(motions[1], SlidingSlopes):
            for normal, friction in _slipping_on(motions[1], t, x_after):
                rows.append((normal, 0.0))
                drags += [(row, share, len(rows) - 1) for row, share in friction]
        return Saltation(*motions, t, x_after, x_after, None, rows, c.name, drags=drags)


def _slipping_on(motion: SlidingSlopes, t: float, x: Array) -> Iterator[tuple[Equation, list[tuple[Equation, Expr]]]]:
    """The normal rows of what slips, and its tangents with the friction along them per unit of normal force."""
    slips = motion.slips(np.array([t]), x[None, :])[0]
    for drag, v in zip(motion.drags, slips, strict=True):
        if drag.normal is not None:
            along = (v / np.linalg.norm(v)).tolist()
            yield drag.normal, [(row, -drag.kinetic * e) for row, e in zip(drag.tangents, along, strict=False)]


def first_statuses(log: ContactLog, start: float) -> Array:
    """Those in which a run that begins at a time goes on from there."""
    there = _there_from_the_start(log, start)
    return np.asarray(log.after[there - 1] if there else log.statuses[0])


def _there_from_the_start(log: ContactLog, start: float) -> int:
    """How many of the first changes say what is in force at the start, where nothing jumps."""
    begins = (log.times == start) & (
        np.abs(log.u - log.u_before).max(axis=1) <= AT_THE_START * np.abs(log.u).max(axis=1, initial=1.0)
    )
    return int(np.argmin(np.append(begins, False)))


def _change(log: ContactLog, group: Sequence[int]) -> Jump:
    """When, and the states on both sides."""
    first, last = group[0], group[-1]
    before, after = (np.concatenate([log.q[first], u]) for u in (log.u_before[first], log.u[last]))
    return float(log.times[first]), before, after


def _together(log: ContactLog, first: int) -> list[list[int]]:
    """Changes from the first on; what an impact brings with it, and what friction does at several contacts at one time,
    is one change, its cause first.
    """
    groups: list[list[int]] = []
    for k in range(first, len(log.times)):
        same = bool(groups) and log.times[k] == log.times[groups[-1][0]]
        kind = log.kinds[groups[-1][0]] if same else ""
        if kind in STRIKES or (kind in _SLIPS and log.kinds[k] == kind):
            groups[-1].append(k)
        else:
            groups.append([k])
    return groups


def _piece(motion: ModeSlopes, states: Array, begin: Array, end: Array) -> Leg:
    """The steps from one state [t, x] to another."""
    low, high = sorted((begin[0], end[0]))
    inside = states[(states[:, 0] > low) & (states[:, 0] < high)]
    whole = np.concatenate([begin[None], inside, end[None]] if low < high else [begin[None]])
    t, x = whole[:, 0], whole[:, 1:]
    return Leg(motion.directed(t, x) if isinstance(motion, SlidingSlopes) else motion, t, x)
