"""Native loops run as plain Python; the programs that they call are compiled.

The lengths of arrays for compiled programs are checked first, so that a wrong loop fails without harm. An output may
continue to the end of its memory: a slope follows the guards in the same memory.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from kane.codegen.jit.function import ArrayFunction
from kane.engine import call as native_call
from kane.engine.step import explicit, implicit
from oracles.source_mutants import everywhere

PROGRAM = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)
OUT = 3  # index in the five arrays: state, inputs (or udot), constants, out and work


def _room(array: np.ndarray) -> int:
    """Return the number of doubles from the start of an array to the end of the memory that contains it."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return (owner.ctypes.data + owner.nbytes - array.ctypes.data) // array.itemsize


def _fits(function: ArrayFunction, arrays: tuple[np.ndarray, ...]) -> bool:
    """Check whether arrays have the kind and at least the lengths that the code of a function takes."""
    lengths = (function.n_state, function.n_rest, 0, function.n_out, function.n_work)
    return all(
        array.dtype == np.float64 and array.flags.c_contiguous and (_room(array) if k == OUT else array.size) >= length
        for k, (array, length) in enumerate(zip(arrays, lengths, strict=True))
    )


class _Functions:
    """Functions with native code by their address; functions of several models may share their code.

    The garbage collector knows them. Those of earlier files of tests may be frozen, see tests/conftest.py: all objects
    are looked at only if no other function has the address, because that takes a second.
    """

    def __init__(self) -> None:
        self._known: dict[int, list[ArrayFunction]] = {}
        self._codes: dict[int, Any] = {}
        self._look()

    def _look(self) -> None:
        for x in gc.get_objects():
            # numba leaves dead proxies, whose class is asked for by type alone
            if issubclass(type(x), ArrayFunction) and getattr(x, "address", 0):
                self._known.setdefault(int(x.address), []).append(x)

    def code(self, address: int, arrays: tuple[np.ndarray, ...]) -> Any:
        """Return the code at an address, which the arrays fit.

        Raises:
            IndexError: no function with this address takes such arrays.
        """
        if not self._takes(address, arrays):
            self._look()
            if address not in self._known:
                gc.unfreeze()
                self._look()
            if not self._takes(address, arrays):
                raise IndexError(
                    f"code got arrays of {[array.size for array in arrays]} numbers, which it does not take"
                )
        return self._codes.setdefault(address, PROGRAM(address))

    def _takes(self, address: int, arrays: tuple[np.ndarray, ...]) -> bool:
        return any(_fits(function, arrays) for function in self._known.get(address, ()))


@contextmanager
def interpreted_loops() -> Iterator[None]:
    """Run the loops of explicit and implicit Runge-Kutta methods uncompiled within the context."""
    functions = _Functions()

    def call_program(address: int, *arrays: np.ndarray) -> None:
        functions.code(int(address), arrays)(*(array.ctypes.data for array in arrays))

    with ExitStack() as stack:
        stack.enter_context(everywhere(native_call.call_program, call_program))
        for loop in (explicit.integrate_explicit, implicit.integrate_implicit):
            stack.enter_context(everywhere(loop, loop.function))
        yield
