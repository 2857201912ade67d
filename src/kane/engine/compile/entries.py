"""Collect all native loops and programs of the package, and translate them to LLVM modules with numba."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable

import kane.engine
from kane.deferred import NamedTuple
from kane.engine.call import NativeLoop, NativeProgram
from kane.engine.code import Entry
from kane.engine.compile import instructions
from kane.engine.compile import lane_instructions as vectors
from kane.engine.compile.objects import RAISED, Modules
from kane.engine.compile.parts import linked
from kane.engine.compile.records import is_record
from kane.engine.kinds import Array, Group, Kind, LaneCount, Number, place_of_lanes
from kane.engine.memory.loop_arguments import LANE_WIDTHS
from kane.errors import CompileError

# Modules whose import registers the instructions with numba.
INSTRUCTIONS = (instructions, vectors)
# Native code owns no arrays, so that numba need not count references. Atomic counts at each call would make an RK4 step
# of the UR5 take 1,400 ns instead of 440 ns. No exception is raised: a division by zero follows IEEE 754.
OPTIONS: Any = {"_nrt": False, "error_model": "numpy"}
_WORDS = types.CPointer(types.int64)
_NUMBA_RESULTS = {int: types.int64, float: types.float64, type(None): types.none}
_ELEMENTS = {np.dtype(np.float64): types.float64, np.dtype(np.int64): types.int64}


class Translated(NamedTuple):
    """Entry in LLVM's language: the function with the functions that it calls, and the text of a call from C."""

    library: Any
    call: str


def entries() -> dict[str, tuple[Entry, Any]]:
    """Return all entries of ``kane.engine`` by title, loops in lanes once for each width.

    It registers kernels and inlined functions with numba.
    """
    found, seen = {}, set()
    for module in _modules():
        for value in vars(module).values():
            if id(value) in seen:
                continue
            seen.add(id(value))
            role = getattr(value, "native_role", None)
            if role in ("inline", "kernel"):
                register_jitable(forceinline=role == "inline", no_cfunc_wrapper=True, **OPTIONS)(value)
            if isinstance(value, NativeLoop | NativeProgram):
                found.update({entry.title: (entry, value) for entry in _of(value)})
    return found


def kernels() -> list[str]:
    """Return the names of all kernels, with their modules."""
    values = (value for module in _modules() for value in vars(module).values())
    return [f"{value.__module__}.{value.__name__}" for value in values if getattr(value, "native_role", "") == "kernel"]


def _modules() -> list[ModuleType]:
    """Import and return all modules of ``kane.engine``, except those that compile."""
    names = [about.name for about in pkgutil.walk_packages(kane.engine.__path__, "kane.engine.")]
    return [importlib.import_module(name) for name in names if not name.startswith(__package__)]


def _of(value: NativeLoop | NativeProgram) -> list[Entry]:
    in_lanes = isinstance(value, NativeLoop) and value.place_of_lanes
    function = value.function
    return [Entry(function.__module__, function.__name__, n) for n in (LANE_WIDTHS if in_lanes else (None,))]


def translated(entry: Entry, value: NativeLoop | NativeProgram) -> Translated:
    """Translate this program, or this loop with packed arguments, and the functions that it calls.

    The code calls RAISED where numba would raise an exception.

    Raises:
        CompileError: numba rejects the function.
    """
    bare: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **OPTIONS}
    function = njit(**bare)(value.function)
    try:
        if isinstance(value, NativeLoop):
            compiled, pointers = njit(**bare)(_of_words(function, value.kinds, entry.lanes)), [_WORDS]
        else:
            compiled, pointers = function, [instructions.POINTER] * 5
        compiled.compile(tuple(pointers))
    except Exception as error:  # numba raises its own exceptions and Python's
        raise CompileError(f"numba rejects {entry.title}: {error}") from error
    (result,) = compiled.overloads.values()
    gives = result.signature.return_type
    if gives != _NUMBA_RESULTS.get(value.result if isinstance(value, NativeLoop) else type(None)):
        raise CompileError(
            f"{entry.title} returns {gives}, which differs from its annotation, or is neither int nor float"
        )
    return Translated(result.library, _call(entry.symbol, result.fndesc.llvm_func_name, len(pointers), gives))


