"""``Collocation``: result of ``kane.collocate``, and its solution on a mesh."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kane.analysis.optimal_control.collocation_mesh import CollocationMesh, Rows
from kane.analysis.optimal_control.first_guess import first_guess
from kane.analysis.optimal_control.ipopt import (
    ACCEPTABLE,
    OPTIMAL,
    RESULTS,
    Bounds,
    Iteration,
    Solution,
    solve_by_ipopt,
)
from kane.analysis.optimal_control.nonlinear_program import ElementProgram
from kane.analysis.optimal_control.problem import Problem
from kane.analysis.optimal_control.row_names import describe_row
from kane.array_types import Array
from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError
from kane.model.named_vector import index_of_name
from kane.progress import ProgressBar
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.inputs.input_plan import Held, Interpolated
from kane.simulation.results.record import Record
from kane.simulation.results.trajectory import Trajectory

# Samples of the inputs in each interval, for simulations, if the inputs are polynomials of degree two.
INPUT_SAMPLES = 100
# Largest correction of a coordinate at the end of an interval [rad or m]; of a speed, per length of an interval.
CORRECTION = 0.02
# Objective below which the problem seems to have no least value.
UNBOUNDED = -1e12
TOO_FEW = "no solution: the nodes are too few for the constraints of the mechanism; give more, or a better guess"
# Fraction of the largest correction from which nodes are too few.
NEARLY = 0.9
# Largest residual of a row all of whose unknowns are given.
GIVEN_RESIDUAL = 1e-6
# Approximate minimum degree (6) orders the long bands of collocations several times sooner than the default.
IPOPT_OPTIONS: dict[str, float | int | str] = {
    "print_level": 0,
    "sb": "yes",
    "linear_solver": "mumps",
    "mumps_pivot_order": 6,
}
# A start near a solution: the barrier is small from the first iteration on.
WARM_OPTIONS: dict[str, float | int | str] = {
    "warm_start_init_point": "yes",
    "mu_init": 1e-4,
    "warm_start_bound_push": 1e-6,
    "warm_start_mult_bound_push": 1e-6,
}
# A start from a solution on another mesh: it may be near bounds, and the barrier begins small.
NEAR_OPTIONS: dict[str, float | int | str] = {"mu_init": 1e-3, "bound_push": 1e-5, "bound_frac": 1e-5}


@dataclass(frozen=True)
class Collocation:
    """Solution of an optimal control problem.

    Attributes:
        problem: the problem.
        mesh: places of the unknowns.
        solution: last iterate of Ipopt, and the way to it.
        settings: tolerance and largest number of iterations.
        objective: value of the objective.
        infeasibility: largest violation of a constraint at the last iterate.
        remark: the equation that is violated most or is no number, if the result is no solution, in words; or a note
            that nodes are too few.
        seconds: wall time of the solution without compiling [s].
    """

    problem: Problem
    mesh: CollocationMesh
    solution: Solution
    settings: tuple[float, int]
    objective: float
    infeasibility: float
    remark: str
    seconds: float

    def __repr__(self) -> str:
        model, steps = self.problem.layout.model, len(self.solution.steps)
        return (
            f"Collocation of {model!r}, {self.mesh.method.name}, {self.mesh.intervals} intervals: {self.message}; "
            f"objective {self.objective:.9g}, largest violation {self.infeasibility:.2g}, {steps} iterations, "
            f"{self.seconds:.3g} s"
        )

    @property
    def solved(self) -> bool:
        """Whether the result is a solution within the tolerance, on a mesh with enough nodes for the constraints."""
        return self.solution.result in (OPTIMAL, ACCEPTABLE) and not self.remark

    @property
    def message(self) -> str:
        """The end of the iterations in words."""
        words = RESULTS.get(self.solution.result, f"failed with result {self.solution.result} of Ipopt")
        if self.remark == TOO_FEW:
            return TOO_FEW
        return f"{words}: {self.remark}" if self.remark else words

    @property
    def duration(self) -> float:
        """Duration T [s]."""
        return float(self.solution.z[self.mesh.duration])

    @property
    def time(self) -> Vector:
        """Times of the nodes [s], (nodes,)."""
        return self.problem.begin + self.duration * self.mesh.fractions

    @property
    def q(self) -> Array:
        """Coordinates at the nodes, (nodes, nq)."""
        return self._states[:, : len(self.problem.layout.coordinates)]

    @property
    def u(self) -> Array:
        """Generalized speeds at the nodes, (nodes, n)."""
        return self._states[:, len(self.problem.layout.coordinates) :]

    @property
    def point_time(self) -> Vector:
        """Times of the collocation points [s], (points,)."""
        return self.problem.begin + self.duration * self.mesh.point_fractions

    @property
    def point_inputs(self) -> Array:
        """Unknown inputs at the collocation points, (points, unknown inputs)."""
        return self.solution.z[self.mesh.point_inputs]

    @property
    def multipliers(self) -> Array:
        """Multipliers of the constraint rows of the mechanism at the collocation points, (points, rows) [N or N m]."""
        return self.solution.z[self.mesh.point_multipliers]

    @property
    def parameter_values(self) -> Vector:
        """Values of all parameters, (parameters,)."""
        values = self.problem.parameters.copy()
        values[list(self.problem.free[0])] = self.solution.z[self.mesh.free_parameters]
        return values

    @property
    def parameters(self) -> dict[str, float]:
        """Values of all parameters by name."""
        return dict(zip(self.problem.layout.parameters, self.parameter_values.tolist(), strict=True))

    def __getitem__(self, name: str) -> Vector:
        """Return a coordinate or speed at the nodes, or an unknown input at the collocation points, by name.

        Raises:
            ModelError: the name is unknown.
        """
        layout, inputs = self.problem.layout, self.problem.inputs
        names = (*layout.coordinates, *layout.speeds)
        place = index_of_name(name, (*names, *inputs), "coordinate, speed or unknown input")
        return self._states[:, place] if place < len(names) else self.point_inputs[:, place - len(names)]

    @property
    def inputs(self) -> dict[str, Any]:
        """All inputs by name, for ``inputs=`` of ``kane.simulate``: samples of the unknown ones, laws of the others."""
        laws = {leaf.name: law for leaf, law in self.problem.transcription.symbols.laws.items()}
        if not self.problem.inputs:
            return laws
        times, values = self._samples
        kind = Held if len(self.mesh.method.points) == 1 else Interpolated
        return laws | {name: kind(times, column) for name, column in zip(self.problem.inputs, values.T, strict=True)}

    @cached_property
    def _samples(self) -> tuple[Vector, Array]:
        """Times and values of the unknown inputs for simulations."""
        method, values = self.mesh.method, self.point_inputs[self.mesh.interval_points]
        if len(method.points) == 1:
            return self.time[:-1], values[:, 0]
        within = np.linspace(0.0, 1.0, INPUT_SAMPLES, endpoint=False) if len(method.points) > 2 else np.zeros(1)
        steps = np.diff(self.time)
        times = (self.time[:-1, None] + steps[:, None] * within).ravel()
        found = np.einsum("sp,kpi->ksi", method.interpolated(within), values).reshape(len(times), -1)
        last = method.interpolated(np.ones(1)) @ values[-1]
        return np.append(times, self.time[-1]), np.concatenate([found, last])

    @property
    def trajectory(self) -> Trajectory:
        """States and inputs at the nodes as a ``Trajectory``, to plot, to show and to save."""
        times, values = self._samples
        held = len(self.mesh.method.points) == 1
        at = np.minimum(np.searchsorted(times, self.time, side="right") - 1, len(times) - 1)
        unknown = values[at] if held else np.stack([np.interp(self.time, times, x) for x in values.T], axis=-1)
        return self.trajectory_of(self.time, self._states, self.all_inputs(self.time, self._states, unknown))

    def all_inputs(self, times: Array, states: Array, unknown: Array) -> Array:
        """Return all inputs, (..., inputs), from the unknown ones at some times and states; laws give the others."""
        layout, found = self.problem.layout, np.empty((*times.shape, len(self.problem.layout.inputs)))
        found[:] = layout.input_defaults
        found[..., [layout.inputs.index(name) for name in self.problem.inputs]] = unknown
        laws = self.problem.laws
        if laws is None:
            return found
        given = np.concatenate([times[..., None], states], axis=-1)
        return laws(given, found, laws.stage(self.parameter_values))

    def trajectory_of(self, times: Vector, states: Array, inputs: Array) -> Trajectory:
        """Return states [q, u] and inputs as a ``Trajectory``."""
        dyn, parameters = self.problem.dyn, self.parameter_values
        posed = InitialValueProblem.of(dyn, None, parameters, ())
        given = np.column_stack([times, states])
        energy = posed.energies(given, inputs)
        kept = posed.kept(given, np.zeros((len(states), 4)), drifts=True)
        record = Record(posed.layout, given, inputs, energy, parameters, constraints=kept)
        settings = {"integrator": self.mesh.method.name, "message": self.message, "interrupted": int(not self.solved)}
        return Trajectory(record.labelled(settings), dyn)

    @property
    def _states(self) -> Array:
        return self.solution.z[self.mesh.node_states]


def solve_on_mesh(problem: Problem, fractions: Vector, guess: Any, settings: tuple[float, int]) -> Collocation:
    """Solve a problem on a mesh; ``settings`` are tolerance and largest number of iterations."""
    mesh = problem.transcription.mesh(fractions)
    with ProgressBar(f"optimal control of {problem.layout.model}") as bar:
        bar.name("compiling")
        rows = problem.transcription.rows(mesh)
        elements = problem.transcription.elements(mesh, rows, problem.constants)
        program = ElementProgram(elements, rows.total, mesh.unknowns)
        bounds = _without_given_rows(problem, program, rows, mesh)
        start = first_guess(problem, mesh, bounds, guess)
        bounds = _with_small_corrections(problem, program, bounds, mesh, start.z)

        def told(step: Iteration) -> None:
            bar.name(
                f"iteration {step.number}, objective {step.objective:.6g}, violation {step.infeasibility:.1e}, "
                f"optimality {step.residual:.1e}"
            )

        options = {**IPOPT_OPTIONS, "tol": settings[0], "max_iter": settings[1]}
        if start.multipliers.any():
            options |= WARM_OPTIONS
        elif isinstance(guess, Collocation):
            options |= NEAR_OPTIONS
        began = time.perf_counter()
        solution = solve_by_ipopt(program, bounds, start, options, told)
        took = time.perf_counter() - began
    values = program.all_rows(solution.z)
    off = np.maximum(np.maximum(bounds.lower - values[:-1], values[:-1] - bounds.upper), 0.0)
    remark = _remark(problem, mesh, rows, solution, (bounds, values, off))
    violation = float(off.max(initial=0.0))
    return Collocation(problem, mesh, solution, settings, float(values[-1]), violation, remark, took)


def _remark(
    problem: Problem, mesh: CollocationMesh, rows: Rows, solution: Solution, found: tuple[Bounds, Vector, Vector]
) -> str:
    """Return the equation that is no number or is violated most, in words, or a note on the nodes."""
    bounds, values, off = found
    lost = np.flatnonzero(~np.isfinite(values))
    if len(lost):
        return f"{describe_row(problem, mesh, rows, int(lost[0]), solution.z)} is no number"
    failed = solution.result not in (OPTIMAL, ACCEPTABLE)
    if failed and values[-1] < UNBOUNDED:
        return "the objective seems to have no least value; give bounds"
    if failed and off.max(initial=0.0) > GIVEN_RESIDUAL:
        worst = int(np.argmax(off))
        row = describe_row(problem, mesh, rows, worst, solution.z)
        return f"{row} is off by {off[worst]:.3g}; relax limits, or try another guess"
    most = bounds.most[mesh.corrected]
    if (np.abs(solution.z[mesh.corrected]) > NEARLY * most).any():
        return TOO_FEW
    return ""


def _with_small_corrections(
    problem: Problem, program: ElementProgram, bounds: Bounds, mesh: CollocationMesh, z: Vector
) -> Bounds:
    """Return the bounds with limits of the corrections, so that no loop jumps to another closure."""
    _, columns = program.jacobian_places
    longest = np.zeros(mesh.unknowns)
    np.maximum.at(longest, columns, np.abs(program.jacobian(z)))
    limits = np.full(mesh.corrected.shape, CORRECTION)
    limits[:, mesh.corrections - mesh.rows :] /= np.diff(mesh.fractions)[:, None] * z[mesh.duration]
    directions = longest[mesh.corrected].max(axis=0)
    closing = problem.transcription.symbols.closing
    directions[len(problem.dyn.equations.closing) : len(closing)] = 1.0  # unit quaternions
    limits /= np.maximum(directions, 1e-9)
    least, most = bounds.least.copy(), bounds.most.copy()
    least[mesh.corrected], most[mesh.corrected] = -limits, limits
    return bounds._replace(least=least, most=most)


def _without_given_rows(problem: Problem, program: ElementProgram, rows: Rows, mesh: CollocationMesh) -> Bounds:
    """Return the bounds without limits of rows all of whose unknowns are given.

    Raises:
        ModelError: a row is violated, for example by a start that opens a loop.
    """
    bounds = problem.bounds(mesh, rows)
    fixed = bounds.least == bounds.most
    places, columns = program.jacobian_places
    given = np.bincount(places, weights=~fixed[columns], minlength=program.rows) == 0
    if not given.any():
        return bounds
    z = np.where(fixed, bounds.least, 0.0)
    values = program.constraints(z)
    off = np.maximum(bounds.lower - values, values - bounds.upper)
    worst = int(np.argmax(np.where(given, off, -np.inf)))
    if not off[worst] <= GIVEN_RESIDUAL:
        raise ModelError(
            f"start or end of {problem.layout.model!r}: {describe_row(problem, mesh, rows, worst, z)} is off by "
            f"{off[worst]:.3g}; kane.assemble closes loops, a quaternion is divided by its length, or leave "
            "some values free"
        )
    return bounds._replace(lower=np.where(given, -np.inf, bounds.lower), upper=np.where(given, np.inf, bounds.upper))
