"""Digest of the Python sources from which programs are derived and emitted.

The digest stands for the code in memory. It is therefore None if a source changed after this process began to import
kane, or if functions in memory come from another file than their module, as in tests that replace them. Replaced
constants go unnoticed: a test that replaces one builds with ``kane.LLVM(cache=False)``.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from types import FunctionType, ModuleType

import numpy

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Packages whose sources decide object code; a test checks that they import no other package that could.
PACKAGES = ("codegen", "dynamics", "engine", "expression", "formulation", "geometry", "machine", "model")
# Where functions come from that no one has replaced; dataclasses and named tuples compile theirs from strings.
LIBRARIES = (PACKAGE_FOLDER, os.path.dirname(os.__file__), sys.prefix, "<string>", "<frozen ")
# Clocks of file systems lag by less than this [s].
LAG = 2.0


def sources_digest() -> str | None:
    """Return the hash of the sources; None if it does not stand for the code in memory."""
    found = digest_of(PACKAGE_FOLDER, PACKAGES)
    # The times are read after the contents, so that no change goes unnoticed in between.
    return None if not unchanged() or any(map(_is_patched, _loaded())) else found


def unchanged() -> bool:
    """Check that no source has changed since this process began to import kane."""
    return _unchanged(getattr(sys.modules["kane"], "_STARTED", 0.0) - LAG, len(sys.modules))


def kane_version() -> str:
    """Return the version of kane in this process."""
    return str(sys.modules["kane"].__version__)  # packages must not import kane itself


@lru_cache(maxsize=1)
def _unchanged(latest: float, modules: int) -> bool:
    """Check the times of all sources; again only if modules were imported, because other code does not change."""
    try:
        return all(os.stat(path).st_ctime < latest for _, path in _files(PACKAGE_FOLDER, PACKAGES))
    except OSError:
        return False


@cache
def digest_of(root: str, packages: Sequence[str]) -> str | None:
    """Return the hash of names and contents of all Python files of packages in a folder; None if there are none."""
    whole = hashlib.sha256(f"{sys.version} {numpy.__version__}\n".encode())
    found = None
    for name, path in sorted(_files(root, packages)):
        with open(path, "rb") as file:
            found = hashlib.sha256(file.read())
        whole.update(f"{name} {found.hexdigest()}\n".encode())
    return whole.hexdigest() if found else None


def _files(root: str, packages: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield name within the root and path of each source."""
    folders = list(packages)
    while folders:
        folder = folders.pop()
        with os.scandir(os.path.join(root, folder)) as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}"
                if entry.name.endswith(".py"):
                    yield name, entry.path
                elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                    folders.append(name)


def _loaded() -> list[ModuleType]:
    """Return the modules of the packages that are loaded."""
    begins = tuple(f"kane.{package}." for package in PACKAGES)
    return [module for name, module in list(sys.modules.items()) if name.startswith(begins)]


def _is_patched(module: ModuleType) -> bool:
    """Check whether a module, or a class of it, has a function that neither kane nor a library defines."""
    own, found = module.__name__, set()
    for value in list(vars(module).values()):
        if value.__class__ is FunctionType:
            found.add(value.__code__.co_filename)
        elif isinstance(value, type) and value.__module__ == own:
            found |= {x.__code__.co_filename for x in list(vars(value).values()) if x.__class__ is FunctionType}
    return not all(name.startswith(LIBRARIES) for name in found)
