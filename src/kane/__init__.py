"""Multibody dynamics by Kane's method: describe a mechanism, read its equations, run them as native code.

The vocabulary is listed in ``__init__.pyi``. What a name stands for is imported when it is first asked for: most
programs need half of it, and all of it takes a third of a second.
"""

import os
import re
from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def _homes() -> dict[str, str]:
    """The module of each name."""
    with open(os.path.join(os.path.dirname(__file__), "__init__.pyi"), encoding="utf-8") as stub:
        found = re.findall(r"^from (kane\S*) import (?:\(([^)]*)\)|(.*))$", stub.read(), re.MULTILINE)
    return {name: module for module, many, few in found for name in re.findall(r"\w+", many or few)}


_HOMES = _homes()
__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kane.calls import guided, missing_name

    home = _HOMES.get(name, __name__)
    if home != __name__:
        found = guided(getattr(import_module(home), name))
    else:
        try:
            found = import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
            raise missing_name(f"module {__name__!r}", name, __all__, "kane.") from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
