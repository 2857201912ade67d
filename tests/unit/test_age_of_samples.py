"""Who vouches: closed forms of a hand that goes at one speed, exact eigenvalues, the device's own simulation."""

import numpy as np
import pytest
from oracles.devices import memory_of

import kane
from kane.haptics import Arm, Coupler, Safety, Session, Simulated, Traits, coupler_limits
from kane.haptics.safety.sampled_loop import SampledLoop


def wall():
    m = kane.Model("wall", gravity=(0, 0, 0))
    body = m.body("wall", mass=1e6, inertia=(1e6, 1e6, 1e6))
    m.connect(m.ground, body, kane.Free("b"))
    return kane.build(kane.formulate(m)), body.point()


def dragged(lead, **values):
    """The log of a heavy hand that goes along x at 0.1 m/s and turns about it at 0.5 rad/s, before a wall."""
    dyn, handle = wall()
    path = [(0, 0, 0, 0, 0, 0, 0), (0.01, 0, 0, 0, 0, 0, 0), (1.0, 0.099, 0, 0, 0.495, 0, 0)]
    arm = Arm(mass=1e3, damping=1e7, stiffness=1e9, inertia=1.0, turning_damping=1e5, turning_stiffness=1e6, path=path)
    hand = Simulated(turns="xyz", arm=arm, force=1e3, torque=1e3, **values)
    coupler = Coupler(handle, stiffness=20.0, turning_stiffness=0.05, turns="xyz", lead=lead)
    safety = Safety(force=1e3, torque=1e3, power=1e3, soft=1e-3)
    with Session(dyn, hand, coupler, safety=safety) as s:
        s.rehearse(0.008)  # a first sample may be lost
        s.arm()
        s.rehearse(0.6)
        return s.log[300:500], s.report


@pytest.mark.parametrize("delay", [0.0, 2.3e-3])
@pytest.mark.parametrize("loss", [0.0, 0.6])
def test_the_force_is_that_of_where_the_hand_is_when_it_acts_however_old_the_sample(loss, delay):
    """x + v (age + T/2): on a way at one speed lead = 1 makes up for all of it, lost samples or not."""
    log, report = dragged(1.0, loss=loss, delay=delay)
    middle = log["time"] + delay + 0.5e-3
    assert log["pull"][:, 0] == pytest.approx(20.0 * 0.1 * (middle - 0.01), rel=1e-4)
    angle = 0.5 * (middle - 0.01)
    assert log["pull"][:, 3] == pytest.approx(0.05 * np.sin(angle), rel=1e-4)
    plain, _ = dragged(0.0, loss=loss, delay=delay)
    behind = middle - (log["age"] + 0.5e-3)
    assert plain["pull"][:, 0] == pytest.approx(20.0 * 0.1 * (behind - 0.01), rel=1e-4)
    assert report.age[0] >= delay
    assert (np.ptp(log["age"]) > 2e-3) == (loss > 0.0)


def test_a_lead_is_a_damping_that_goes_with_the_stiffness():
    """By the matrix of a loop with that damping; the rule (b + B)/(T/2 + td - lead) near it."""
    m, b, T, td, lead = 0.1, 0.1, 1e-3, 1e-3, 0.6e-3
    loop, plain = SampledLoop(m, b, T, td, lead), SampledLoop(m, b, T, td)
    K = loop.largest_stable(0.0)
    assert plain.is_stable(0.999 * K, 0.999 * K * lead)
    assert not plain.is_stable(1.001 * K, 1.001 * K * lead)
    assert pytest.approx(b / (T / 2 + td - lead), rel=0.02) == K
    passive = loop.largest_passive(0.0)
    assert plain.largest_passive(passive * lead) == pytest.approx(passive, rel=1e-3)


def survives(device, K, lead, ticks=4000):
    """Whether a handle before a wall comes nearer to rest, in the session itself."""
    dyn, handle = wall()
    safety = Safety(force=1e6, power=1e6, soft=1e-3, speed=1e3, leap=1e3)
    with Session(dyn, device, Coupler(handle, stiffness=K, lead=lead), safety=safety) as s:
        s.arm()
        s.rehearse(0.05)
        memory_of(s._channel).v[0] = 0.02  # a push, once the force is there
        s.arm()
        s.rehearse(ticks * 1e-3)
        x = np.abs(s.log["pull"][60:-25, 0])
    return x[-len(x) // 4 :].max() < x[: len(x) // 4].max()


def test_the_stiffness_that_the_aid_allows_with_a_lead_is_stable_in_a_session_and_a_tenth_more_is_not():
    device = Simulated(mass=0.1, damping=0.1, delay=1e-3, force=1e6)
    K = coupler_limits(device, damping=0.0, lead=0.5).stable
    assert 1.8 * coupler_limits(device, damping=0.0).stable < K
    assert survives(device, 0.95 * K, 0.5)
    with pytest.warns(UserWarning, match="not stable"):
        assert not survives(device, 1.1 * K, 0.5)


def test_the_age_that_was_measured_can_be_what_the_limits_go_by():
    traits = Traits(rate=1000.0, mass=0.1, damping=0.1, force=5.0)
    aged = coupler_limits(traits, age=3e-3, damping=0.2)
    late = coupler_limits(Traits(rate=1000.0, mass=0.1, damping=0.1, force=5.0, delay=3e-3), damping=0.2)
    assert aged.stable == late.stable < coupler_limits(traits, damping=0.2).stable
    for wrong in ({"age": -1.0}, {"lead": 1.5}, {"lead": -0.1}):
        with pytest.raises(kane.ModelError):
            coupler_limits(traits, **wrong)
    with pytest.raises(kane.ModelError, match="lead of a coupler"):
        Coupler(wall()[1], stiffness=1.0, lead=2.0)