def modules_of(parts: Sequence[Translated]) -> Modules:
    """Return the modules of these entries and of all functions that they call."""
    calls = "".join(part.call for part in parts)
    return linked((part.library for part in parts), f"declare void @{RAISED}()\n{calls}")


def _call(symbol: str, name: str, pointers: int, gives: Any) -> str:
    """Return a function with C calling convention that calls a function with numba's convention."""
    arguments = ", ".join(f"ptr %a{k}" for k in range(pointers))
    number = {types.int64: "i64", types.float64: "double"}.get(gives)
    end = f"%value = load {number}, ptr %result\n  ret {number} %value" if number else "ret void"
    return f"""
declare i32 @"{name}"(ptr, ptr{", ptr" * pointers})
define {number or "void"} @"{symbol}"({arguments}) {{
  %result = alloca {number or "ptr"}
  %exception = alloca ptr
  %status = call i32 @"{name}"(ptr %result, ptr %exception, {arguments})
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %done, label %raised
raised:
  call void @{RAISED}()
  unreachable
done:
  {end}
}}
"""


def numba_type(kind: Kind, lanes: int | None) -> Any:
    """Return the numba type of a kind."""
    if isinstance(kind, Number):
        return types.int64 if kind.format == "q" else types.float64
    if isinstance(kind, Array):
        return types.Array(_ELEMENTS[kind.dtype], kind.dimensions, "C", readonly=kind.only_read)
    if isinstance(kind, LaneCount):
        return types.UniTuple(types.int64, lanes or 0)
    return types.BaseTuple.from_types([numba_type(field, lanes) for field in kind.fields], kind.make)


def _of_words(function: Any, kinds: Sequence[Kind], lanes: int | None) -> Callable[[Any], Any]:
    """Return a function of a pointer to words that calls ``function`` with the arguments that the words encode."""
    given = types.Tuple([numba_type(kind, lanes) for kind in kinds])

    def definition(typingctx: Any, words: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            reader = _WordReader(context, builder, arguments[0])
            values = [reader.value(kind, of) for kind, of in zip(kinds, given.types, strict=True)]
            return context.make_tuple(builder, given, values)

        return given(_WORDS), emit

    read: Any = intrinsic(definition)  # numba supplies the first argument itself

    def of_words(words: Any) -> Any:
        return function(*read(words))

    return of_words


class _WordReader:
    """Emits the values that words encode, in sequence."""

    def __init__(self, context: Any, builder: Any, words: Any) -> None:
        self._context, self._builder, self._words, self._next = context, builder, words, 0

    def value(self, kind: Kind, of: Any) -> Any:
        context, builder = self._context, self._builder
        if isinstance(kind, Number):
            word = self._word()
            return word if kind.format == "q" else builder.bitcast(word, ir.DoubleType())
        if isinstance(kind, Array):
            data, *lengths = [self._word() for _ in kind.format]
            pointer = builder.inttoptr(data, ir.IntType(8).as_pointer())
            return instructions.array_over(context, builder, of, pointer, lengths)
        if isinstance(kind, LaneCount):
            return context.make_tuple(builder, of, [ir.Constant(ir.IntType(64), 0)] * of.count)
        assert isinstance(kind, Group)
        if is_record(of) and not place_of_lanes(kind.fields):  # its words are its fields
            start = builder.gep(self._words, [cgutils.intp_t(self._next)])
            self._next += len(kind.format)
            return builder.bitcast(start, context.get_value_type(of))
        return context.make_tuple(builder, of, [self.value(field, t) for field, t in zip(kind.fields, of.types)])

    def _word(self) -> Any:
        place = self._builder.gep(self._words, [cgutils.intp_t(self._next)])
        self._next += 1
        return self._builder.load(place)
