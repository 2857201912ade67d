"""Shared memory between the loop and Python code of a device driver, in a thread or another process."""

from __future__ import annotations

import time
from typing import final

import numpy as np

from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.views import (
    device_command_at,
    device_sample_at,
    device_sample_size,
    device_slot_at,
)
from kane.engine.realtime.shared_slot import read_slot, write_slot
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
        """Use memory that begins with a ``DeviceSlot``, which may be shared with another process."""
        self._memory, self._slot = memory, device_slot_at(memory, 0)
        self._sample, self._command = (
            device_sample_at(memory, self._slot.sample),
            device_command_at(memory, self._slot.command),
        )
        self._written, self._since = -1, 0.0

    def channel(self) -> Channel:
        """Return the channel for the loop."""
        fence = np.array([system_calls().fence], dtype=np.int64).view(np.float64)
        return Channel(read_slot(), write_slot(), np.zeros(1), fence, self._memory)

    @property
    def has_sample(self) -> bool:
        """Whether there is a sample."""
        return bool(self._sample.sequence[0] > 0.0)

    @property
    def is_closing(self) -> bool:
        """Whether the device driver must end."""
        return bool(self._slot.closing[0])

    def close(self) -> None:
        """Request the end of the device driver."""
        self._slot.closing[0] = 1.0

    def put(self, position: Vector, orientation: Vector, buttons: float = 0.0) -> None:
        """Write a sample: position [m], orientation (unit quaternion w, x, y, z), and buttons as bits."""
        sample = device_sample_at(np.zeros(device_sample_size()), 0)
        sample.sequence[0] = self._sample.sequence[0] + 1.0
        sample.position[:], sample.orientation[:], sample.buttons[0] = position, orientation, buttons
        self._slot.sample_guard[0] += 1
        system_calls().order_memory()
        self._sample.whole[:] = sample.whole
        system_calls().order_memory()
        self._slot.sample_guard[0] += 1

    def force(self) -> Vector:
        """Return the force for the device [N], (3,); zero unless it was renewed within 20 ms."""
        for _ in range(ATTEMPTS):
            before = int(self._slot.command_guard[0])
            system_calls().order_memory()
            command = self._command.whole.copy()
            system_calls().order_memory()
            if before % 2 == 0 and before == int(self._slot.command_guard[0]):
                break
        else:
            return np.zeros(3)
        now = time.monotonic()
        if before != self._written:
            self._written, self._since = before, now
        if before == 0 or now - self._since > STALE_COMMAND_AGE or not np.isfinite(command).all():
            return np.zeros(3)
        return device_command_at(command, 0).force
