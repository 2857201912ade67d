"""Decorators of native functions, and the instructions that call programs by address and view memory.

Decorated functions are compiled once per installation (``kane.engine.compile``) and linked at their first call
(``kane.engine.code``). In Python, inlined functions and kernels remain ordinary functions.
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

import numpy as np

from kane.engine.kinds import Group, Kind, kinds_of, packed, place_of_lanes, word_of

# Packed arguments are kept for the next call, and with them their arrays, up to this many bytes.
_KEPT_BYTES = 2**18
_INTEGERS = np.dtype(np.int64)
_RESULTS: dict[type, Any] = {int: ctypes.c_int64, float: ctypes.c_double, type(None): None}


class NativeLoop:
    """Native function that Python calls without holding the interpreter lock.

    Its arguments are annotated as int, float, arrays, or tuples and NamedTuples of them. Arrays must be contiguous and
    writeable. Lengths are not checked.

    Attributes:
        function: the Python function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._lock = threading.Lock()
        self._linked: dict[int | None, tuple[Any, Callable[[bytes], Any]]] = {}
        self._threads = threading.local()

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """Return the kinds of the arguments."""
        return kinds_of(self.function)

    @cached_property
    def result(self) -> type:
        """Return the type of the result: int, float, or NoneType."""
        found: type = get_type_hints(self.function)["return"]
        return found

    @cached_property
    def place_of_lanes(self) -> tuple[int, ...]:
        """Return the indices that lead to the LaneCount in the arguments; empty if there is no LaneCount."""
        return place_of_lanes(self.kinds)

    def __call__(self, *arguments: Any) -> Any:
        return self._native(arguments)(self._words(arguments))

    def prepared(self, *arguments: Any) -> PreparedCall:
        """Return the call with these arguments, to be made many times."""
        words = b"".join([packed(kind, value)[0] for kind, value in zip(self.kinds, arguments, strict=True)])
        return PreparedCall(self, self._native(arguments), arguments, words)

    def _native(self, arguments: tuple[Any, ...]) -> Callable[[Any], Any]:
        lanes = len(functools.reduce(operator.getitem, self.place_of_lanes, arguments)) if self.place_of_lanes else None
        return (self._linked.get(lanes) or self._link(lanes))[1]

    def _words(self, arguments: tuple[Any, ...]) -> bytes:
        kept = self._threads.__dict__.setdefault("kept", {})
        parts = []
        for k, (kind, value) in enumerate(zip(self.kinds, arguments, strict=True)):
            before, words = kept.get(k, (None, b""))
            if before is not value or before is None:
                words, size = packed(kind, value)
                if isinstance(kind, Group):
                    kept[k] = (value, words) if size < _KEPT_BYTES else (None, b"")
            parts.append(words)
        return b"".join(parts)

    def _link(self, lanes: int | None) -> tuple[Any, Callable[[bytes], Any]]:
        with self._lock:
            if lanes not in self._linked:
                owner, address = _linked(self.function, lanes)
                self._linked[lanes] = owner, ctypes.CFUNCTYPE(_RESULTS[self.result], ctypes.c_char_p)(address)
            return self._linked[lanes]


class PreparedCall:
    """Call of a native loop whose arguments keep their places: for many calls, or for calls by other native loops.

    Attributes:
        arguments: the arguments, whose arrays must live as long as the call.
        integers, reals: the words of the arguments, as int64 and as doubles. Numbers among them may be changed between
            calls; the words of arrays are addresses and lengths.
    """

    def __init__(self, loop: NativeLoop, native: Any, arguments: tuple[Any, ...], words: bytes) -> None:
        self._loop, self._native, self.arguments, memory = loop, native, arguments, bytearray(words)
        self.integers, self.reals = memoryview(memory).cast("q"), memoryview(memory).cast("d")
        self._words = (ctypes.c_char * len(memory)).from_buffer(memory)

    @property
    def addresses(self) -> tuple[int, int]:
        """Addresses of the code and of the words of its arguments, valid as long as this object lives."""
        return int(ctypes.cast(self._native, ctypes.c_void_p).value or 0), ctypes.addressof(self._words)

    def place(self, *path: int) -> int:
        """Return the index of the first word of an argument, or of a field of it; the path has their numbers."""
        return word_of(self._loop.kinds, path)

    def __call__(self) -> Any:
        """Call the loop, without holding the interpreter lock; return its result."""
        return self._native(self._words)


