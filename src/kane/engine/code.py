"""Find, compile and link the machine code of native loops and programs.

``kane.engine.compile`` stores the code in the folder of the sources. A wheel contains object files for common
processors, and LLVM bitcode for all others. An installation from source contains no code. Each file begins with a
digest of its sources. Code that is missing or older than its sources is compiled at its first use.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from kane.errors import CompileError
from kane.files.write_file import write_whole
from kane.machine.linker import link
from kane.machine.object_cache import environment_cache
from kane.machine.processor import own_target, target_machine
from kane.progress import stage

FOLDER = Path(__file__).parent / "compiled"
# Target of the bitcode, which serves all processors.
PORTABLE = "portable"
# Symbol of the code of each loop and program, and the functions of the C library that the code may call.
ENTRY_SYMBOL = "kane_entry"
C_FUNCTIONS = ("atan2", "cos", "exp", "fmod", "log", "pow", "sin", "sqrt", "tan")
OPTIMIZATION_LEVEL = 2
# Settings with which numba emits code for no particular processor; LLVM vectorizes it for each target afterwards.
NUMBA_SETTINGS = {
    "NUMBA_OPT": "2",
    "NUMBA_LOOP_VECTORIZE": "0",
    "NUMBA_SLP_VECTORIZE": "0",
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_DISABLE_JIT": "0",
}
_PACKAGE = __name__.rpartition(".")[0]


@dataclass(frozen=True)
class Entry:
    """Loop or program that is compiled.

    Attributes:
        module: module that defines it.
        name: name of the function.
        lanes: number of lanes of a loop in lanes; else None.
    """

    module: str
    name: str
    lanes: int | None = None

    @property
    def title(self) -> str:
        """Return the name of the code, unique in the package."""
        title = f"{self.module.removeprefix(_PACKAGE + '.')}.{self.name}"
        return title if self.lanes is None else f"{title}-{self.lanes}"

    @property
    def group(self) -> str:
        """Return the module, whose entries share functions and are compiled in one process."""
        return self.module.removeprefix(_PACKAGE + ".")


def address_of(entry: Entry) -> tuple[Any, int]:
    """Link the code of an entry into this process; return its owner and its address.

    Raises:
        CompileError: the code is missing and numba is not installed, or LLVM rejects the code.
    """
    machine = target_machine(optimization=OPTIMIZATION_LEVEL)
    linked, (address,) = link(entry.title, _object_of(entry, machine), [ENTRY_SYMBOL], C_FUNCTIONS, machine)
    return linked, address


def _object_of(entry: Entry, machine: Any) -> bytes:
    """Return the object file of an entry for this processor."""
    target = own_target()
    code = kept(FOLDER, entry, target) if target else None
    if code is not None:
        return code
    cache = environment_cache()
    origin = {
        "entry": entry.title,
        "sources": sources_digest(entry.module),
        "target": target or [llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()],
        "triple": machine.triple,
        "llvm": [*llvm.llvm_version_info, llvmlite.__version__],
    }
    make = functools.partial(_made, entry, target, machine)
    return make() if cache is None else cache.get(origin, make)


def _made(entry: Entry, target: str | None, machine: Any) -> bytes:
    bitcode = kept(FOLDER, entry, PORTABLE)
    if bitcode is None:
        code = _compiled(entry, target or PORTABLE)
        return code if target else _emitted(entry, code, machine)
    _tell(f"compiling native code, {entry.title}, of which the installation has none for this processor")
    return _emitted(entry, bitcode, machine)


def _emitted(entry: Entry, bitcode: bytes, machine: Any) -> bytes:
    """Return the object file that LLVM emits from bitcode for this processor."""
    try:
        module = llvm.parse_bitcode(bitcode, llvm.create_context())
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        return bytes(machine.emit_object(module))
    except RuntimeError as error:
        raise CompileError(
            f"llvmlite {llvmlite.__version__} cannot read the native code of {entry.title} in {FOLDER}: {error}; "
            "upgrade llvmlite, or install kane again"
        ) from error


def _compiled(entry: Entry, target: str) -> bytes:
    """Compile an entry, together with its group, in a new process; return the code of the entry.

    The code is stored in the folder of the sources if the folder is writeable.
    """
    if find_spec("numba") is None:
        raise CompileError(
            f"the native code of {entry.title} is missing from {FOLDER}, or older than its source; install kane again, "
            "or numba (pip install numba), which then compiles it"
        )
    import tempfile  # imported here because the import takes milliseconds and is rarely needed

    _tell(f"compiling native code for {entry.group}, once per installation (up to some minutes)")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as elsewhere:
        folder = FOLDER if os.access(FOLDER.parent, os.W_OK) else Path(elsewhere)
        with stage("compiling native code, once per installation") as bar:
            for line in compile_apart(folder, "--with", entry.title, "--targets", target):
                bar.name(line)
        code = kept(folder, entry, target)
    if code is None:
        raise CompileError(f"the sources of {entry.title} changed while it was compiled; start Python anew")
    _tell(f"compiled native code for {entry.group} in {time.monotonic() - began:.0f} s")
    return code


def compile_apart(folder: Path, *options: str) -> Iterator[str]:
    """Compile entries in a new process with NUMBA_SETTINGS; yield the lines that the process prints.

    Args:
        folder: folder for the code.
        options: options of the command ``python -m kane.engine.compile FOLDER``.

    Raises:
        CompileError: the process failed.
    """
    import subprocess

    path = os.pathsep.join(name or os.getcwd() for name in sys.path)
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command, lines = [sys.executable, "-m", f"{_PACKAGE}.compile", str(folder), *options], []
    with subprocess.Popen(command, env={**os.environ, **NUMBA_SETTINGS, "PYTHONPATH": path}, **pipes) as process:
        for line in process.stdout or ():
            lines.append(line.rstrip())
            yield lines[-1]
    if process.returncode:
        raise CompileError(f"native code could not be compiled: {' '.join(lines[-3:]) or process.returncode}")


def keep(folder: Path, entry: Entry, target: str, code: bytes) -> None:
    """Store the code of an entry for a target: a line with its digests, then the code."""
    file = _file(folder, entry, target)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, lambda draft: draft.write_bytes(_head(entry, target, code) + code))


def kept(folder: Path, entry: Entry, target: str) -> bytes | None:
    """Return the stored code of an entry for a target; None if it is missing, damaged or older than its sources."""
    try:
        head, newline, code = _file(folder, entry, target).read_bytes().partition(b"\n")
    except OSError:
        return None
    return code if head + newline == _head(entry, target, code) else None


def _file(folder: Path, entry: Entry, target: str) -> Path:
    return folder / target / entry.title


def _head(entry: Entry, target: str, code: bytes) -> bytes:
    # The line is compared as bytes, so that no content of a damaged file is parsed.
    made_of = {"entry": entry.title, "target": target, "sources": sources_digest(entry.module)}
    return json.dumps({**made_of, "sha256": hashlib.sha256(code).hexdigest()}).encode() + b"\n"


@functools.cache
def sources_digest(module: str) -> str:
    """Return a digest of a module, of the native modules that it imports, and of the files that compile them."""
    here = Path(__file__).parent
    files, left = {path.relative_to(here).as_posix(): path for path in (here / "compile").glob("[!_]*.py")}, [module]
    files["kinds.py"] = here / "kinds.py"
    while left:
        name = left.pop()
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None and name not in files:
            files[name] = Path(file)
            if name != f"{_PACKAGE}.call":  # its imports define calls from Python, not the code
                left += re.findall(rf"^from ({_PACKAGE}\.\S+) import", files[name].read_text("utf-8"), re.M)
    digest = hashlib.sha256()
    for name, path in sorted(files.items()):
        text = path.read_bytes()
        digest.update(f"{name} {len(text)}\n".encode())
        digest.update(text)
    return digest.hexdigest()


def _tell(message: str) -> None:
    """Write a message to standard error that explains the delay."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # standard error is closed or missing
        sys.stderr.write(f"kane: {message}\n")
        sys.stderr.flush()
