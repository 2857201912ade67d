"""Functions of numba as parts of the entries that call them: LLVM text alone, no machine code.

numba is made to run functions. It would optimise each function again at every level of calls, together with all
functions that it calls. Here a part holds one function with the functions that are inlined into it, and is optimised
once. An entry links the kernels that it calls, directly or not, and is optimised as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import CPUCallConv
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target

from kane.engine.compile.objects import RAISED


class KernelPart(JITCodeLibrary):
    """A function with the functions inlined into it, and the parts of the kernels that it calls.

    Attributes:
        calls: parts of the kernels that it calls, directly or not.
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
            if isinstance(part, KernelPart):  # numba has made some functions of its own before
                self.calls |= part.calls
            if isinstance(part, KernelPart) and part._is_kernel():
                self.calls[part] = None
            else:
                self._final_module.link_in(part._get_module_for_linking(), preserve=True)
        self._finalized = True

    def add_llvm_module(self, module: Any) -> None:
        """Take in the function itself."""
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
        """An address for numba to note: there is no code, and nobody calls it."""
        self._ensure_finalized()
        return 1


def whole(library: Any) -> str:
    """Return the LLVM text of a function with all kernels that it calls, of a KernelPart or a library of numba."""
    if not isinstance(library, KernelPart):
        return str(library.get_llvm_str())
    for part in (library, *library.calls):
        part._get_module_for_linking()  # which optimises it
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
    """Calls whose status nobody looks at. A function that would raise calls RAISED instead, so that it is refused."""

    def return_user_exc(self, builder: Any, *given: Any, **options: Any) -> None:
        """End where numba would raise an exception."""
        raised = ir.FunctionType(ir.VoidType(), [])
        builder.call(cgutils.get_or_insert_function(builder.module, raised, RAISED), [])
        builder.unreachable()

    def call_function(self, *given: Any, **options: Any) -> Any:
        """The status, which is no error, and the result."""
        status, result = super().call_function(*given, **options)
        return status._replace(is_error=cgutils.false_bit, is_ok=cgutils.true_bit), result


def _hash(kind: Any) -> int:
    """Return the hash of a tuple's type and keep it: numba asks thousands of times, and would hash all fields again."""
    kept = kind.__dict__
    if "_hash" not in kept:
        kept["_hash"] = hash(kind.key)
    return int(kept["_hash"])


def keep_parts(kernels: Iterable[str]) -> None:
    """Let numba make parts from now on; nothing that it compiles can be run in this process.

    Args:
        kernels: names of all kernels, with their modules.
    """
    KernelPart.kernels = frozenset(kernels)
    context = cpu_target.target_context
    made = context.codegen()
    made._library_class = KernelPart
    made.set_env = lambda name, env: None  # where code finds objects of Python: there is no code, and none has any
    type(context).call_conv = property(_Untested)
    tuples: Any = types.BaseTuple
    tuples.__hash__ = _hash
