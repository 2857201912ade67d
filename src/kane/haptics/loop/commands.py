"""Commands from Python to the running loop without locks, by three copies of the command (triple buffer)."""

from __future__ import annotations

import threading
from typing import final

import numpy as np

from kane.engine.memory.loop_arguments import Indices, Matrix, Vector
from kane.engine.realtime import loop_arrays as at
from kane.engine.realtime.loop_arrays import Circuit
from kane.haptics.system_calls import system_calls

# Initial slot of Python; the loop owns slot 0, and slot 1 is exchanged.
FIRST_SLOT = 2


@final
class CommandPost:
    """Latest command; every change is passed to the loop at once and as a whole."""

    def __init__(self, first: Vector, counts: Indices, slots: Matrix) -> None:
        """Use the first command, the counts and the slots of a loop."""
        self._told, self._counts, self._slots, self._own = first.copy(), counts, slots, FIRST_SLOT
        self._one = threading.RLock()  # excludes other threads of Python; the loop does not use it

    @property
    def inputs(self) -> Vector:
        """Values of the user's inputs."""
        return self._told[at.GIVEN :].copy()

    @property
    def is_stopped(self) -> bool:
        """Whether the command stops the loop."""
        return bool(self._told[at.STOP])

    @property
    def is_arming(self) -> bool:
        """Whether the command arms the loop, and the loop has not armed yet."""
        return bool(self._told[at.ARM] > max(self._told[at.DISARM], self._counts[at.ARMED_BY]))

    def wish(self, place: int) -> None:
        """Request ARM or DISARM; the later of two requests counts, even if the loop reads both at once."""
        with self._one:
            self.tell(place, self._told[[at.ARM, at.DISARM]].max() + 1.0)

    def tell(self, place: int, *values: float) -> None:
        """Write values into the command, starting at ``place``, and pass it to the loop."""
        with self._one:
            self._told[place : place + len(values)] = values
            self._slots[self._own] = self._told
            numbers = np.array([self._own + at.FULL], dtype=np.int64)
            system_calls().call(at.EXCHANGE, self._counts[at.BETWEEN :], numbers)
            self._own = int(numbers[0]) % at.FULL


def published(circuit: Circuit) -> Vector:
    """Return the snapshot of one tick; read it again if the loop has written meanwhile (sequence lock)."""
    counts, calls, numbers = circuit.counts, system_calls(), np.zeros(1, dtype=np.int64)
    while True:
        before = int(counts[at.PUBLISHED])
        calls.call(at.FENCE, numbers, numbers)
        taken = circuit.desk.snapshot.copy()
        calls.call(at.FENCE, numbers, numbers)
        if before % 2 == 0 and before == counts[at.PUBLISHED]:
            return taken
