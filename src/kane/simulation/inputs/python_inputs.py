"""Inputs given as Python functions, which native loops call back; this is the slow path."""

from __future__ import annotations

from typing import Any

import numpy as np

from kane.array_types import Array
from kane.codegen.jit.function import ArrayFunction
from kane.codegen.jit.python_asked import AskedCode
from kane.codegen.jit.python_call import FLOAT64
from kane.engine.memory.loop_arguments import StateEquation, Vector
from kane.engine.memory.run_codes import RHS
from kane.engine.memory.run_memory import mode_of
from kane.engine.memory.views import mode_programs_at
from kane.errors import ModelError
from kane.expression.number_arguments import numbers
from kane.simulation.inputs.input_plan import InputPlan


class PythonInputs:
    """Replacement for the program of x' that first evaluates the input functions; native loops call it by address.

    An exception cannot propagate through a native loop. This object stores it (Ctrl-C too) and sets the slope to NaN,
    which ends the loop; then ``raise_kept`` raises it.
    """

    def __init__(self, rhs: ArrayFunction, plan: InputPlan, system: StateEquation, nq: int) -> None:
        self._names, self._whole, self._each = plan.names, plan.function, tuple(plan.functions.items())
        self._values, self._state = system.inputs, system.state
        self._q, self._u = self._parts(system.state, nq)
        self._nq = nq
        self._program = rhs  # keeps its code alive
        self._kept: list[BaseException] = []
        self._code = AskedCode(self._ask, self._kept.append, rhs.address, rhs.n_out)
        table = mode_programs_at(system.automaton.table, 0)
        mode_of(system).addresses[RHS] = table.addresses[:, RHS] = self._code.address  # valid while this object lives

    def raise_kept(self) -> None:
        """Raise the stored exception of an input function, if any."""
        if self._kept:
            first = self._kept[0]
            self._kept.clear()
            raise first

    def rows(self, states: Array, sampled: Array) -> Array:
        """Return the inputs at recorded states [t, q, u], (rows, inputs); ``sampled`` has the values of all others."""
        values = sampled.copy()
        for row, state in zip(values, states, strict=True):
            q, u = self._parts(state, self._nq)
            self._fill(row, state.item(0), q.copy(), u.copy())
        return values

    @staticmethod
    def _parts(state: Vector, nq: int) -> tuple[Vector, Vector]:
        return state[1 : 1 + nq], state[1 + nq :]

    def _ask(self) -> None:
        if self._kept:  # the loop will end at the NaN
            raise self._kept[0]
        self._fill(self._values, self._state.item(0), self._q.copy(), self._u.copy())

    def _fill(self, values: Vector, t: float, q: Vector, u: Vector) -> None:
        """Write the values of the functions, which get copies of the state and may keep or change them."""
        if self._whole is not None:
            values[...] = self._checked(self._whole(t, q, u), values.shape)
        for column, function in self._each:
            values[column] = self._checked(function(t, q, u), ())

    def _checked(self, value: Any, shape: tuple[int, ...]) -> Any:
        if value.__class__ is np.ndarray and value.dtype is FLOAT64 and value.shape == shape:
            return value
        array = numbers(value, "an input function must return numbers")
        if array.shape != shape:
            raise ModelError(
                f"an input function returned shape {array.shape} where {shape} is needed; the inputs are "
                f"{', '.join(self._names)}"
            )
        return array
