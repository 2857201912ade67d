"""Many states through native code: arrays as columns with a stride, lanes, and chunks for several threads."""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kane.codegen.emit.lane_rows import segments
from kane.codegen.programs.program import Program

_POINTER = ctypes.c_void_p
# Operations times states in a chunk: about 0.2 ms of work in eight lanes, a hundred times what calling costs.
CHUNK_WORK = 4_000_000
# States per chunk are a multiple of this, so that lanes are full.
_BLOCK = 8

# What native code does with states i to j - 1, and what makes one such function for each thread.
Range = Callable[[int, int], object]


class Columns(NamedTuple):
    """Rows of doubles, one for each of n states or one for all.

    Attributes:
        array: kept alive; shape (n or 1, width), the last axis without gaps.
        stride: bytes from state to state, 0 if there is one row for all.
    """

    array: np.ndarray
    stride: int

    @property
    def address(self) -> int:
        """Of the first double."""
        return self.array.ctypes.data

    @classmethod
    def of(cls, array: np.ndarray, batch: tuple[int, ...], n: int) -> Columns:
        """An array (..., width) broadcast to batch (...), which makes n states; copied only where it must be."""
        width = array.shape[-1]
        if array.shape[:-1] != batch and array.size != width:
            array = np.broadcast_to(array, (*batch, width))
        rows = array.reshape(-1, width) if array.size else array.reshape(0, width)
        if rows.strides[1] != 8:
            rows = np.ascontiguousarray(rows)
        return cls(rows, 0 if len(rows) == 1 else rows.strides[0])

    @classmethod
    def dense(cls, parts: Sequence[np.ndarray], batch: tuple[int, ...]) -> Columns:
        """Parts (..., width) side by side, a row without gaps for every state."""
        whole = [np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts]
        joined = whole[0] if len(whole) == 1 else np.concatenate(whole, axis=-1)
        width = joined.shape[-1]
        return cls(np.ascontiguousarray(joined).reshape(int(np.prod(batch, dtype=np.int64)), width), 8 * width)


class LaneCode:
    """Native code of a program for several states side by side.

        void address(const double* state, rest, stage, double* out, double* work)

    takes one block of ``width`` states laid out value by value: the first coordinate of all states, the second, ...;
    ``stage`` likewise if ``each``, otherwise the one stage of all.

        void rows_address(int64 n, const Source* sources, const double* stage, double* out, double* work)

    takes n states one after the other; ``kane.codegen.emit.lane_rows`` says what the sources are.

    Attributes:
        address, rows_address: of the functions above; good as long as this object lives.
        width: states side by side.
        each: whether every state has a stage of its own.
        n_work: doubles of scratch that either function needs.
    """

    def __init__(
        self, program: Program, addresses: Sequence[int], *, width: int, each: bool, n_work: int, engine: Any
    ) -> None:
        """Wrap code whose memory ``engine`` owns; ``addresses`` are those of the two functions."""
        self.address, self.rows_address = addresses
        self.width = width
        self.each = each
        self.n_work = n_work
        # Freed from here and not by the garbage collector, which may free the engine's LLVM context before the engine.
        weakref.finalize(self, engine.close).atexit = False
        self._widths = [len(s.leaves) for s in segments(program, each=False) if s.array == "state"]
        self._rows = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[_POINTER] * 4)(self.rows_address)

    def ranges(
        self,
        parts: Sequence[np.ndarray],
        rest: np.ndarray,
        stage: np.ndarray,
        *,
        batch: tuple[int, ...],
        out: np.ndarray,
    ) -> Callable[[], Range]:
        """What makes functions that compute states i to j - 1 of arrays that broadcast to a batch."""
        n = int(np.prod(batch, dtype=np.int64))
        sources = [Columns.of(a, batch, n) for a in (*self._split(parts, batch), rest)]
        common = stage.ctypes.data
        if self.each:
            sources.append(Columns.of(stage, batch, n))
        addresses = np.array([s.address for s in sources], np.int64)
        strides = np.array([s.stride for s in sources], np.int64)
        step = 8 * out.shape[-1]

        def start() -> Range:
            work = np.empty(self.n_work)
            table = np.empty((len(sources), 2), np.int64)
            table[:, 1] = strides
            table_at, out_at, work_at = table.ctypes.data, out.ctypes.data, work.ctypes.data

            def run(i: int, j: int, _kept: object = (sources, stage, out, work)) -> None:
                table[:, 0] = addresses + i * strides
                self._rows(j - i, table_at, common, out_at + i * step, work_at)

            return run

        return start

    def _split(self, parts: Sequence[np.ndarray], batch: tuple[int, ...]) -> list[np.ndarray]:
        """The state in the parts that the native code fetches one by one."""
        if [part.shape[-1] for part in parts] == self._widths:
            return list(parts)
        state = parts[0] if len(parts) == 1 else Columns.dense(parts, batch).array
        state = state if len(parts) == 1 else state.reshape(*batch, -1)
        ends = list(itertools.accumulate(self._widths))
        return [state[..., end - width : end] for end, width in zip(ends, self._widths, strict=True)]


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def chunk_for(operations: int) -> int:
    """How many states, with so many operations each, make a chunk."""
    states = CHUNK_WORK // max(1, operations)
    return max(_BLOCK, states // _BLOCK * _BLOCK)


def in_chunks(n: int, chunk: int, threads: int, start: Callable[[], Range]) -> None:
    """Run over 0 ... n - 1 chunk by chunk; each thread takes the next chunk that is left.

    Args:
        n: how many states.
        chunk: states at a time; what is left of them after a last full chunk is done together with it.
        threads: how many at most, the one that calls included.
        start: makes one function, with scratch memory of its own, for each thread.
    """
    count = max(1, n // chunk)
    left = itertools.count()

    def take() -> None:
        run = start()
        while (k := next(left)) < count:
            run(k * chunk, n if k == count - 1 else (k + 1) * chunk)

    # Plain threads: a pool, made for one batch, takes 0.3 ms until it works, which is a batch of 10,000 states.
    helpers = [_Helper(take) for _ in range(min(threads, count) - 1)]
    try:
        for helper in helpers:
            helper.start()
        take()
    finally:  # they write into the caller's memory, so that none may outlive the call
        for helper in helpers:
            helper.finish()
    for helper in helpers:
        helper.check()


class _Helper:
    """A thread that does one thing, and what went wrong with it."""

    def __init__(self, task: Callable[[], None]) -> None:
        self._task = task
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def finish(self) -> None:
        """Wait for the end, if it has begun."""
        if self._thread.ident is not None:
            self._thread.join()

    def check(self) -> None:
        """Raise what the task raised."""
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            self._task()
        except BaseException as failure:
            self._failure = failure
