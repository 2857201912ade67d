"""Checks of arguments: types, numbers, arrays, texts, lists and functions."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

from kane.errors import ModelError, shown


def require(value: Any, kind: Any, wanted: str) -> None:
    """Raise ModelError unless the value has the given type; ``wanted`` describes the expected argument.

    Raises:
        ModelError: with the message "<wanted>, not <value>".
    """
    if not isinstance(value, kind):
        raise ModelError(f"{wanted}, not {shown(value)}")


def number(value: Any, what: str, unit: str = "") -> float:
    """Return a finite number as a float; ``what`` names the argument in the message.

    Raises:
        ModelError: the value is a text, an expression, True or False, infinite, NaN or not a number at all.
    """
    wanted = f"give a finite number{unit and f' of {unit}'}"
    plain = isinstance(value, Real) or (isinstance(value, np.ndarray) and not value.ndim and value.dtype.kind in "fiu")
    try:
        found = float(value) if plain and not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise ModelError(f"{what} is {shown(value)}; {wanted}")
    return found


def whole(value: Any, what: str, least: int) -> int:
    """Return an integer of at least ``least``.

    Raises:
        ModelError: the value is not an integer (True and False are not) or is smaller.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ModelError(f"{what} is {shown(value)}; give a whole number of at least {least}")
    return int(value)


def numbers(values: Any, wanted: str) -> np.ndarray:
    """Return an array of real numbers in double precision, of any shape; C-contiguous float64 arrays are not copied.

    Other memory layouts, such as columns of a table, are copied, because native code needs contiguous numbers.

    NaN and infinities pass; callers that need finite numbers check them. ``wanted`` describes the expected values.

    Raises:
        ModelError: text, complex numbers, rows of different lengths, expressions, numbers too large for a double.
    """
    if values.__class__ is np.ndarray and values.dtype == np.float64:
        return values if values.flags.c_contiguous else values.copy(order="C")
    try:
        given = np.asarray(values)
        # Not text (NumPy would parse it), complex numbers (it would drop imaginary parts) or None (it would make NaN).
        if given.dtype == np.float64 and values.__class__ is list:
            return given
        if given.dtype.kind in "fiub" or (given.dtype.kind == "O" and not any(x is None for x in given.flat)):
            return given.astype(np.float64, order="C")
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    raise ModelError(f"{wanted}, not {shown(values)}")


def text(value: Any, what: str) -> str:
    """Return a text.

    Raises:
        ModelError: the value is not a text.
    """
    if not isinstance(value, str):
        raise ModelError(f"{what} is {shown(value)}; give a text")
    return value


def list_argument(values: Any, what: str, member: str) -> list[Any]:
    """Return the values as a list; ``member`` names the expected entries in the message.

    Raises:
        ModelError: the values are not iterable, or are a single text or scalar.
    """
    single = isinstance(values, str | bytes) or (isinstance(values, np.ndarray) and not values.ndim)
    if isinstance(values, Iterable) and not single:
        return list(values)
    raise ModelError(f"{what} is {shown(values)}; give a list of {member}")


def positive(value: Any, what: str) -> float:
    """Return a number greater than zero, which may be infinite.

    Raises:
        ModelError: the value is not a number, not positive or below the normal range of doubles.
    """
    found = math.inf if value.__class__ is float and value == math.inf else number(value, what)
    if not found >= sys.float_info.min:  # subnormal numbers have lost digits and may have an infinite reciprocal
        raise ModelError(f"{what} is {shown(value)}; give a positive number")
    return found


def takes(function: Any, count: int) -> bool:
    """Check whether a function accepts ``count`` positional arguments; C functions without a signature pass."""
    if not callable(function) or isinstance(function, type):
        return False
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def words(values: Any, what: str, member: str) -> list[str]:
    """Return a list of texts; ``member`` names them in the message.

    Raises:
        ModelError: an entry is not a text, or the values are a single text or not a list.
    """
    if isinstance(values, str):
        raise ModelError(f"{what} is {shown(values)}; give a list of {member}, such as [{shown(values)}]")
    found = list_argument(values, what, member)
    for word in found:
        text(word, f"one of the {member} in {what}")
    return found
