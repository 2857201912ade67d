"""Device that replays recorded samples."""

from __future__ import annotations

from typing import final

import numpy as np

from kane.deferred import dataclass
from kane.engine.memory.loop_arguments import Matrix
from kane.engine.memory.views import device_sample_size
from kane.engine.realtime.recorded_device import read_recorded, write_recorded
from kane.errors import ModelError
from kane.haptics.devices.device import Channel, Device, Traits


@final
@dataclass(frozen=True, eq=False)
class RecordedDevice(Device):
    """Device that replays one recorded sample per tick, independent of the force.

    Attributes:
        of: traits of the recorded device.
        samples: one row ``DeviceSample`` per tick, (ticks, 10).
    """

    of: Traits
    samples: Matrix

    def __post_init__(self) -> None:
        size = device_sample_size()
        if self.samples.ndim != 2 or self.samples.shape[1] != size or not len(self.samples):
            raise ModelError(f"recorded samples must be rows of {size} numbers; their shape is {self.samples.shape}")

    @property
    def traits(self) -> Traits:
        return self.of

    def open(self) -> Channel:
        rows = np.ascontiguousarray(self.samples, dtype=float)
        settings = np.array([float(len(rows))])
        return Channel(read_recorded(), write_recorded(), rows.ravel().copy(), settings, np.zeros(1))
