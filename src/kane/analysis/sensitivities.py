"""sensitivities: how a motion changes with parameters, initial values and inputs.

The derivatives S = dx/dp of the state x = [q, u] follow the variational equation

    dS/dt = (df/dx) S + df/dp,   S(start) = dx(start)/dp,

which is one program with x' = f, integrated together by the native loops with the same control of errors.

Source: Gronwall 1919; Hairer, Norsett & Wanner, Solving ODEs I, Sec. I.14.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.analysis.small_motions import SmallMotions
from kane.codegen.programs.factor import factor
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.recorded import recorded_parameters
from kane.errors import ModelError, SimulationError, shown
from kane.expression.arguments import require, words
from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.formulation.derivatives.derivative import rhs_along
from kane.model.checks import near
from kane.model.named_vector import position
from kane.simulation.asked.course import free_course
from kane.simulation.integrators import RK8
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.modes.pose import pose
from kane.simulation.problem import Problem
from kane.simulation.recorded.trajectory import Trajectory
from kane.simulation.run import Outcome, run_march
from kane.simulation.switching import ONE_MODE

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Derivatives of a motion, ``s["L1"]`` by the name of what is varied: of q, then u, (times, nq + n).

    Attributes:
        time: (times,) [s].
        names: of what is varied.
        states: of q and u.
        run: the motion itself, (times, nq + n), as integrated beside them.
    """

    time: Array
    names: tuple[str, ...]
    states: tuple[str, ...]
    run: Array
    _values: Array
    _dyn: Dynamics
    _inputs: Array
    _parameters: Mapping[str, float]

    def __getitem__(self, name: str) -> Array:
        return self._values[:, position(name, self.names, "derivative by")]

    @cached_property
    def final(self) -> Mapping[str, Array]:
        """The derivatives of the last state, (nq + n,) by name."""
        return {name: self._values[-1, k] for k, name in enumerate(self.names)}

    def gradient(self, cost: Expr) -> dict[str, float]:
        """The derivatives of an expression at the last state, by name of what is varied.

        Raises:
            ModelError: as of ``Dynamics.derivatives``.
        """
        require(cost, Expr, "a cost is one expression of the model")
        nq, parameters = len(self._dyn.equations.q), [p.name for p in self._dyn.equations.parameters]
        direct = [name for name in self.names if name in parameters]
        q, u, t = self.run[-1, :nq], self.run[-1, nq:], float(self.time[-1])
        found = self._dyn.derivatives(cost, wrt=("q", "u", "inputs", *direct))
        slopes = found(q, u, self._inputs, t, parameters=self._parameters)
        Y = SmallMotions(self._dyn, q, u, self._inputs, t, self._parameters).Y
        inputs = [leaf.name for leaf in self._dyn.equations.inputs]
        total = {}
        for name, S in self.final.items():
            along = slopes["q"] @ (np.linalg.pinv(Y) @ S[:nq]) + slopes["u"] @ S[nq:]
            own = slopes[name] if name in direct else slopes["inputs"][inputs.index(name)] if name in inputs else 0.0
            total[name] = float(along + own)
        return total

    def __repr__(self) -> str:
        return f"<Sensitivities of {self._dyn.equations.name!r} by {', '.join(self.names)}, {len(self.time)} times>"


def sensitivities(
    run: Trajectory, *, wrt: Sequence[str], inputs: Any = None, integrator: Integrator | None = None
) -> Sensitivities:
    """The derivatives of a motion at its recorded times by parameters, initial values and constant inputs.

    The motion is integrated anew together with them: the error of both is controlled.

    Args:
        run: what ``kane.simulate`` returned, of a model without constraints.
        wrt: names of parameters, of coordinates and speeds (their initial values), of inputs that are constant.
        inputs: as they were given to ``simulate``, where they were not constant: expressions, ``kane.Interpolated`` or
            ``kane.Held``.
        integrator: RK8() unless given; one that chooses its steps.

    Raises:
        ModelError: unknown names; constraints or modes, through which derivatives jump; inputs that are functions of
            Python, which have no derivatives; inputs that vary and are not given.
        SimulationError: as of ``simulate``.
    """
    if not isinstance(run, Trajectory):
        raise ModelError(f"sensitivities are those of a trajectory, from kane.simulate, not of {shown(run)}")
    method = RK8() if integrator is None else integrator
    if not isinstance(method, Integrator) or method.fixed:
        raise ModelError(f"the integrator is {shown(integrator)}; give one that chooses its steps, such as kane.RK8()")
    dyn = run.dynamics()
    values = recorded_parameters(run, dyn.equations)
    problem = pose(dyn, _inputs(run, inputs), values, (), None)
    _require_smooth(problem, dyn)
    names = words(wrt, "wrt", "names")
    varied = [_direction(problem, name) for name in names]
    x0 = np.concatenate([run.q[0], run.u[0]])
    leaves = (*dyn.equations.q, *dyn.equations.u)
    starts = [x0, *(np.array([float(leaf in direction) for leaf in leaves]) for direction in varied)]
    extended = _extended(problem, varied)
    times = np.array(run.time)  # a column of the record, where native code wants one row
    course = free_course(float(times[0]), float(times[-1]), None, times, problem.plan.tables())
    march = extended.march(course, np.concatenate(starts))
    outcome = run_march(march, extended.advance(method), lambda fraction: None)
    if outcome is not Outcome.FINISHED:
        raise SimulationError(
            f"the derivatives of {dyn.equations.name!r} end at t = {march.time:.9g} s of {run.time[-1]:.9g} s: "
            f"{outcome.value}; they grow beyond what the tolerance allows, or were interrupted: end the run earlier"
        )
    rows = march.states()
    width = len(x0)
    whole = rows[:, 1:].reshape(len(rows), len(varied) + 1, width)
    parameters = dict(zip((p.name for p in dyn.equations.parameters), values.tolist(), strict=True))
    states = (*problem.layout.coordinates, *problem.layout.speeds)
    return Sensitivities(rows[:, 0], tuple(names), states, whole[:, 0], whole[:, 1:], dyn, run.inputs[-1], parameters)


def _inputs(run: Trajectory, given: Any) -> Any:
    """The inputs as given, or the constant ones of the run."""
    if given is not None:
        return given
    recorded = run.inputs
    if recorded.size and np.ptp(recorded, axis=0).any():
        raise ModelError("the inputs of this run vary; give them as they were given to simulate (inputs=)")
    return recorded[0] if recorded.size else None


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
