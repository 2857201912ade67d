"""Find, compile and link the machine code of native loops and programs.

``kane.engine.compile`` stores the code of each group of entries in one file of the folder ``compiled``. A wheel
contains object files for common processors, and LLVM bitcode for all others. An installation from source contains no
code. Each file begins with a digest of its sources. Code that is missing or older than its sources is compiled at its
first use.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from kane.errors import CompileError, pip_install
from kane.files.write_file import write_whole
from kane.machine.linker import link
from kane.machine.object_cache import environment_cache
from kane.machine.processor import own_target, target_machine
from kane.progress import PROGRESS_LOGGER, stage

SOURCES = Path(__file__).parent
FOLDER = SOURCES / "compiled"
# Rooms whose entries share most of their functions, and are therefore one group. Elsewhere each module is a group.
ROOMS_COMPILED_TOGETHER = ("hybrid",)
# Target of the bitcode, which serves all processors.
PORTABLE = "portable"
# Prefix of the symbol of each entry, and the functions of the C library that the code may call.
ENTRY_PREFIX = "kane."
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
_IMPORTS = re.compile(rf"^from {_PACKAGE}\.(\S+) import (\w*)".encode(), re.MULTILINE)


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
    def symbol(self) -> str:
        """Return the name of the function in the code of the group."""
        return ENTRY_PREFIX + self.title

    @property
    def group(self) -> str:
        """Return the module, or the room, whose entries are compiled together."""
        module = self.module.removeprefix(_PACKAGE + ".")
        room = module.partition(".")[0]
        return room if room in ROOMS_COMPILED_TOGETHER else module


def address_of(entry: Entry) -> tuple[Any, int]:
    """Link the group of an entry into this process; return the owner of the code and the address of the entry.

    Raises:
        CompileError: the code is missing and numba is not installed, or LLVM rejects the code.
    """
    linked, addresses = linked_group(entry.group)
    return linked, addresses[entry.symbol]


@functools.cache
def linked_group(group: str) -> tuple[Any, dict[str, int]]:
    """Link the code of a group into this process; return its owner and the addresses of its entries by symbol."""
    machine = target_machine(optimization=OPTIMIZATION_LEVEL)
    symbols, _, code = _object_of(group, machine).partition(b"\n")
    names = symbols.decode().split()
    linked, addresses = link(group, code, names, C_FUNCTIONS, machine)
    return linked, dict(zip(names, addresses, strict=True))


def with_symbols(symbols: Iterable[str], code: bytes) -> bytes:
    """Return code after a line with the symbols of its entries."""
    return " ".join(symbols).encode() + b"\n" + code


def _object_of(group: str, machine: Any) -> bytes:
    """Return the object file of a group for this processor, after its symbols."""
    target = own_target()
    code = kept(FOLDER, group, target) if target else None
    if code is not None:
        return code
    cache = environment_cache()
    origin = {
        "group": group,
        "sources": sources_digest(group),
        "target": target or [llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()],
        "triple": machine.triple,
        "llvm": [*llvm.llvm_version_info, llvmlite.__version__],
    }
    make = functools.partial(_made, group, target, machine)
    return make() if cache is None else cache.get(origin, make)


def _made(group: str, target: str | None, machine: Any) -> bytes:
    bitcode = kept(FOLDER, group, PORTABLE)
    if bitcode is None:
        code = _compiled(group, target or PORTABLE)
        return code if target else _emitted(group, code, machine)
    _tell(f"compiling native code, {group}, of which the installation has none for this processor")
    return _emitted(group, bitcode, machine)


def _emitted(group: str, code: bytes, machine: Any) -> bytes:
    """Return the object file that LLVM emits from bitcode for this processor; symbols precede both."""
    symbols, _, bitcode = code.partition(b"\n")
    try:
        module = llvm.parse_bitcode(bitcode, llvm.create_context())
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        return symbols + b"\n" + bytes(machine.emit_object(module))
    except RuntimeError as error:
        raise CompileError(
            f"llvmlite {llvmlite.__version__} cannot read the native code of {group} in {FOLDER}: {error}; "
            "upgrade llvmlite, or install kane again"
        ) from error


def _compiled(group: str, target: str) -> bytes:
    """Compile a group in a new process and return its code.

    The code is stored in the folder of the sources if the folder is writeable.
    """
    if find_spec("numba") is None:
        raise CompileError(
            f"the native code of {group} is missing from {FOLDER}, or older than its source; install kane again, "
            f"or numba, which then compiles it: {pip_install('compile')}"
        )
    import tempfile  # imported here because the import takes milliseconds and is rarely needed

    _tell(f"compiling native code for {group}, once per installation (up to some minutes)")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as elsewhere:
        folder = FOLDER if os.access(FOLDER.parent, os.W_OK) else Path(elsewhere)
        with stage("compiling native code, once per installation") as bar:
            for line in compile_apart(folder, "--missing", group, "--targets", target):
                bar.name(line)
        code = kept(folder, group, target)
    if code is None:
        raise CompileError(f"the sources of {group} changed while it was compiled; start Python anew")
    _tell(f"compiled native code for {group} in {time.monotonic() - began:.0f} s")
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


def keep(folder: Path, group: str, target: str, code: bytes) -> None:
    """Store the code of a group for a target: a line with its digests, then the code with its symbols."""
    file = folder / target / group
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, lambda draft: draft.write_bytes(_head(group, target, code) + code))


def kept(folder: Path, group: str, target: str) -> bytes | None:
    """Return the stored code of a group for a target; None if it is missing, damaged or older than its sources."""
    try:
        head, newline, code = (folder / target / group).read_bytes().partition(b"\n")
    except OSError:
        return None
    return code if head + newline == _head(group, target, code) else None


def _head(group: str, target: str, code: bytes) -> bytes:
    # The line is compared as bytes, so that no content of a damaged file is parsed.
    made_of = {"group": group, "target": target, "sources": sources_digest(group)}
    return json.dumps({**made_of, "sha256": hashlib.sha256(code).hexdigest()}).encode() + b"\n"


@functools.cache
def sources_digest(group: str) -> str:
    """Return a digest of a group's modules, of the native modules that they import, and of the files that compile."""
    room = group.replace(".", "/")
    contents = {name: _content(name) for name in (*_modules("compile"), "kinds.py")}
    left = _modules(room) or [f"{room}.py"]
    while left:
        name = left.pop()
        if name not in contents:
            content = contents[name] = _content(name)
            if name != "call.py":  # its imports define calls from Python, not the code
                for module, names in re.findall(_IMPORTS, content):
                    path = module.decode().replace(".", "/")
                    left += [f"{path}.py", f"{path}/{names.decode()}.py"]
    digest = hashlib.sha256()
    for name in sorted(contents):
        if contents[name]:
            digest.update(f"{name} {len(contents[name])}\n".encode())
            digest.update(contents[name])
    return digest.hexdigest()


def _modules(room: str) -> list[str]:
    """Return the modules in a folder of the sources; empty if the folder is missing."""
    folder = os.path.join(SOURCES, room)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [f"{room}/{name}" for name in names if name.endswith(".py") and not name.startswith("_")]


def _content(name: str) -> bytes:
    """Return the content of a source; empty if the file is missing."""
    try:
        with open(os.path.join(SOURCES, name), "rb") as file:
            return file.read()
    except OSError:
        return b""


def _tell(message: str) -> None:
    """Log a message that explains a delay; without handlers, ``logging`` writes it to standard error."""
    PROGRESS_LOGGER.warning("kane: %s", message)