class NativeProgram:
    """Native function with the arguments of compiled programs, five pointers to doubles.

    Attributes:
        function: the Python function.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._lock = threading.Lock()
        self._linked: tuple[Any, int] | None = None

    def __call__(self) -> int:
        """Return the address of the code, which is linked at the first call and stays valid in this process."""
        with self._lock:
            if self._linked is None:
                self._linked = _linked(self.function)
            return self._linked[1]


def _linked(function: Callable[..., Any], lanes: int | None = None) -> tuple[Any, int]:
    """Return the owner of the machine code of a function, and its address; LLVM is imported at the first call."""
    code = import_module("kane.engine.code")
    found: tuple[Any, int] = code.address_of(code.Entry(function.__module__, function.__name__, lanes))
    return found


def native_loop(function: Callable[..., Any]) -> NativeLoop:
    """Make a function with annotated arguments a native loop, which Python calls."""
    return NativeLoop(function)


def native_program(function: Callable[..., None]) -> NativeProgram:
    """Make a function of the pointers state, inputs, constants, out and work a native program."""
    return NativeProgram(function)


def native_inline(function: Callable[..., Any]) -> Any:
    """Mark a function that native code inlines into its callers."""
    return _marked(function, "inline")


def native_kernel(function: Callable[..., Any]) -> Any:
    """Mark a function that native code calls; it is compiled once for each combination of argument types.

    A NamedTuple is passed by its address. A variable holds one record: two statements must not assign records to it.
    """
    return _marked(function, "kernel")


def native_instruction(function: Callable[..., Any]) -> Any:
    """Mark a function whose native code ``kane.engine.compile`` defines; in Python its body applies."""
    return _marked(function, "instruction")


def _marked(function: Any, role: str) -> Any:
    function.native_role = role
    return function


def only_native(*arguments: Any) -> NoReturn:
    """Raise TypeError: the body of an instruction that exists in native code only."""
    raise TypeError("this function exists in native code only")


@native_instruction
def call_program(address: Any, state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Call ``void f(const double* state, const double* inputs, const double* constants, double* out, double* work)``.

    The address is an integer, so that one compiled loop serves all models. Lengths are not checked.

    Args:
        address: address of the program, int64.
        state, inputs, constants, out, work: contiguous float64 vectors with the lengths that the program expects.
    """
    only_native(address, state, inputs, constants, out, work)


@native_instruction
def vector_at(memory: Any, offset: Any, n: Any) -> Any:
    """Return n doubles as an array, from ``offset`` doubles after the start of ``memory`` on.

    In native code ``memory`` is a pointer or a vector. In Python it is an array, whose last axis is viewed.
    """
    return memory[..., offset : offset + n]


@native_instruction
def call_loop(address: Any, words: Any) -> Any:
    """Call a native loop that returns an integer, and return its result.

    Args:
        address: address of the code, int64, as in ``PreparedCall.addresses``.
        words: words of its arguments, a contiguous int64 vector.
    """
    return only_native(address, words)


@native_instruction
def memory_at(address: Any) -> Any:
    """Return the pointer to an address, int64, as memory for ``vector_at`` and ``integers_at``."""
    return only_native(address)


@native_inline
def call_at(address: Any, state: Any, inputs: Any, constants: Any, place: Any, out: Any, work: Any) -> None:
    """Call a program whose constants begin ``place`` doubles after ``constants``.

    All arguments except the address and the place are pointers or arrays.
    """
    part, result = vector_at(constants, place, 0), vector_at(out, 0, 0)
    call_program(address, vector_at(state, 0, 0), vector_at(inputs, 0, 0), part, result, vector_at(work, 0, 0))


@native_instruction
def matrix_at(memory: Any, offset: Any, rows: Any, columns: Any) -> Any:
    """Return a matrix of doubles; ``memory`` and ``offset`` as for ``vector_at``."""
    return memory[..., offset : offset + rows * columns].reshape(*memory.shape[:-1], rows, columns)


@native_instruction
def integers_at(memory: Any, offset: Any, n: Any) -> Any:
    """Return n 64-bit integers as an array; ``memory`` and ``offset`` as for ``vector_at``."""
    found = memory[..., offset : offset + n]
    return found if found.dtype is _INTEGERS else found.view(_INTEGERS)


@native_instruction
def integer_at(memory: Any, offset: Any) -> Any:
    """Return a 64-bit integer; ``memory`` and ``offset`` as for ``vector_at``.

    In Python, an array with further axes gives its first integer, and an empty array 0.
    """
    found = memory[..., offset : offset + 1].view(_INTEGERS)
    return int(found.flat[0]) if found.size else 0
