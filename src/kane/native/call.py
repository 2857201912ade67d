"""Calls of compiled programs from native loops, and the decorators that compile such loops once for all models."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core.caching import FunctionCache, NullCache
from numba.core.ccallback import CFunc
from numba.core.errors import TypingError
from numba.extending import intrinsic, register_jitable
from numba.np.arrayobj import make_array, populate_array


@intrinsic
def _call_program(typingctx: Any, address: Any, state: Any, rest: Any, stage: Any, out: Any, work: Any) -> Any:
    """Call ``void f(const double* state, const double* rest, const double* stage, double* out, double* work)``.

    For use inside native loops only. The address is an integer, so that one compiled loop serves every model: nothing
    of a model is baked into it, and it can be cached on disk. Lengths are not checked here.

    Args:
        typingctx: supplied by numba.
        address: of the function, int64.
        state, rest, stage, out, work: contiguous float64 vectors, each as long as the function expects.
    """
    vectors = (state, rest, stage, out, work)
    for vector in vectors:
        if not (isinstance(vector, types.Array) and vector.dtype == types.float64 and vector.ndim == 1):
            raise TypingError(f"call_program takes float64 vectors, not {vector}")
        if vector.layout != "C":
            raise TypingError("call_program takes contiguous vectors: a strided view would be read as if it had none")

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = [
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(signature.args[1:], arguments[1:], strict=True)
        ]
        prototype = ir.FunctionType(ir.VoidType(), [pointer.type for pointer in pointers])
        builder.call(builder.inttoptr(arguments[0], prototype.as_pointer()), pointers)
        return context.get_dummy_value()

    return types.void(types.int64, *vectors), emit


# numba supplies the first argument itself, of which a type checker knows nothing.
call_program: Any = _call_program


class _LoopCache(FunctionCache):
    """The on-disk cache of one loop: stale when a source it may be made of changed, and never a reason to fail.

    numba looks only at the file of the function itself, so that a loop would survive a change of what it calls: here
    every module counts from which the function's module imports, and so on.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._name = function.__name__
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _sources(function.__module__))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = None
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # a file that is damaged, or names arrays of an older version, raises anything at all
            with contextlib.suppress(Exception):
                self.flush()  # or else nothing could be kept beside it
        if found is None:
            _tell(f"compiling native code, {self._name}, once per installation (some ten seconds)")
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:  # a full disk, a lost permission, a damaged index: the loop runs, uncached
            _tell(f"{self._name} cannot be kept on disk ({error}), the next process will compile it again")


class _NoCache(NullCache):
    """In the place of a cache where there is no folder for one."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = function.__name__

    def load_overload(self, sig: Any, target_context: Any) -> None:
        _tell(f"compiling native code, {self._name}; NUMBA_CACHE_DIR can name a folder to keep it in")


def _cache_of(function: Callable[..., Any]) -> _LoopCache | _NoCache:
    try:
        return _LoopCache(function)
    except (RuntimeError, OSError):
        return _NoCache(function)


def _tell(message: str) -> None:
    """Say on standard error why there is nothing to be seen for a while: terminals, pipes and notebooks alike."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or none at all: nobody reads it
        sys.stderr.write(f"kane: {message}\n")
        sys.stderr.flush()


@functools.cache
def _sources(module: str) -> str:
    """A digest of this file, of a module and of all that it imports from this package when it is imported."""
    files, left = {__file__}, [module]
    while left:
        file = getattr(sys.modules.get(left.pop()), "__file__", None)
        if file is not None and file not in files:
            files.add(file)
            left += re.findall(rf"^from ({__package__.split('.')[0]}\.\S+) import", Path(file).read_text("utf-8"), re.M)
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(Path(file).read_bytes())
    return digest.hexdigest()


# The loops own no array, so that counting references, which numba does by atomic operations at every call that passes
# an array on, keeps nothing alive. Without it and with the parts inlined an RK4 step of the UR5 takes 490 ns, with it
# 1,400.
_BARE: Any = {"_nrt": False}


def native_loop(function: Callable[..., Any]) -> Any:
    """Compile a function for native speed, free of the interpreter lock, on its first call; keep the code on disk.

    The code is kept beside the source, or where that is read-only in the user's cache directory (NUMBA_CACHE_DIR sets
    another). Where none can be written it is compiled again by every process, which costs about a second.
    """
    loop: Any = njit(nogil=True, **_BARE)(function)
    loop._cache = _cache_of(function)
    return loop


def native_inline(function: Callable[..., Any]) -> Any:
    """Make a function usable inside native loops, as part of their code; from Python it stays what it is."""
    return register_jitable(forceinline=True, **_BARE)(function)


# A program is called by code that knows of no exceptions: a division by zero follows IEEE 754.
_PROGRAM: Any = {**_BARE, "error_model": "numpy"}
_DOUBLES = types.CPointer(types.float64)


def native_kernel(function: Callable[..., Any]) -> Any:
    """Make a function usable inside native programs; from Python it stays what it is."""
    return register_jitable(**_PROGRAM)(function)


def native_program(function: Callable[..., Any]) -> Callable[[], int]:
    """Make a function of five pointers to doubles, state, rest, stage, out and work, a program of the one convention.

    Returns:
        What gives the address of the native code, which is compiled on the first call and kept on disk like a loop; it
        is good as long as the process lives.
    """

    @functools.cache
    def address() -> int:
        program: Any = CFunc(function, ((_DOUBLES,) * 5, types.void), locals={}, options=dict(_PROGRAM))
        program._cache = _cache_of(function)
        program.compile()
        kept.append(program)
        return int(program.address)

    kept: list[Any] = []  # the code lives as long as what was compiled
    return address


def _view(element: Any, dimensions: int) -> tuple[Any, Callable[..., Any]]:
    """What emits an array over the memory from so many doubles after a pointer on; the lengths come after these two.

    An intrinsic and no function: those return no new arrays without numba's memory runtime.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, offset, *lengths = arguments
        array = make_array(signature.return_type)(context, builder)
        data = builder.bitcast(builder.gep(pointer, [offset]), array.data.type)
        strides = [ir.Constant(ir.IntType(64), 8)]
        for length in reversed(lengths[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        populate_array(array, data=data, shape=lengths, strides=strides, itemsize=strides[-1], meminfo=None)
        return array._getvalue()

    return types.Array(element, dimensions, "C")(_DOUBLES, *[types.int64] * (1 + dimensions)), emit


@intrinsic
def _vector_at(typingctx: Any, pointer: Any, offset: Any, n: Any) -> Any:
    """n doubles as an array, from so many doubles after the pointer on."""
    return _view(types.float64, 1)


@intrinsic
def _matrix_at(typingctx: Any, pointer: Any, offset: Any, rows: Any, columns: Any) -> Any:
    """Rows of doubles as an array, from so many doubles after the pointer on."""
    return _view(types.float64, 2)


@intrinsic
def _integers_at(typingctx: Any, pointer: Any, offset: Any, n: Any) -> Any:
    """n 64-bit integers as an array, from so many doubles after the pointer on."""
    return _view(types.int64, 1)


vector_at: Any = _vector_at
matrix_at: Any = _matrix_at
integers_at: Any = _integers_at
