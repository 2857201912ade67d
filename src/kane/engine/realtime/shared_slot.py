"""A device that others speak to: what it says lies in a slot of shared memory, what it is told in another.

Both are guarded by a number that is odd while somebody writes (sequence lock), so that nobody waits for anybody.
"""

from __future__ import annotations

from typing import Any

from kane.engine.call import call_program, integers_at, native_inline, native_program, vector_at
from kane.engine.realtime.device_sample import COMMAND, MEASURED, SAMPLE, SEQUENCE

# Places in the memory: the guard of the sample (SAID) and the sample, the guard of the command (TOLD) and the
# command; the last good sample (KEPT) of the reader; whether the other side is to end (CLOSING).
SAID, GIVEN, TOLD, ORDERED, KEPT, CLOSING = 0, 1, 11, 12, 19, 29
SLOT = 30


@native_inline
def look(memory: Any, guard: Any, fence: int, sample: Any, now: float) -> None:
    """Keep the sample in the slot, if it is new and nobody writes to it now; ``sample`` is scratch."""
    before = guard[0]
    call_program(fence, memory, memory, memory, memory, memory)
    for i in range(SAMPLE):
        sample[i] = memory[GIVEN + i]
    call_program(fence, memory, memory, memory, memory, memory)
    if before % 2 == 0 and before == guard[0] and sample[SEQUENCE] != memory[KEPT + SEQUENCE]:
        for i in range(SAMPLE):
            memory[KEPT + i] = sample[i]
        memory[KEPT + MEASURED] = now


@native_program
def read_slot(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """The sample in the slot, if nobody writes to it now, else the last one; measured when it was first seen.

    The settings are the address of a fence.
    """
    memory, sample = vector_at(work, 0, SLOT), vector_at(out, 0, SAMPLE)
    fence, now = integers_at(constants, 0, 1)[0], vector_at(state, 0, 1)[0]
    look(memory, integers_at(work, SAID, 1), fence, sample, now)
    for i in range(SAMPLE):
        sample[i] = memory[KEPT + i]


@native_program
def write_slot(state: Any, inputs: Any, constants: Any, out: Any, work: Any) -> None:
    """Leave the command in the slot."""
    memory, fence = vector_at(work, 0, SLOT), integers_at(constants, 0, 1)[0]
    guard, command = integers_at(work, TOLD, 1), vector_at(state, 0, COMMAND)
    guard[0] += 1
    call_program(fence, memory, memory, memory, memory, memory)
    for i in range(COMMAND):
        memory[ORDERED + i] = command[i]
    call_program(fence, memory, memory, memory, memory, memory)
    guard[0] += 1
