"""Emit object files and bitcode from LLVM modules, after one optimisation of the whole code for each target."""

from __future__ import annotations

import re
from typing import Any

import llvmlite.binding as llvm

from kane.deferred import NamedTuple
from kane.engine.code import C_FUNCTIONS, ENTRY_PREFIX, OPTIMIZATION_LEVEL, PORTABLE, with_symbols
from kane.errors import CompileError
from kane.machine.processor import platform_targets, target_machine

# External function that code calls in place of raising an exception. Code that still calls it after optimisation is
# rejected.
RAISED = "kane_raised"


class Modules(NamedTuple):
    """Bitcode of the entries of a group and of the functions that they call.

    Attributes:
        linear: functions of ``kane.engine.linear``. Their loops run over many rows, and are vectorized and unrolled.
        others: entries and all other functions. Their loops are short.
    """

    linear: bytes
    others: bytes


def code_of(modules: Modules, target: str) -> bytes:
    """Return the code of a group for a target, an object file, or bitcode for PORTABLE, after its symbols.

    Loops of linear algebra are vectorized for known processors only, not in bitcode.

    Raises:
        CompileError: the code can raise an exception, or calls a function that C_FUNCTIONS does not list.
    """
    portable = target == PORTABLE
    place = ("", "") if portable else (platform_targets()[target], "")
    machine = target_machine(*place, optimization=OPTIMIZATION_LEVEL)
    context = llvm.create_context()
    linear, module = (llvm.parse_bitcode(bitcode, context) for bitcode in modules)
    _optimize(linear, machine, vectorized=not portable, unrolled=True)
    module.link_in(linear)
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and not value.name.startswith(ENTRY_PREFIX):
            value.linkage = "internal"
    _optimize(module, machine, vectorized=False, unrolled=False)
    _require_callable(module)
    symbols = [f.name for f in module.functions if f.name.startswith(ENTRY_PREFIX)]
    return with_symbols(symbols, bytes(module.as_bitcode() if portable else machine.emit_object(module)))


def _optimize(module: Any, machine: Any, *, vectorized: bool, unrolled: bool) -> None:
    tuning = llvm.create_pipeline_tuning_options(speed_level=OPTIMIZATION_LEVEL)
    tuning.loop_vectorization, tuning.slp_vectorization, tuning.loop_unrolling = vectorized, False, unrolled
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def _require_callable(module: Any) -> None:
    """Raise CompileError if code calls a function that does not exist when it runs."""
    made = [f for f in module.functions if not f.is_declaration]
    for called in sorted({f.name for f in module.functions} - {f.name for f in made} - {*C_FUNCTIONS}):
        callers = ", ".join(path_of(f.name) for f in made if f"@{called}(" in str(f))
        if called == RAISED:
            raise CompileError(
                f"{callers} can raise an exception, which native code must not do: change the function that raises"
            )
        if not called.startswith("llvm."):
            raise CompileError(f"{callers} calls {called}, which kane.engine.code does not offer")


def path_of(name: str) -> str:
    """Return the module and the name of a function, from its name in LLVM, such as _ZN4kane6engine4step..."""
    path, rest = [], name.removeprefix("_ZN")
    while found := re.match(r"\d+", rest):
        end = found.end() + int(found[0])
        path.append(rest[found.end() : end])
        rest = rest[end:]
    return ".".join(path) or name
