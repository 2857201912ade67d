"""``Collocation``: result of ``kane.collocate``, and its solution on a mesh."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kane.analysis.optimal_control.collocation_mesh import CollocationMesh
from kane.analysis.optimal_control.collocation_solver import (
    NEAR_OPTIONS,
    TOO_FEW,
    iterate,
    judged,
    with_small_corrections,
    without_given_rows,
)
from kane.analysis.optimal_control.first_guess import first_guess
from kane.analysis.optimal_control.ipopt import ACCEPTABLE, OPTIMAL, RESULTS, Solution
from kane.analysis.optimal_control.problem import Problem
from kane.analysis.optimal_control.row_names import describe_row
from kane.array_types import Array
from kane.engine.memory.loop_arguments import Vector
from kane.model.named_vector import index_of_name
from kane.progress import ProgressBar
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.inputs.input_plan import Held, Interpolated
from kane.simulation.results.record import Record
from kane.simulation.results.trajectory import Trajectory

# Samples of the inputs in each interval, for simulations, if the inputs are polynomials of degree two.
INPUT_SAMPLES = 100


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
    def phases(self) -> tuple[Collocation, ...]:
        """Phases of the motion, as in ``PhasedCollocation``: this one only."""
        return (self,)

    @property
    def duration(self) -> float:
        """Duration T [s]."""
        return float(self.solution.z[self.mesh.duration])

    @property
    def begin(self) -> float:
        """First time [s]."""
        return float(self.solution.z[self.mesh.begin])

    @property
    def time(self) -> Vector:
        """Times of the nodes [s], (nodes,)."""
        return self.begin + self.duration * self.mesh.fractions

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
        return self.begin + self.duration * self.mesh.point_fractions

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
        return self.trajectory_of(self.time, self._states, self.node_inputs)

    @property
    def node_inputs(self) -> Array:
        """All inputs at the nodes, (nodes, inputs)."""
        times, values = self._samples
        if len(self.mesh.method.points) == 1:
            at = np.minimum(np.searchsorted(times, self.time, side="right") - 1, len(times) - 1)
            return self.all_inputs(self.time, self._states, values[at])
        columns = np.array([np.interp(self.time, times, x) for x in values.T]).T
        return self.all_inputs(self.time, self._states, columns.reshape(len(self.time), values.shape[1]))

    def all_inputs(self, times: Array, states: Array, unknown: Array) -> Array:
        """Return all inputs, (..., inputs), from the unknown ones at some times and states; laws give the others."""
        layout, found = self.problem.layout, np.empty((*times.shape, len(self.problem.layout.inputs)))
        found[:] = layout.input_defaults
        found[..., self.problem.input_places] = unknown
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
    places = [(problem, mesh, np.arange(mesh.unknowns))]
    with ProgressBar(f"optimal control of {problem.layout.model}") as bar:
        bar.name("compiling")
        rows, program = problem.transcription.rows(mesh), problem.program(mesh)

        def described(row: int, z: Vector) -> str:
            return describe_row(problem, mesh, rows, row, z)

        bounds = without_given_rows(program, problem.bounds(mesh, rows), described, problem.layout.model)
        start = first_guess(problem, mesh, bounds, guess)
        bounds = with_small_corrections(program, bounds, places, start.z)
        options = NEAR_OPTIONS if isinstance(guess, Collocation) else {}
        solution, took = iterate(program, bounds, start, settings, options=options, bar=bar)
    return Collocation(problem, mesh, solution, settings, *judged(program, bounds, places, described, solution), took)
