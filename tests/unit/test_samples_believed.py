"""``examine``, called as it is written: which samples of a device are believed, at the edges of each rule.

The log of a session does not show each rule alone: a sample from the future ends a force by other rules too.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from kane.engine.realtime import loop_arrays as at
from kane.engine.realtime.device_sample import MEASURED, ORIENTATION, POSITION, SAMPLE, SEQUENCE
from kane.engine.realtime.safety import examine

T, STALE, REACH, LEAP = 1e-3, 0.02, 0.3, 2.0


def circuit(last=1.0):
    """A session that has taken sample 100, measured at this time at the origin, and is armed."""
    s = SimpleNamespace(
        rules=np.zeros(at.RULES),
        moving=np.zeros(at.MOVING),
        counts=np.zeros(at.COUNTERS, dtype=np.int64),
        port=SimpleNamespace(sample=np.zeros(SAMPLE)),
        calls=SimpleNamespace(doubles=np.zeros(at.SCRATCH)),
    )
    s.rules[at.PERIOD], s.rules[at.STALE], s.rules[at.REACH] = T, STALE, REACH
    s.rules[at.LEAP : at.LEAP + 2] = LEAP
    s.counts[at.STATUS], s.counts[at.NUMBER] = at.ARMED, 100
    s.moving[at.MEASURED] = s.moving[at.FRESH] = last
    s.moving[at.HAND + 3] = s.port.sample[ORIENTATION] = 1.0
    s.port.sample[SEQUENCE], s.port.sample[MEASURED] = 101, last + T
    return s


def test_a_sample_of_now_is_believed_and_taken():
    s = circuit()
    s.port.sample[POSITION] = 1e-3
    assert examine(s, 1.0 + T) == at.SOUND
    assert s.moving[at.HAND] == 1e-3
    assert s.moving[at.SPEED] == pytest.approx(1.0)
    assert s.counts[at.NUMBER] == 101


@pytest.mark.parametrize("ahead", [1.01 * T, 2 * T, 0.02, 1.0, 1e6])
def test_a_sample_measured_more_than_a_tick_ahead_of_now_is_not_believed(ahead):
    s = circuit()
    s.port.sample[MEASURED] = 1.0 + ahead
    assert examine(s, 1.0) == at.OLDER
    assert s.moving[at.MEASURED] == 1.0
    s.port.sample[MEASURED] = 1.0 + 0.99 * T
    assert examine(s, 1.0) == at.SOUND


def test_a_sample_that_would_be_too_old_before_the_next_tick_is_missed_already():
    """Seen last at 1.0 s: the force begins to end within STALE of it, and not a tick later."""
    s = circuit()
    s.port.sample[SEQUENCE], s.port.sample[MEASURED] = 100, 1.0
    assert examine(s, 1.0 + STALE - 1.01 * T) == at.SOUND
    assert examine(s, 1.0 + STALE - 0.99 * T) == at.NO_SAMPLE


def test_a_new_sample_that_was_measured_too_long_ago_is_no_sample():
    s = circuit(last=0.9)
    s.port.sample[MEASURED] = 1.0
    assert examine(s, 1.0 + STALE * (1 + 1e-6)) == at.NO_SAMPLE
    s = circuit(last=0.9)
    s.port.sample[MEASURED] = 1.0
    assert examine(s, 1.0 + STALE * (1 - 1e-6)) == at.SOUND


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_hand_outside_the_workspace_on_any_axis_is_not_believed(axis, sign):
    s = circuit()
    s.moving[at.HAND + axis] = sign * REACH  # so that it has not leapt
    s.port.sample[POSITION + axis] = sign * REACH * (1 + 1e-9)
    assert examine(s, 1.0 + T) == at.OUTSIDE
    s.port.sample[POSITION + axis] = sign * REACH
    assert examine(s, 1.0 + T) == at.SOUND


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_hand_that_leaps_along_any_axis_is_not_believed(axis, sign):
    """Its largest speed for the time since, and the margin for steps of encoders."""
    s = circuit()
    s.port.sample[POSITION + axis] = sign * (LEAP * T + 1.01e-3)
    assert examine(s, 1.0 + T) == at.LEAPED
    s.port.sample[POSITION + axis] = sign * (LEAP * T + 0.99e-3)
    assert examine(s, 1.0 + T) == at.SOUND


@pytest.mark.parametrize(("place", "value"), [(SEQUENCE, 99), (MEASURED, 1.0 - 1e-6)])
def test_samples_that_go_back_are_not_believed(place, value):
    s = circuit()
    s.port.sample[place] = value
    assert examine(s, 1.0 + T) == at.OLDER


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("place", range(SAMPLE))
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_part_of_a_sample_may_be_no_number(place, value):
    s = circuit()
    s.port.sample[place] = value
    assert examine(s, 1.0 + T) == at.NO_NUMBER
