"""What numba makes of one function, as a part of the entries that call it: LLVM text alone, no machine code.

numba is made to run functions: it would optimise each twice, with all that it calls, and make machine code of it, once
at every level of calls. Here nothing is run, and what entries are made of is optimised again with them.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target


class _Part(JITCodeLibrary):
    """A function with all that it calls, optimised once, when the first that calls it asks for it."""

    def finalize(self) -> None:
        """Take in what is called."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def add_llvm_module(self, module: Any) -> None:
        """Take in the function itself."""
        self._final_module.link_in(module)

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


def keep_parts() -> None:
    """Let numba make parts from now on; nothing that it compiles can be run in this process."""
    made = cpu_target.target_context.codegen()
    made._library_class = _Part
    made.set_env = lambda name, env: None  # where code finds objects of Python: there is no code, and none has any
