"""The slow path: inputs that are Python functions, called back from the native loops."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.codegen.jit.function import ArrayFunction
from kane.errors import ModelError
from kane.expression.arguments import numbers
from kane.native.arrays import RHS, StateEquation, Vector
from kane.simulation.asked.inputs import InputPlan

_PROTOTYPE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)


class PythonInputs:
    """A stand-in for the program of x' that asks the input functions first. To native loops it is an address in a mode.

    An exception cannot pass through a native loop. It is kept, the slope becomes NaN, which ends the loop, and
    ``raise_kept`` raises it.
    """

    def __init__(self, rhs: ArrayFunction, plan: InputPlan, system: StateEquation, nq: int) -> None:
        self._plan = plan
        self._system = system
        self._nq = nq
        self._nx = rhs.n_out
        self._program = rhs
        self._native = _PROTOTYPE(rhs.address)
        self._callback = _PROTOTYPE(self._slope)
        self._kept: BaseException | None = None
        # Good as long as this object lives.
        address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        system.mode[RHS] = system.automaton.table[:, RHS] = address

    def raise_kept(self) -> None:
        """Raise what an input function raised."""
        kept, self._kept = self._kept, None
        if kept is not None:
            raise kept

    def rows(self, states: NDArray[np.float64], sampled: NDArray[np.float64]) -> NDArray[np.float64]:
        """The inputs at recorded states [t, q, u], (rows, inputs), from the values of those that are no functions."""
        values = sampled.copy()
        for row, state in zip(values, states, strict=True):
            self._fill(row, state)
        return values

    def _slope(self, state: int, rest: int, stage: int, out: int, work: int) -> None:
        try:
            if self._kept is None:
                self._fill(self._system.inputs, self._system.state)
                self._native(state, rest, stage, out, work)
        except BaseException as error:  # Ctrl-C among them
            self._kept = error
        if self._kept is not None:
            (ctypes.c_double * self._nx).from_address(out)[:] = [math.nan] * self._nx

    def _fill(self, values: Vector, state: Vector) -> None:
        """Write what the functions give; they get copies, which they may keep or change."""
        t = float(state[0])
        q, u = state[1 : 1 + self._nq].copy(), state[1 + self._nq :].copy()
        if self._plan.function is not None:
            values[:] = self._checked(self._plan.function(t, q, u), (len(self._plan.names),))
        for column, function in self._plan.functions.items():
            values[column] = self._checked(function(t, q, u), ())

    def _checked(self, value: Any, shape: tuple[int, ...]) -> Any:
        array = numbers(value, "an input function must return numbers")
        if array.shape != shape:
            raise ModelError(
                f"an input function returned shape {array.shape} where {shape} is needed; the inputs are "
                f"{', '.join(self._plan.names)}"
            )
        return array
