"""Times of the haptic loop and of its watchdog, by a clock that is set by hand: closed forms.

The kernels of native code are called from Python.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from kane.engine.memory.views import log_row_at, log_row_size, loop_pace_at, loop_pace_size
from kane.engine.realtime import tick, watchdog
from kane.engine.realtime.loop_arrays import BY_CLOCK

PERIOD = 1_000_000  # ns


class Clock:
    """A clock that goes on by 1000 ns at each look, and by what is slept; ``delays`` come in addition, one a sleep."""

    def __init__(self, delays=()):
        self.now, self.delays = 5_000_000, list(delays)

    def look(self, calls):
        self.now += 1_000
        return self.now

    def sleep(self, calls, nanoseconds):
        self.now += nanoseconds + (self.delays.pop(0) if self.delays else 0)


def ticked(monkeypatch, delays, ticks=4, missed=2.0):
    """Times and lateness of ticks as the loop computes them, what it lost, and what each tick took."""
    clock, found = Clock(delays), []
    rules = SimpleNamespace(ramp_down=[0.0], period=[PERIOD * 1e-9], missed=[missed])
    counts = SimpleNamespace(ticks=[0], lost=[0], offer=[0])
    messages = SimpleNamespace(log=np.zeros((ticks, log_row_size())))
    s = SimpleNamespace(rules=rules, counts=counts, messages=messages, calls=None)
    pace = loop_pace_at(np.zeros(loop_pace_size()), 0)
    pace.clock[0], pace.period[0], pace.zero[0], pace.spin[0] = BY_CLOCK, PERIOD, clock.now + PERIOD, 60_000

    def one(s, system, store, now, late):
        found.append((now, late))
        clock.now += 200_000
        counts.ticks[0] += 1
        return tick.TICKS_COMPLETE

    for name, value in (("clock", clock.look), ("sleep", clock.sleep), ("_tick", one), ("fail", lambda *given: None)):
        monkeypatch.setattr(tick, name, value)
    assert tick.run_ticks.function(s, None, None, pace, ticks) == tick.TICKS_COMPLETE
    work = [log_row_at(row, 0).work[0] for row in messages.log]
    return np.array(found), counts.lost[0], np.array(work)


def test_ticks_in_time_begin_within_a_look_at_the_clock(monkeypatch):
    found, lost, work = ticked(monkeypatch, [])
    assert lost == 0
    assert found[:, 1].max() <= 1e-6
    assert found[:, 0] == pytest.approx(found[:, 1] + PERIOD * 1e-9 * np.arange(4), abs=1e-12)
    assert work == pytest.approx(2.01e-4, abs=2e-6)


def test_a_late_tick_has_the_time_at_which_it_begins_and_the_next_ones_are_in_time(monkeypatch):
    found, lost, _ = ticked(monkeypatch, [0, 400_000])
    assert lost == 0
    assert found[1] == pytest.approx([1.34e-3, 3.4e-4], abs=3e-6)
    assert found[2] == pytest.approx([2e-3, 0.0], abs=1e-6)


def test_more_than_the_missed_ticks_that_are_allowed_are_lost_and_time_goes_on(monkeypatch):
    """3.4 ms late: three whole ticks are lost, and later ones are that much later."""
    found, lost, _ = ticked(monkeypatch, [0, 3_460_000])
    assert lost == 3
    assert found[1] == pytest.approx([4.4e-3, 3.4e-3], abs=3e-6)
    assert found[2] == pytest.approx([5e-3, 0.0], abs=1e-6)


@pytest.mark.parametrize(("stall", "writes"), [(0, False), (30_000_000, True)])
def test_the_watchdog_writes_zero_once_no_tick_was_completed_for_the_time_in_which_samples_get_stale(
    monkeypatch, stall, writes
):
    clock, written = Clock(), []
    counts = SimpleNamespace(ticks=[7], watching=[1], seized=[0])
    s = SimpleNamespace(counts=counts, calls=None, rules=SimpleNamespace(stale=[0.02]))
    pace = SimpleNamespace(zero=[1_000_000], lost=[3_000_000])
    last, end = clock.now, clock.now + 60_000_000

    def sleep(calls, nanoseconds):
        clock.sleep(calls, nanoseconds)
        counts.ticks[0] += clock.now > last + stall
        counts.watching[0] = int(clock.now < end)

    for name, value in (("clock", clock.look), ("sleep", sleep)):
        monkeypatch.setattr(watchdog, name, value)
    monkeypatch.setattr(watchdog, "write_alone", lambda s, now: written.append(now))
    watchdog.watch_ticks.function(s, pace)
    assert counts.seized[0] == int(writes)
    assert bool(written) == writes
    # From 20 ms after the last tick to its end, by the time of the loop.
    assert all(0.027 - 1e-3 < now < 0.038 for now in written)
