"""Native loops run as plain Python; the programs that they call are compiled.

The lengths of arrays for compiled programs are checked first, so that a wrong loop fails without harm. An output may
continue to the end of its memory: a slope follows the guards in the same memory.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np

from kane.codegen.jit.function import ArrayFunction
from kane.native import call as native_call
from kane.native import explicit, implicit
from oracles.source_mutants import everywhere

PROGRAM = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)
OUT = 3  # index in the five arrays: state, inputs (or udot), constants, out and work


def _room(array: np.ndarray) -> int:
    """Return the number of doubles from the start of an array to the end of the memory that contains it."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return (owner.ctypes.data + owner.nbytes - array.ctypes.data) // array.itemsize


def _functions() -> dict[int, ArrayFunction]:
    """Return the functions with native code that the garbage collector visits by address."""
    functions = [x for x in gc.get_objects() if issubclass(type(x), ArrayFunction)]  # numba leaves dead proxies
    return {int(x.address): x for x in functions if getattr(x, "address", 0)}


def _function(address: int) -> ArrayFunction:
    """Return a function by its address.

    Functions of earlier files of tests may be frozen (see tests/conftest.py): a look at all objects takes a second.
    """
    found = _functions()
    if address not in found:
        gc.unfreeze()
        found = _functions()
    return found[address]


@contextmanager
def interpreted_loops() -> Iterator[None]:
    """Run the loops of explicit and implicit Runge-Kutta methods uncompiled within the context."""
    known = {address: (PROGRAM(address), function) for address, function in _functions().items()}

    def call_program(address: int, *arrays: np.ndarray) -> None:
        if address not in known:
            known[address] = PROGRAM(int(address)), _function(int(address))
        code, function = known[address]
        lengths = (function.n_state, function.n_rest, 0, function.n_out, function.n_work)
        for k, (array, length) in enumerate(zip(arrays, lengths, strict=True)):
            room = _room(array) if k == OUT else array.size
            if array.dtype != np.float64 or not array.flags.c_contiguous or room < length:
                raise IndexError(f"{function.name} got {room} doubles in the place of {length}")
        code(*(array.ctypes.data for array in arrays))

    with ExitStack() as stack:
        stack.enter_context(everywhere(native_call.call_program, call_program))
        for loop in (explicit.march_explicit, implicit.march_implicit):
            stack.enter_context(everywhere(loop, loop.function))
        yield
