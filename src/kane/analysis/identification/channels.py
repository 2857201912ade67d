"""Channels in which states are compared: coordinates, speeds, and small rotations in place of quaternions."""

from __future__ import annotations

import numpy as np

from kane.analysis.identification.measurements import Measurements
from kane.analysis.small_motions import displacement_names
from kane.array_types import Array
from kane.deferred import dataclass
from kane.dynamics.dynamics import Dynamics
from kane.formulation.derivatives.variables import displacements

# Vector part of the quaternion product conj(a) b. For each of its components and each b_j: index i and sign of the a_i
# that multiplies b_j.
ROTATION = (((1, -1), (0, 1), (3, 1), (2, -1)), ((2, -1), (3, -1), (0, 1), (1, 1)), ((3, -1), (2, 1), (1, -1), (0, 1)))


@dataclass(frozen=True)
class Channels:
    """Components of the difference of two states.

    Attributes:
        names: names of coordinates and speeds; of the three small rotations in place of a quaternion.
        quaternions: index of the first component of each quaternion.
        width: number of coordinates and speeds.
    """

    names: tuple[str, ...]
    quaternions: tuple[int, ...]
    width: int

    @classmethod
    def of(cls, dyn: Dynamics) -> Channels:
        """Create the channels of a model."""
        e = dyn.equations
        parts = {e.q[start + k]: start for start in e.quaternions for k in range(4)}
        turns: dict[int, list[str]] = {start: [] for start in e.quaternions}
        for name, direction in zip(displacement_names(dyn), displacements(e).directions, strict=True):
            for start in {parts[leaf] for leaf in direction if leaf in parts}:
                turns[start].append(name)
        names: list[str] = []
        for k, leaf in enumerate((*e.q, *e.u)):
            names += turns.get(k, [] if leaf in parts else [leaf.name])
        return cls(tuple(names), tuple(e.quaternions), len(e.q) + len(e.u))

    def measured(self, data: Measurements) -> slice:
        """Return the channels of the data: only coordinates if no speeds were measured."""
        n_u = self.width - data.q.shape[1]
        return slice(len(self.names) if data.u is not None else len(self.names) - n_u)

    def slopes(self, about: Array) -> Array:
        """Return C, (states, channels, width): the difference of a state x near ``about`` is C (x - about)."""
        found = np.zeros((len(about), len(self.names), self.width))
        row = column = 0
        while column < self.width:
            if column in self.quaternions:
                for i, parts in enumerate(ROTATION):
                    for j, (part, sign) in enumerate(parts):
                        found[:, row + i, column + j] = 2.0 * sign * about[:, column + part]
                row, column = row + 3, column + 4
            else:
                found[:, row, column] = 1.0
                row, column = row + 1, column + 1
        return found

    def continued(self, x: Array) -> Array:
        """Return successive states, or coordinates; each quaternion has the sign nearest to the one before it."""
        found = np.array(x)
        for start in self.quaternions:
            part = found[:, start : start + 4]
            turned = np.where((part[1:] * part[:-1]).sum(axis=1) < 0.0, -1.0, 1.0)
            part[1:] *= np.cumprod(turned)[:, None]
        return found

    def series(self, x: Array) -> Array:
        """Return the channels over time, (states, channels); rotations accumulate from the first state."""
        moved = (self.slopes(x[:-1]) @ np.diff(x, axis=0)[..., None])[..., 0]
        return np.cumsum(np.concatenate([self.slopes(x[:1])[0] @ x[:1].T, moved.T], axis=1), axis=1).T
