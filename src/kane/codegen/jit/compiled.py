"""A compiled program, callable on arrays."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, Self

import numpy as np

from kane.codegen.jit.batches import Columns, LaneCode, Range, chunk_for, in_chunks, processors
from kane.codegen.programs.program import Program
from kane.errors import ModelError
from kane.expression.arguments import numbers
from kane.expression.node import Expr
from kane.expression.traverse import leaves

_POINTER = ctypes.c_void_p
# Lanes are compiled once the operations done without them would have taken as long as compiling lanes takes: then
# neither choice can cost more than twice what the better one would have. Measured: 25 ms and 40 us an operation to
# compile, 0.2 ns an operation and state saved.
_FEW = 8  # states: fewer would leave lanes empty
_LANES_AFTER, _LANES_AFTER_EACH = 125_000_000, 200_000


class CompiledFunction:
    """Native code of a program.

    The code is pure: it reads its inputs and writes ``out`` and ``work``, so any number of threads may run it, each
    with arrays of its own; calls made here bring their own and let other Python threads run. Large batches are done by
    several threads, and by several states side by side in the registers (``lanes``) once that pays; whichever way, each
    state gets the same bits.

        void address(const double* state, const double* rest, const double* stage, double* out, double* work)
        void stage_address(const double* parameters, double* stage, double* work)
        void batch_address(int64 n, state, rest, stage, out, work)     n states, one after the other; one stage for all
        void batch_each_address(int64 n, state, rest, stage, out, work)     n states, each with a stage of its own
        void stages_address(int64 n, parameters, stage, work)

    ``out`` and ``work`` may overlap nothing else.

    Attributes:
        program: what was compiled.
        address, stage_address, batch_address, batch_each_address, stages_address: of the functions above; good as long
            as this object lives.
        n_state, n_rest, n_parameters, n_stage, n_out, n_work: lengths of the arrays.
        threads: how many may work on one batch.
    """

    def __init__(
        self,
        program: Program,
        addresses: Sequence[int],
        *,
        n_work: int,
        engine: Any,
        lanes: Callable[[bool], LaneCode] | None = None,
        eager: bool = False,
        threads: int | None = None,
    ) -> None:
        """Wrap code whose memory ``engine`` owns.

        Args:
            program: what was compiled.
            addresses: of the functions above, in that order.
            n_work: doubles of scratch that they need.
            engine: what owns their memory.
            lanes: compiles the program for several states side by side, one stage for all or (True) one for each;
                None where the machine has no registers for that.
            eager: whether to use lanes for the first batch already, and not once it pays.
            threads: how many may work on one batch; as many as there are processors unless given.
        """
        self.program = program
        self.address, self.stage_address, self.batch_address, self.batch_each_address, self.stages_address = addresses
        self.n_state = len(program.state)
        self.n_rest = len(program.rest)
        self.n_parameters = len(program.parameters)
        self.n_stage = len(program.stage_outputs)
        self.n_out = len(program.outputs)
        self.n_work = n_work
        self.threads = threads or processors()
        # Freed from here and not by the garbage collector, which may free the engine's LLVM context before the engine.
        weakref.finalize(self, engine.close).atexit = False
        self._offsets = tuple(accumulate((self.n_state, self.n_rest, self.n_stage, self.n_out)))
        self._block = ctypes.c_double * (self._offsets[-1] + n_work + 1)
        self._main = ctypes.CFUNCTYPE(None, *[_POINTER] * 5)(self.address)
        self._stages = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[_POINTER] * 3)(self.stages_address)
        batch = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[_POINTER] * 5)
        self._batches = batch(self.batch_address), batch(self.batch_each_address)
        self._compile_lanes = lanes
        self._lanes: dict[bool, LaneCode] = {}
        self._lock = threading.Lock()
        # Operations that batches without lanes may still take, with one stage for all and with one for each state.
        self._before_lanes = [0 if eager else _LANES_AFTER + _LANES_AFTER_EACH * len(program.instructions)] * 2

    @cached_property
    def reads(self) -> frozenset[Expr]:
        """The leaves on which the outputs depend."""
        return frozenset(leaves(self.program.outputs))

    def stage(self, parameters: Any) -> np.ndarray:
        """The parameter stage, shape (..., n_stage), for parameters of shape (..., n_parameters).

        Raises:
            ModelError: the shape is another.
        """
        values = self._array(parameters, "parameters", self.n_parameters)
        stage, work = np.empty((*values.shape[:-1], self.n_stage)), np.empty(self.n_work)
        n = int(np.prod(values.shape[:-1], dtype=np.int64))
        self._stages(n, values.ctypes.data, stage.ctypes.data, work.ctypes.data)
        return stage

    def lanes(self, *, each: bool = False) -> LaneCode | None:
        """Code for several states side by side, compiled when first asked for; None if the machine has no lanes.

        Args:
            each: whether every state has a stage of its own.

        Raises:
            CompileError: LLVM cannot make code for this machine.
        """
        if self._compile_lanes is None:
            return None
        with self._lock:
            if each not in self._lanes:
                self._lanes[each] = self._compile_lanes(each)
            return self._lanes[each]

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
            ModelError: a shape is another, or the batches do not broadcast.
        """
        rest = self._array(rest, "rest", self.n_rest)
        stage = self._array(stage, "stage", self.n_stage)
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
            raise ModelError(f"{self.program.name}: the batches of {batches} do not broadcast") from None
        return self._many(parts, rest, stage, result_array(out, (*batch, self.n_out), self.program.name))

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

    def _many(self, parts: Sequence[np.ndarray], rest: np.ndarray, stage: np.ndarray, out: np.ndarray) -> np.ndarray:
        each = stage.size != self.n_stage
        stage = stage if each else stage.reshape(self.n_stage)
        batch = out.shape[:-1]
        n = int(np.prod(batch, dtype=np.int64))
        code = self._lanes_when_due(n, each)
        start = code.ranges(parts, rest, stage, batch=batch, out=out) if code else None
        start = start or self._ranges(parts, rest, stage, out)
        in_chunks(n, chunk_for(self.program), self.threads, start)
        return out

    def _lanes_when_due(self, n: int, each: bool) -> LaneCode | None:
        if n < _FEW:
            return None
        code = self._lanes.get(each)
        if code is None and self._compile_lanes is not None:
            self._before_lanes[each] -= n * len(self.program.instructions)
            if self._before_lanes[each] <= 0:
                code = self.lanes(each=each)
        return code

    def _ranges(
        self, parts: Sequence[np.ndarray], rest: np.ndarray, stage: np.ndarray, out: np.ndarray
    ) -> Callable[[], Range]:
        """What makes functions that compute states i to j - 1, one after the other."""
        each, batch = stage.ndim > 1, out.shape[:-1]
        arrays = [Columns.dense(parts, batch), Columns.dense([rest], batch)]
        arrays.append(Columns.dense([stage], batch) if each else Columns(stage, 0))
        arrays.append(Columns(out, 8 * self.n_out))
        places = [(a.address, a.stride) for a in arrays]
        native = self._batches[each]

        def start() -> Range:
            work = np.empty(self.n_work)

            def run(i: int, j: int, _kept: object = arrays) -> None:
                native(j - i, *(address + i * stride for address, stride in places), work.ctypes.data)

            return run

        return start

    def _array(self, values: Any, word: str, length: int) -> np.ndarray:
        array = np.ascontiguousarray(numbers(values, f"{self.program.name}: {word} must be numbers"))
        if array.ndim == 0 or array.shape[-1] != length:
            raise self._shape(word, f"(..., {length})", np.shape(values))
        return array

    def _shape(self, word: str, expected: str, given: tuple[int, ...]) -> ModelError:
        return ModelError(f"{self.program.name}: {word} must have shape {expected}, got {given}")

    def __copy__(self) -> Self:
        """Itself: there is one owner of the code, which lives as long as anything refers to it."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Itself, likewise."""
        return self

    def __repr__(self) -> str:
        sizes = f"state[{self.n_state}], rest[{self.n_rest}] -> out[{self.n_out}]"
        return f"<CompiledFunction {self.program.name!r}: {sizes}>"


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
