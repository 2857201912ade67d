"""Constraints in numbers: residuals, exact Jacobians, and motion in the tangent space of the coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.factor import factor
from kane.codegen.programs.program import Program
from kane.dynamics.build import build
from kane.dynamics.dynamics import Dynamics
from kane.expression.collector import collector_paused
from kane.expression.derivative import linear_coefficients, total_time_derivative
from kane.expression.node import Expr
from kane.formulation.equations import Equations

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Loops:
    """The constraints of equations at given time and parameters.

    Attributes:
        dyn: their native code.
        t: time [s].
        parameters: values, in the order of ``equations.parameters``.
    """

    dyn: Dynamics
    t: float
    parameters: Array

    @property
    def equations(self) -> Equations:
        """What is in force."""
        return self.dyn.equations

    @cached_property
    def own(self) -> Loops:
        """The same in the joints' own speeds, which move the coordinates whatever the generalized speeds."""
        e = self.equations
        if e.system.own is None:
            return self
        return Loops(self.dyn.derived("in own speeds", lambda: build(e.own)), self.t, self.parameters)

    @cached_property
    def closing(self) -> tuple[int, ...]:
        """Which rows of the constraints restrict the configuration."""
        return tuple(i for i, row in enumerate(self.equations.constraints) if row.configuration is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all rows."""
        return tuple(row.name for row in self.equations.constraints)

    def configuration(self, q: Array) -> tuple[Array, Array]:
        """phi(q), and its exact J with dphi/dt = J u + ..., shape (closing rows, n)."""
        n, rows = len(self.equations.u), len(self.closing)
        if not rows:
            return np.zeros(0), np.zeros((0, n))
        values = self._values(self._closure, q, np.zeros(n))
        return values[:rows], values[rows:].reshape(rows, n)

    def motion(self, q: Array, u: Array) -> tuple[Array, Array]:
        """The residual A u + b of all rows, and A (its gradient with respect to u where that is not constant)."""
        n, rows = len(self.equations.u), len(self.equations.constraints)
        if not rows:
            return np.zeros(0), np.zeros((0, n))
        values = self._values(self.dyn.function("constraints"), q, u)
        return values[rows * n :], values[: rows * n].reshape(rows, n)

    def rates(self, q: Array) -> Array:
        """Y of dq/dt = Y u + y_t, all speeds free, shape (nq, n)."""
        n = len(self.equations.u)
        found = self._values(self._free, q, np.vstack([np.zeros(n), np.eye(n)]))
        return (found[1:] - found[0]).T

    def moved(self, q: Array, s: Array) -> Array:
        """The coordinates displaced by the small motion s = u dt, quaternions brought back to length one."""
        return self.normalised(q + self.rates(q) @ s)

    def normalised(self, q: Array) -> Array:
        """Quaternions brought to length one."""
        q = q.copy()
        for start in self.equations.quaternions:
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
        return q

    def _values(self, function: ArrayFunction, q: Array, u: Array) -> Array:
        state = np.concatenate([np.broadcast_to([self.t, *q], (*u.shape[:-1], 1 + len(q))), u], axis=-1)
        return function(state, np.zeros(function.n_rest), function.stage(self.parameters))

    @property
    def _free(self) -> CompiledFunction:
        return self._compiled("kinematics without constraints", lambda: self.equations.unconstrained.kinematics)

    @property
    def _closure(self) -> CompiledFunction:
        return self._compiled("closure of loops", self._closure_outputs)

    def _closure_outputs(self) -> Sequence[Expr]:
        free = self.equations.unconstrained
        residuals = [row.configuration for row in self.equations.constraints if row.configuration is not None]
        changes = dict(zip(free.q, free.system.speeds.kinematics, strict=True))
        rows, _ = linear_coefficients(total_time_derivative(residuals, changes), free.u)
        return free.baked_in([*residuals, *(x for row in rows for x in row)])

    def _compiled(self, name: str, outputs: Callable[[], Sequence[Expr]]) -> CompiledFunction:
        """A program of these equations, kept with their Dynamics."""

        def compiled() -> CompiledFunction:
            e = self.equations
            with collector_paused():
                state = (e.t, *e.q, *e.u)
                return self.dyn.compile(Program(name, factor(outputs()), state=state, rest=(), parameters=e.parameters))

        return self.dyn.derived(name, compiled)
