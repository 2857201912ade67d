"""Run native code for many states: arrays as rows with a stride, SIMD lanes, and chunks for several threads."""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from kane.codegen.emit.lanes import Lanes

C_POINTER = ctypes.c_void_p
# Operations times states in a chunk: about 0.2 ms of work in eight lanes, 100 times the overhead of a call.
CHUNK_WORK = 4_000_000
# The number of states per chunk is a multiple of this, so that all lanes are used.
_BLOCK = 8

_memory: Any = (ctypes.c_char * 0).from_buffer

# Function that runs native code for the states i to j - 1; each thread has its own.
Range = Callable[[int, int], object]


def address_of(array: np.ndarray) -> int:
    """Return the address of the first element of an array; ``array.ctypes.data`` takes six times as long."""
    return ctypes.addressof(_memory(array)) if array.flags.carray else int(array.ctypes.data)


class Columns(NamedTuple):
    """Rows of doubles, one for each of n states or one for all.

    Attributes:
        array: rows, shape (n or 1, width), with a contiguous last axis; referenced to keep it alive.
        stride: bytes from state to state, 0 if all states share one row.
    """

    array: np.ndarray
    stride: int

    @property
    def address(self) -> int:
        """Address of the first double."""
        return address_of(self.array)

    @classmethod
    def of(cls, array: np.ndarray, batch: tuple[int, ...], n: int) -> Columns:
        """Return an array (..., width), broadcast to a batch of n states, as rows; copy only if necessary."""
        width = array.shape[-1]
        if array.shape[:-1] != batch and array.size != width:
            array = np.broadcast_to(array, (*batch, width))
        rows = array.reshape(-1, width) if array.size else array.reshape(0, width)
        if rows.strides[1] != 8:
            rows = np.ascontiguousarray(rows)
        return cls(rows, 0 if len(rows) == 1 else rows.strides[0])

    @classmethod
    def dense(cls, parts: Sequence[np.ndarray], batch: tuple[int, ...]) -> Columns:
        """Return parts (..., width), concatenated along the last axis, as one contiguous row per state."""
        ends = [*itertools.accumulate(part.shape[-1] for part in parts)]
        joined = np.empty((*batch, ends[-1]))
        for part, end in zip(parts, ends, strict=True):
            joined[..., end - part.shape[-1] : end] = part
        return cls(joined.reshape(math.prod(batch), ends[-1]), 8 * ends[-1])


class LaneCode:
    """Native code of a program for many states, with several states in SIMD lanes or one state after the other.

        void address(const double* state, rest, stage, double* out, double* work)
        void rows_address(int64 n, const Source* sources, const double* stage, double* out, double* work)

    The first function takes one block of ``width`` states laid out value by value: the first coordinate of all states,
    then the second, and so on. ``stage`` has the same layout if ``each``; otherwise all states share it. The second
    function takes n consecutive states; ``kane.codegen.emit.lane_rows`` defines the sources. With one lane the stage is
    always a source, so that the code is the same for common and for separate constants.

    Attributes:
        address, rows_address: addresses of these functions, valid as long as this object lives.
        width: number of states per block.
        each: whether the stage is a source.
        n_work: scratch memory that either function needs [doubles].
        state_widths: number of leaves in each source of the state.
    """

    def __init__(
        self,
        addresses: Sequence[int],
        *,
        lanes: Lanes,
        each: bool,
        state_widths: Sequence[int],
        n_work: int,
        engine: Any,
    ) -> None:
        """Wrap the code at the two ``addresses``, whose memory ``engine`` owns; for ``state_widths`` see lane_rows."""
        from kane.codegen.emit.lanes import ONE

        self.address, self.rows_address = addresses
        self.width = lanes.width
        self.each = each or lanes == ONE
        self.n_work = n_work
        # An explicit finalizer, because the garbage collector may free the engine's LLVM context before the engine.
        weakref.finalize(self, engine.close).atexit = False
        self.state_widths = [*state_widths]
        self._rows = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[C_POINTER] * 4)(self.rows_address)

    def ranges(
        self,
        parts: Sequence[np.ndarray],
        rest: np.ndarray,
        stage: np.ndarray,
        *,
        batch: tuple[int, ...],
        out: np.ndarray,
    ) -> Callable[[], Range]:
        """Return a factory of functions that compute states i to j - 1 of arrays that broadcast to a batch."""
        n = math.prod(batch)
        sources = [*self._state(parts, batch, n), Columns.of(rest, batch, n)]
        common = address_of(stage)
        if self.each:
            sources.append(Columns.of(stage, batch, n))
        places = [(s.address, s.stride) for s in sources]
        step, out_at = 8 * out.shape[-1], address_of(out)

        def start() -> Range:
            work = np.empty(self.n_work)
            table, work_at = (ctypes.c_int64 * (2 * len(places)))(), address_of(work)

            def run(i: int, j: int, _kept: object = (sources, stage, out, work)) -> None:
                table[:] = [x for address, stride in places for x in (address + i * stride, stride)]
                self._rows(j - i, table, common, out_at + i * step, work_at)

            return run

        return start

    def _state(self, parts: Sequence[np.ndarray], batch: tuple[int, ...], n: int) -> list[Columns]:
        """Return the state in the segments that the native code loads."""
        if [part.shape[-1] for part in parts] == self.state_widths:
            return [Columns.of(part, batch, n) for part in parts]
        rows = Columns.of(parts[0], batch, n) if len(parts) == 1 else Columns.dense(parts, batch)
        ends = itertools.accumulate(self.state_widths)
        return [
            Columns(rows.array[:, end - k : end], rows.stride) for end, k in zip(ends, self.state_widths, strict=True)
        ]


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def chunk_for(operations: int) -> int:
    """Return the number of states per chunk for a number of operations per state."""
    states = CHUNK_WORK // max(1, operations)
    return max(_BLOCK, states // _BLOCK * _BLOCK)


def in_chunks(n: int, chunk: int, threads: int, start: Callable[[], Range]) -> None:
    """Run over states 0 ... n - 1 in chunks; each thread takes the next free chunk.

    Args:
        n: number of states.
        chunk: states per chunk; the last full chunk also includes the remaining states.
        threads: largest number of threads, including the calling one.
        start: makes a function with its own scratch memory for each thread.
    """
    count = max(1, n // chunk)
    if count == 1:
        start()(0, n)
        return
    left = itertools.count()

    def take() -> None:
        run = start()
        while (k := next(left)) < count:
            run(k * chunk, n if k == count - 1 else (k + 1) * chunk)

    # Plain threads, because a thread pool takes 0.3 ms to start, as long as a batch of 10,000 states.
    helpers = [_Helper(take) for _ in range(min(threads, count) - 1)]
    try:
        for helper in helpers:
            helper.start()
        take()
    finally:  # threads write into the caller's memory, so none may outlive the call
        for helper in helpers:
            helper.finish()
    for helper in helpers:
        helper.check()


class _Helper:
    """A thread that runs one task and stores its exception."""

    def __init__(self, task: Callable[[], None]) -> None:
        self._task = task
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def finish(self) -> None:
        """Wait for the end of the thread, if it was started."""
        if self._thread.ident is not None:
            self._thread.join()

    def check(self) -> None:
        """Raise the exception of the task, if any."""
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            self._task()
        except BaseException as failure:
            self._failure = failure
