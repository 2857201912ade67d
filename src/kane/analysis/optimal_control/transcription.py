"""Transcription of an optimal control problem into the elements of a nonlinear program.

The unknowns are

- states [q, u] at nodes and at further collocation points,
- udot, lambda and inputs at collocation points,
- corrections gamma and mu of each interval,
- the first time, the duration T and free parameters.

The elements are

- points: equations of motion, path constraints, integrands,
- intervals: x(c_i) - x - h sum_j A_ij f_j = 0 and x(1) - x - h sum_j b_j f_j = 0, f = [qdot(q, u), udot],
- nodes: configuration constraints, A u + b = 0, and unit quaternions,
- ends: boundary conditions, and the part of the objective at the ends.

Corrections move the state at the end of an interval along A^T and along the quaternions. They are of the order of the
error. With them constraints hold at all nodes, without more equations than unknowns.

Source: Betts 2010, Practical methods for optimal control and estimation, chapter 4; Posa, Kuindersma & Tedrake 2016,
Optimization and stabilization of trajectories for constrained dynamical systems, for gamma and mu.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.analysis.optimal_control.collocation_interval import CollocationInterval
from kane.analysis.optimal_control.collocation_mesh import CollocationMesh, Rows
from kane.analysis.optimal_control.collocation_method import CollocationMethod
from kane.analysis.optimal_control.element import Functions, ProgramElement
from kane.analysis.optimal_control.end_values import Condition
from kane.analysis.optimal_control.phase_symbols import Symbols
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Vector
from kane.expression.node import Expr


@dataclass(frozen=True)
class Transcription:
    """Functions of the elements of a problem, for any mesh.

    Attributes:
        dyn: compiled equations.
        symbols: leaves of the unknowns.
        method: collocation method.
        free: free parameters.
        path: expressions of path constraints.
        conditions: boundary conditions, and the objective as the last one.
    """

    dyn: Dynamics
    symbols: Symbols
    method: CollocationMethod
    free: tuple[Expr, ...]
    path: tuple[Expr, ...]
    conditions: tuple[Condition, ...]

    def __getstate__(self) -> dict[str, Any]:
        """Return the problem without its functions, which belong to this process."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def at_points(self) -> Functions:
        """Residuals of the motion, path constraints, and T weight integrand of each condition that has an integral."""
        s, weight = self.symbols, self.symbols.leaf("weight")
        integrands = [weight * s.duration * x for x in self._integrands]
        outputs = [*s.motion, *s.timed([*self.path, *integrands])]
        unknowns = (*s.q, *s.u, *s.equations.udot, *s.multipliers, *s.inputs, *s.clock, *self.free)
        return Functions.of(self.dyn, "collocation points", outputs, unknowns, (s.fraction, weight))

    @cached_property
    def _integrands(self) -> list[Expr]:
        return [c.integrand for c in self.conditions if c.integrand is not None]

    @cached_property
    def in_intervals(self) -> Functions:
        """Residuals of an interval."""
        s, one = self.symbols, CollocationInterval(self.symbols, self.method)
        unknowns, data = (*one.unknowns, *s.clock, *self.free), (one.length, *one.fractions, s.fraction)
        return Functions.of(self.dyn, "collocation intervals", one.residuals, unknowns, data)

    @cached_property
    def at_nodes(self) -> Functions | None:
        """Residuals of configuration constraints, quaternions and A u + b; None if there are none."""
        s = self.symbols
        outputs = [residual for residual, _ in s.residuals]
        if not outputs:
            return None
        unknowns = (*s.q, *s.u, *s.clock, *self.free)
        return Functions.of(self.dyn, "collocation nodes", outputs, unknowns, (s.fraction,))

    @cached_property
    def at_ends(self) -> Functions:
        """Boundary conditions, and the objective, without their integrals."""
        unknowns = (*self.conditions[0].ends.unknowns, *self.free)
        return Functions.of(self.dyn, "ends", [c.at_ends for c in self.conditions], unknowns, ())

    def mesh(self, fractions: Vector) -> CollocationMesh:
        """Return the places of the unknowns on a mesh."""
        s = self.symbols
        sizes = len(s.q) + len(s.u), len(s.u), len(s.multipliers), len(s.inputs), len(s.residuals)
        return CollocationMesh(fractions, self.method, *sizes, len(self.free))

    def rows(self, mesh: CollocationMesh) -> Rows:
        """Return the rows of the outputs of all elements on a mesh."""
        count, closed = self.in_intervals.values.n_out, len(self.symbols.residuals)
        points, n = mesh.points, mesh.intervals
        shapes = [(points, len(self.symbols.motion)), (points, len(self.path)), (n, count), (n + 1, closed)]
        return Rows.of([*shapes, (1, len(self.conditions) - 1)])

    def elements(self, mesh: CollocationMesh, rows: Rows, constants: Vector) -> list[ProgramElement]:
        """Return the elements on a mesh.

        Args:
            mesh: places of the unknowns.
            rows: rows of their outputs.
            constants: values of the parameters that are not free.
        """
        of_conditions = np.append(rows.conditions[0], rows.total)
        integrals = np.array([of_conditions[k] for k, c in enumerate(self.conditions) if c.integrand is not None], int)
        of_points = [rows.motion, rows.path, np.tile(integrals, (mesh.points, 1))]
        own = mesh.point_states[mesh.interval_points[:, self.method.inner]].reshape(mesh.intervals, -1)
        accelerations = mesh.accelerations[mesh.interval_points].reshape(mesh.intervals, -1)
        ends = [*mesh.first_places, *mesh.last_places]
        lengths, fractions = np.diff(mesh.fractions), mesh.point_fractions[mesh.interval_points]
        found = [
            (
                self.at_points,
                (mesh.point_states, mesh.point_others),
                np.concatenate(of_points, axis=1),
                np.column_stack([mesh.point_fractions, mesh.point_weights]),
            ),
            (
                self.in_intervals,
                (mesh.node_states[:-1], mesh.node_states[1:], own, accelerations, mesh.corrected),
                rows.intervals,
                np.column_stack([lengths, fractions, mesh.fractions[1:]]),
            ),
            (self.at_ends, (np.concatenate(ends)[None, :],), of_conditions[None, :], np.zeros((1, 0))),
        ]
        if self.at_nodes:
            found.append((self.at_nodes, (mesh.node_states,), rows.nodes, mesh.fractions[:, None]))
        return [
            ProgramElement(
                functions, np.concatenate([*groups, _shared(mesh, len(groups[0]))], axis=1), at, data, constants
            )
            for functions, groups, at, data in found
        ]


def _shared(mesh: CollocationMesh, count: int) -> NDArray[np.int64]:
    """Return the places of the unknowns that all places share, (count, unknowns)."""
    return np.tile(np.append(mesh.clock, mesh.free_parameters), (count, 1))
