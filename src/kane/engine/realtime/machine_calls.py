"""The machine, as the loop and its watchdog call it; see ``kane.haptics.system_calls``."""

from __future__ import annotations

from typing import Any

from kane.engine.call import call_program, native_inline
from kane.engine.realtime import device_sample as sample
from kane.engine.realtime.loop_arrays import CLOCK, EXCHANGE, FENCE, WRITING


@native_inline
def clock(calls: Any) -> int:
    """The clock of the machine [ns]."""
    d = calls.doubles
    call_program(calls.addresses[CLOCK], d, d, d, d, d)
    return int(calls.words[0])


@native_inline
def fence(calls: Any) -> None:
    """What was written before is seen by other threads before what is written after."""
    d = calls.doubles
    call_program(calls.addresses[FENCE], d, d, d, d, d)


@native_inline
def exchange(s: Any, place: int, value: int) -> int:
    """Put a value into the counts, and return what was there, at once for all threads."""
    s.calls.words[0] = value
    at, d = s.numbers[place:], s.calls.doubles
    call_program(s.calls.addresses[EXCHANGE], at, at, at, d, d)
    return int(s.calls.words[0])


@native_inline
def write_alone(s: Any, now: float) -> bool:
    """Give the command to the device, unless another thread is about to; the only place that writes to it.

    Returns:
        Whether it was written.
    """
    if exchange(s, WRITING, 1) != 0:
        return False
    port = s.port
    port.command[sample.WRITTEN] = now
    call_program(port.programs[1], port.command, port.table, port.settings, port.sample, port.memory)
    exchange(s, WRITING, 0)
    return True
