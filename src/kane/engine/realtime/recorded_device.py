"""Programs of a device that replays recorded samples."""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_program, vector_at
from kane.engine.memory.views import device_sample_at, device_sample_size


@native_program
def read_recorded(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Give the next sample of the table, or the last one again; the only setting is the number of samples."""
    next_row, rows = vector_at(work, 0, 1), int(vector_at(constants, 0, 1)[0])
    row = min(int(next_row[0]), rows - 1)
    recorded, sample = device_sample_at(inputs, row * device_sample_size()).whole, device_sample_at(out, 0).whole
    for i in range(sample.size):
        sample[i] = recorded[i]
    next_row[0] = row + 1


@native_program
def write_recorded(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Ignore the force."""
