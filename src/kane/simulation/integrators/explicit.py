"""Explicit Runge-Kutta methods: one table of coefficients per method, and one native loop for all."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.deferred import dataclass
from kane.engine.call import PreparedCall
from kane.engine.memory.loop_arguments import Scheme
from kane.engine.step.explicit import integrate_explicit
from kane.errors import ModelError
from kane.expression.number_arguments import positive
from kane.simulation.integrator_state import IntegratorState, Status
from kane.simulation.integrators.integrator import Integrator

TableauRow = Mapping[int, float]
# Smallest tolerance that double precision can satisfy.
FINEST = 1e-14


@dataclass(frozen=True)
class Tableau:
    """Coefficients of a method; rows contain only nonzero entries.

    Attributes:
        nodes: position of each stage in the step; stages after ``last`` serve the interpolant.
        rows: weights of the slopes before each stage; row ``last`` is the result of the step.
        last: index of the stage at the end of the step.
        errors: weights of the slopes in two error estimates; empty without an estimate.
        interpolant: weights of the slopes in the terms of the interpolant after the first three.
        exponent: 1 over the order of the error estimate in the step.
    """

    nodes: Sequence[float]
    rows: Sequence[TableauRow]
    last: int
    errors: tuple[TableauRow, TableauRow] = ({}, {})
    interpolant: Sequence[TableauRow] = ()
    exponent: float = 0.0


class Explicit(Integrator):
    """Explicit Runge-Kutta method; steps are fixed unless a subclass says otherwise."""

    fixed = True

    @property
    @abstractmethod
    def tableau(self) -> Tableau:
        """Coefficients of the method."""

    def advance(self, integration: IntegratorState, steps: int) -> Status:
        arrays = scheme(self)
        integration.make_room(steps, len(arrays.nodes))
        return Status(integrate_explicit(*integration.step_arguments, arrays, steps))

    def prepared(self, integration: IntegratorState, steps: int) -> PreparedCall | None:
        return integrate_explicit.prepared(*integration.step_arguments, scheme(self), steps)


class Adaptive(Explicit):
    """Explicit method with step-size control that keeps the error of each step within tolerances.

    The error of every component of x must be below atol + rtol |x|. Orientation errors are measured in the tangent
    space, as rotation vectors (three angles per quaternion), against atol + rtol.
    """

    rtol: float
    atol: float
    max_step: float

    fixed = False

    def __post_init__(self) -> None:
        for word in ("rtol", "atol", "max_step"):
            object.__setattr__(self, word, positive(getattr(self, word), f"{word} of {self.name}"))
        if self.rtol < FINEST and self.atol < FINEST:
            raise ModelError(
                f"rtol = {self.rtol!r} and atol = {self.atol!r} of {self.name} are below the rounding of double "
                f"precision; give one of them {FINEST} or more"
            )
        if self.rtol < FINEST:
            object.__setattr__(self, "rtol", FINEST)

    @property
    def settings(self) -> dict[str, float]:
        return {"rtol": float(self.rtol), "atol": float(self.atol)}


@cache
def scheme(method: Explicit) -> Scheme:
    """Return the arrays of a method for the native loop."""
    table = method.tableau
    n = len(table.rows)
    tolerances: Any = [float(getattr(method, word, math.inf)) for word in ("rtol", "atol", "max_step")]
    return Scheme(
        _matrix(table.rows, n),
        np.array(table.nodes, dtype=float),
        table.last,
        _matrix(table.errors, n),
        dense_weights(table),
        table.exponent,
        0.3,
        *tolerances,
    )


def dense_weights(table: Tableau) -> Array:
    """Return the interpolant as polynomials: x + h sum_jm w[j, m] s^(m + 1) k_j at the fraction s of the step.

    The form is x + s (F0 + (1 - s) (F1 + s (F2 + (1 - s) (F3 + ...)))). F0 is the whole increment, F1 = h k_0 - F0 and
    F2 = 2 F0 - h (k_0 + k_last), which match values and slopes at both ends; the rows of the table follow.

    Source: Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, II.6.
    """
    n = len(table.rows)
    whole, begin, end = _matrix([table.rows[table.last], {0: 1.0}, {table.last: 1.0}], n)
    terms = [whole, begin - whole, 2 * whole - begin - end, *_matrix(table.interpolant, n)]
    weights = np.zeros((n, len(terms)))
    basis = np.zeros(len(terms) + 1)
    basis[1] = 1.0
    for k, term in enumerate(terms):
        weights += np.outer(term, basis[1:])
        shifted = np.concatenate([[0.0], basis[:-1]])
        basis = basis - shifted if k % 2 == 0 else shifted
    return weights


def _matrix(rows: Sequence[TableauRow], n: int) -> Array:
    matrix = np.zeros((len(rows), n))
    for i, row in enumerate(rows):
        for j, value in row.items():
            matrix[i, j] = value
    return matrix
