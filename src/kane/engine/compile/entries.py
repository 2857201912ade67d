"""All loops and programs of the package, and the text that numba makes of one for LLVM."""

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
from kane.engine.call import NativeLoop, NativeProgram
from kane.engine.code import ENTRY, Entry
from kane.engine.compile import instructions
from kane.engine.compile import lane_instructions as vectors
from kane.engine.compile.objects import RAISED
from kane.engine.compile.parts import whole
from kane.engine.kinds import Array, Group, Kind, LaneCount, Number
from kane.engine.memory.loop_arguments import LANE_WIDTHS
from kane.errors import CompileError

INSTRUCTIONS = (instructions, vectors)  # numba knows them once they are imported
# No array is owned here, so that counting references, which numba does by atomic operations at every call that passes
# an array on, keeps nothing alive: without it and with the parts inlined an RK4 step of the UR5 takes 490 ns, with it
# 1,400. Nothing is raised: a division by zero follows IEEE 754.
OPTIONS: Any = {"_nrt": False, "error_model": "numpy"}
_WORDS = types.CPointer(types.int64)
_RESULTS = {int: types.int64, float: types.float64, type(None): types.none}
_ELEMENTS = {np.dtype(np.float64): types.float64, np.dtype(np.int64): types.int64}


def entries() -> dict[str, tuple[Entry, Any]]:
    """Everything that is compiled, by its title, found in the modules of ``kane.engine``; loops in lanes once a width.

    What they are made of is made known to numba.
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
    """The names of all kernels, with their modules."""
    values = (value for module in _modules() for value in vars(module).values())
    return [f"{value.__module__}.{value.__name__}" for value in values if getattr(value, "native_role", "") == "kernel"]


def _modules() -> list[ModuleType]:
    """All modules of native code, imported, as one may decorate what another defines."""
    names = [about.name for about in pkgutil.walk_packages(kane.engine.__path__, "kane.engine.")]
    return [importlib.import_module(name) for name in names if not name.startswith(__package__)]


def _of(value: NativeLoop | NativeProgram) -> list[Entry]:
    in_lanes = isinstance(value, NativeLoop) and value.place_of_lanes
    function = value.function
    return [Entry(function.__module__, function.__name__, n) for n in (LANE_WIDTHS if in_lanes else (None,))]


def text_of(entry: Entry, value: NativeLoop | NativeProgram) -> str:
    """A module of LLVM in which the function ENTRY is this loop, of its words, or this program.

    It calls RAISED where numba would raise an exception.

    Raises:
        CompileError: numba refuses it.
    """
    bare: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **OPTIONS}
    function = njit(**bare)(value.function)
    try:
        if isinstance(value, NativeLoop):
            compiled, pointers = njit(**bare)(_of_words(function, value.kinds, entry.lanes)), [_WORDS]
        else:
            compiled, pointers = function, [instructions.POINTER] * 5
        compiled.compile(tuple(pointers))
    except Exception as error:  # numba raises all kinds, its own and those of Python
        raise CompileError(f"numba refuses {entry.title}: {error}") from error
    (result,) = compiled.overloads.values()
    gives = result.signature.return_type
    if gives != _RESULTS.get(value.result if isinstance(value, NativeLoop) else type(None)):
        raise CompileError(f"{entry.title} returns {gives}, which is not what its annotation says, or no int or float")
    text = whole(result.library)
    declared = "" if f"@{RAISED}(" in text else f"declare void @{RAISED}()\n"
    return text + declared + _call(result.fndesc.llvm_func_name, len(pointers), gives)


def _call(name: str, pointers: int, gives: Any) -> str:
    """ENTRY, by the calling convention of C, around a function of numba's convention."""
    arguments = ", ".join(f"ptr %a{k}" for k in range(pointers))
    number = {types.int64: "i64", types.float64: "double"}.get(gives)
    end = f"%value = load {number}, ptr %result\n  ret {number} %value" if number else "ret void"
    return f"""
define {number or "void"} @{ENTRY}({arguments}) {{
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
    """What numba calls a kind."""
    if isinstance(kind, Number):
        return types.int64 if kind.format == "q" else types.float64
    if isinstance(kind, Array):
        return types.Array(_ELEMENTS[kind.dtype], kind.dimensions, "C", readonly=kind.only_read)
    if isinstance(kind, LaneCount):
        return types.UniTuple(types.int64, lanes or 0)
    return types.BaseTuple.from_types([numba_type(field, lanes) for field in kind.fields], kind.make)


def _of_words(function: Any, kinds: Sequence[Kind], lanes: int | None) -> Callable[[Any], Any]:
    """A function of words that calls one of what they stand for."""
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
    """What emits the values that words stand for, one after the other."""

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
        return context.make_tuple(builder, of, [self.value(field, t) for field, t in zip(kind.fields, of.types)])

    def _word(self) -> Any:
        place = self._builder.gep(self._words, [cgutils.intp_t(self._next)])
        self._next += 1
        return self._builder.load(place)
