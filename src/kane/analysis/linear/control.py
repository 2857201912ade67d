"""Linear systems as objects of python-control (extra "control")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kane.errors import ModelError, pip_install


def state_space(matrices: Sequence[Any], names: Mapping[str, Sequence[str]]) -> Any:
    """Return ``control.ss`` of A, B, C, D with names of states, inputs and outputs.

    Raises:
        ModelError: python-control is not installed.
    """
    try:
        import control
    except ImportError:
        raise ModelError(f"to_control needs the package control; {pip_install('control')}") from None
    return control.ss(*matrices, **{word: list(given) for word, given in names.items()})
