"""A native loop over a compiled program of kane, as the peers have theirs: one call a state, no Python inside."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from kane.codegen.jit.batches import LaneCode
from kane.codegen.jit.function import ArrayFunction

Array = npt.NDArray[np.float64]


@intrinsic
def _call(typingctx: Any, address: Any, state: Any, rest: Any, stage: Any, out: Any, work: Any) -> Any:
    """Calls f(state, rest, stage, out, work), all given as addresses (int64)."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = ir.DoubleType().as_pointer()
        prototype = ir.FunctionType(ir.VoidType(), [double] * 5)
        function = builder.inttoptr(arguments[0], prototype.as_pointer())
        builder.call(function, [builder.inttoptr(argument, double) for argument in arguments[1:]])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), emit


@intrinsic
def _get(typingctx: Any, address: Any) -> Any:
    """Reads a double by itself; see _put."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())
        return builder.load_atomic(pointer, "monotonic", 8)

    return types.float64(types.int64), emit


@intrinsic
def _put(typingctx: Any, address: Any, value: Any) -> Any:
    """Writes a double by itself: several at once would wait, as would who reads them, for what came one by one."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())
        builder.store_atomic(arguments[1], pointer, "monotonic", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.float64), emit


@njit("void(int64, int64, int64[:], int64[:])", nogil=True)
def _loop(address: int, calls: int, pointers: Any, strides: Any) -> None:
    """Calls over the states in turn; strides in bytes of state, rest and out, then the number of states."""
    i = 0
    for _ in range(calls):
        state, rest, out = pointers[0] + i * strides[0], pointers[1] + i * strides[1], pointers[3] + i * strides[2]
        _call(address, state, rest, pointers[2], out, pointers[4])
        i = i + 1 if i + 1 < strides[3] else 0


@functools.cache
def _chain(nq: int, n: int) -> Callable[..., None]:
    """As above, but each call waits for the one before: zero times its results is added to the state.

    The state of a call, of the ``states``, is written where the first pointer says. Lengths are known to the compiler,
    as they are to that of the peers.
    """

    @njit("void(int64, int64, int64, int64[:], int64[:], float64)", nogil=True)
    def chain(address: int, calls: int, states: int, pointers: Any, strides: Any, zero: float) -> None:
        i, before, now = 0, pointers[3], pointers[0]
        for _ in range(calls):
            state = states + i * strides[0]
            for j in range(1, 1 + nq):
                _put(now + 8 * j, _get(state + 8 * j) + zero * _get(before + 8 * min(j - 1, n - 1)))
            for j in range(n):
                at = 8 * (1 + nq + j)
                _put(now + at, _get(state + at) + zero * _get(before + 8 * j))
            before = pointers[3] + i * strides[2]
            _call(address, now, pointers[1] + i * strides[1], pointers[2], before, pointers[4])
            i = i + 1 if i + 1 < strides[3] else 0

    found: Callable[..., None] = chain
    return found


class KaneLoop:
    """One compiled function with a set of states.

    Args:
        function: what to call.
        state: t, q, u, shape (N, n_state).
        rest: inputs or accelerations, shape (N, n_rest).
        stage: the parameter stage, shape (n_stage,).
        kept: whether every state keeps its results; else each call writes over those of the one before.
    """

    def __init__(self, function: ArrayFunction, state: Array, rest: Array, stage: Array, *, kept: bool = True) -> None:
        self.function = function
        n = len(state)
        self.out = np.zeros((n, function.n_out))
        self._arrays = [
            np.ascontiguousarray(state),
            np.ascontiguousarray(rest),
            np.ascontiguousarray(stage),
            self.out,
            np.zeros(max(function.n_work, 1)),
        ]
        self._pointers = np.array([array.ctypes.data for array in self._arrays])
        self._strides = np.array([8 * function.n_state, 8 * function.n_rest, 8 * function.n_out * kept, n])

    @property
    def inputs(self) -> tuple[Array, Array, Array]:
        """State, rest and stage."""
        state, rest, stage = self._arrays[:3]
        return state, rest, stage

    def run(self, calls: int) -> None:
        """Makes that many calls."""
        _loop(self.function.address, calls, self._pointers, self._strides)

    @property
    def chained(self) -> Callable[[int], None]:
        """A function run(calls) that makes that many calls, each waiting for the results of the one before."""
        now, n = np.zeros(self.function.n_state), self.function.n_out
        pointers = np.array([now.ctypes.data, *self._pointers[1:]])
        chain = _chain(self.function.n_state - 1 - n, n)

        def run(calls: int, _kept: object = now) -> None:
            chain(self.function.address, calls, self._pointers[0], pointers, self._strides, 0.0)

        return run


def block_loop(code: LaneCode, state: Array, rest: Array, stage: Array, out: Array) -> Callable[[int], None]:
    """A function run(calls) that calls the code of lanes over blocks (N, k, width) in turn."""
    memory = np.zeros(code.n_work + 8)
    work = memory[-(memory.ctypes.data // 8) % 8 :]  # at the start of a cache line
    arrays = (state, rest, stage, out, work)
    pointers = np.array([array.ctypes.data for array in arrays])
    strides = np.array([array[0].nbytes for array in (state, rest, out)] + [len(state)])

    def run(calls: int, _kept: object = arrays) -> None:
        _loop(code.address, calls, pointers, strides)

    return run
