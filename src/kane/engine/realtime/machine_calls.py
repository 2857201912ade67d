"""System calls of the loop and of its watchdog: clock, sleep, memory fence, atomic exchange, and output to the device.

``kane.haptics.system_calls`` has the code.
"""

from __future__ import annotations

from kane.engine.call import call_program, native_inline, vector_at
from kane.engine.memory.loop_arguments import Indices
from kane.engine.realtime.loop_arrays import Circuit, MachineCalls


@native_inline
def clock(calls: MachineCalls) -> int:
    """Return the clock of the machine [ns]."""
    d = calls.scratch.whole
    call_program(calls.clock, d, d, d, d, d)
    return int(calls.scratch.word[0])


@native_inline
def sleep(calls: MachineCalls, nanoseconds: int) -> None:
    """Let the thread sleep."""
    d = calls.scratch.whole
    calls.scratch.word[0] = nanoseconds
    call_program(calls.sleep, d, d, d, d, d)


@native_inline
def fence(calls: MachineCalls) -> None:
    """Order memory accesses: other threads see all earlier writes before any later write."""
    d = calls.scratch.whole
    call_program(calls.fence, d, d, d, d, d)


@native_inline
def exchange(calls: MachineCalls, place: Indices, value: int) -> int:
    """Store a value in an integer, (1,), and return its old value, atomically."""
    calls.scratch.word[0] = value
    at, d = vector_at(place, 0, 1), calls.scratch.whole
    call_program(calls.exchange, at, at, at, d, d)
    return int(calls.scratch.word[0])


@native_inline
def write_alone(s: Circuit, now: float) -> bool:
    """Write the command to the device at time ``now`` [s], unless another thread writes; no other function does.

    Returns:
        Whether the command was written.
    """
    if exchange(s.calls, s.counts.writing, 1) != 0:
        return False
    port = s.port
    port.command.time[0] = now
    call_program(port.write, port.command.whole, port.table, port.settings, port.sample.whole, port.memory)
    exchange(s.calls, s.counts.writing, 0)
    return True
