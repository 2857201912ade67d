"""The watchdog of a session: a thread that writes a zero force when the loop stops ticking."""

from __future__ import annotations

from kane.engine.call import native_loop
from kane.engine.memory.views import LoopPace
from kane.engine.realtime.loop_arrays import Circuit
from kane.engine.realtime.machine_calls import clock, sleep, write_alone

# Period of the watchdog [ns].
WATCHDOG_PERIOD = 2_000_000


@native_loop
def watch_ticks(circuit: Circuit, pace: LoopPace) -> None:
    """Write zero whenever no tick was completed for the time in which samples get stale, until watching ends.

    The watchdog cannot help if the loop hangs in code of the device. The device itself must end a force that is not
    renewed.

    Args:
        circuit: arguments of the loop, but with a scratch memory and a zero command of the watchdog.
        pace: times of the loop.
    """
    s, counts = circuit, circuit.counts
    seen, since = counts.ticks[0], clock(s.calls)
    while counts.watching[0] == 1:
        sleep(s.calls, WATCHDOG_PERIOD)
        now = clock(s.calls)
        if counts.ticks[0] != seen:
            seen, since = counts.ticks[0], now
        elif (now - since) * 1e-9 > s.rules.stale[0]:
            counts.seized[0] = 1
            write_alone(s, (now - pace.zero[0] + pace.lost[0]) * 1e-9)
