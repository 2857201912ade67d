"""Transcription of an optimal control problem into the elements of a nonlinear program.

Unknowns: the states [q, u] at nodes and at further collocation points; udot, lambda and inputs at collocation points;
the duration T and free parameters. Elements:

- points: equations of motion, path constraints, integrands;
- intervals: x(c_i) - x - h sum_j A_ij f_j = 0, and x(1) likewise with b_j, f = [qdot(q, u), udot];
- nodes: configuration constraints, A u + b = 0, and unit quaternions. States at the ends of intervals may move along
  A^T and along the quaternions, by further unknowns gamma and mu of the order of the error. So constraints hold at
  nodes without more equations than unknowns;
- ends: boundary conditions, and the part of the objective at the ends.

Source: Betts 2010, Practical methods for optimal control and estimation, chapter 4; Posa, Kuindersma & Tedrake 2016,
Optimization and stabilization of trajectories for constrained dynamical systems, for gamma and mu.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kane.analysis.optimal_control.collocation_method import CollocationMethod
from kane.analysis.optimal_control.element import Element, Functions
from kane.analysis.optimal_control.end_values import Condition
from kane.analysis.optimal_control.symbols import Symbols
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Indices, Vector
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes


@dataclass(frozen=True)
class Mesh:
    """Places of the unknowns in z.

    Attributes:
        fractions: nodes as fractions of the duration, from 0 to 1, (nodes,).
        method: collocation method.
        states: length of x = [q, u].
        speeds, rows, inputs, corrections, parameters: numbers of speeds, constraint rows, unknown inputs, corrections
            of a node, and free parameters.
    """

    fractions: Vector
    method: CollocationMethod
    states: int
    speeds: int
    rows: int
    inputs: int
    corrections: int
    parameters: int

    @property
    def intervals(self) -> int:
        """Number of intervals."""
        return len(self.fractions) - 1

    @cached_property
    def interval_points(self) -> NDArray[np.int64]:
        """Indices of the points of each interval, (intervals, points of an interval)."""
        each = len(self.method.points) - (self.method.begins and self.method.ends)
        return each * np.arange(self.intervals)[:, None] + np.arange(len(self.method.points))

    @property
    def points(self) -> int:
        """Number of collocation points."""
        return int(self.interval_points[-1, -1]) + 1

    @cached_property
    def point_fractions(self) -> Vector:
        """Points as fractions of the duration, (points,)."""
        found, lengths = np.zeros(self.points), np.diff(self.fractions)
        found[self.interval_points] = self.fractions[:-1, None] + lengths[:, None] * np.array(self.method.points)
        return found

    @cached_property
    def point_weights(self) -> Vector:
        """Weights of the points in integrals over the duration, as fractions of it, (points,)."""
        found = np.zeros(self.points)
        np.add.at(found, self.interval_points, np.diff(self.fractions)[:, None] * self.method.b)
        return found

    @cached_property
    def _own_states(self) -> Indices:
        """Points that are not nodes."""
        inner = [i for i, c in enumerate(self.method.points) if 0.0 < c < 1.0]
        return self.interval_points[:, inner].ravel()

    @cached_property
    def _starts(self) -> Indices:
        """First places of the groups of unknowns: nodes, own states, points, corrections, duration, parameters."""
        sizes = (
            len(self.fractions) * self.states,
            len(self._own_states) * self.states,
            self.points * (self.speeds + self.rows + self.inputs),
            self.intervals * self.corrections,
            1,
            self.parameters,
        )
        return np.concatenate([[0], np.cumsum(sizes)])

    @property
    def unknowns(self) -> int:
        """Length of z."""
        return int(self._starts[-1])

    @cached_property
    def node_states(self) -> NDArray[np.int64]:
        """Places of the states at nodes, (nodes, states)."""
        return np.arange(self._starts[1]).reshape(-1, self.states)

    @cached_property
    def point_states(self) -> NDArray[np.int64]:
        """Places of the states at points, (points, states)."""
        found = np.zeros((self.points, self.states), dtype=np.int64)
        found[self._own_states] = np.arange(self._starts[1], self._starts[2]).reshape(-1, self.states)
        if self.method.begins:
            found[self.interval_points[:, 0]] = self.node_states[:-1]
        if self.method.ends:
            found[self.interval_points[:, -1]] = self.node_states[1:]
        return found

    @cached_property
    def point_others(self) -> NDArray[np.int64]:
        """Places of udot, lambda and inputs at points, (points, speeds + rows + inputs)."""
        return np.arange(self._starts[2], self._starts[3]).reshape(self.points, -1)

    @property
    def accelerations(self) -> NDArray[np.int64]:
        """Places of udot at points, (points, speeds)."""
        return self.point_others[:, : self.speeds]

    @property
    def point_inputs(self) -> NDArray[np.int64]:
        """Places of the unknown inputs at points, (points, inputs)."""
        return self.point_others[:, self.speeds + self.rows :]

    @property
    def point_multipliers(self) -> NDArray[np.int64]:
        """Places of lambda at points, (points, rows)."""
        return self.point_others[:, self.speeds : self.speeds + self.rows]

    @cached_property
    def corrected(self) -> NDArray[np.int64]:
        """Places of the corrections gamma and mu of each interval, (intervals, corrections)."""
        return np.arange(self._starts[3], self._starts[4]).reshape(self.intervals, -1)

    @property
    def duration(self) -> int:
        """Place of the duration T."""
        return int(self._starts[4])

    @property
    def free_parameters(self) -> Indices:
        """Places of the free parameters."""
        return np.arange(self._starts[5], self._starts[6])


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

    @cached_property
    def at_points(self) -> Functions:
        """Residuals of the motion, path constraints, and T weight integrand of each condition that has an integral."""
        s, weight = self.symbols, self.symbols.leaf("weight")
        integrands = [weight * s.duration * x for x in self._integrands]
        outputs = [*s.motion, *s.timed([*self.path, *integrands])]
        unknowns = (*s.q, *s.u, *s.equations.udot, *s.multipliers, *s.inputs, s.duration, *self.free)
        return Functions.of(self.dyn, "collocation points", outputs, unknowns, (s.fraction, weight))

    @cached_property
    def _integrands(self) -> list[Expr]:
        return [c.integrand for c in self.conditions if c.integrand is not None]

    @cached_property
    def in_intervals(self) -> Functions:
        """Residuals of the states at the points after the start of an interval, and at its end if it is no point."""
        s, h, zero = self.symbols, self.symbols.leaf("length"), self.symbols.equations.t.arena.zero
        first = s.leaves("first", s.q), s.leaves("first", s.u)
        last = s.leaves("last", s.q), s.leaves("last", s.u)
        states, accelerations, fractions = [], [], []
        for i, c in enumerate(self.method.points):
            word = f"point {i + 1}"
            own = s.leaves(word, s.q), s.leaves(word, s.u)
            states.append(first if c == 0.0 else last if c == 1.0 else own)
            accelerations.append(s.leaves(f"{word} rate of", s.equations.udot))
            fractions.append(s.leaf(f"fraction {i + 1}"))
        rates = []
        for (q, u), udot, fraction in zip(states, accelerations, fractions, strict=True):
            qdot = substitute_nodes(s.at(s.kinematics, q, u), {s.fraction: fraction})
            rates.append([*qdot, *udot])
        ends = [(c, states[i], self.method.A[i]) for i, c in enumerate(self.method.points) if c > 0.0]
        if not self.method.ends:
            ends.append((1.0, last, self.method.b))
        corrections, moves = self._moves(last)
        outputs = []
        for c, (q, u), weights in ends:
            for k, (x, x0) in enumerate(zip((*q, *u), (*first[0], *first[1]), strict=True)):
                total = sum((float(w) * rate[k] for w, rate in zip(weights, rates, strict=True)), zero)
                outputs.append(x - x0 - h * s.duration * total - (moves[k] if c == 1.0 else zero))
        inner = [leaf for i, c in enumerate(self.method.points) if 0.0 < c < 1.0 for x in states[i] for leaf in x]
        udots = [leaf for x in accelerations for leaf in x]
        unknowns = (*first[0], *first[1], *last[0], *last[1], *inner, *udots, *corrections, s.duration, *self.free)
        return Functions.of(self.dyn, "collocation intervals", outputs, unknowns, (h, *fractions, s.fraction))

    def _moves(self, last: tuple[Sequence[Expr], Sequence[Expr]]) -> tuple[list[Expr], list[Expr]]:
        """Return the corrections gamma and mu, and the displacement of each entry of [q, u] at the end of an interval."""
        s = self.symbols
        nq, moves = len(s.q), [s.equations.t.arena.zero] * (len(s.q) + len(s.u))
        corrections = []
        for first, group in ((0, s.closing), (nq, s.rows)):
            for _, direction in group:
                corrections.append(s.leaf(f"correction {len(corrections) + 1}"))
                for i, x in direction.items():
                    moves[first + i] = moves[first + i] + s.at([x], *last)[0] * corrections[-1]
        return corrections, moves

    @cached_property
    def at_nodes(self) -> Functions | None:
        """Residuals of configuration constraints, quaternions and A u + b; None if there are none."""
        s = self.symbols
        outputs = [residual for residual, _ in (*s.closing, *s.rows)]
        if not outputs:
            return None
        unknowns = (*s.q, *s.u, s.duration, *self.free)
        return Functions.of(self.dyn, "collocation nodes", outputs, unknowns, (s.fraction,))

    @cached_property
    def at_ends(self) -> Functions:
        """Boundary conditions, and the objective, without their integrals."""
        s, ends = self.symbols, self.conditions[0].ends
        unknowns = (*ends.first_state, *ends.last_state, *ends.first_inputs, *ends.last_inputs, s.duration, *self.free)
        return Functions.of(self.dyn, "ends", [c.at_ends for c in self.conditions], unknowns, ())

    def mesh(self, fractions: Vector) -> Mesh:
        """Return the places of the unknowns on a mesh."""
        s = self.symbols
        sizes = len(s.q) + len(s.u), len(s.u), len(s.multipliers), len(s.inputs), len(s.closing) + len(s.rows)
        return Mesh(fractions, self.method, *sizes, len(self.free))

    def elements(self, mesh: Mesh, constants: Vector) -> tuple[list[Element], Rows]:
        """Return the elements on a mesh, and the rows of their outputs.

        Args:
            mesh: places of the unknowns.
            constants: values of the parameters that are not free.
        """
        shared = np.append(mesh.duration, mesh.free_parameters)

        def places(*groups: NDArray[np.int64]) -> NDArray[np.int64]:
            count = len(groups[0])
            return np.concatenate([*groups, np.broadcast_to(shared, (count, len(shared)))], axis=1)

        n, p, last = mesh.intervals, mesh.points, len(self.conditions) - 1
        motion, path = len(self.symbols.motion), len(self.path)
        count = self.in_intervals.values.n_out
        closed = self.at_nodes.values.n_out if self.at_nodes else 0
        rows = Rows.of([(p, motion), (p, path), (n, count), (n + 1, closed), (1, last)])
        objective = rows.total
        of_condition = np.append(rows.conditions[0], objective)
        integrals = np.array([of_condition[k] for k, c in enumerate(self.conditions) if c.integrand is not None], int)
        of_points = np.concatenate([rows.motion, rows.path, np.broadcast_to(integrals, (p, len(integrals)))], axis=1)
        lengths, inner = np.diff(mesh.fractions), [i for i, c in enumerate(self.method.points) if 0.0 < c < 1.0]
        own = mesh.point_states[mesh.interval_points[:, inner]].reshape(n, -1)
        accelerations = mesh.accelerations[mesh.interval_points].reshape(n, -1)
        interval = places(mesh.node_states[:-1], mesh.node_states[1:], own, accelerations, mesh.corrected)
        ends = [mesh.node_states[0], mesh.node_states[-1], mesh.point_inputs[0], mesh.point_inputs[-1]]
        fractions = mesh.point_fractions[mesh.interval_points]
        given = [
            Element(
                self.at_points,
                places(mesh.point_states, mesh.point_others),
                of_points,
                np.column_stack([mesh.point_fractions, mesh.point_weights]),
                constants,
            ),
            Element(
                self.in_intervals,
                interval,
                rows.intervals,
                np.column_stack([lengths, fractions, mesh.fractions[1:]]),
                constants,
            ),
            Element(self.at_ends, places(np.concatenate(ends)[None, :]), of_condition[None, :], np.zeros((1, 0)), constants),
        ]
        if self.at_nodes:
            given.append(
                Element(self.at_nodes, places(mesh.node_states), rows.nodes, mesh.fractions[:, None], constants)
            )
        return given, rows


@dataclass(frozen=True)
class Rows:
    """Rows of the constraints, (places, outputs) each, and their number."""

    motion: NDArray[np.int64]
    path: NDArray[np.int64]
    intervals: NDArray[np.int64]
    nodes: NDArray[np.int64]
    conditions: NDArray[np.int64]
    total: int

    @classmethod
    def of(cls, shapes: Sequence[tuple[int, int]]) -> Rows:
        """Number the rows group by group."""
        starts = np.concatenate([[0], np.cumsum([a * b for a, b in shapes])]).tolist()
        groups = [start + np.arange(a * b).reshape(a, b) for start, (a, b) in zip(starts, shapes, strict=False)]
        return cls(*groups, starts[-1])
