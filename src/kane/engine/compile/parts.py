"""Compilation of entries in parts, each of which is translated once.

An entry is a native loop or program. A group of entries is compiled in three stages:

1. numba translates each function to LLVM text, once for each combination of argument types. This is a part.
2. The parts of all functions that the entries of a group call, directly or indirectly, are linked (``linked``).
3. They are optimised once for each target, and become an object file or bitcode (``objects``).

By itself numba would optimise each function again in all of its callers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import RETCODE_OK, CPUCallConv
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target

from kane.engine.compile.objects import RAISED, Modules, path_of
from kane.engine.compile.records import copy_record, is_record, stack_place, use_records


class TranslatedFunction(JITCodeLibrary):
    """LLVM module of one function, which is not optimised.

    Attributes:
        calls: parts of the functions that it calls, directly or indirectly.
        kernels: names of all kernels, with their modules.
    """

    kernels: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.calls: dict[TranslatedFunction, None] = {}

    def finalize(self) -> None:
        """Note the parts of the functions that it calls."""
        self._raise_if_finalized()
        for part in dict.fromkeys(self._linking_libraries):
            if isinstance(part, TranslatedFunction):
                self.calls |= {part: None, **part.calls}
            else:  # a function of numba itself, compiled before
                self._final_module.link_in(part._get_module_for_linking(), preserve=True)
        self._finalized = True

    def add_llvm_module(self, module: Any) -> None:
        """Link the module of the function itself."""
        self._final_module.link_in(module)

    def get_pointer_to_function(self, name: str) -> int:
        """Return a placeholder: numba stores an address, but there is no code to call."""
        self._ensure_finalized()
        return 1


def linked(libraries: Iterable[Any], text: str) -> Modules:
    """Return the modules of these functions, of all functions that they call, and of more LLVM text."""
    linear, others = llvm.parse_assembly(""), llvm.parse_assembly(text)
    parts: dict[Any, None] = {}
    for library in libraries:
        parts |= {library: None, **getattr(library, "calls", {})}
    for part in parts:
        found = part._final_module if isinstance(part, TranslatedFunction) else llvm.parse_assembly(part.get_llvm_str())
        (linear if _is_linear(found) else others).link_in(found, preserve=True)
    return Modules(bytes(linear.as_bitcode()), bytes(others.as_bitcode()))


def _is_linear(module: Any) -> bool:
    """Check whether a module defines a function of ``kane.engine.linear``, which calls no other rooms."""
    return any(not f.is_declaration and path_of(f.name).startswith("kane.engine.linear.") for f in module.functions)


class _Untested(CPUCallConv):
    """Calling convention without checks of the status; functions call RAISED instead of raising exceptions.

    A function that returns a record writes it to a place that its caller gives.
    """

    def return_user_exc(self, builder: Any, *given: Any, **options: Any) -> None:
        """Emit a call of RAISED where numba would raise an exception."""
        raised = ir.FunctionType(ir.VoidType(), [])
        builder.call(cgutils.get_or_insert_function(builder.module, raised, RAISED), [])
        builder.unreachable()

    def call_function(self, builder: Any, function: Any, kind: Any, *given: Any, attrs: Any = None) -> Any:
        """Emit a call; return a status without error, and the result."""
        kinds, values = given
        place = stack_place(builder, self.get_return_type(kind).pointee)
        status = stack_place(builder, function.args[1].type.pointee)
        arguments = self._get_arg_packer(kinds).as_arguments(builder, values)
        code = builder.call(function, [place, status, *arguments])
        result = place if is_record(kind) else self.context.get_returned_value(builder, kind, builder.load(place))
        fine = self._get_return_status(builder, code, builder.load(status))
        return fine._replace(is_error=cgutils.false_bit, is_ok=cgutils.true_bit), result

    def return_value(self, builder: Any, value: Any) -> None:
        """Emit the end of a function."""
        place = self._get_return_argument(builder.function)
        if value.type == place.type:  # a record
            copy_record(builder, value, place)
            self._return_errcode_raw(builder, RETCODE_OK)
        else:
            super().return_value(builder, value)

    def decorate_function(self, function: Any, names: Any, kinds: Any, noalias: bool = False) -> None:
        """Promise LLVM that no one writes to the records of a kernel while it runs."""
        super().decorate_function(function, names, kinds, noalias)
        if path_of(function.name) in TranslatedFunction.kernels:
            for argument in self.get_arguments(function):
                fields = getattr(argument.type, "pointee", None)
                if isinstance(fields, ir.LiteralStructType):
                    argument.add_attribute("captures(none)")
                    argument.add_attribute("noalias")
                    argument.attributes.dereferenceable = self.context.get_abi_sizeof(fields)


def _hash(kind: Any) -> int:
    """Return the hash of a tuple type, which is stored because numba requests it thousands of times."""
    kept = kind.__dict__
    if "_hash" not in kept:
        kept["_hash"] = hash(kind.key)
    return int(kept["_hash"])


def keep_parts(kernels: Iterable[str]) -> None:
    """Make numba compile parts from now on; this process cannot run the functions that it compiles.

    Args:
        kernels: names of all kernels, with their modules.
    """
    TranslatedFunction.kernels = frozenset(kernels)
    context = cpu_target.target_context
    made = context.codegen()
    made._library_class = TranslatedFunction
    made.set_env = lambda name, env: None  # native code refers to no Python objects
    type(context).call_conv = property(_Untested)
    use_records()
    tuples: Any = types.BaseTuple
    tuples.__hash__ = _hash
