"""Regions of memory, filled and read by name from Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.engine.memory.declare import DOUBLES, MemoryArray, MemoryRegion

# Placeholder for memory if only the ``end`` of a region is needed.
NO_MEMORY = np.broadcast_to(np.float64(0.0), 2**48)


def filled(region: MemoryRegion, **values: Any) -> NDArray[np.int64]:
    """Return the memory of a region as 64-bit integers, from the values of all its arrays.

    Args:
        region: region without reserved memory.
        values: numbers, or arrays of the declared shape, by name; doubles keep their bits.

    Raises:
        TypeError: an array is missing, or the region has no array of this name.
    """
    names = [field.name for field in region.fields]
    if sorted(names) != sorted(values):
        wrong = sorted(set(names).symmetric_difference(values))
        raise TypeError(
            f"{region.name} has the arrays {', '.join(names)}; missing, or not among them: {', '.join(wrong)}"
        )
    parts = [_numbers(field, values[field.name]) for field in region.fields if isinstance(field, MemoryArray)]
    return np.concatenate(parts)


def _numbers(array: MemoryArray, values: Any) -> NDArray[np.int64]:
    numbers = np.atleast_1d(np.asarray(values, np.float64 if array.kind == DOUBLES else np.int64))
    return np.ascontiguousarray(numbers).reshape(-1).view(np.int64)


def record_dtype(region: MemoryRegion) -> np.dtype[np.void]:
    """Return the structured type of a region of doubles without sizes: named columns for rows of its numbers."""
    fields: list[Any] = []
    for field in region.fields:
        if isinstance(field, MemoryArray):
            shape = tuple(int(size) for size in field.shape)
            fields.append((field.name, np.float64, () if shape == (1,) else shape))
        else:
            fields.append((field.name, record_dtype(field.region)))
    return np.dtype(fields)
