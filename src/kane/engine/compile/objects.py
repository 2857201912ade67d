"""Emit object files and bitcode from an LLVM module, after one optimisation of the whole module for each target."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm

from kane.engine.code import C_FUNCTIONS, ENTRY_SYMBOL, OPTIMIZATION_LEVEL, PORTABLE
from kane.errors import CompileError
from kane.machine.processor import platform_targets, target_machine

# External function that code calls in place of raising an exception. Code that still calls it after optimisation is
# rejected.
RAISED = "kane_raised"


def code_of(title: str, text: str, targets: Iterable[str]) -> dict[str, bytes]:
    """Return the code of a module for each target: object files, and bitcode for PORTABLE.

    Loops are vectorized for known processors only, not in bitcode.

    Raises:
        CompileError: the code can raise an exception, or calls a function that C_FUNCTIONS does not list.
    """
    return {target: _code(title, text, target) for target in targets}


def _code(title: str, text: str, target: str) -> bytes:
    portable = target == PORTABLE
    place = ("", "") if portable else (platform_targets()[target], "")
    machine = target_machine(*place, optimization=OPTIMIZATION_LEVEL)
    module = llvm.parse_assembly(text, llvm.create_context())
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != ENTRY_SYMBOL:
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
    """Raise CompileError if code calls a function that does not exist when it runs."""
    if RAISED in called:
        raise CompileError(
            f"{title} can raise an exception, which native code must not do: change the kernel that raises"
        )
    missing = sorted(name for name in called if not name.startswith("llvm.") and name not in C_FUNCTIONS)
    if missing:
        raise CompileError(f"{title} calls {', '.join(missing)}, which kane.engine.code does not offer")
