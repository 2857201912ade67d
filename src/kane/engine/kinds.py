"""Kinds of arguments of native loops, and their encoding as 64-bit words.

The kinds follow from the annotations of the loops and of their NamedTuples.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np

_memory: Any = (ctypes.c_char * 0).from_buffer


class Number:
    """Kind of an ``int`` or a ``float``: one word."""

    def __init__(self, code: str) -> None:
        self.format = code

    def put(self, value: Any, words: list[Any]) -> int:
        """Append the words of a value, and return the number of bytes to which they point."""
        words.append(value)
        return 0


class Array:
    """Kind of a contiguous array: its address and its shape.

    Attributes:
        dtype: type of the elements, float64 or int64.
        dimensions: number of dimensions.
        only_read: whether native code only reads the array.
    """

    def __init__(self, dtype: Any, dimensions: int, *, only_read: bool) -> None:
        self.dtype, self.dimensions, self.only_read = np.dtype(dtype), dimensions, only_read
        self.format = "q" * (1 + dimensions)

    def put(self, value: Any, words: list[Any]) -> int:
        """Append the words of an array, and return its number of bytes.

        Raises:
            TypeError: the value is no array of this type and number of dimensions.
        """
        if value.__class__ is not np.ndarray or value.ndim != self.dimensions or value.dtype != self.dtype:
            raise TypeError(
                f"a native loop takes an array of {self.dimensions} dimensions of {self.dtype}, not {value!r}"
            )
        if self.only_read and not value.flags.writeable and value.flags.c_contiguous:
            words.append(value.ctypes.data)
        else:
            words.append(ctypes.addressof(_memory(value)))  # raises if the array is not contiguous or not writeable
        words += value.shape
        return int(value.nbytes)


class Group:
    """Kind of a tuple or a NamedTuple: the words of its fields in sequence.

    Attributes:
        make: class of a NamedTuple; None for a tuple.
        fields: kinds of the fields.
    """

    def __init__(self, make: type | None, fields: Sequence[Kind]) -> None:
        self.make, self.fields = make, tuple(fields)
        self.format: str = "".join(field.format for field in fields)

    def put(self, value: Any, words: list[Any]) -> int:
        """Append the words of a value, and return the number of bytes to which they point."""
        return sum([kind.put(field, words) for kind, field in zip(self.fields, value, strict=True)])


class LaneCount:
    """Kind of ``tuple[int, ...]``, whose length is a constant of the compiled code: no words."""

    format: str = ""

    def put(self, value: Any, words: list[Any]) -> int:
        """Return 0, because there are no words."""
        return 0


Kind = Number | Array | Group | LaneCount


def kind_of(hint: Any) -> Kind:
    """Return the kind of an annotation.

    Raises:
        TypeError: native loops do not accept this annotation.
    """
    if hint in (int, float):
        return Number("q" if hint is int else "d")
    if get_origin(hint) is Annotated:
        array, dimensions, *only_read = get_args(hint)
        element = get_args(array)[-1]  # from NumPy 2.5 on the type of the elements, before that dtype[...] of it
        (dtype,) = get_args(element) or (element,)
        return Array(dtype, dimensions, only_read=bool(only_read))
    if get_args(hint) == (int, ...):
        return LaneCount()
    if get_origin(hint) is tuple:
        return Group(None, [kind_of(part) for part in get_args(hint)])
    if isinstance(hint, type) and issubclass(hint, tuple):
        return Group(hint, [kind_of(part) for part in get_type_hints(hint, include_extras=True).values()])
    raise TypeError(f"a native loop cannot take {hint}: annotate it as int, float, Vector, Matrix, ... or a NamedTuple")


def kinds_of(function: Any) -> tuple[Kind, ...]:
    """Return the kinds of the arguments of a function."""
    hints = get_type_hints(function, include_extras=True)
    return tuple(kind_of(hint) for name, hint in hints.items() if name != "return")


def packed(kind: Kind, value: Any) -> tuple[bytes, int]:
    """Return the words of a value, and the number of bytes to which they point."""
    words: list[Any] = []
    size = kind.put(value, words)
    return struct.pack(kind.format, *words), size


def word_of(kinds: Sequence[Kind], path: Sequence[int]) -> int:
    """Return the index of the first word of a value in nested tuples of these kinds; the path has an index for each."""
    first, *deeper = path
    before, kind = sum(len(other.format) for other in kinds[:first]), kinds[first]
    return before + word_of(kind.fields, deeper) if deeper and isinstance(kind, Group) else before


def place_of_lanes(kinds: Sequence[Kind]) -> tuple[int, ...]:
    """Return the indices that lead to a LaneCount in nested tuples of these kinds; empty if there is no LaneCount."""
    for k, kind in enumerate(kinds):
        if isinstance(kind, LaneCount):
            return (k,)
        if isinstance(kind, Group):
            inner = place_of_lanes(kind.fields)
            if inner:
                return (k, *inner)
    return ()
