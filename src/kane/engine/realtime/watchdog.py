"""The watchdog of a session: a thread that writes zero where the loop of ticks does not go on."""

from __future__ import annotations

from kane.engine.call import call_program, native_loop
from kane.engine.memory.loop_arguments import Indices
from kane.engine.realtime.loop_arrays import GONE, SEIZED, SLEEP, STALE, TICKS, WATCHING, ZERO, Circuit
from kane.engine.realtime.machine_calls import clock, write_alone

# How often it looks [ns].
LOOK = 2_000_000


@native_loop
def watch_ticks(circuit: Circuit, pace: Indices) -> None:
    """Look at the ticks until told not to. Where none was done for as long as makes a sample stale, write zero.

    A loop that hangs in the device's own code cannot be helped from here: it is the device that has to end a force that
    is not renewed.

    Args:
        circuit: that of the loop, but with scratch and a command of its own, which is zero.
        pace: of the loop.
    """
    s, counts = circuit, circuit.counts
    seen, since = counts[TICKS], clock(s.calls)
    while counts[WATCHING] == 1:
        s.calls.words[0] = LOOK
        d = s.calls.doubles
        call_program(s.calls.addresses[SLEEP], d, d, d, d, d)
        now = clock(s.calls)
        if counts[TICKS] != seen:
            seen, since = counts[TICKS], now
        elif (now - since) * 1e-9 > s.rules[STALE]:
            counts[SEIZED] = 1
            write_alone(s, (now - pace[ZERO] + pace[GONE]) * 1e-9)
