"""A native loop over a compiled program of kane, as the peers have theirs: one call a state, no Python inside."""

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


@njit("void(int64, int64, int64[:], int64[:])", nogil=True)
def _loop(address: int, calls: int, pointers: Any, strides: Any) -> None:
    """Calls over the states in turn; strides in bytes of state, rest and out, then the number of states."""
    i = 0
    for _ in range(calls):
        state, rest, out = pointers[0] + i * strides[0], pointers[1] + i * strides[1], pointers[3] + i * strides[2]
        _call(address, state, rest, pointers[2], out, pointers[4])
        i = i + 1 if i + 1 < strides[3] else 0


@njit("void(int64, int64, float64[:,::1], int64[:], int64[:], float64[::1], float64[:,::1], float64)", nogil=True)
def _chain(address: int, calls: int, states: Any, pointers: Any, strides: Any, now: Any, out: Any, zero: float) -> None:
    """As above, but each call waits for the one before: zero times its results is added to the state ``now``."""
    i, before, n = 0, 0, out.shape[1]
    nq = states.shape[1] - 1 - n
    for _ in range(calls):
        for j in range(nq):
            now[1 + j] = states[i, 1 + j] + zero * out[before, min(j, n - 1)]
        for j in range(n):
            now[1 + nq + j] = states[i, 1 + nq + j] + zero * out[before, j]
        rest, result = pointers[1] + i * strides[1], pointers[3] + i * strides[2]
        _call(address, pointers[0], rest, pointers[2], result, pointers[4])
        before = i
        i = i + 1 if i + 1 < strides[3] else 0


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

    def chained(self, calls: int) -> None:
        """Makes that many calls, each waiting for the results of the one before."""
        states, now = self._arrays[0], np.zeros(self.function.n_state)
        pointers = np.array([now.ctypes.data, *self._pointers[1:]])
        _chain(self.function.address, calls, states, pointers, self._strides, now, self.out, 0.0)


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
