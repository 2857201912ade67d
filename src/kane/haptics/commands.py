"""What Python tells the loop while it runs, without locks: three copies of the command, of which one lies between."""

from __future__ import annotations

import threading
from typing import final

import numpy as np

from kane.haptics.system_calls import system_calls
from kane.native.arrays import Indices, Matrix, Vector
from kane.native.haptics import loop_arrays as at
from kane.native.haptics.loop_arrays import Circuit

# Python's slot at first; the loop has slot 0, and slot 1 lies between.
FIRST_SLOT = 2


@final
class CommandPost:
    """The command as it was last told; every change is handed over at once, whole."""

    def __init__(self, first: Vector, counts: Indices, slots: Matrix) -> None:
        """Of a loop that has this first command, these counts and these slots."""
        self._told, self._counts, self._slots, self._own = first.copy(), counts, slots, FIRST_SLOT
        self._one = threading.RLock()  # between threads of Python; the loop has no part in it

    @property
    def inputs(self) -> Vector:
        """The user's inputs."""
        return self._told[at.GIVEN :].copy()

    @property
    def is_stopped(self) -> bool:
        """Whether the loop was told to stop."""
        return bool(self._told[at.STOP])

    @property
    def is_arming(self) -> bool:
        """Whether the loop was told to arm, and has not done so yet."""
        return bool(self._told[at.ARM] > max(self._told[at.DISARM], self._counts[at.ARMED_BY]))

    def wish(self, place: int) -> None:
        """ARM or DISARM: of two wishes the later one counts, also where both are read at once."""
        with self._one:
            self.tell(place, self._told[[at.ARM, at.DISARM]].max() + 1.0)

    def tell(self, place: int, *values: float) -> None:
        """Put values into the command from a place on, and hand it over."""
        with self._one:
            self._told[place : place + len(values)] = values
            self._slots[self._own] = self._told
            numbers = np.array([self._own + at.FULL], dtype=np.int64)
            system_calls().call(at.EXCHANGE, self._counts[at.BETWEEN :], numbers)
            self._own = int(numbers[0]) % at.FULL


def published(circuit: Circuit) -> Vector:
    """What the loop published at the end of one tick: taken again where the loop wrote meanwhile (sequence lock)."""
    counts, calls, numbers = circuit.counts, system_calls(), np.zeros(1, dtype=np.int64)
    while True:
        before = int(counts[at.PUBLISHED])
        calls.call(at.FENCE, numbers, numbers)
        taken = circuit.desk.snapshot.copy()
        calls.call(at.FENCE, numbers, numbers)
        if before % 2 == 0 and before == counts[at.PUBLISHED]:
            return taken
