"""Limits of quantities: numbers, or pairs of a lower and an upper limit, by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.errors import ModelError, shown
from kane.expression.number_arguments import number
from kane.model.named_vector import index_of_name


def limits_from(given: Any, who: str) -> tuple[float, float]:
    """Return the limits that a number or a pair means; None in a pair means no limit.

    Raises:
        ModelError: neither, or the lower limit exceeds the upper one.
    """
    if not isinstance(given, (tuple, list, np.ndarray)):
        value = number(given, who)
        return value, value
    if len(given) != 2:
        raise ModelError(f"{who} is {shown(given)}; give a number, or a pair (lower, upper), None for no limit")
    ends = [
        default if x is None or (isinstance(x, float) and x == default) else number(x, f"a limit of {who}")
        for x, default in zip(given, (-math.inf, math.inf), strict=True)
    ]
    if ends[0] > ends[1]:
        raise ModelError(f"{who} has the lower limit {ends[0]:g} above the upper limit {ends[1]:g}; exchange them")
    return ends[0], ends[1]


def named_limits(given: Any, names: Sequence[str], what: str, who: str) -> Array:
    """Return the limits of quantities by name, (names, 2); infinite for the others.

    Args:
        given: None, or a mapping from some of the names to numbers or pairs.
        names: all names.
        what: word for one of the named things in messages.
        who: name of the argument.

    Raises:
        ModelError: not a mapping, an unknown name, or invalid limits.
    """
    found = np.tile([-math.inf, math.inf], (len(names), 1))
    if given is None:
        return found
    if not isinstance(given, Mapping):
        raise ModelError(f"{who} is {shown(given)}; give a dict from names to numbers or pairs (lower, upper)")
    for name, value in given.items():
        found[index_of_name(name, names, what)] = limits_from(value, f"{who} of {name!r}")
    return found


def joined(first: Array, second: Array, names: Sequence[str], who: tuple[str, str]) -> Array:
    """Return limits that satisfy both arguments, (names, 2).

    Raises:
        ModelError: they contradict each other; the message names the quantity.
    """
    found = np.column_stack([np.maximum(first[:, 0], second[:, 0]), np.minimum(first[:, 1], second[:, 1])])
    for k in np.flatnonzero(found[:, 0] > found[:, 1]).tolist():
        raise ModelError(
            f"{who[0]} of {names[k]!r} from {first[k, 0]:g} to {first[k, 1]:g} and {who[1]} from {second[k, 0]:g} to "
            f"{second[k, 1]:g} contradict each other"
        )
    return found
