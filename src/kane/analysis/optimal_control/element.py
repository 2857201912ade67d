"""Elements of a nonlinear program: one function of a few unknowns, evaluated at many places at once.

An element has outputs y(x, d), with unknowns x and fixed data d. A transcription has one element for all collocation
points, one for all intervals, and one for the ends. Place k reads the unknowns z[variables[k]], and adds its outputs to
the rows ``rows[k]``. Compiled programs compute the outputs of all places in one call, in SIMD lanes. Others compute the
first derivatives, and the second derivatives of weights . y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from kane.expression.arena import Arena
from kane.expression.collector import collector_paused
from kane.expression.derivative import gradient, jacobian
from kane.expression.node import Expr
from kane.expression.operations import INPUT


@dataclass(frozen=True)
class Functions:
    """Compiled functions of an element: outputs, entries of their Jacobian, entries of the Hessian of weights . y.

    Attributes:
        compiled: function that compiles a program.
        name: name of the element in messages.
        outputs: expressions of unknowns, data and parameters.
        unknowns, data, parameters: leaves.
    """

    compiled: Callable[[Program], ArrayFunction]
    name: str
    outputs: tuple[Expr, ...]
    unknowns: tuple[Expr, ...]
    data: tuple[Expr, ...]
    parameters: tuple[Expr, ...]

    @classmethod
    def of(
        cls, dyn: Dynamics, name: str, outputs: Sequence[Expr], unknowns: Sequence[Expr], data: Sequence[Expr]
    ) -> Functions:
        """Return the functions of expressions of a model; all its parameters without unknown ones are parameters."""
        free = tuple(p for p in dyn.equations.parameters if p not in unknowns)
        return cls(dyn.compile, name, tuple(outputs), tuple(unknowns), tuple(data), free)

    @cached_property
    def values(self) -> ArrayFunction:
        """Function from the unknowns and the data to the outputs."""
        return self.compile_outputs("values", self.outputs, self.data)

    @cached_property
    def slopes(self) -> ArrayFunction:
        """Function to the entries of the Jacobian."""
        return self.compile_outputs("derivatives", list(self.first.values()), self.data)

    @cached_property
    def curvatures(self) -> ArrayFunction:
        """Function from the unknowns, the data and the weights to the entries of the Hessian."""
        return self.compile_outputs("second derivatives", list(self._second.values()), (*self.data, *self._weights))

    @cached_property
    def slope_places(self) -> tuple[Indices, Indices]:
        """Output and unknown of each entry of the Jacobian."""
        return _columns(list(self.first))

    @cached_property
    def curvature_places(self) -> tuple[Indices, Indices]:
        """Both unknowns of each entry of the Hessian, the first one not before the second."""
        return _columns(list(self._second))

    @property
    def _arena(self) -> Arena:
        return self.outputs[0].arena

    @property
    def _along(self) -> list[dict[Expr, Expr]]:
        return [{x: self._arena.one} for x in self.unknowns]

    @cached_property
    def _weights(self) -> tuple[Expr, ...]:
        return tuple(self._arena.leaf(INPUT, f"weight {k} of {self.name}") for k in range(len(self.outputs)))

    @cached_property
    def first(self) -> dict[tuple[int, int], Expr]:
        """Derivatives that are not zero, by output and unknown."""
        with collector_paused():
            return dict(jacobian(self.outputs, self._along))

    @cached_property
    def _second(self) -> dict[tuple[int, int], Expr]:
        with collector_paused():
            terms = (w * y for w, y in zip(self._weights, self.outputs, strict=True))
            slopes = gradient(sum(terms, self._arena.zero), self.unknowns)
            return {place: x for place, x in jacobian(slopes, self._along).items() if place[0] >= place[1]}

    def compile_outputs(self, word: str, outputs: Sequence[Expr], data: Sequence[Expr]) -> ArrayFunction:
        """Compile expressions of the unknowns, the given data and the parameters."""
        with collector_paused():
            outputs = outputs if word == "values" else factor(outputs)
            program = Program(
                f"{word} of {self.name}", outputs, state=self.unknowns, rest=data, parameters=self.parameters
            )
            return self.compiled(program)


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
        return f(z[self.variables], self.data, self._stage(f))

    def slopes(self, z: Vector) -> Array:
        """Return the entries of the Jacobian of all places, (places, entries)."""
        f = self.functions.slopes
        return f(z[self.variables], self.data, self._stage(f))

    def curvatures(self, z: Vector, weights: Vector) -> Array:
        """Return the entries of the Hessian of all places; ``weights`` has one number for each row."""
        f = self.functions.curvatures
        return f(z[self.variables], np.concatenate([self.data, weights[self.rows]], axis=1), self._stage(f))

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

    def _stage(self, function: ArrayFunction) -> Array:
        """Return the constants of a function."""
        if function not in self._stages:
            self._stages[function] = function.stage(self.constants)
        return self._stages[function]

    @cached_property
    def _stages(self) -> dict[ArrayFunction, Array]:
        return {}
