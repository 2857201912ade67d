"""The nonlinear program of elements: rows of constraints, and the objective as one more row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kane.analysis.optimal_control.element import ProgramElement
from kane.engine.memory.loop_arguments import Indices, Vector


class ElementProgram:
    """Sum of elements as a nonlinear program, see ``ipopt.Program``; its last row is the objective.

    Attributes:
        elements: the elements.
        rows: number of constraints; the row of the objective has this index.
    """

    def __init__(self, elements: Sequence[ProgramElement], rows: int, unknowns: int) -> None:
        self.elements, self.rows, self._unknowns = tuple(elements), rows, unknowns
        self._at, self._values = np.full(unknowns, np.nan), np.zeros(rows + 1)
        self._slopes_at, self._slopes = np.full(unknowns, np.nan), np.zeros(0)

    def all_rows(self, z: Vector) -> Vector:
        """Return all constraints and the objective."""
        if not np.array_equal(z, self._at):
            flat = np.concatenate([element.values(z).ravel() for element in self.elements])
            self._values = _sums(self._all_places, flat, self.rows + 1)
            self._at = z.copy()
        return self._values

    def objective(self, z: Vector) -> float:
        """Return the objective f."""
        return float(self.all_rows(z)[-1])

    def constraints(self, z: Vector) -> Vector:
        """Return the constraints g."""
        return self.all_rows(z)[:-1]

    def objective_gradient(self, z: Vector) -> Vector:
        """Return df/dz."""
        _, columns = self._places
        chosen = self._of_objective
        return _sums(columns[chosen], self._entries(z)[chosen], self._unknowns)

    def jacobian(self, z: Vector) -> Vector:
        """Return the entries of dg/dz."""
        return self._entries(z)[~self._of_objective]

    def hessian(self, z: Vector, weight: float, multipliers: Vector) -> Vector:
        """Return the entries of the Hessian of weight f + multipliers . g."""
        weights = np.append(multipliers, weight)
        return np.concatenate([element.curvatures(z, weights).ravel() for element in self.elements])

    @cached_property
    def jacobian_places(self) -> tuple[Indices, Indices]:
        """Rows and columns of the entries of dg/dz; entries of one place are added."""
        rows, columns = self._places
        return rows[~self._of_objective], columns[~self._of_objective]

    @cached_property
    def hessian_places(self) -> tuple[Indices, Indices]:
        """Rows and columns of the entries of the Hessian."""
        return _joined([element.curvature_places for element in self.elements])

    def _entries(self, z: Vector) -> Vector:
        if not np.array_equal(z, self._slopes_at):
            self._slopes = np.concatenate([element.slopes(z).ravel() for element in self.elements])
            self._slopes_at = z.copy()
        return self._slopes

    @cached_property
    def _places(self) -> tuple[Indices, Indices]:
        return _joined([element.slope_places for element in self.elements])

    @cached_property
    def _of_objective(self) -> NDArray[np.bool_]:
        return np.asarray(self._places[0] == self.rows)

    @cached_property
    def _all_places(self) -> Indices:
        return np.concatenate([element.rows.ravel() for element in self.elements])


def _sums(places: Indices, values: Vector, length: int) -> Vector:
    """Return the sum of the values of each place."""
    return np.bincount(places, weights=values, minlength=length).astype(float)


def _joined(places: Sequence[tuple[Indices, Indices]]) -> tuple[Indices, Indices]:
    rows, columns = zip(*places, strict=True)
    return np.concatenate([x.ravel() for x in rows]), np.concatenate([x.ravel() for x in columns])
