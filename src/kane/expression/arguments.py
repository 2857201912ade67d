"""What users give where numbers, arrays and whole numbers are asked for, checked."""

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
    """Refuse what is not of a kind; ``wanted`` says who takes what, and where that comes from.

    Raises:
        ModelError: "<wanted>, not <value>".
    """
    if not isinstance(value, kind):
        raise ModelError(f"{wanted}, not {shown(value)}")


def number(value: Any, what: str, unit: str = "") -> float:
    """A finite number.

    Raises:
        ModelError: text, an expression that is no constant, infinite, no number at all.
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
    """A whole number of at least ``least``.

    Raises:
        ModelError: something else.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ModelError(f"{what} is {shown(value)}; give a whole number of at least {least}")
    return int(value)


def numbers(values: Any, wanted: str) -> np.ndarray:
    """An array of real numbers in double precision, of any shape; the array itself where it is one in C's order.

    Columns of a table, which lie apart in memory, are copied: native code takes numbers that follow one another.

    NaN and infinities pass: who needs finite numbers says so. ``wanted`` says what must be how many numbers.

    Raises:
        ModelError: text, complex numbers, rows of different lengths, expressions, numbers too large for a double.
    """
    if values.__class__ is np.ndarray and values.dtype == np.float64:
        return values if values.flags.c_contiguous else values.copy(order="C")
    try:
        given = np.asarray(values)
        # Not text, which NumPy would read, nor complex numbers, which it would halve, nor None, which it takes for NaN.
        if given.dtype.kind in "fiub" or (given.dtype.kind == "O" and not any(x is None for x in given.flat)):
            return given.astype(np.float64, order="C")
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    raise ModelError(f"{wanted}, not {shown(values)}")


def text(value: Any, what: str) -> str:
    """A text.

    Raises:
        ModelError: something else.
    """
    if not isinstance(value, str):
        raise ModelError(f"{what} is {shown(value)}; give a text")
    return value


def list_argument(values: Any, what: str, member: str) -> list[Any]:
    """A list or the like, not a single text, which is one too; ``member`` is what it may hold.

    Raises:
        ModelError: something else.
    """
    single = isinstance(values, str | bytes) or (isinstance(values, np.ndarray) and not values.ndim)
    if isinstance(values, Iterable) and not single:
        return list(values)
    raise ModelError(f"{what} is {shown(values)}; give a list of {member}")


def positive(value: Any, what: str) -> float:
    """A number greater than zero, which may be infinite.

    Raises:
        ModelError: something else.
    """
    found = math.inf if value.__class__ is float and value == math.inf else number(value, what)
    if not found >= sys.float_info.min:  # what is smaller has lost digits, and an infinite reciprocal
        raise ModelError(f"{what} is {shown(value)}; give a positive number")
    return found


def takes(function: Any, count: int) -> bool:
    """Whether this is a function that can be called with so many arguments; of those of C, which do not say, yes."""
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
    """A list of texts; ``member`` is what they are.

    Raises:
        ModelError: something else, also a single text.
    """
    if isinstance(values, str):
        raise ModelError(f"{what} is {shown(values)}; give a list of {member}, such as [{shown(values)}]")
    found = list_argument(values, what, member)
    for word in found:
        text(word, f"one of the {member} in {what}")
    return found
