"""A compiled program, callable on arrays."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from kane.codegen.program import Program
from kane.errors import ModelError

_POINTER = ctypes.c_void_p


class CompiledFunction:
    """Native code of a program.

    The code is pure: it reads its inputs and writes ``out`` and ``work``, so any number of threads may run it, each
    with arrays of its own; calls made here bring their own and let other Python threads run.

        void address(const double* state, const double* rest, const double* stage, double* out, double* work)
        void stage_address(const double* parameters, double* stage, double* work)
        void batch_address(int64 n, state, rest, stage, out, work)     n states, one after the other; one stage for all

    ``out`` and ``work`` may overlap nothing else.

    Attributes:
        program: what was compiled.
        address, stage_address, batch_address: of the functions above; good as long as this object lives.
        n_state, n_rest, n_parameters, n_stage, n_out, n_work: lengths of the arrays.
    """

    def __init__(self, program: Program, addresses: Sequence[int], *, n_work: int, engine: Any) -> None:
        """Wrap code whose memory ``engine`` owns; ``addresses`` are those of the main, stage and batch function."""
        self.program = program
        self.address, self.stage_address, self.batch_address = addresses
        self.n_state = len(program.state)
        self.n_rest = len(program.rest)
        self.n_parameters = len(program.parameters)
        self.n_stage = len(program.stage_outputs)
        self.n_out = len(program.outputs)
        self.n_work = n_work
        # Freed from here and not by the garbage collector, which may free the engine's LLVM context before the engine.
        weakref.finalize(self, engine.close).atexit = False
        self._offsets = tuple(accumulate((self.n_state, self.n_rest, self.n_stage, self.n_out)))
        self._block = ctypes.c_double * (self._offsets[-1] + n_work + 1)
        self._main = ctypes.CFUNCTYPE(None, *[_POINTER] * 5)(self.address)
        self._stage = ctypes.CFUNCTYPE(None, *[_POINTER] * 3)(self.stage_address)
        self._batch = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[_POINTER] * 5)(self.batch_address)

    def stage(self, parameters: Any) -> np.ndarray:
        """The parameter stage, shape (n_stage,), for parameters of shape (n_parameters,).

        Raises:
            ModelError: the shape is another.
        """
        values = self._array(parameters, "parameters", self.n_parameters)
        if values.ndim != 1:
            raise self._shape("parameters", f"({self.n_parameters},)", values.shape)
        stage, work = np.empty(self.n_stage), np.empty(self.n_work)
        self._stage(values.ctypes.data, stage.ctypes.data, work.ctypes.data)
        return stage

    def __call__(self, state: Any, rest: Any, stage: np.ndarray) -> np.ndarray:
        """The outputs, shape (..., n_out).

        Args:
            state: t, q, u; shape (..., n_state).
            rest: inputs or whatever the program reads besides; shape (..., n_rest), broadcast against ``state``.
            stage: what ``stage`` returned, shape (n_stage,).

        Raises:
            ModelError: a shape is another, or the batches of ``state`` and ``rest`` do not broadcast.
        """
        state = self._array(state, "state", self.n_state)
        rest = self._array(rest, "rest", self.n_rest)
        stage = self._array(stage, "stage", self.n_stage)
        if stage.ndim != 1:
            raise self._shape("stage", f"({self.n_stage},)", stage.shape)
        if state.ndim == 1 and rest.ndim == 1:
            return self._one(state, rest, stage)
        return self._many(state, rest, stage)

    def _one(self, state: np.ndarray, rest: np.ndarray, stage: np.ndarray) -> np.ndarray:
        # All arrays in one block of memory: asking NumPy for five addresses takes ten times as long as the call.
        block: Any = self._block()
        memory = np.frombuffer(block)
        rest_at, stage_at, out_at, work_at = self._offsets
        memory[:rest_at] = state
        memory[rest_at:stage_at] = rest
        memory[stage_at:out_at] = stage
        start = ctypes.addressof(block)
        self._main(start, start + 8 * rest_at, start + 8 * stage_at, start + 8 * out_at, start + 8 * work_at)
        return memory[out_at:work_at].copy()

    def _many(self, state: np.ndarray, rest: np.ndarray, stage: np.ndarray) -> np.ndarray:
        try:
            batch = np.broadcast_shapes(state.shape[:-1], rest.shape[:-1])
        except ValueError:
            batches = f"state {state.shape[:-1]} and rest {rest.shape[:-1]}"
            raise ModelError(f"{self.program.name}: the batches of {batches} do not broadcast") from None
        states = np.ascontiguousarray(np.broadcast_to(state, (*batch, self.n_state)))
        rests = np.ascontiguousarray(np.broadcast_to(rest, (*batch, self.n_rest)))
        out, work = np.empty((*batch, self.n_out)), np.empty(self.n_work)
        n = int(np.prod(batch, dtype=np.int64))
        self._batch(n, *(a.ctypes.data for a in (states, rests, stage, out, work)))
        return out

    def _array(self, values: Any, word: str, length: int) -> np.ndarray:
        try:
            array = np.ascontiguousarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise ModelError(f"{self.program.name}: {word} must be numbers, got {values!r}") from None
        if array.ndim == 0 or array.shape[-1] != length:
            raise self._shape(word, f"(..., {length})", np.shape(values))
        return array

    def _shape(self, word: str, expected: str, given: tuple[int, ...]) -> ModelError:
        return ModelError(f"{self.program.name}: {word} must have shape {expected}, got {given}")

    def __repr__(self) -> str:
        return f"<CompiledFunction {self.program.name!r}: {self.n_state} + {self.n_rest} -> {self.n_out}>"
