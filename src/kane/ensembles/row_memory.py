"""Memory of runs that take steps together: one row of an array for each run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.engine.call import PreparedCall
from kane.engine.memory.loop_arguments import IndexRows, Scheme, Vector
from kane.simulation.quick_steps import EQUATIONS, STORE

# Rows begin at multiples of this many doubles, a cache line.
LINE = 8


class RowMemory:
    """Arrays of the arguments of a call, once for each run.

    Attributes:
        rows: memory of each run, (n, doubles).
        fresh: number of these doubles, from the first on, that a run at its start has; then follow records and scratch.
        words: words of the arguments of each run, (n, words).
    """

    def __init__(self, call: PreparedCall, n: int, *, own_scratch: bool) -> None:
        """Allocate the rows; ``load`` fills them.

        Args:
            call: native call of the steps of one run.
            n: number of runs.
            own_scratch: whether a step reads values of an earlier step in the scratch memory.
        """
        self._arguments = call.arguments
        store = call.arguments[STORE]
        work = call.arguments[EQUATIONS].work
        written = {_address(array) for array in (store.rows, store.found, store.transitions, work)}
        own = [array for array in arrays_of(call.arguments) if array.nbytes and (own_scratch or array is not work)]
        self._places: dict[tuple[int, int], int] = {}
        self.fresh = size = 0
        for kept in (True, False):
            for start, end in _spans([a for a in own if (_address(a) not in written) == kept]):
                self._places[start, end] = size
                size += -(-(end - start) // (8 * LINE)) * LINE
            self.fresh = size if kept else self.fresh
        self.rows = np.zeros((n, size + LINE))
        self.words: IndexRows = np.tile(np.array(call.integers), (n, 1))
        address, stride = _address(self.rows), self.rows.strides[0]
        for k, word in enumerate(self.words[0].tolist()):
            place = self._place(word)
            if place is not None:
                self.words[:, k] = address + 8 * place + stride * np.arange(n)

    def columns(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of all runs in a vector of the call, (n, length)."""
        place = self._place(_address(array)) if array.size else 0
        assert place is not None
        return self.rows[:, place : place + array.size].view(array.dtype)

    def _place(self, address: int) -> int | None:
        return next(
            (at + (address - start) // 8 for (start, end), at in self._places.items() if start <= address < end), None
        )

    def load(self, row: Vector, arguments: tuple[Any, ...]) -> None:
        """Copy the arrays of the same call at the start of another run to a row."""
        for mine, given in zip(arrays_of(self._arguments), arrays_of(arguments), strict=True):
            place = self._place(_address(mine))
            if place is not None and mine.nbytes and place < self.fresh:
                row[place : place + mine.size].view(mine.dtype).reshape(mine.shape)[...] = given

    def arguments(self, i: int) -> tuple[Any, ...]:
        """Return the arguments of the call in the memory of one run."""

        def own(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                place = self._place(_address(value))
                if place is None or not value.nbytes:
                    return value
                return self.rows[i, place : place + value.size].view(value.dtype).reshape(value.shape)
            if isinstance(value, tuple) and not isinstance(value, Scheme):
                parts = [own(part) for part in value]
                return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
            return value

        found: tuple[Any, ...] = own(self._arguments)
        return found


def arrays_of(value: Any) -> Iterator[Array]:
    """Yield all arrays in nested tuples, except those of a method."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple) and not isinstance(value, Scheme):
        for part in value:
            yield from arrays_of(part)


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _spans(arrays: list[Array]) -> list[tuple[int, int]]:
    """Return the intervals of addresses that arrays cover; arrays that follow each other share one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted((_address(array), _address(array) + array.nbytes) for array in arrays):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found
