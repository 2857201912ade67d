"""Vectors of coordinates, speeds or inputs, from an array or a mapping by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.engine.memory.loop_arguments import Vector
from kane.errors import ModelError
from kane.expression.number_arguments import number, numbers
from kane.model.checks import require_known


def named_vector(values: Any, names: Sequence[str], default: Sequence[float], what: str) -> Vector:
    """Return a new vector with one entry per name.

    Args:
        values: None for the default, an array of all values, or a mapping from some of the names to numbers.
        names: in the order of the vector.
        default: values of the entries that are not given.
        what: the word for an entry in messages: "coordinate", "speed", ...

    Raises:
        ModelError: an unknown name, a wrong shape, or a value that is not a finite number.
    """
    if values is None or isinstance(values, Mapping):
        vector = np.array(default, dtype=float)
        for name, value in (values or {}).items():
            place = index_of_name(name, names, what)
            vector[place] = number(value, f"the {what} {name!r}")
    else:
        vector = _array(values, names, what)
    for name, value in zip(names, vector.tolist(), strict=True):
        if not math.isfinite(value):
            raise ModelError(f"the {what} {name!r} is {value}; give a finite number")
    return vector


def index_of_name(name: Any, names: Sequence[str], what: str) -> int:
    """Return the index of a name; raise ModelError with similar names if it is unknown."""
    require_known(name, names, what)
    return names.index(name)


def _array(values: Any, names: Sequence[str], what: str) -> Vector:
    vector = np.array(numbers(values, f"the {what}s must be {len(names)} numbers, or a dict of them by name"))
    if vector.shape != (len(names),):
        raise ModelError(f"the {what}s have shape {vector.shape}; {len(names)} are needed: {', '.join(names)}")
    return vector
