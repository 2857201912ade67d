"""``examine``, called as it is written: which samples of a device are believed, at the edges of each rule.

The log of a session does not show each rule alone: a sample from the future ends a force by other rules too.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from kane.engine.memory import views
from kane.engine.realtime import loop_arrays as at
from kane.engine.realtime.safety import examine

T, STALE, REACH, LEAP = 1e-3, 0.02, 0.3, 2.0


def circuit(last=1.0):
    """A session that has taken sample 100, measured at this time at the origin, and is armed."""
    s = SimpleNamespace(
        rules=views.loop_rules_at(np.zeros(views.loop_rules_size()), 0),
        state=views.loop_state_at(np.zeros(views.loop_state_size()), 0),
        counts=views.loop_counts_at(np.zeros(views.loop_counts_size()), 0),
        port=SimpleNamespace(sample=views.device_sample_at(np.zeros(views.device_sample_size()), 0)),
        calls=SimpleNamespace(scratch=views.loop_scratch_at(np.zeros(views.loop_scratch_size()), 0)),
    )
    s.rules.period[0], s.rules.stale[0], s.rules.reach[0], s.rules.leap[:] = T, STALE, REACH, LEAP
    s.counts.status[0], s.counts.sequence[0] = at.ARMED, 100
    s.state.measured[0] = s.state.received[0] = last
    s.state.device[3] = s.port.sample.orientation[0] = 1.0
    s.port.sample.sequence[0], s.port.sample.measured[0] = 101, last + T
    return s


def test_a_sample_of_now_is_believed_and_taken():
    s = circuit()
    s.port.sample.position[0] = 1e-3
    assert examine(s, 1.0 + T) == at.NO_FAULT
    assert s.state.device[0] == 1e-3
    assert s.state.device_rates[0] == pytest.approx(1.0)
    assert s.counts.sequence[0] == 101


@pytest.mark.parametrize("ahead", [1.01 * T, 2 * T, 0.02, 1.0, 1e6])
def test_a_sample_measured_more_than_a_tick_ahead_of_now_is_not_believed(ahead):
    s = circuit()
    s.port.sample.measured[0] = 1.0 + ahead
    assert examine(s, 1.0) == at.SAMPLE_OLDER
    assert s.state.measured[0] == 1.0
    s.port.sample.measured[0] = 1.0 + 0.99 * T
    assert examine(s, 1.0) == at.NO_FAULT


def test_a_sample_that_would_be_too_old_before_the_next_tick_is_missed_already():
    """Seen last at 1.0 s: the force begins to end within STALE of it, and not a tick later."""
    s = circuit()
    s.port.sample.sequence[0], s.port.sample.measured[0] = 100, 1.0
    assert examine(s, 1.0 + STALE - 1.01 * T) == at.NO_FAULT
    assert examine(s, 1.0 + STALE - 0.99 * T) == at.NO_SAMPLE


def test_a_new_sample_that_was_measured_too_long_ago_is_no_sample():
    s = circuit(last=0.9)
    s.port.sample.measured[0] = 1.0
    assert examine(s, 1.0 + STALE * (1 + 1e-6)) == at.NO_SAMPLE
    s = circuit(last=0.9)
    s.port.sample.measured[0] = 1.0
    assert examine(s, 1.0 + STALE * (1 - 1e-6)) == at.NO_FAULT


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_hand_outside_the_workspace_on_any_axis_is_not_believed(axis, sign):
    s = circuit()
    s.state.device[axis] = sign * REACH  # so that it has not leapt
    s.port.sample.position[axis] = sign * REACH * (1 + 1e-9)
    assert examine(s, 1.0 + T) == at.SAMPLE_OUTSIDE
    s.port.sample.position[axis] = sign * REACH
    assert examine(s, 1.0 + T) == at.NO_FAULT


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_hand_that_leaps_along_any_axis_is_not_believed(axis, sign):
    """Its largest speed for the time since, and the margin for steps of encoders."""
    s = circuit()
    s.port.sample.position[axis] = sign * (LEAP * T + 1.01e-3)
    assert examine(s, 1.0 + T) == at.SAMPLE_LEAPED
    s.port.sample.position[axis] = sign * (LEAP * T + 0.99e-3)
    assert examine(s, 1.0 + T) == at.NO_FAULT


@pytest.mark.parametrize(("name", "value"), [("sequence", 99), ("measured", 1.0 - 1e-6)])
def test_samples_that_go_back_are_not_believed(name, value):
    s = circuit()
    getattr(s.port.sample, name)[0] = value
    assert examine(s, 1.0 + T) == at.SAMPLE_OLDER


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("place", range(views.device_sample_size()))
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_part_of_a_sample_may_be_no_number(place, value):
    s = circuit()
    s.port.sample.whole[place] = value
    assert examine(s, 1.0 + T) == at.SAMPLE_NOT_FINITE
