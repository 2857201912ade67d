"""Interface of native functions that are called with arrays, for one state or many."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from kane.codegen.jit.batches import LaneCode
from kane.codegen.jit.python_call import LEAST_LANES, Checks, Single, python_call
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.expression.number_arguments import list_argument, numbers

if TYPE_CHECKING:
    from kane.codegen.programs.program import Program


class ArrayFunction(ABC):
    """A function of state [t, q, u], inputs or udot (``rest``) and constants (``stage``), computed by native code.

    Attributes:
        name: name in messages.
        address: address of code with the arguments state, rest, stage, out and work; zero if there is no code.
        n_state, n_rest, n_parameters, n_stage, n_out, n_work: lengths of the arrays.
        first: number of leading outputs of the code that are skipped.
        threads: largest number of threads for one batch.
        program: program of the code; None if the code combines several programs.
        roots: expressions from which the outputs are computed.
        reads: leaves on which the outputs depend.
    """

    name: str
    program: Program | None
    address: int
    n_state: int
    n_rest: int
    n_parameters: int
    n_stage: int
    n_out: int
    n_work: int
    first: int = 0
    threads: int

    @property
    @abstractmethod
    def roots(self) -> tuple[Expr, ...]: ...

    @property
    @abstractmethod
    def reads(self) -> frozenset[Expr]: ...

    @abstractmethod
    def stage(self, parameters: Any) -> np.ndarray:
        """Return the constants, shape (..., n_stage), for parameters of shape (..., n_parameters).

        Raises:
            ModelError: the shape of ``parameters`` is wrong.
        """

    @abstractmethod
    def lanes(self, *, each: bool = False) -> LaneCode | None:
        """Return code for several states in SIMD lanes, compiled at the first call; None if lanes are unavailable.

        Args:
            each: whether every state has its own constants.

        Raises:
            CompileError: LLVM cannot compile the code for this machine.
        """

    @property
    def ready_lanes(self) -> LaneCode | None:
        """Code for several states with common constants, if it has been compiled."""
        return None

    @property
    def unthreaded(self) -> int:
        """Most states of a batch that one thread takes without help."""
        return LEAST_LANES - 1

    @abstractmethod
    def _require_own(self, stage: np.ndarray) -> None:
        """Raise ModelError if the constants belong to another function and native code could not run with them."""

    @abstractmethod
    def _many(self, parts: Sequence[np.ndarray], rest: np.ndarray, stage: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Fill ``out`` with the outputs for states in parts that broadcast to it, and return it."""

    def __call__(self, state: Any, rest: Any, stage: Any, *, out: np.ndarray | None = None) -> np.ndarray:
        """Return the outputs, shape (..., n_out).

        Args:
            state: t, q, u; shape (..., n_state).
            rest: inputs, udot or other leaves of the program; shape (..., n_rest), broadcast against ``state``.
            stage: constants that the method ``stage`` returned, shape (..., n_stage), broadcast against ``state``.
            out: contiguous array to fill and return; reused memory avoids page faults in large batches.

        Raises:
            ModelError: a shape is wrong, the batches do not broadcast, or ``stage`` belongs to another function.
        """
        return self.join((self._array(state, "state", self.n_state),), rest, stage, out=out)

    def join(self, parts: Sequence[np.ndarray], rest: Any, stage: Any, *, out: np.ndarray | None = None) -> np.ndarray:
        """Return the outputs for a state in parts (t; q; u), each (..., k), that broadcast; otherwise like a call.

        Raises:
            ModelError: a shape is wrong, the batches do not broadcast, or ``stage`` belongs to another function.
        """
        parts = [self._part(part) for part in list_argument(parts, f"{self.name}: the state in parts", "arrays")]
        lengths = tuple([part.shape[-1] for part in parts])
        if sum(lengths) != self.n_state:
            raise self._shape("state", f"(..., {self.n_state}) in all", lengths)
        rest = self._array(rest, "rest", self.n_rest)
        stage = self._array(stage, "stage", self.n_stage)
        self._require_own(stage)
        arguments = (*parts, rest, stage)
        batch = common_batch(arguments, (*["state"] * len(parts), "rest", "stage"), f"{self.name}: ")
        filled = result_array(out, (*batch, self.n_out), self.name)
        if not batch or math.prod(batch) == 1:
            self._single(stage, filled, *parts, rest)
            return filled
        if out is not None:
            *parts, rest, stage = [a.copy() if np.may_share_memory(a, out) else a for a in arguments]
        return self._many(parts, rest, stage, filled)

    @cached_property
    def _single(self) -> Single:
        """Function for one state, with the arguments (stage, out, parts of the state ..., rest)."""
        return single_call(self)

    def _part(self, values: Any) -> np.ndarray:
        array: np.ndarray = values
        if not (values.__class__ is np.ndarray and values.dtype == np.float64):
            array = numbers(values, f"{self.name}: state must be numbers")
        if not array.ndim:
            raise self._shape("state", f"(..., {self.n_state}) in all", ())
        return array

    def _array(self, values: Any, word: str, length: int) -> np.ndarray:
        if not (values.__class__ is np.ndarray and values.dtype == np.float64):  # builds the message only if needed
            values = numbers(values, f"{self.name}: {word} must be numbers")
        array = np.ascontiguousarray(values)
        if array.ndim == 0 or array.shape[-1] != length:
            raise self._shape(word, f"(..., {length})", np.shape(values))
        return array

    def _shape(self, word: str, expected: str, given: tuple[int, ...]) -> ModelError:
        return ModelError(f"{self.name}: {word} must have shape {expected}, got {given}")

    def __copy__(self) -> Self:
        """Return this object, because native code has a single owner."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return this object, because native code has a single owner."""
        return self

    def __reduce__(self) -> NoReturn:
        raise ModelError(f"{self.name!r} is native code of this process and cannot be pickled; pickle the Dynamics")

    def __repr__(self) -> str:
        sizes = f"state[{self.n_state}], rest[{self.n_rest}] -> out[{self.n_out}]"
        return f"<{type(self).__name__} {self.name!r}: {sizes}>"


