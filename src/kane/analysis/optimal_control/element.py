"""Elements of a nonlinear program: one function of a few unknowns, evaluated at many places at once.

An element has outputs y(x, d), with unknowns x and fixed data d. A transcription has one element for all collocation
points, one for all intervals, and one for the ends. Place k reads the unknowns z[variables[k]], and adds its outputs to
the rows ``rows[k]``. Compiled programs compute the outputs of all places in one call, in SIMD lanes. Others compute the
first derivatives, and the second derivatives of weights . y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.loop_arguments import Indices, Vector
from kane.expression.collector import collector_paused
from kane.expression.derivative import gradient, jacobian
from kane.expression.node import Expr
from kane.expression.operations import INPUT


@dataclass(frozen=True)
class Functions:
    """Compiled functions of an element: outputs, entries of their Jacobian, entries of the Hessian of weights . y.

    Attributes:
        values: from the unknowns and the data to the outputs.
        slopes: to the entries of the Jacobian.
        curvatures: from the unknowns, the data and the weights to the entries of the Hessian.
        slope_places: output and unknown of each entry.
        curvature_places: both unknowns of each entry, the first one not before the second.
    """

    values: ArrayFunction
    slopes: ArrayFunction
    curvatures: ArrayFunction
    slope_places: tuple[Indices, Indices]
    curvature_places: tuple[Indices, Indices]

    @classmethod
    def of(
        cls, dyn: Dynamics, name: str, outputs: Sequence[Expr], unknowns: Sequence[Expr], data: Sequence[Expr]
    ) -> Functions:
        """Derive and compile the functions.

        Args:
            dyn: compiled equations of the model.
            name: name of the element in messages.
            outputs: expressions of unknowns, data and parameters.
            unknowns, data: leaves.
        """
        e, arena = dyn.equations, dyn.equations.t.arena
        weights = tuple(arena.leaf(INPUT, f"weight {k} of {name}") for k in range(len(outputs)))
        free = [p for p in e.parameters if p not in unknowns]
        with collector_paused():
            along = [{x: arena.one} for x in unknowns]
            first = jacobian(outputs, along)
            slopes = gradient(sum((w * y for w, y in zip(weights, outputs, strict=True)), arena.zero), unknowns)
            second = {place: x for place, x in jacobian(slopes, along).items() if place[0] >= place[1]}
            wanted = [
                ("values", outputs, data),
                ("derivatives", factor(list(first.values())), data),
                ("second derivatives", factor(list(second.values())), (*data, *weights)),
            ]
            values, slopes_of, curvatures = (
                dyn.compile(Program(f"{word} of {name}", found, state=unknowns, rest=rest, parameters=free))
                for word, found, rest in wanted
            )
        return cls(values, slopes_of, curvatures, _columns(list(first)), _columns(list(second)))


def _columns(places: Sequence[tuple[int, int]]) -> tuple[Indices, Indices]:
    found = np.array(places, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


@dataclass(frozen=True)
class ProgramElement:
    """An element with the places at which it is evaluated.

    Attributes:
        functions: compiled functions.
        variables: unknowns of each place as indices of z, (places, unknowns).
        rows: rows to which each place adds its outputs, (places, outputs).
        data: fixed data of each place, (places, data).
        constants: parameter values of the functions that are not unknown.
    """

    functions: Functions
    variables: NDArray[np.int64]
    rows: NDArray[np.int64]
    data: Array
    constants: Vector

    def values(self, z: Vector) -> Array:
        """Return the outputs of all places, (places, outputs)."""
        f = self.functions.values
        return f(z[self.variables], self.data, self._stages[0])

    def slopes(self, z: Vector) -> Array:
        """Return the entries of the Jacobian of all places, (places, entries)."""
        f = self.functions.slopes
        return f(z[self.variables], self.data, self._stages[1])

    def curvatures(self, z: Vector, weights: Vector) -> Array:
        """Return the entries of the Hessian of all places; ``weights`` has one number for each row."""
        f = self.functions.curvatures
        return f(z[self.variables], np.concatenate([self.data, weights[self.rows]], axis=1), self._stages[2])

    @cached_property
    def slope_places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Row and unknown of each entry of the Jacobian, (places, entries) each."""
        outputs, unknowns = self.functions.slope_places
        return self.rows[:, outputs], self.variables[:, unknowns]

    @cached_property
    def curvature_places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Unknowns of each entry of the Hessian, on the diagonal or below it, (places, entries) each."""
        first, second = (self.variables[:, x] for x in self.functions.curvature_places)
        return np.maximum(first, second), np.minimum(first, second)

    @cached_property
    def _stages(self) -> tuple[Array, Array, Array]:
        f = self.functions
        return f.values.stage(self.constants), f.slopes.stage(self.constants), f.curvatures.stage(self.constants)
