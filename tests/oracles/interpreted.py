"""All native code of the engine run as plain Python; the programs of models are compiled.

Pointers are integers, arrays are views of the memory there, and native code calls the Python functions back.

Nothing is checked, and wrong code may write anywhere: run mutants in child processes only, see ``forked``.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import math
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import numpy as np

import kane.engine
from kane.engine import call, code, kinds
from kane.engine.step import lane_arithmetic
from oracles.source_mutants import everywhere, replaced

PROGRAM = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)
LOOP = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


@cache
def engine_modules() -> tuple[str, ...]:
    """Return the names of the modules with kernels, loops or native programs, imported."""
    found = [info.name for info in pkgutil.walk_packages(kane.engine.__path__, "kane.engine.")]
    found = [name for name in found if name.split(".")[2] not in ("compile", "code", "call", "kinds")]
    return tuple(name for name in found if _is_native(importlib.import_module(name)))


def _is_native(module: Any) -> bool:
    """Check whether a module defines native code, and was not generated."""
    own = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
    native = any(hasattr(x, "native_role") or isinstance(x, call.NativeLoop | call.NativeProgram) for x in own)
    return native and module.__name__ != "kane.engine.memory.views"


def _view(meaning: Callable[..., np.ndarray], kind: type) -> Callable[..., np.ndarray]:
    """Return a function that makes views of pointers; of arrays the views are those that Python makes anyhow.

    Empty views of vectors are an exception: an empty slice begins where its vector begins, but programs write behind
    empty views.
    """

    def at(memory: int | np.ndarray, offset: int, *lengths: int) -> np.ndarray:
        memory = _behind(memory)
        if isinstance(memory, np.ndarray):
            found = meaning(memory, offset, *lengths)
            if found.size or memory.ndim > 1:
                return found
            memory = _address(memory)
        return _array_at(memory + 8 * int(offset), tuple(map(int, lengths)), kind)

    return at


def _array_at(address: int, shape: tuple[int, ...], kind: Any) -> np.ndarray:
    doubles = (ctypes.c_double * max(math.prod(shape), 1)).from_address(address)
    return np.ndarray(shape, kind, doubles)


def _behind(memory: int | np.ndarray) -> int | np.ndarray:
    """Return the pointer of an empty view of a pointer, and all other memory as it is."""
    if isinstance(memory, np.ndarray) and not memory.size and isinstance(memory.base, ctypes.Array):
        return _address(memory)
    return memory


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _integer(meaning: Callable[..., int]) -> Callable[..., int]:
    """Return a function that reads an integer at a pointer; of arrays it is the one that Python reads anyhow."""

    def at(memory: int | np.ndarray, offset: int) -> int:
        memory = _behind(memory)
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


def call_compiled(address: int, *arrays: np.ndarray | int) -> None:
    """Call the code at an address with arrays or pointers."""
    PROGRAM(int(address))(*(x if isinstance(x, int) else _address(x) for x in arrays))


def add_slopes(lanes: Any, out: Any, slopes: Any, weights: Any, chosen: Any, count: int, size: int) -> None:
    """Add products of slopes and weights in each lane, one after the other."""
    sums = out[: size * len(lanes)].reshape(size, len(lanes))
    for k in range(count):
        sums += weights[k] * slopes[chosen[k], : size * len(lanes)].reshape(sums.shape)


def raise_to_errors(lanes: Any, sizes: Any, x: Any, y: Any, z: Any, rtol: float, atol: float, count: int) -> None:
    """Raise sizes to the largest relative errors of each lane."""
    x, y, z = (a[: count * len(lanes)].reshape(count, len(lanes)) for a in (x, y, z))
    found = np.abs(z) / (atol + rtol * np.maximum(np.abs(x), np.abs(y)))
    found[~(np.isfinite(y) & np.isfinite(z))] = np.inf
    np.maximum(sizes, found.max(axis=0, initial=0.0), out=sizes)


def _unpacked(kind: kinds.Kind, address: int) -> tuple[Any, int]:
    """Return the value whose words are at an address, and the address behind them; the inverse of ``packed``."""
    if isinstance(kind, kinds.Group):
        fields = []
        for field in kind.fields:
            value, address = _unpacked(field, address)
            fields.append(value)
        return (tuple(fields) if kind.make is None else kind.make(*fields)), address
    words = [ctypes.c_int64.from_address(address + 8 * k).value for k in range(len(kind.format))]
    behind = address + 8 * len(words)
    if isinstance(kind, kinds.Array):
        return _array_at(words[0], tuple(words[1:]), kind.dtype), behind
    return (words[0] if kind.format == "q" else ctypes.c_double.from_address(address).value), behind


class _Interpreter:
    """Python functions in the place of native code, by addresses that native code may call.

    An address stays valid: after the context it leads to the compiled code.

    Attributes:
        raised: exceptions of functions that native code called.
        active: whether the context is open.
    """

    def __init__(self) -> None:
        self.raised: list[BaseException] = []
        self.active = True
        self._compiled = call.NativeProgram.__call__, code.address_of
        self._addresses: dict[tuple[str, str], int] = {}
        self._names: dict[int, tuple[str, str]] = {}
        self._kept: list[Any] = []
        for x in gc.get_objects():
            if type(x) is call.NativeProgram and x._linked is not None:
                self._names[x._linked[1]] = (x.__module__, x.__name__)

    def call_program(self, address: int, *arrays: np.ndarray | int) -> None:
        """Call a program at an address: as Python if it is native code of the engine."""
        name = self._names.get(int(address))
        if name is None:
            call_compiled(address, *arrays)
        else:
            _now(*name).function(*(x if isinstance(x, int) else _address(x) for x in arrays))
        if self.raised:
            raise self.raised[0]

    def program(self, program: call.NativeProgram) -> int:
        """Return the address of a native program as Python."""
        name = program.__module__, program.__name__
        if name not in self._addresses:

            def called(*pointers: int | None) -> None:
                self._call(None, lambda: _now(*name).function(*(pointer or 0 for pointer in pointers)))

            def compiled(*pointers: int | None) -> None:
                PROGRAM(self._compiled[0](_now(*name)))(*pointers)

            self._addresses[name] = self._keep(PROGRAM, called, compiled)
            self._names[self._addresses[name]] = name
        return self._addresses[name]

    def entry(self, entry: code.Entry) -> tuple[Any, int]:
        """Return an owner and the address of a native loop as Python; of programs the compiled code."""
        if not isinstance(_now(entry.module, entry.name), call.NativeLoop):
            return self._compiled[1](entry)
        name = entry.module, entry.name
        if name not in self._addresses:

            def called(words: int) -> int:
                def carried() -> int:
                    values, loop = [], _now(*name)
                    for kind in loop.kinds:
                        value, words_left = _unpacked(kind, place[0])
                        values.append(value)
                        place[0] = words_left
                    return int(loop.function(*values))

                place = [words]
                return self._call(0, carried)

            def compiled(words: int) -> int:
                return int(LOOP(self._compiled[1](entry)[1])(words))

            self._addresses[name] = self._keep(LOOP, called, compiled)
        return None, self._addresses[name]

    def _call(self, failed: Any, function: Callable[[], Any]) -> Any:
        try:
            return function()
        except BaseException as error:
            self.raised.append(error)
            return failed

    def _keep(self, kind: Any, called: Callable[..., Any], compiled: Callable[..., Any]) -> int:
        native = kind(lambda *words: (called if self.active else compiled)(*words))
        self._kept.append(native)
        return ctypes.cast(native, ctypes.c_void_p).value or 0


_KEPT: list[_Interpreter] = []


def _now(module: str, name: str) -> Any:
    """Return a native loop or program, or the mutant that is installed in its place."""
    return vars(sys.modules[module])[name]


def _called(loop: call.NativeLoop, *arguments: Any) -> Any:
    return _now(loop.__module__, loop.__name__).function(*arguments)


@contextmanager
def interpreted() -> Iterator[list[BaseException]]:
    """Run native loops and programs as Python; yield a list of the exceptions that no caller sees.

    Programs of models that were built before the context run as Python if a native loop calls them.
    """
    engine_modules()
    own = _Interpreter()
    _KEPT.append(own)
    with ExitStack() as stack:
        stack.enter_context(np.errstate(all="ignore"))
        stack.enter_context(views())
        for old, new in (
            (call.call_program, own.call_program),
            (code.address_of, own.entry),
            (lane_arithmetic.add_slopes, add_slopes),
            (lane_arithmetic.raise_to_errors, raise_to_errors),
        ):
            stack.enter_context(everywhere(old, new))
        stack.enter_context(replaced(call.NativeLoop, "__call__", _called))
        stack.enter_context(replaced(call.NativeProgram, "__call__", lambda program: own.program(program)))
        try:
            yield own.raised
        finally:
            own.active = False
