"""Commands from Python to the running loop without locks, by three copies of the command (triple buffer)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import final

from kane.engine.memory.loop_arguments import Matrix, Vector
from kane.engine.memory.views import LoopCounts, loop_command_at, loop_command_size
from kane.engine.realtime.loop_arrays import UNREAD, Circuit
from kane.haptics.system_calls import system_calls

# Initial slot of Python; the loop owns slot 0, and slot 1 is exchanged.
FIRST_SLOT = 2


@final
class CommandPost:
    """Latest command; every change is passed to the loop at once and as a whole."""

    def __init__(self, first: Vector, counts: LoopCounts, slots: Matrix) -> None:
        """Use the first command, the counts and the slots of a loop."""
        self._told = loop_command_at(first.copy(), 0, len(first) - loop_command_size(0))
        self._counts, self._slots, self._own = counts, slots, FIRST_SLOT
        self._one = threading.RLock()  # excludes other threads of Python; the loop does not use it

    @property
    def inputs(self) -> Vector:
        """Values of the user's inputs."""
        return self._told.inputs.copy()

    @property
    def is_stopped(self) -> bool:
        """Whether the command stops the loop."""
        return bool(self._told.stop[0])

    @property
    def is_arming(self) -> bool:
        """Whether the command arms the loop, and the loop has not armed yet."""
        return bool(self._told.arm[0] > max(self._told.disarm[0], self._counts.armed_by[0]))

    def request(self, name: str) -> None:
        """Request "arm" or "disarm"; the later of two requests counts, even if the loop reads both at once."""
        with self._one:
            self.tell(**{name: max(self._told.arm[0], self._told.disarm[0]) + 1.0})

    def tell(self, **values: float | Sequence[float]) -> None:
        """Write arrays of the command by name, see ``LoopCommand``, and pass the command to the loop."""
        with self._one:
            for name, value in values.items():
                getattr(self._told, name)[:] = value
            self._slots[self._own] = self._told.whole
            self._own = system_calls().exchange_number(self._counts.exchanged_slot, self._own + UNREAD) % UNREAD


def published(circuit: Circuit) -> Vector:
    """Return the snapshot of one tick; read it again if the loop has written meanwhile (sequence lock)."""
    guard, calls = circuit.counts.published, system_calls()
    while True:
        before = int(guard[0])
        calls.order_memory()
        taken = circuit.messages.snapshot.copy()
        calls.order_memory()
        if before % 2 == 0 and before == guard[0]:
            return taken
