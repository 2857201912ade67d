"""The slow path: the same steps taken in Python, for inputs that are Python functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from kane.codegen.compiled import CompiledFunction
from kane.errors import ModelError
from kane.expression.operations import SPEED
from kane.simulation.inputs import InputPlan
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.march import March, Vector


class PythonMarch:
    """Advances a march by calling the input functions in every stage of every step.

    Attributes:
        input_rows: the inputs at the recorded states, (rows, inputs).
    """

    def __init__(self, integrator: Integrator, rhs: CompiledFunction, plan: InputPlan, march: March) -> None:
        self._integrator = integrator
        self._rhs = rhs
        self._plan = plan
        self._system = march.system
        self._nq = sum(leaf.op != SPEED for leaf in rhs.program.state) - 1
        self.input_rows = np.zeros((march.grid.rows, len(plan.names)))
        self._record(march, 0, march.x)

    def advance(self, march: March, steps: int) -> bool:
        """As ``Integrator.advance``."""
        from kane.simulation.native_march import is_finite, normalise  # imports numba

        grid = march.grid
        for k in range(march.done, min(march.done + steps, grid.steps)):
            t, h = grid.interval(k)
            self._middle = t + h / 2
            x = self._integrator.step(self._slope, t, march.x, h)
            normalise(x, march.system.quaternions)
            if not is_finite(x):
                return False
            march.x[:] = x
            if (k + 1) % grid.every == 0 or k + 1 == grid.steps:
                self._record(march, k + 1, x)
            march.done = k + 1
        return True

    def _record(self, march: March, k: int, x: Vector) -> None:
        """Record the state after k steps, with the inputs of the step that begins there."""
        t = march.grid.time(k)
        self._middle = t + march.grid.step / 2
        row = march.grid.rows_at(k) - 1
        march.rows[row] = x
        self.input_rows[row] = self._inputs(t, x)

    def _slope(self, t: float, x: Vector) -> Vector:
        self._system.inputs[:] = self._inputs(t, x)
        return self._rhs(np.concatenate([[t], x]), self._system.inputs, self._system.stage)

    def _inputs(self, t: float, x: Vector) -> Vector:
        """The inputs at time t, state x; the functions get copies, which they may keep or change."""
        q, u = x[: self._nq].copy(), x[self._nq :].copy()
        if self._plan.function is not None:
            return self._checked(self._plan.function(t, q, u), (len(self._plan.names),))
        values = self._plan.sampled(np.array([t]), np.array([self._middle]))[0]
        for column, function in self._plan.functions.items():
            values[column] = self._checked(function(t, q, u), ())
        return values

    def _checked(self, value: Any, shape: tuple[int, ...]) -> Any:
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise ModelError(f"an input function returned {value!r}; it must return numbers") from None
        if array.shape != shape:
            raise ModelError(
                f"an input function returned shape {array.shape} where {shape} is needed; the inputs are "
                f"{', '.join(self._plan.names)}"
            )
        return array
