"""A device that says again what was recorded, as native programs."""

from __future__ import annotations

from typing import Any

from kane.engine.call import native_program, vector_at
from kane.engine.realtime.device_sample import SAMPLE


@native_program
def read_recorded(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """The next sample of the table; the last one again where there are no more. The settings are how many it has."""
    next_row, rows = vector_at(work, 0, 1), int(vector_at(constants, 0, 1)[0])
    table, sample = vector_at(inputs, 0, SAMPLE * rows), vector_at(out, 0, SAMPLE)
    row = min(int(next_row[0]), rows - 1)
    for i in range(SAMPLE):
        sample[i] = table[SAMPLE * row + i]
    next_row[0] = row + 1


@native_program
def write_recorded(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Nobody feels it."""
