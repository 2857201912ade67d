"""Optimal control problem of one phase, in the form in which it is solved on any mesh."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from kane.analysis.optimal_control.collocation_mesh import CollocationMesh, Rows
from kane.analysis.optimal_control.ipopt import Bounds
from kane.analysis.optimal_control.nonlinear_program import ElementProgram
from kane.analysis.optimal_control.transcription import Transcription
from kane.array_types import Array
from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Vector
from kane.simulation.state_layout import Layout


@dataclass(frozen=True)
class Problem:
    """Optimal control problem.

    Attributes:
        transcription: functions of the elements.
        layout: names of states, inputs and parameters.
        inputs: names of the unknown inputs.
        states, start, end: limits of the state [q, u] at all times, at the first and at the last, (states, 2).
        input_limits: limits of the unknown inputs, (inputs, 2).
        path_limits: limits of path constraints, (path, 2).
        path_names: names of path constraints in messages.
        loose: indices of path constraints that do not hold at the first time, and at the last time.
        condition_limits: limits of boundary conditions, (conditions, 2).
        duration: limits of T [s].
        begin: limits of the first time [s].
        parameters: values of all parameters.
        free: indices of free parameters, and their limits, (free, 2).
    """

    transcription: Transcription
    layout: Layout
    inputs: tuple[str, ...]
    states: Array
    start: Array
    end: Array
    input_limits: Array
    path_limits: Array
    path_names: tuple[str, ...]
    loose: tuple[tuple[int, ...], tuple[int, ...]]
    condition_limits: Array
    duration: tuple[float, float]
    begin: tuple[float, float]
    parameters: Vector
    free: tuple[tuple[int, ...], Array]

    def __getstate__(self) -> dict[str, Any]:
        """Return the problem without its functions, which belong to this process."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def dyn(self) -> Dynamics:
        """Compiled equations."""
        return self.transcription.dyn

    @cached_property
    def laws(self) -> ArrayFunction | None:
        """Function of t, q, u and inputs that computes all inputs; None if all are unknown."""
        e, laws = self.dyn.equations, self.transcription.symbols.laws
        if not laws:
            return None
        outputs = [laws.get(leaf, leaf) for leaf in e.inputs]
        state = (e.t, *e.q, *e.u)
        found: ArrayFunction = self.dyn.compile(
            Program("laws", outputs, state=state, rest=e.inputs, parameters=e.parameters)
        )
        return found

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of coordinates and speeds."""
        return (*self.layout.coordinates, *self.layout.speeds)

    @property
    def constants(self) -> Vector:
        """Values of the parameters that are not free."""
        return np.delete(self.parameters, self.free[0])

    @property
    def input_places(self) -> list[int]:
        """Index of each unknown input among all inputs."""
        return [self.layout.inputs.index(name) for name in self.inputs]

    def program(self, mesh: CollocationMesh) -> ElementProgram:
        """Return the nonlinear program on a mesh."""
        rows = self.transcription.rows(mesh)
        elements = self.transcription.elements(mesh, rows, self.constants)
        return ElementProgram(elements, rows.total, mesh.unknowns)

    def bounds(self, mesh: CollocationMesh, rows: Rows) -> Bounds:
        """Return the bounds of all unknowns and rows."""
        least, most = np.full(mesh.unknowns, -math.inf), np.full(mesh.unknowns, math.inf)
        for places, limits in (
            (mesh.node_states, self.states),
            (mesh.point_states, self.states),
            (mesh.point_inputs, self.input_limits),
            (mesh.node_states[0], self.start),
            (mesh.node_states[-1], self.end),
            (mesh.clock, np.array([self.begin, self.duration])),
            (mesh.free_parameters, self.free[1]),
        ):
            least[places], most[places] = limits[:, 0], limits[:, 1]
        lower, upper = np.zeros(rows.total), np.zeros(rows.total)
        for places, limits in ((rows.path, self.path_limits), (rows.conditions, self.condition_limits)):
            lower[places], upper[places] = limits[:, 0], limits[:, 1]
        for end, loose in zip((0, -1) if len(rows.path) else (), self.loose, strict=False):
            if self.transcription.method.points[end] == -end:  # a collocation point is at this end, 0 or 1
                lower[rows.path[end, list(loose)]] = -math.inf
                upper[rows.path[end, list(loose)]] = math.inf
        return Bounds(least, most, lower, upper)