def single_call(function: ArrayFunction, checks: Checks | None = None, lanes: tuple[int, int] = (0, 0)) -> Single:
    """Return the function of one state that ``python_call`` makes from native code; for ``lanes`` see there."""
    n_memory = function.n_state + function.n_rest + function.first + function.n_out + function.n_work
    return python_call(function.address, n_memory, function.n_out, first=function.first, checks=checks, lanes=lanes)


def batch_call(function: ArrayFunction, checks: Checks) -> tuple[Single, int]:
    """Return the function of one state or of a small batch that ``python_call`` makes, and the largest batch.

    Batches run in one thread, and in lanes if these have been compiled.
    """
    code = function.ready_lanes
    if code is None or [*checks.lengths[:-1]] != code.state_widths:
        most = LEAST_LANES - 1
        return single_call(function, replace(checks, states=most)), most
    most = function.unthreaded
    return single_call(function, replace(checks, states=most), (code.rows_address, code.n_work)), most


def common_batch(arrays: Sequence[np.ndarray], words: Sequence[str], of: str = "") -> tuple[int, ...]:
    """Return the batch shape to which arrays (..., length) broadcast, without the last axis.

    Args:
        arrays: arrays of shape (..., length).
        words: names of the arrays in messages.
        of: beginning of messages.

    Raises:
        ModelError: the batches do not broadcast.
    """
    shapes = {array.shape[:-1] for array in arrays}
    shapes.discard(())
    if len(shapes) < 2:
        return shapes.pop() if shapes else ()
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        given = ", ".join(f"{array.shape[:-1]} of {word}" for array, word in zip(arrays, words, strict=True))
        raise ModelError(f"{of}the batches {given} do not broadcast; make their leading shapes agree") from None


def result_array(out: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Return the array to fill: ``out``, or a new array if that is None.

    Raises:
        ModelError: ``out`` has another shape, or is not a writeable, contiguous array of double precision.
    """
    if out is None:
        return np.empty(shape)
    if isinstance(out, np.ndarray) and out.shape == shape and out.dtype == np.float64 and out.flags.carray:
        return out
    wanted = f"{name}: out must be an array of shape {shape}, contiguous, of double precision and writeable"
    if not isinstance(out, np.ndarray):
        raise ModelError(f"{wanted}, not {type(out).__name__}")
    faults = (
        (out.shape != shape, f"its shape is {out.shape}"),
        (out.dtype != np.float64, f"it holds {out.dtype}"),
        (not out.flags.c_contiguous, "it has gaps or another order"),
        (not out.flags.writeable, "it is read-only"),
        (not out.flags.aligned, "its numbers are not aligned"),
    )
    raise ModelError(f"{wanted}; {', '.join(words for wrong, words in faults if wrong)}")
