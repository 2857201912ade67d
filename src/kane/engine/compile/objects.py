"""Object files and bitcode of a module of LLVM."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm

from kane.engine.code import C_FUNCTIONS, ENTRY, OPTIMIZATION_LEVEL, PORTABLE
from kane.errors import CompileError
from kane.machine.processor import platform_targets, target_machine

RAISED = "kane_raised"


def code_of(title: str, text: str, targets: Iterable[str]) -> dict[str, bytes]:
    """The code of a module for targets: object files, or the bitcode for PORTABLE.

    Vectors of a width are formed for the processors that have them only, so that bitcode has none.

    Raises:
        CompileError: it can raise an exception, or calls what is not of the C library.
    """
    return {target: _code(title, text, target) for target in targets}


def _code(title: str, text: str, target: str) -> bytes:
    portable = target == PORTABLE
    place = ("", "") if portable else (platform_targets()[target], "")
    machine = target_machine(*place, optimization=OPTIMIZATION_LEVEL)
    module = llvm.parse_assembly(text, llvm.create_context())
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != ENTRY:
            value.linkage = "internal"
    _optimize(module, machine, vectorized=not portable)
    _require_callable(title, {f.name for f in module.functions if f.is_declaration})
    return bytes(module.as_bitcode() if portable else machine.emit_object(module))


def _optimize(module: Any, machine: Any, *, vectorized: bool) -> None:
    tuning = llvm.create_pipeline_tuning_options(speed_level=OPTIMIZATION_LEVEL)
    tuning.loop_vectorization, tuning.slp_vectorization = vectorized, False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def _require_callable(title: str, called: set[str]) -> None:
    """Refuse code that would call what is not there when it runs."""
    if RAISED in called:
        raise CompileError(f"{title} can raise an exception, which native code cannot: mend what does")
    missing = sorted(name for name in called if not name.startswith("llvm.") and name not in C_FUNCTIONS)
    if missing:
        raise CompileError(f"{title} calls {', '.join(missing)}, which kane.engine.code does not offer")
