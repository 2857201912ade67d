"""The processor of this machine, in terms of LLVM."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from kane.errors import CompileError

# Constants are addressed relative to the instruction that reads them. The large code model, LLVM's default for code in
# a process, needs an extra instruction and register for each. JITLink keeps code and constants of an object together.
RELOCATION, CODE_MODEL = "pic", "small"
# Processor features that each level of the x86-64 psABI requires beyond SSE4.2, highest level first.
LEVELS = {
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
}
# Doubles in a vector register of each level.
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
    """Return the LLVM target machine of this processor, or of a named one.

    Raises:
        CompileError: LLVM does not support it.
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
    """Return the processors for which code is compiled in advance on this platform: name in kane to name in LLVM."""
    if platform.machine() in X86:
        return {f"{sys.platform}-{level}": level for level in LEVELS}
    return {f"{sys.platform}-{platform.machine()}": "generic"}


def own_target() -> str | None:
    """Return the entry of ``platform_targets`` for this processor; None if the processor is older than all of them."""
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
