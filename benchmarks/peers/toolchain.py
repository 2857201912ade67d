"""Compilers, and a cache of what they made, keyed by the content of everything that went in."""

import fcntl
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import resource
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".bench"
NATIVE = Path(__file__).parent / "native"


class PeerMissingError(Exception):
    """A peer cannot be measured here; the message says why and how to get it."""


def package_folder(module: str, distribution: str) -> Path:
    """The folder of an installed package, without importing it.

    Raises:
        PeerMissingError: the package is not installed.
    """
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise PeerMissingError(f"{distribution} is not installed (pip install '.[bench]')")
    return Path(spec.origin).parent


@functools.cache
def compiler(name: str) -> str:
    """Path of a compiler.

    Raises:
        PeerMissingError: there is none.
    """
    path = shutil.which(name)
    if path is None:
        raise PeerMissingError(f"{name} is not on the path (Debian: apt-get install g++)")
    return path


@functools.cache
def _compiler_identity(name: str) -> str:
    version = subprocess.run([compiler(name), "--version"], capture_output=True, text=True, check=True).stdout
    flags = subprocess.run(
        [compiler(name), "-march=native", "-Q", "--help=target"], capture_output=True, text=True, check=False
    ).stdout
    return version + flags


def _key(name: str, sources: Sequence[Path], command: Sequence[str], packages: Sequence[str]) -> str:
    digest = hashlib.sha256(_compiler_identity(name).encode())
    for source in sources:
        digest.update(source.read_bytes())
    versions = [f"{package}=={importlib.metadata.version(package)}" for package in packages]
    digest.update("\0".join([*command, *versions]).encode())
    return digest.hexdigest()[:20]


def built(name: str, sources: Sequence[Path], flags: Sequence[str], *, stem: str, packages: Sequence[str] = ()) -> Path:
    """Compiles the first source, unless the same content was compiled before; safe when several processes ask at once.

    Args:
        name: compiler, "gcc", "g++" or "clang".
        sources: the file to compile, then those it includes (they enter the key).
        flags: everything else on the command line.
        stem: readable beginning of the file's name.
        packages: distributions whose versions enter the key.

    Returns:
        Path of the program or library.

    Raises:
        PeerMissingError: no compiler, or it failed (with the end of its message).
    """
    target = CACHE / f"{stem}-{_key(name, sources, flags, packages)}"
    CACHE.mkdir(exist_ok=True)
    with open(target.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            compile_file(name, sources[0], flags, target)
    return target


def compile_file(name: str, source: Path, flags: Sequence[str], target: Path) -> float:
    """Compiles one file without asking the cache.

    Returns:
        CPU time of the compiler and its children [s].

    Raises:
        PeerMissingError: no compiler, or it failed.
    """
    unfinished = target.with_suffix(f".{os.getpid()}.part")
    before = _children_seconds()
    command = [compiler(name), str(source), *flags, "-o", str(unfinished)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise PeerMissingError(f"{name} failed on {source.name}: {result.stderr[-400:]}")
    unfinished.replace(target)  # in one step, so that no other process sees half a file
    return _children_seconds() - before


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
