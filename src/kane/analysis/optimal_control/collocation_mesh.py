"""Places of the unknowns of a collocation in one vector z, and of its equations among the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kane.analysis.optimal_control.collocation_method import CollocationMethod
from kane.engine.memory.loop_arguments import Indices, Vector


@dataclass(frozen=True)
class CollocationMesh:
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
        return self.interval_points[:, self.method.inner].ravel()

    @cached_property
    def _starts(self) -> Indices:
        """First places of the groups of unknowns: nodes, own states, points, corrections, clock, parameters."""
        sizes = (
            len(self.fractions) * self.states,
            len(self._own_states) * self.states,
            self.points * (self.speeds + self.rows + self.inputs),
            self.intervals * self.corrections,
            2,
            self.parameters,
        )
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

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

    @property
    def first_places(self) -> tuple[Indices, Indices]:
        """Places of the first state, and of lambda and inputs at the points of the first interval."""
        return self.node_states[0], self.point_others[self.interval_points[0], self.speeds :].ravel()

    @property
    def last_places(self) -> tuple[Indices, Indices]:
        """Places of the last state, and of lambda and inputs at the points of the last interval."""
        return self.node_states[-1], self.point_others[self.interval_points[-1], self.speeds :].ravel()

    @cached_property
    def corrected(self) -> NDArray[np.int64]:
        """Places of the corrections gamma and mu of each interval, (intervals, corrections)."""
        return np.arange(self._starts[3], self._starts[4]).reshape(self.intervals, -1)

    @property
    def clock(self) -> Indices:
        """Places of the first time and of the duration T."""
        return np.arange(self._starts[4], self._starts[5])

    @property
    def begin(self) -> int:
        """Place of the first time."""
        return int(self._starts[4])

    @property
    def duration(self) -> int:
        """Place of the duration T."""
        return self.begin + 1

    @property
    def free_parameters(self) -> Indices:
        """Places of the free parameters."""
        return np.arange(self._starts[5], self._starts[6])


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
        groups = [start + np.arange(a * b).reshape(a, b) for start, (a, b) in zip(starts[:-1], shapes, strict=True)]
        motion, path, intervals, nodes, conditions = groups
        return cls(motion, path, intervals, nodes, conditions, starts[-1])
