"""A device that says again what was recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from kane.errors import ModelError
from kane.haptics.devices.device import Channel, Device, Traits
from kane.native.arrays import Matrix
from kane.native.haptics.recorded import read_recorded, write_recorded
from kane.native.haptics.sample import SAMPLE


@final
@dataclass(frozen=True, eq=False)
class RecordedDevice(Device):
    """Samples that were read, one a tick, whatever the force.

    Attributes:
        of: what is known of the device that gave them.
        samples: rows as ``kane.native.haptics.sample`` lays them out, (ticks, SAMPLE).
    """

    of: Traits
    samples: Matrix

    def __post_init__(self) -> None:
        if self.samples.ndim != 2 or self.samples.shape[1] != SAMPLE or not len(self.samples):
            raise ModelError(f"recorded samples are rows of {SAMPLE} numbers; their shape is {self.samples.shape}")

    @property
    def traits(self) -> Traits:
        return self.of

    def open(self) -> Channel:
        rows = np.ascontiguousarray(self.samples, dtype=float)
        settings = np.array([float(len(rows))])
        return Channel(read_recorded(), write_recorded(), rows.ravel().copy(), settings, np.zeros(1))
