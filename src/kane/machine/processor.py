"""The processor at hand, as LLVM names it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from kane.errors import CompileError

# Constants are addressed from the instruction that reads them: the large model, which LLVM takes for code in a process
# unless told, needs an instruction and a register more for each. JITLink keeps the code and constants of an object
# together.
RELOCATION, CODE_MODEL = "pic", "small"
# What the levels of the x86-64 psABI ask of a processor beyond SSE4.2, the highest level first.
LEVELS = {
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
}
# How many doubles their registers hold.
DOUBLES = {"x86-64-v4": 8, "x86-64-v3": 4}
X86 = ("x86_64", "AMD64")


@cache
def _features(source: Callable[[], Any]) -> Any:
    return source()


@cache
def _feature_text(source: Callable[[], Any]) -> str:
    return str(source().flatten())


def features() -> Any:
    """Return the features of the processor at hand by name; LLVM is asked once."""
    return _features(llvm.get_host_cpu_features)


def feature_text() -> str:
    """Return the features of the processor at hand as LLVM's target takes them."""
    return _feature_text(llvm.get_host_cpu_features)


def target_machine(cpu: str | None = None, features: str | None = None, *, optimization: int) -> Any:
    """LLVM's target: the processor at hand, or one by its name.

    Raises:
        CompileError: LLVM does not know it.
    """
    try:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name() if cpu is None else cpu,
            features=feature_text() if features is None else features,
            opt=optimization,
            reloc=RELOCATION,
            codemodel=CODE_MODEL,
        )
    except RuntimeError as error:
        raise CompileError(f"LLVM does not know this machine: {error}; use another target of kane.build") from error


def platform_targets() -> dict[str, str]:
    """The processors that code is made for ahead, on machines of this kind: a name of each and LLVM's name for it."""
    if platform.machine() in X86:
        return {f"{sys.platform}-{level}": level for level in LEVELS}
    return {f"{sys.platform}-{platform.machine()}": "generic"}


def own_target() -> str | None:
    """Which of ``platform_targets`` this processor is; None where it is older than all of them."""
    if platform.machine() not in X86:
        (target,) = platform_targets()
        return target
    known, found = features(), None
    wanted: list[str] = []
    for level, names in reversed(LEVELS.items()):
        wanted += names
        if all(known.get(name, False) for name in wanted):
            found = f"{sys.platform}-{level}"
    return found
