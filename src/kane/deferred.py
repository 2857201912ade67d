"""Packages that import the modules of their names at the first use of each name."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any


def exporting(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package, which import each exported name at its first use.

    The export lines, ``from module import name as name``, follow ``if TYPE_CHECKING`` in the ``__init__.py``.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807  # becomes that of the package
        home = _homes(package).get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(home), name)
        setattr(sys.modules[package], name, found)
        return found

    return __getattr__, lambda: list(_homes(package))


@cache
def _homes(package: str) -> dict[str, str]:
    """Return the module of each name that a package exports."""
    with open(str(sys.modules[package].__file__), encoding="utf-8") as file:
        lines = re.findall(r"^    from (\S+) import (\w+) as \w+$", file.read(), re.MULTILINE)
    return {name: module for module, name in lines}


def exports(package: ModuleType, *, loaded: bool = False) -> list[Any]:
    """Return all that a package exports, or only members of modules that are loaded."""
    homes = _homes(package.__name__)
    return [getattr(package, name) for name, home in homes.items() if not loaded or home in sys.modules]
