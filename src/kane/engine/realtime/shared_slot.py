"""Programs of a device whose driver runs elsewhere: they exchange samples and commands through shared memory.

A ``DeviceSlot`` has a guard for each direction (sequence lock), so that neither side waits for the other.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import call_program, integers_at, native_inline, native_program, vector_at
from kane.engine.memory.views import (
    DeviceSample,
    DeviceSlot,
    device_command_at,
    device_sample_at,
    device_slot_at,
)


@native_inline
def keep_sample(memory: Any, slot: DeviceSlot, fence: int, scratch: DeviceSample, now: float) -> DeviceSample:
    """Copy the sample of the slot to ``kept`` if it is new and complete; return the kept sample.

    Args:
        memory: memory that begins with the slot.
        slot: its view.
        fence: address of the memory fence.
        scratch: overwritten.
        now: time of the measurement of a new sample [s].
    """
    given, kept, d = device_sample_at(memory, slot.sample), device_sample_at(memory, slot.kept), scratch.whole
    before = slot.sample_guard[0]
    call_program(fence, d, d, d, d, d)
    for i in range(d.size):
        d[i] = given.whole[i]
    call_program(fence, d, d, d, d, d)
    if before % 2 == 0 and before == slot.sample_guard[0] and scratch.sequence[0] != kept.sequence[0]:
        for i in range(d.size):
            kept.whole[i] = d[i]
        kept.measured[0] = now
    return kept


@native_program
def read_slot(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Give the sample of the slot, or the last one while the driver writes; it counts as measured when first seen.

    The only setting is the address of the memory fence.
    """
    sample, fence = device_sample_at(out, 0), integers_at(constants, 0, 1)[0]
    kept = keep_sample(work, device_slot_at(work, 0), fence, sample, vector_at(state, 0, 1)[0])
    for i in range(sample.whole.size):
        sample.whole[i] = kept.whole[i]


@native_program
def write_slot(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Store the command in the slot."""
    slot, fence, command = device_slot_at(work, 0), integers_at(constants, 0, 1)[0], device_command_at(state, 0).whole
    ordered = device_command_at(work, slot.command).whole
    slot.command_guard[0] += 1
    call_program(fence, command, command, command, command, command)
    for i in range(command.size):
        ordered[i] = command[i]
    call_program(fence, command, command, command, command, command)
    slot.command_guard[0] += 1
