"""The contract of native functions: callable on arrays, one state or many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from kane.codegen.jit.batches import LaneCode
from kane.codegen.programs.program import Program
from kane.errors import ModelError
from kane.expression.arguments import numbers
from kane.expression.node import Expr


class ArrayFunction(ABC):
    """A function of the state [t, q, u], the rest and the stage, whose values are found by native code.

    Attributes:
        name: what messages call it.
        address: of the code, called with state, rest, stage, out and work; zero where there is no such code.
        n_state, n_rest, n_parameters, n_stage, n_out, n_work: lengths of the arrays.
        threads: how many may work on one batch.
        program: what the code says; None where it calls the code of several programs.
        roots: the expressions from which the outputs are found.
        reads: the leaves on which the outputs depend.
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
    threads: int

    @property
    @abstractmethod
    def roots(self) -> tuple[Expr, ...]: ...

    @property
    @abstractmethod
    def reads(self) -> frozenset[Expr]: ...

    @abstractmethod
    def stage(self, parameters: Any) -> np.ndarray:
        """What depends on parameters alone, shape (..., n_stage), for parameters of shape (..., n_parameters).

        Raises:
            ModelError: the shape is another.
        """

    @abstractmethod
    def lanes(self, *, each: bool = False) -> LaneCode | None:
        """Code for several states side by side, compiled when first asked for; None where there is none.

        Args:
            each: whether every state has a stage of its own.

        Raises:
            CompileError: LLVM cannot make code for this machine.
        """

    @abstractmethod
    def _require_own(self, stage: np.ndarray) -> None:
        """Refuse stages that were made for another function where native code would be misled by them."""

    @abstractmethod
    def _one(self, state: np.ndarray, rest: np.ndarray, stage: np.ndarray) -> np.ndarray:
        """The outputs for one state."""

    @abstractmethod
    def _many(self, parts: Sequence[np.ndarray], rest: np.ndarray, stage: np.ndarray, out: np.ndarray) -> np.ndarray:
        """``out``, filled with the outputs for states in parts that broadcast to it."""

    def __call__(self, state: Any, rest: Any, stage: Any, *, out: np.ndarray | None = None) -> np.ndarray:
        """The outputs, shape (..., n_out).

        Args:
            state: t, q, u; shape (..., n_state).
            rest: inputs or whatever the program reads besides; shape (..., n_rest), broadcast against ``state``.
            stage: what ``stage`` returned, shape (..., n_stage), broadcast against ``state``.
            out: where to put them and what to return, contiguous, apart from all else; memory that has been in use
                before spares large batches the page faults of fresh memory.

        Raises:
            ModelError: a shape is another, or the batches do not broadcast.
        """
        return self.join((self._array(state, "state", self.n_state),), rest, stage, out=out)

    def join(self, parts: Sequence[np.ndarray], rest: Any, stage: Any, *, out: np.ndarray | None = None) -> np.ndarray:
        """The outputs for a state in parts (t; q; u), each (..., k), that broadcast; otherwise like a call.

        Raises:
            ModelError: a shape is another, the batches do not broadcast, or ``stage`` is of another function.
        """
        rest = self._array(rest, "rest", self.n_rest)
        stage = self._array(stage, "stage", self.n_stage)
        self._require_own(stage)
        if out is None and rest.ndim == stage.ndim == 1 and all(part.ndim == 1 for part in parts):
            single = np.concatenate(parts, dtype=np.float64)
            if single.size == self.n_state:
                return self._one(single, rest, stage)
        parts = [np.asarray(part, np.float64) for part in parts]
        if sum(part.shape[-1] for part in parts) != self.n_state:
            raise self._shape("state", f"(..., {self.n_state}) in all", tuple(part.shape[-1] for part in parts))
        if isinstance(out, np.ndarray) and any(np.may_share_memory(out, array) for array in (*parts, rest, stage)):
            raise ModelError("out shares memory with an argument; give an array of its own")
        try:
            batch = np.broadcast_shapes(*(a.shape[:-1] for a in (*parts, rest, stage)))
        except ValueError:
            state = " and ".join(str(part.shape[:-1]) for part in parts)
            batches = f"state {state} and rest {rest.shape[:-1]}"
            batches += f" and stage {stage.shape[:-1]}" if stage.ndim > 1 else ""
            raise ModelError(f"{self.name}: the batches of {batches} do not broadcast") from None
        return self._many(parts, rest, stage, result_array(out, (*batch, self.n_out), self.name))

    def _array(self, values: Any, word: str, length: int) -> np.ndarray:
        if not (values.__class__ is np.ndarray and values.dtype == np.float64):  # else the words would be made in vain
            values = numbers(values, f"{self.name}: {word} must be numbers")
        array = np.ascontiguousarray(values)
        if array.ndim == 0 or array.shape[-1] != length:
            raise self._shape(word, f"(..., {length})", np.shape(values))
        return array

    def _shape(self, word: str, expected: str, given: tuple[int, ...]) -> ModelError:
        return ModelError(f"{self.name}: {word} must have shape {expected}, got {given}")

    def __copy__(self) -> Self:
        """Itself: there is one owner of the code, which lives as long as anything refers to it."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Itself, likewise."""
        return self

    def __repr__(self) -> str:
        sizes = f"state[{self.n_state}], rest[{self.n_rest}] -> out[{self.n_out}]"
        return f"<{type(self).__name__} {self.name!r}: {sizes}>"


def result_array(out: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """The array to fill: ``out``, or a new one where that is None.

    Raises:
        ModelError: ``out`` has another shape, or is not a writeable, contiguous array of double precision.
    """
    if out is None:
        return np.empty(shape)
    wanted = f"{name}: out must be an array of shape {shape}, contiguous, of double precision and writeable"
    if not isinstance(out, np.ndarray):
        raise ModelError(f"{wanted}, not {type(out).__name__}")
    faults = (
        (out.shape != shape, f"its shape is {out.shape}"),
        (out.dtype != np.float64, f"it holds {out.dtype}"),
        (not out.flags.c_contiguous, "it has gaps or another order"),
        (not out.flags.writeable, "it is read-only"),
    )
    found = [words for wrong, words in faults if wrong]
    if found:
        raise ModelError(f"{wanted}; {', '.join(found)}")
    return out
