"""The decorators of native loops and programs, and what these call: programs by their address, memory by pointers.

Decorated functions are compiled once per installation (``kane.engine.compile``) and linked at their first call
(``kane.engine.code``). From Python, inlined functions and kernels are what they are written as.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import threading
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any, NoReturn, get_type_hints

from kane.engine.kinds import Group, Kind, kinds_of, packed, place_of_lanes

# The words of tuples that moved last time are taken again by the next call; of larger ones not, which that keeps alive.
_KEPT = 2**18
_RESULTS: dict[type, Any] = {int: ctypes.c_int64, float: ctypes.c_double, type(None): None}


class NativeLoop:
    """A function compiled for native speed, called from Python free of the interpreter lock.

    Its arguments are annotated: int, float, arrays, tuples and NamedTuples of them. Arrays are contiguous and
    writeable; lengths are not checked.

    Attributes:
        function: as it is written.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._lock = threading.Lock()
        self._linked: dict[int | None, tuple[Any, Callable[[bytes], Any]]] = {}
        self._threads = threading.local()

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """Of the arguments."""
        return kinds_of(self.function)

    @cached_property
    def result(self) -> type:
        """What is returned: int, float, or NoneType."""
        found: type = get_type_hints(self.function)["return"]
        return found

    @cached_property
    def place_of_lanes(self) -> tuple[int, ...]:
        """Where in the arguments the lanes are that the code depends on; nothing where it does not."""
        return place_of_lanes(self.kinds)

    def __call__(self, *arguments: Any) -> Any:
        lanes = len(functools.reduce(operator.getitem, self.place_of_lanes, arguments)) if self.place_of_lanes else None
        native = self._linked.get(lanes) or self._link(lanes)
        return native[1](self._words(arguments))

    def _words(self, arguments: tuple[Any, ...]) -> bytes:
        kept = self._threads.__dict__.setdefault("kept", {})
        parts = []
        for k, (kind, value) in enumerate(zip(self.kinds, arguments, strict=True)):
            before, words = kept.get(k, (None, b""))
            if before is not value or before is None:
                words, size = packed(kind, value)
                if isinstance(kind, Group):
                    kept[k] = (value, words) if size < _KEPT else (None, b"")
            parts.append(words)
        return b"".join(parts)

    def _link(self, lanes: int | None) -> tuple[Any, Callable[[bytes], Any]]:
        with self._lock:
            if lanes not in self._linked:
                owner, address = _linked(self.function, lanes)
                self._linked[lanes] = owner, ctypes.CFUNCTYPE(_RESULTS[self.result], ctypes.c_char_p)(address)
            return self._linked[lanes]


class NativeProgram:
    """A function of five pointers to doubles, compiled as a program of the one convention.

    Attributes:
        function: as it is written.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._lock = threading.Lock()
        self._linked: tuple[Any, int] | None = None

    def __call__(self) -> int:
        """The address of the code, linked at the first call; it is good as long as the process lives."""
        with self._lock:
            if self._linked is None:
                self._linked = _linked(self.function)
            return self._linked[1]


def _linked(function: Callable[..., Any], lanes: int | None = None) -> tuple[Any, int]:
    """What owns the machine code of a function, and its address; LLVM is imported with the first one that is called."""
    code = import_module("kane.engine.code")
    found: tuple[Any, int] = code.address_of(code.Entry(function.__module__, function.__name__, lanes))
    return found


def native_loop(function: Callable[..., Any]) -> NativeLoop:
    """Compile a function, whose arguments are annotated, for calls from Python."""
    return NativeLoop(function)


def native_program(function: Callable[..., None]) -> NativeProgram:
    """Make a function of pointers to doubles, state, rest, stage, out and work, a program of the one convention."""
    return NativeProgram(function)


def native_inline(function: Callable[..., Any]) -> Any:
    """Make a function usable inside native loops, as part of their code; from Python it stays what it is."""
    return _marked(function, "inline")


def native_kernel(function: Callable[..., Any]) -> Any:
    """Make a function usable inside native programs; from Python it stays what it is."""
    return _marked(function, "kernel")


def native_instruction(function: Callable[..., Any]) -> Any:
    """Make a function known to native code by its name alone: ``kane.engine.compile`` says what it is there."""
    return _marked(function, "instruction")


def _marked(function: Any, role: str) -> Any:
    function.native_role = role
    return function


def only_native(*arguments: Any) -> NoReturn:
    """The meaning from Python of what has none."""
    raise TypeError("this is known to native code only")


@native_instruction
def call_program(address: Any, state: Any, rest: Any, stage: Any, out: Any, work: Any) -> None:
    """Call ``void f(const double* state, const double* rest, const double* stage, double* out, double* work)``.

    The address is an integer, so that one compiled loop serves every model: nothing of a model is baked into it.
    Lengths are not checked here.

    Args:
        address: of the function, int64.
        state, rest, stage, out, work: contiguous float64 vectors, each as long as the function expects.
    """
    only_native(address, state, rest, stage, out, work)


@native_instruction
def vector_at(memory: Any, offset: Any, n: Any) -> Any:
    """n doubles as an array, from ``offset`` doubles behind the pointer, or the start of the array, ``memory``.

    From Python ``memory`` is an array, whose last axis is meant.
    """
    return memory[..., offset : offset + n]


@native_inline
def call_at(address: Any, state: Any, inputs: Any, constants: Any, place: Any, out: Any, work: Any) -> None:
    """Call a program whose constants begin ``place`` doubles after ``constants``.

    All arguments except the address and the place are pointers or arrays.
    """
    part, result = vector_at(constants, place, 0), vector_at(out, 0, 0)
    call_program(address, vector_at(state, 0, 0), vector_at(inputs, 0, 0), part, result, vector_at(work, 0, 0))


@native_instruction
def matrix_at(memory: Any, offset: Any, rows: Any, columns: Any) -> Any:
    """Rows of doubles as an array, placed as by ``vector_at``."""
    return memory[..., offset : offset + rows * columns].reshape(*memory.shape[:-1], rows, columns)


@native_instruction
def integers_at(memory: Any, offset: Any, n: Any) -> Any:
    """n 64-bit integers as an array, placed as by ``vector_at``."""
    return memory[..., offset : offset + n].view("int64")


@native_instruction
def integer_at(memory: Any, offset: Any) -> Any:
    """A 64-bit integer, placed as by ``vector_at``; of an array with further axes the first one, and zero of none."""
    found = memory[..., offset : offset + 1].view("int64")
    return int(found.flat[0]) if found.size else 0
