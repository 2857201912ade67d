"""A motion with its derivatives: one problem for native loops, which may be run from many starts.

The derivatives S = dx/dp of the state x = [q, u] follow the variational equation

    dS/dt = (df/dx) S + df/dp,   S(start) = dx(start)/dp,

which is one program with x' = f, integrated together by the native loops with the same control of errors. Of one run
that is there already ``kane.sensitivities`` derives the steps themselves; many short ones are shorter so.

Source: Gronwall 1919; Hairer, Norsett & Wanner, Solving ODEs I, Sec. I.14.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.codegen.programs.factor import factor
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, SimulationError
from kane.expression.collector import collector_paused
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.formulation.derivatives.derivative import rhs_along
from kane.native.arrays import DONE
from kane.simulation.asked.course import free_course
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.modes.pose import pose
from kane.simulation.problem import Problem
from kane.simulation.run import Outcome, run_march
from kane.simulation.switching import ONE_MODE

Array = NDArray[np.float64]
# Measured motions take a few steps from state to state; where parameters make so many of them, they are far off.
MOST_STEPS = 200


@dataclass(frozen=True, eq=False)
class Variational:
    """The problem of a motion with its derivatives.

    Attributes:
        problem: with the derivatives as further states.
        starts: dx/dp at the start, (derivatives, nq + n).
    """

    problem: Problem
    starts: Array

    @classmethod
    def of(cls, dyn: Dynamics, inputs: Any, parameters: Array, names: Sequence[str]) -> Variational:
        """The derivatives by parameters and initial values of coordinates and speeds of these names.

        Raises:
            ModelError: constraints or modes, through which derivatives jump.
        """
        problem = pose(dyn, inputs, parameters, (), None)
        _require_smooth(problem, dyn)
        e = dyn.equations
        by_name, x = {leaf.name: leaf for leaf in (*e.parameters, *e.q, *e.u)}, (*e.q, *e.u)
        varied = [by_name[name] for name in names]
        starts = np.array([[float(leaf is one) for leaf in x] for one in varied])
        rhs = dyn.derived(("variational", *names), lambda: dyn.compile(_program(dyn, varied)))
        return cls(replace(problem, rhs=rhs), starts.reshape(len(varied), len(x)))

    def run(self, x0: Array, times: Array, parameters: Array, method: Integrator) -> tuple[Array, Array]:
        """States (times, nq + n) and their derivatives (times, derivatives, nq + n) of the motion from x0.

        Args:
            x0: state at the first time.
            times: increasing or decreasing [s].
            parameters: values.
            method: chooses its steps.

        Raises:
            SimulationError: the derivatives grow beyond bounds, or the motion needs more than MOST_STEPS steps from
                time to time.
            KeyboardInterrupt: Ctrl-C.
        """
        problem = self.problem.of_values(parameters, self.problem.plan.constants)
        start, until = float(times[0]), float(times[-1])
        course = free_course(start, until, None, times, problem.plan.tables())
        march = problem.march(course, np.concatenate([x0, self.starts.ravel()]))
        most = MOST_STEPS * len(times)

        def watched(fraction: float) -> None:
            if march.store.counts[DONE] > most and not march.finished:
                raise SimulationError(_ends(problem, march.time, until, f"more than {most} steps"))

        outcome = run_march(march, problem.advance(method), watched)
        if outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        if outcome is not Outcome.FINISHED:
            raise SimulationError(_ends(problem, march.time, until, outcome.value))
        whole = march.states()[:, 1:].reshape(-1, len(self.starts) + 1, len(x0))
        return whole[:, 0], whole[:, 1:]


def _ends(problem: Problem, time: float, until: float, why: str) -> str:
    return (
        f"the motion of {problem.dyn.equations.name!r} with these parameters ends at t = {time:.9g} s of {until:.9g} "
        f"s: {why}; begin the search nearer to the truth (start=), or correct the data (q in rad)"
    )


def _require_smooth(problem: Problem, dyn: Dynamics) -> None:
    name, cure = dyn.equations.name, "give udot, so that forces are compared"
    if problem.settle is not None or problem.rhs.program is None:
        raise ModelError(f"{name!r} has constraints; motions are fitted without: {cure}")
    if problem.switching is not ONE_MODE:
        raise ModelError(f"{name!r} has modes, at whose changes derivatives jump: {cure}")


def _program(dyn: Dynamics, varied: Sequence[Expr]) -> Program:
    """x' and the derivatives' rates of change, of the state [t, x, S_1, ...]."""
    e = dyn.equations
    x, zero = (*e.q, *e.u), e.t.arena.zero
    state, columns = [e.t, *x], []
    for k, leaf in enumerate(varied):
        S = [entry.arena.leaf(INPUT, f"{entry.name} by {k + 1}") for entry in x]
        state += S
        columns.append({**dict(zip(x, S, strict=True)), **({} if leaf in x else {leaf: leaf.arena.one})})
    with collector_paused():
        outputs, entries = rhs_along(e, columns)
        slopes = [entries.get((i, j), zero) for j in range(len(columns)) for i in range(len(x))]
        whole = factor([*outputs, *slopes])
        return Program("rhs with derivatives", whole, state=state, rest=e.inputs, parameters=e.parameters)
