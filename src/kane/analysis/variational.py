"""A motion with its derivatives: one problem for native loops, which may be run from many starts.

The derivatives S = dx/dp of the state x = [q, u] follow the variational equation

    dS/dt = (df/dx) S + df/dp,   S(start) = dx(start)/dp,

which is one program with x' = f, integrated together by the native loops with the same control of errors.

Source: Gronwall 1919; Hairer, Norsett & Wanner, Solving ODEs I, Sec. I.14.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.codegen.programs.factor import factor
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, SimulationError
from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.formulation.derivatives.derivative import rhs_along
from kane.model.checks import near
from kane.simulation.asked.course import free_course
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.modes.pose import pose
from kane.simulation.problem import Problem
from kane.simulation.run import Outcome, run_march
from kane.simulation.switching import ONE_MODE

Array = NDArray[np.float64]


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
        """The derivatives by parameters, initial values of coordinates and speeds, and constant inputs of these names.

        Raises:
            ModelError: unknown names; constraints or modes, through which derivatives jump; inputs that are functions
                of Python.
        """
        problem = pose(dyn, inputs, parameters, (), None)
        _require_smooth(problem, dyn)
        varied = [_direction(problem, name) for name in names]
        leaves = (*dyn.equations.q, *dyn.equations.u)
        starts = np.array([[float(leaf in direction) for leaf in leaves] for direction in varied])
        return cls(_extended(problem, varied), starts.reshape(len(varied), len(leaves)))

    def run(self, x0: Array, times: Array, parameters: Array, method: Integrator) -> tuple[Array, Array]:
        """States (times, nq + n) and their derivatives (times, derivatives, nq + n) of the motion from x0.

        Args:
            x0: state at the first time.
            times: increasing or decreasing [s].
            parameters: values.
            method: chooses its steps.

        Raises:
            SimulationError: the derivatives grow beyond bounds, or the run was interrupted.
        """
        problem = self.problem.of_values(parameters, self.problem.plan.constants)
        start, until = float(times[0]), float(times[-1])
        course = free_course(start, until, None, times, problem.plan.tables())
        march = problem.march(course, np.concatenate([x0, self.starts.ravel()]))
        outcome = run_march(march, problem.advance(method), lambda fraction: None)
        if outcome is not Outcome.FINISHED:
            raise SimulationError(
                f"the derivatives of {problem.dyn.equations.name!r} end at t = {march.time:.9g} s of {until:.9g} s: "
                f"{outcome.value}; they grow beyond what the tolerance allows, or were interrupted: end the run earlier"
            )
        whole = march.states()[:, 1:].reshape(-1, len(self.starts) + 1, len(x0))
        return whole[:, 0], whole[:, 1:]


def _require_smooth(problem: Problem, dyn: Dynamics) -> None:
    name = dyn.equations.name
    if problem.settle is not None or problem.rhs.program is None:
        raise ModelError(f"{name!r} has constraints; sensitivities are of motions without")
    if problem.switching is not ONE_MODE:
        raise ModelError(f"{name!r} has modes, at whose changes derivatives jump; sensitivities are of motions without")
    if problem.plan.needs_python or problem.laws:
        raise ModelError("inputs that are functions of Python or sampled have no derivatives; give expressions")


def _direction(problem: Problem, name: str) -> dict[Expr, Expr]:
    """The leaf that a name stands for, at rate one."""
    e = problem.dyn.equations
    leaves = {leaf.name: leaf for leaf in (*e.inputs, *e.u, *e.q, *e.parameters)}
    if name not in leaves:
        raise ModelError(f"there is no parameter, coordinate, speed or input {name!r}; {near(name, list(leaves))}")
    leaf = leaves[name]
    parts = {e.q[start + k] for start in e.quaternions for k in range(4)}
    if leaf in parts:
        raise ModelError(f"{name!r} is a part of a quaternion and cannot be varied by itself")
    return {leaf: leaf.arena.one}


def _extended(problem: Problem, varied: Sequence[Mapping[Expr, Expr]]) -> Problem:
    """The problem with the derivatives as further states."""
    dyn, program = problem.dyn, problem.rhs.program
    assert program is not None
    t, *x = program.state
    state, columns = [t, *x], []
    for k, direction in enumerate(varied):
        S = [leaf.arena.leaf(INPUT, f"{leaf.name} by {k + 1}") for leaf in x]
        state += S
        outer = {leaf: rate for leaf, rate in direction.items() if leaf not in x}
        columns.append({**dict(zip(x, S, strict=True)), **outer})
    with collector_paused():
        if program is dyn.function("rhs").program:
            outputs, entries = rhs_along(dyn.equations, columns)
        else:
            outputs, entries = program.outputs, jacobian(program.outputs, columns)
        zero = t.arena.zero
        slopes = [entries.get((i, j), zero) for j in range(len(columns)) for i in range(len(x))]
        lists = {"rest": program.rest, "parameters": program.parameters}
        variational = Program(f"{program.name} with derivatives", factor([*outputs, *slopes]), state=state, **lists)
    return replace(problem, rhs=dyn.compile(variational))
