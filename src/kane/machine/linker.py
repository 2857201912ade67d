"""Object code linked into this process."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from kane.errors import CompileError

# LLVM's default linker for each system: JITLink is incomplete for the object files of Windows.
JIT_LINK = sys.platform != "win32"
# Code with floating-point numbers refers to this symbol on Windows, where no library exports it.
WINDOWS_SYMBOL, _windows_value = "_fltused", ctypes.c_int(1)


@dataclass(frozen=True)
class Linked:
    """Machine code in memory.

    Attributes:
        tracker: LLVM object that owns the memory of the code.
        compiler: LLVM compiler that linked the code; it must outlive the tracker.
    """

    tracker: Any
    compiler: Any

    def close(self) -> None:
        """Free the code."""
        self.tracker.close()
        self.compiler.close()


def link(
    title: str, code: bytes, names: Sequence[str], symbols: Iterable[str], machine: Any
) -> tuple[Linked, list[int]]:
    """Link an object file into this process; return the owner of the code and the addresses of its functions.

    Args:
        title: name of the code in messages.
        code: the object file.
        names: names of the functions whose addresses are returned.
        symbols: functions of the C library or of Python that the code calls.
        machine: LLVM target machine of the code.

    Raises:
        CompileError: LLVM refused the code, or a function of the C library was not found.
    """
    library = llvm.JITLibraryBuilder()
    for symbol in symbols:
        library.import_symbol(symbol, _address(symbol))
    if sys.platform == "win32":
        library.import_symbol(WINDOWS_SYMBOL, ctypes.addressof(_windows_value))
    for name in names:
        library.export_symbol(name)
    try:
        library.add_object_img(code).add_current_process()
        compiler = llvm.create_lljit_compiler(machine, use_jit_link=JIT_LINK)
        tracker = library.link(compiler, "program")
        return Linked(tracker, compiler), [tracker[name] for name in names]
    except RuntimeError as error:
        raise CompileError(f"LLVM could not compile {title!r}: {error}") from error


def _address(symbol: str) -> int:
    """Return the address of a function of the C library; LLVM itself finds only symbols of this process."""
    for name in ("", "m", "msvcrt"):  # the process first, because searching for a library starts other processes
        try:
            library = ctypes.CDLL(_library(name)) if name else ctypes.pythonapi
            address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
        except (AttributeError, OSError, TypeError):
            continue
        if address:
            return address
    raise CompileError(f"the C library of this system has no {symbol!r} that LLVM could call")


def _library(name: str) -> str | None:
    import ctypes.util  # imported here, because it takes milliseconds and is rarely needed

    return ctypes.util.find_library(name)
