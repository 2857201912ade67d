"""Shared memory between the loop and Python code of a device driver, in a thread or another process."""

from __future__ import annotations

import time
from typing import final

import numpy as np

from kane.engine.memory.loop_arguments import Vector
from kane.engine.realtime import shared_slot as native
from kane.engine.realtime.device_sample import BUTTONS, COMMAND, FORCE, ORIENTATION, POSITION, SAMPLE, SEQUENCE
from kane.engine.realtime.loop_arrays import FENCE
from kane.haptics.devices.device import Channel
from kane.haptics.system_calls import system_calls

# Time after which a force is not passed on unless the loop renews it [s].
STALE_COMMAND_AGE = 0.02
# Largest number of attempts to read; an attempt fails if the loop writes meanwhile, which takes nanoseconds.
ATTEMPTS = 100


@final
class Slot:
    """Exchange of samples and forces between a device driver and the loop; neither side waits for the other."""

    def __init__(self, memory: Vector) -> None:
        """Use memory of native.SLOT doubles, which may be shared with another process."""
        self._memory, self._guards = memory, memory.view(np.int64)
        self._written, self._since = -1, 0.0

    def channel(self) -> Channel:
        """Return the channel for the loop."""
        fence = np.array([system_calls().addresses[FENCE]], dtype=np.int64).view(np.float64)
        return Channel(native.read_slot(), native.write_slot(), np.zeros(1), fence, self._memory)

    @property
    def has_sample(self) -> bool:
        """Whether there is a sample."""
        return bool(self._memory[native.GIVEN + SEQUENCE] > 0.0)

    @property
    def is_closing(self) -> bool:
        """Whether the device driver must end."""
        return bool(self._memory[native.CLOSING])

    def close(self) -> None:
        """Request the end of the device driver."""
        self._memory[native.CLOSING] = 1.0

    def put(self, position: Vector, orientation: Vector, buttons: float = 0.0) -> None:
        """Write a sample: position [m], orientation (unit quaternion w, x, y, z), and buttons as bits."""
        sample = np.zeros(SAMPLE)
        sample[SEQUENCE] = self._memory[native.GIVEN + SEQUENCE] + 1.0
        sample[POSITION : POSITION + 3], sample[ORIENTATION : ORIENTATION + 4] = position, orientation
        sample[BUTTONS] = buttons
        self._guards[native.SAID] += 1
        self._fence()
        self._memory[native.GIVEN : native.GIVEN + SAMPLE] = sample
        self._fence()
        self._guards[native.SAID] += 1

    def force(self) -> Vector:
        """Return the force for the device [N], (3,); zero unless it was renewed within 20 ms."""
        for _ in range(ATTEMPTS):
            before = int(self._guards[native.TOLD])
            self._fence()
            command = self._memory[native.ORDERED : native.ORDERED + COMMAND].copy()
            self._fence()
            if before % 2 == 0 and before == int(self._guards[native.TOLD]):
                break
        else:
            return np.zeros(3)
        now = time.monotonic()
        if before != self._written:
            self._written, self._since = before, now
        if before == 0 or now - self._since > STALE_COMMAND_AGE or not np.isfinite(command).all():
            return np.zeros(3)
        return command[FORCE : FORCE + 3]

    def _fence(self) -> None:
        numbers = np.zeros(1, dtype=np.int64)
        system_calls().call(FENCE, numbers, numbers)
