"""Multibody dynamics by Kane's method: describe a mechanism, read its equations, run them as native code.

The exported names are listed in ``__init__.pyi``. Each name is imported at its first use, because importing all of them
takes a third of a second.
"""

import gc
import os
import re
import time
from importlib import import_module
from typing import Any

__version__ = "1.0.0.dev0"
_STARTED = time.time()  # read by kane.machine.sources: files that change later are not the code in memory


def _homes() -> dict[str, str]:
    """Return the module of each exported name; ``import *`` means all exports of that package's ``__init__.py``."""
    here, homes = os.path.dirname(__file__), {}
    with open(os.path.join(here, "__init__.pyi"), encoding="utf-8") as stub:
        found = re.findall(r"^from (kane\S*) import (\*|\w+)", stub.read(), re.MULTILINE)
    for module, name in found:
        names = [name]
        if name == "*":
            with open(os.path.join(here, *module.split(".")[1:], "__init__.py"), encoding="utf-8") as family:
                names = re.findall(r"^ +from \S+ import (\w+) as \w+$", family.read(), re.MULTILINE)
        homes.update(dict.fromkeys(names, module))
    return homes


_HOMES = _homes()
__all__ = sorted([*_HOMES, "__version__"])


def _imported(module: str) -> Any:
    """Import a module; without the cycle collector, which would visit all objects again and again and free none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        if was_on:
            gc.enable()


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kane.calls import guided, missing_name

    home = _HOMES.get(name, __name__)
    if home != __name__:
        found = guided(getattr(_imported(home), name))
    else:
        try:
            found = _imported(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
            raise missing_name(f"module {__name__!r}", name, __all__, "kane.") from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
