"""Compilation of entries in parts, each of which is optimised once.

An entry is a native loop or program. It is compiled in four stages:

1. numba translates each function to LLVM text, once for each combination of argument types.
2. A part is a kernel, or the entry itself, together with the functions that are inlined into it. Each part is optimised
   once. By itself numba would optimise each function again in all of its callers.
3. An entry links its own part with the parts of the kernels that it calls, directly or indirectly (``whole``).
4. The linked module is optimised once for each target, and becomes an object file or bitcode (``objects``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import RETCODE_OK, CPUCallConv
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target

from kane.engine.compile.objects import RAISED
from kane.engine.compile.records import copy_record, is_record, stack_place, use_records


class KernelPart(JITCodeLibrary):
    """Function with the functions inlined into it, and the parts of the kernels that it calls.

    Attributes:
        calls: parts of the kernels that it calls, directly or indirectly.
        kernels: names of all kernels, with their modules.
    """

    kernels: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.calls: dict[KernelPart, None] = {}

    def finalize(self) -> None:
        """Link the inlined functions and note the kernels."""
        self._raise_if_finalized()
        for part in dict.fromkeys(self._linking_libraries):
            if isinstance(part, KernelPart):  # functions of numba itself are compiled before and are no parts
                self.calls |= part.calls
            if isinstance(part, KernelPart) and part._is_kernel():
                self.calls[part] = None
            else:
                self._final_module.link_in(part._get_module_for_linking(), preserve=True)
        self._finalized = True

    def add_llvm_module(self, module: Any) -> None:
        """Link the module of the function itself."""
        self._final_module.link_in(module)

    def _is_kernel(self) -> bool:
        return any(not f.is_declaration and _path(f.name) in self.kernels for f in self._final_module.functions)

    def _get_module_for_linking(self) -> Any:
        self._ensure_finalized()
        if self._shared_module is None:
            passes, builder = self._codegen._module_pass_manager()
            passes.run(self._final_module, builder)
        return super()._get_module_for_linking()

    def get_pointer_to_function(self, name: str) -> int:
        """Return a placeholder: numba stores an address, but there is no code to call."""
        self._ensure_finalized()
        return 1


def whole(library: Any) -> str:
    """Return the LLVM text of a function with all kernels that it calls."""
    if not isinstance(library, KernelPart):
        return str(library.get_llvm_str())
    for part in (library, *library.calls):
        part._get_module_for_linking()  # optimises the part
    module = library._final_module.clone()
    for part in library.calls:
        module.link_in(part._final_module, preserve=True)
    return str(module)


def _path(name: str) -> str:
    """Return the module and the name of a function, from its name in LLVM, such as _ZN4kane6engine4step..."""
    path, rest = [], name.removeprefix("_ZN")
    while found := re.match(r"\d+", rest):
        end = found.end() + int(found[0])
        path.append(rest[found.end() : end])
        rest = rest[end:]
    return ".".join(path)


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
        if _path(function.name) in KernelPart.kernels:
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
    KernelPart.kernels = frozenset(kernels)
    context = cpu_target.target_context
    made = context.codegen()
    made._library_class = KernelPart
    made.set_env = lambda name, env: None  # native code refers to no Python objects
    type(context).call_conv = property(_Untested)
    use_records()
    tuples: Any = types.BaseTuple
    tuples.__hash__ = _hash
