"""Numerical terms of the constraints, and of the equations of motion with Lagrange multipliers, at states."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.codegen.jit.function import ArrayFunction
from kane.deferred import dataclass
from kane.dynamics.build import build
from kane.dynamics.dynamics import Dynamics, Residuals
from kane.dynamics.embedded.embedded_quantity import symmetric
from kane.dynamics.least_solution import least_of_motion
from kane.engine.memory.views import (
    ConstraintRows,
    UnconstrainedTerms,
    constraint_rows_at,
    unconstrained_terms_at,
)
from kane.formulation.equations import Equations
from kane.geometry.quaternion import normalise_quaternions


@dataclass(frozen=True, eq=False)
class ConstraintTerms:
    """Constraint terms at states:

        phi(q, t) = 0,   A u + b = 0,   A udot + remainder = 0,   M udot + h = A^T lambda,   dq/dt = Y u + y_t.

    Each program runs when one of its results is first needed.

    Attributes:
        dyn: native code of the equations.
        parameters: values in the order of ``equations.parameters``, (..., p).
        t: time [s].
        q, u: coordinates (..., nq) and speeds (..., n), not corrected; u includes the dependent speeds.
        inputs: (..., inputs).
    """

    dyn: Dynamics
    parameters: Array
    t: Any
    q: Array
    u: Array
    inputs: Array

    @classmethod
    def of(
        cls, dyn: Dynamics, q: Any, u: Any = None, *, inputs: Any = None, t: Any = 0.0, parameters: Any = None
    ) -> ConstraintTerms:
        """Return the terms at states; defaults: u = 0, inputs = 0, t = 0, and the parameters' default values."""
        values = dyn.parameters if parameters is None else np.asarray(parameters, float)
        speeds = np.zeros(len(dyn.equations.u)) if u is None else np.asarray(u, float)
        loads = np.zeros(len(dyn.equations.inputs)) if inputs is None else np.asarray(inputs, float)
        return cls(dyn, values, np.asarray(t, float), np.asarray(q, float), speeds, loads)

    def at(self, q: Array, u: Array | None = None) -> ConstraintTerms:
        """Return the terms at other coordinates and speeds; u = 0 unless given."""
        return replace(self, q=q, u=np.zeros(len(self.equations.u)) if u is None else u)

    @property
    def equations(self) -> Equations:
        """Equations of motion and their constraints."""
        return self.dyn.equations

    @cached_property
    def own(self) -> ConstraintTerms:
        """These terms at rest in the joints' own speeds, along which every displacement of q is possible."""
        e = self.equations
        if e.system.own is None:
            return self
        dyn = self.dyn.derived("in own speeds", lambda: build(e.own))
        return replace(self, dyn=dyn, u=np.zeros(len(dyn.equations.u)))

    @property
    def closing(self) -> tuple[int, ...]:
        """Indices of the constraint rows that restrict the configuration."""
        return tuple(i for i, row in enumerate(self.equations.constraints) if row.configuration is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all constraint rows."""
        return tuple(row.name for row in self.equations.constraints)

    @property
    def residuals(self) -> Residuals:
        """Residuals of motion and configuration, including rows that the chosen speeds satisfy identically."""
        return Residuals(self._values(self.dyn.function("configuration")), self.motion)

    @property
    def phi(self) -> Array:
        """Residual of every row that restricts the configuration, (..., rows)."""
        return self._closure[..., : len(self.closing)]

    @property
    def J(self) -> Array:
        """Exact Jacobian of phi, (..., rows, n): dphi/dt = J u + ..."""
        entries = self._closure[..., len(self.closing) :]
        return entries.reshape(*entries.shape[:-1], len(self.closing), len(self.equations.u))

    @property
    def A(self) -> Array:
        """Constraint matrix, (..., m, n): the gradient with respect to u if a row is nonlinear in u."""
        return self._rows.A

    @property
    def motion(self) -> Array:
        """Residual A u + b of each row, (..., m)."""
        return self._rows.motion

    @property
    def M(self) -> Array:
        """Mass matrix without constraints, (..., n, n)."""
        return symmetric(self._free.M, len(self.equations.u))

    @property
    def h(self) -> Array:
        """Forces h of M udot + h = A^T lambda, (..., n)."""
        return self._free.h

    @property
    def remainder(self) -> Array:
        """Remainder of A udot + remainder = 0, (..., m)."""
        return self._free.remainder

    @cached_property
    def Y(self) -> Array:
        """Kinematic matrix of dq/dt = Y u + y_t at one state, (nq, n), without constraints on u."""
        e, n = self.equations, len(self.equations.u)
        free = self.dyn.derived("unconstrained", lambda: build(e.unconstrained))
        found = replace(self, u=np.vstack([np.zeros(n), np.eye(n)]))._values(free.function("kinematics"))
        return np.asarray((found[1:] - found[0]).T)

    def multiplied(self, load: Array | None = None) -> tuple[Array, Array]:
        """Return udot (..., n) and multipliers lambda (..., m) of M udot + h = A^T lambda, A udot + remainder = 0.

        If rows are redundant, this is the solution of least norm of [udot, lambda], scaled as in ``least_of_motion``.

        Args:
            load: additional generalized forces, (..., n).
        """
        n, m = len(self.equations.u), len(self.equations.constraints)
        given = -np.concatenate([self.h, self.remainder], axis=-1)
        if load is not None:
            given[..., :n] += load
        whole = np.zeros((*given.shape[:-1], n + m, n + m))
        whole[..., :n, :n], whole[..., n:, :n] = self.M, self.A
        whole[..., :n, n:] = -np.swapaxes(self.A, -1, -2)
        found = least_of_motion(whole, given[..., None], n)[..., 0]
        return found[..., :n], found[..., n:]

    def moved(self, s: Array) -> Array:
        """Return the coordinates displaced by the small motion s = u dt, with quaternions normalized."""
        return self.normalised(self.q + self.Y @ s)

    def normalised(self, q: Array) -> Array:
        """Return the coordinates with quaternions scaled to unit length."""
        q = q.copy()
        normalise_quaternions(q, self.equations.quaternions)
        return q

    def values(self, name: str) -> Array:
        """Evaluate a program that reads inputs, by name, at the states."""
        return self._values(self.dyn.function(name), self.inputs)

    @cached_property
    def _rows(self) -> ConstraintRows:
        values, e = self._values(self.dyn.function("constraints")), self.equations
        return constraint_rows_at(values, 0, len(e.constraints), len(e.u))

    @cached_property
    def _closure(self) -> Array:
        return self._values(self.dyn.function("closure"))

    @cached_property
    def _free(self) -> UnconstrainedTerms:
        values, e = self._values(self.dyn.function("unconstrained"), self.inputs), self.equations
        return unconstrained_terms_at(values, 0, len(e.constraints), len(e.u), len(e.q))

    def _values(self, function: ArrayFunction, rest: Any = ()) -> Array:
        stage = function.stage(self.parameters)
        return function.join((np.asarray(self.t)[..., None], self.q, self.u), rest, stage)
