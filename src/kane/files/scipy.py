"""SciPy, the package of the extra "scipy": splines, convex hulls, optimization and dense eigenvalues."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from kane.errors import ModelError, pip_install


def load_scipy(module: str) -> Any:
    """Import a module of SciPy, such as "optimize", at its first use, which takes up to a second, and return it.

    Raises:
        ModelError: SciPy is not installed.
    """
    try:
        return import_module(f"scipy.{module}")
    except ModuleNotFoundError:
        raise ModelError(f"this needs the package scipy ({module}); {pip_install('scipy')}") from None


def scipy_version() -> str:
    """Return the version of SciPy; an empty text if it is not installed."""
    try:
        return version("scipy")
    except PackageNotFoundError:
        return ""
