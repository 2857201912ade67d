"""Native programs of constraints run as plain Python.

Pointers are integers, arrays are views of the memory there, and native code calls the Python functions back.

Nothing is checked, and wrong code may write anywhere: use it in child processes only, see ``forked``.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from kane.engine import call
from kane.engine.hybrid import mode_programs as programs
from kane.engine.project import projection as project
from kane.engine.rows import embedding
from oracles.source_mutants import everywhere, functions, installed

PROGRAM = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)
PROGRAMS = {
    embedding: ("rhs", "embedding"),
    project: ("project",),
    programs: ("rhs", "reactions", "project", "guards"),
}


def _view(meaning: Callable[..., np.ndarray], kind: type) -> Callable[..., np.ndarray]:
    """Return a function that makes views of pointers; of arrays the views are those that Python makes anyhow.

    Empty views of vectors are an exception: an empty slice begins where its vector begins, but programs write behind
    empty views.
    """

    def at(memory: int | np.ndarray, offset: int, *lengths: int) -> np.ndarray:
        if isinstance(memory, np.ndarray):
            found = meaning(memory, offset, *lengths)
            if found.size or memory.ndim > 1:
                return found
            memory = _address(memory)
        size = math.prod(map(int, lengths))
        doubles = (ctypes.c_double * max(size, 1)).from_address(memory + 8 * int(offset))
        return np.ndarray(tuple(map(int, lengths)), kind, doubles)

    return at


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _call_program(address: int, *arrays: np.ndarray) -> None:
    PROGRAM(int(address))(*map(_address, arrays))


def _integer(meaning: Callable[..., int]) -> Callable[..., int]:
    """Return a function that reads an integer at a pointer; of arrays it is the one that Python reads anyhow."""

    def at(memory: int | np.ndarray, offset: int) -> int:
        if isinstance(memory, np.ndarray):
            return meaning(memory, offset)
        return ctypes.c_int64.from_address(memory + 8 * int(offset)).value

    return at


@contextmanager
def views() -> Iterator[None]:
    """Replace the native functions that make arrays of pointers by Python ones."""
    with ExitStack() as stack:
        for old, kind in ((call.vector_at, float), (call.matrix_at, float), (call.integers_at, np.int64)):
            stack.enter_context(everywhere(old, _view(old, kind)))
        stack.enter_context(everywhere(call.integer_at, _integer(call.integer_at)))
        yield


@contextmanager
def interpreted_programs() -> Iterator[list[BaseException]]:
    """Run the programs of newly built models uncompiled; yield a list of their exceptions, which no caller sees."""
    raised: list[BaseException] = []
    kept: list[Any] = []

    def native_program(function: Callable[..., None]) -> Callable[[], int]:
        def called(*pointers: int | None) -> None:
            try:
                function(*(pointer or 0 for pointer in pointers))
            except BaseException as error:
                raised.append(error)

        code = PROGRAM(called)
        kept.append(code)
        return lambda: ctypes.cast(code, ctypes.c_void_p).value or 0

    with ExitStack() as stack:
        stack.enter_context(views())
        stack.enter_context(everywhere(call.call_program, _call_program))
        stack.enter_context(everywhere(call.native_program, native_program))
        for module, names in PROGRAMS.items():
            for path, tree in functions(module.__name__):
                if path[-1] in names:
                    stack.enter_context(installed(module.__name__, path, tree))
        yield raised
