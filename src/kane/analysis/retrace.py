"""A run taken again with all its steps, cut into pieces of one mode each, with what happens between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kane.analysis.saltation import Saltation, held
from kane.analysis.switches import require_smooth
from kane.analysis.variations import Array, Leg, ModeSlopes
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.recorded import recorded_parameters
from kane.errors import ModelError, SimulationError, shown
from kane.expression.node import Expr
from kane.formulation.constraints.candidates import CandidateEquations
from kane.formulation.constraints.rows import Equation
from kane.native.contacts.header import GAP, HELD, OFF, ON, OPEN, RESTITUTION
from kane.simulation.asked.closed_loop import with_laws
from kane.simulation.asked.course import fixed_course, free_course
from kane.simulation.integrators import RK4, RK5, RK8
from kane.simulation.integrators.explicit import Explicit
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.modes.pose import pose
from kane.simulation.problem import Problem
from kane.simulation.recorded.story import Story
from kane.simulation.recorded.trajectory import Trajectory
from kane.simulation.run import Outcome, run_march
from kane.simulation.switching import ONE_MODE

# What friction does between sticking and sliding.
_SLIPS = ("slips", "sticks", "reverses")


@dataclass(frozen=True, eq=False)
class Retraced:
    """A run by its steps.

    Attributes:
        problem: that was posed.
        method: of integration.
        pieces: in their order; between each and the next one is a jump.
        jumps: one less.
        times: of the run's records.
    """

    problem: Problem
    method: Explicit
    pieces: Sequence[Leg]
    jumps: Sequence[Saltation]
    times: Array


def retraced(run: Trajectory, inputs: Any, integrator: Integrator | None, direct: Sequence[str]) -> Retraced:
    """Take a run again.

    Args:
        run: from ``simulate``.
        inputs: as they were given to it, or None where they were constant.
        integrator: None for the run's own, or RK8() where that is no explicit Runge-Kutta method.
        direct: names of the parameters that are varied.

    Raises:
        ModelError, SimulationError: as of ``sensitivities``.
    """
    dyn = run.dynamics()
    values = recorded_parameters(run, dyn.equations)
    problem = pose(dyn, _inputs(run, inputs), values, (), None)
    if problem.plan.needs_python or problem.laws:
        raise ModelError("inputs that are functions of Python or sampled have no derivatives; give expressions")
    about = run.to_xarray().attrs
    if "charts" in about:
        raise ModelError(f"{dyn.equations.name!r} ran in charts, through whose changes no derivatives are taken")
    method = _method(about, integrator)
    start, until = float(run.time[0]), float(run.time[-1])
    if method.fixed:
        course = fixed_course(start, until, float(about["dt"]), 1, None)
    else:
        course = free_course(start, until, 1, None, problem.plan.tables())
    march = problem.march(course, np.concatenate([run.q[0], run.u[0]]))
    outcome = run_march(march, problem.advance(method), lambda fraction: None)
    if outcome is not Outcome.FINISHED:
        raise SimulationError(f"the run of {dyn.equations.name!r} could not be taken again: {outcome.value}")
    laws = problem.plan.expressions
    closed = with_laws(dyn, laws) if laws else dyn
    states = march.states()
    story = None if problem.switching is ONE_MODE else problem.record(march).story
    cutter = _Cutter(closed, problem, values, tuple(direct))
    pieces, jumps = cutter.cut(states, story)
    for piece in pieces:
        require_smooth(piece)
    return Retraced(problem, method, pieces, jumps, np.array(run.time))


def _inputs(run: Trajectory, given: Any) -> Any:
    """The inputs as given, or the constant ones of the run."""
    if given is not None:
        return given
    recorded = run.inputs
    if recorded.size and np.ptp(recorded, axis=0).any():
        raise ModelError("the inputs of this run vary; give them as they were given to simulate (inputs=)")
    return recorded[0] if recorded.size else None


def _method(about: Any, given: Integrator | None) -> Explicit:
    if given is not None:
        if not isinstance(given, Explicit) or given.fixed:
            raise ModelError(
                f"the integrator is {shown(given)}; give an explicit one that chooses its steps, such as kane.RK8()"
            )
        return given
    own = {kind.__name__: kind for kind in (RK5, RK8)}.get(about["integrator"])
    if about["integrator"] == RK4.__name__:
        return RK4()
    return RK8() if own is None else own(rtol=float(about["rtol"]), atol=float(about["atol"]))


@dataclass(frozen=True, eq=False)
class _Cutter:
    """What cuts the states of a run where the mode changes."""

    dyn: Dynamics
    problem: Problem
    parameters: Array
    direct: tuple[str, ...]

    def cut(self, states: Array, story: Story | None) -> tuple[list[Leg], list[Saltation]]:
        if story is None:
            return [Leg(self._motion(()), states[:, 0], states[:, 1:])], []
        ends = list(self._changes(story))
        pieces: list[Leg] = []
        jumps: list[Saltation] = []
        motion, begin = self._mode(story.statuses[0], states[0, 0]), states[0]
        for t, before, after, k in ends:
            pieces.append(_piece(motion, states, begin, np.concatenate([[t], before])))
            following = self._mode(story.after[k], t)
            jumps.append(self._jump(story, k, (motion, following), (t, before, after)))
            motion, begin = following, np.concatenate([[t], after])
        pieces.append(_piece(motion, states, begin, states[-1]))
        return pieces, jumps

    def _changes(self, story: Story) -> Iterator[tuple[float, Array, Array, int]]:
        for k, t in enumerate(story.times):
            q = story.q[k]
            yield float(t), np.concatenate([q, story.u_before[k]]), np.concatenate([q, story.u[k]]), k

    def _motion(self, rows: Sequence[Equation]) -> ModeSlopes:
        return ModeSlopes(held(self.dyn, rows), self.problem.plan, self.parameters, self.direct)

    def _mode(self, statuses: Array, t: float) -> ModeSlopes:
        candidates = self.dyn.equations.candidates
        for c, status in zip(candidates, statuses, strict=True):
            if status not in (OPEN, HELD):
                raise ModelError(f"{c.name!r} slides at t = {t:.9g} s; friction that slips is not derived")
        return self._motion([row for c, s in zip(candidates, statuses, strict=True) if s == HELD for row in c.rows])

    def _jump(
        self, story: Story, k: int, motions: tuple[ModeSlopes, ModeSlopes], at: tuple[float, Array, Array]
    ) -> Saltation:
        candidates = self.dyn.equations.candidates
        c, kind = candidates[story.causes[k]], story.kinds[k]
        if kind in _SLIPS:
            raise ModelError(f"{c.name!r} {kind} at t = {at[0]:.9g} s; changes of friction are not derived")
        rows: list[tuple[Equation, Expr | float]] = []
        if kind != "deleted":
            closed = [x for x, status in zip(candidates, story.after[k], strict=True) if status == HELD and x is not c]
            rows = [(row, 0.0) for row in self.dyn.equations.constraints]
            rows += [(row, 0.0) for x in closed for row in x.rows]
            rows += [(row, 0.0) for row in c.rows if row is not c.normal]
            if c.normal is not None:
                rows.append((c.normal, c.numbers[RESTITUTION] if kind == "bounces" else 0.0))
        return Saltation(motions[0], motions[1], at[0], at[1], at[2], _guard(c, kind), rows, c.name)


def _guard(c: CandidateEquations, kind: str) -> Expr | None:
    """What vanishes at a change; None where a reaction does, at which the accelerations go on as they were."""
    if kind == "deleted":
        return None if c.candidate.off is None else c.numbers[OFF]
    return c.numbers[ON] if c.normal is None else c.numbers[GAP]


def _piece(motion: ModeSlopes, states: Array, begin: Array, end: Array) -> Leg:
    """The steps from one state [t, x] to another."""
    low, high = sorted((begin[0], end[0]))
    inside = states[(states[:, 0] > low) & (states[:, 0] < high)]
    whole = np.concatenate([begin[None], inside, end[None]] if low < high else [begin[None]])
    return Leg(motion, whole[:, 0], whole[:, 1:])
