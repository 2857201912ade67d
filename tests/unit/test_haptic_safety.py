"""Who vouches: the limits themselves, looked for in the log of what was written; faults are drawn by seeds.

Samples and times come from a table, as in replays, in which faults are put: 10,000 of ten kinds, armed before each.
"""

import ctypes
import math
import time

import numpy as np
import pytest

import kane
from kane.haptics import Coupler, RecordedDevice, Safety, Session, Simulated, Traits
from kane.haptics.recording import Recording
from kane.native.haptics import loop_arrays as at
from kane.native.haptics.sample import MEASURED, POSITION, SAMPLE, SEQUENCE

T, BLOCK = 1e-3, 60
SAFETY = Safety(force=2.0, power=1.0, soft=0.003)
TRAITS = Traits(rate=1 / T, mass=0.1, damping=0.5, force=8.0, reach=0.3)


@pytest.fixture(scope="module")
def slider():
    m = kane.Model("slider")
    body = m.body("slider", mass=0.5)
    joint = m.connect(m.ground, body, kane.Prismatic("x", axis="x"))
    m.load(kane.Spring(joint, 200.0))
    m.load(kane.Damper(joint, 2.0))
    return kane.build(kane.formulate(m)), body.point()


def good(ticks):
    """Times, lateness and samples of a hand that waves, at times faster than a spring is felt."""
    t = np.arange(ticks) * T
    samples = np.zeros((ticks, SAMPLE))
    samples[:, SEQUENCE], samples[:, MEASURED] = np.arange(ticks) + 1, t
    samples[:, POSITION] = 0.08 * np.sin(9.0 * t) + 0.03 * np.sin(31.0 * t)
    samples[:, POSITION + 1] = 0.05 * np.cos(7.0 * t)
    return t, np.zeros(ticks), samples


def a_number(samples, k, rng, value):
    samples[k, rng.integers(SAMPLE)] = value


def inject(kind, k, data, rng):
    """A fault of this kind at tick k."""
    t, late, samples = data
    x = samples[:, POSITION : POSITION + 3]
    if kind == "nan":
        a_number(samples, k, rng, math.nan)
    elif kind == "infinite":
        a_number(samples, k, rng, math.copysign(math.inf, rng.normal()))
    elif kind == "everything nan":
        samples[k : k + rng.integers(1, 30)] = math.nan
    elif kind == "leap":
        x[k, rng.integers(3)] += math.copysign(rng.uniform(0.02, 0.15), rng.normal())
    elif kind == "outside":
        x[k : k + rng.integers(1, 30), rng.integers(3)] = rng.choice([-1, 1]) * 10 ** rng.uniform(-0.4, 300)
    elif kind == "stale":
        samples[k : k + 25] = samples[k - 1]
    elif kind == "older":
        samples[k, SEQUENCE] -= rng.integers(2, k)
    elif kind == "number":
        samples[k, SEQUENCE] = 10 ** rng.uniform(8, 300)
    elif kind == "future":
        samples[k, MEASURED] += 10 ** rng.uniform(-2, 6)
    elif kind == "missed":
        late[k] = rng.uniform(0.0105, 0.5)
        t[k:] += late[k]
        samples[k:, MEASURED] += late[k]
    return t[k]


KINDS = ("nan", "infinite", "everything nan", "leap", "outside", "stale", "older", "number", "future", "missed")


@pytest.mark.parametrize("seed", range(4))
def test_after_any_of_ten_thousand_faults_the_force_was_within_its_limits_and_is_gone_within_40_ms(slider, seed):
    rng, faults = np.random.default_rng(seed), 2500
    ticks = faults * BLOCK
    data = good(ticks)
    commands = np.zeros((faults, 1 + at.GIVEN))
    commands[:, 0], commands[:, 1 + at.ARM] = np.arange(faults) * BLOCK, np.arange(faults) + 1
    commands[:, 1 + at.STIFFNESS], commands[:, 1 + at.DAMPING] = (
        rng.uniform(50, 3000, faults),
        rng.uniform(0, 8, faults),
    )
    begins = np.arange(faults) * BLOCK + rng.integers(8, 15, faults)
    kinds = rng.choice(KINDS, faults)
    for kind, k in zip(kinds, begins, strict=True):
        inject(kind, k, data, rng)
    t, late, samples = data
    log = np.zeros((ticks, at.LOGGED))
    log[:, at.AT], log[:, at.LATE] = t, late
    dyn, handle = slider
    with pytest.warns(UserWarning, match="not stable") if seed == 0 else _nothing():
        session = Session(
            dyn, RecordedDevice(TRAITS, samples), Coupler(handle, stiffness=1e5 if seed == 0 else 100.0), safety=SAFETY
        )
    with session:
        session.run_recorded(Recording({"lengths": [ticks]}, log, commands, np.zeros((0, 0))))
        log = session.log
    force = log[:, at.OF_FORCE : at.OF_FORCE + 3]
    size = np.linalg.norm(force, axis=1)
    assert np.isfinite(force).all()
    assert size.max() <= 2.0 * (1 + 1e-12)
    assert size.max() > 1.99  # the limit was met: the test would see it exceeded
    power = np.einsum("ij,ij->i", force, log[:, at.OF_HAND : at.OF_HAND + 3])
    assert power.max() <= 1.0 * (1 + 1e-12)
    change = np.linalg.norm(np.diff(force, axis=0), axis=1)
    free = power[1:] < 1.0 - 1e-9  # what power limits may fall at once
    assert change[free].max() <= 1000.0 * T * (1 + 1e-9)
    for kind, k in zip(kinds, begins, strict=True):
        end = (k // BLOCK + 1) * BLOCK
        after = np.arange(k, end)[t[k:end] >= t[k] + 0.04 - 1e-9]
        assert (size[after] == 0.0).all(), (kind, k)
        assert log[min(k + 30, end - 1), at.OF_STATUS] != at.ARMED, (kind, k)
        assert log[k - 1, at.OF_STATUS] == at.ARMED, (kind, k)


class _nothing:
    def __enter__(self):
        return None

    def __exit__(self, *_):
        return False


def pulled(mechanism, stiffness):
    """A session of a mass on the x axis that an arm pulls 0.2 m along it in one second."""
    body = mechanism.bodies[-1]
    arm = kane.haptics.Arm(stiffness=300.0, damping=5.0, path=[(0, 0, 0, 0), (1, 0.2, 0, 0)])
    return Session(
        kane.build(kane.formulate(mechanism)),
        Simulated(arm=arm),
        Coupler(body.point(), stiffness=stiffness, damping=0.1),
    )


def largest(log):
    force = np.linalg.norm(log[:, at.OF_FORCE : at.OF_FORCE + 3], axis=1)
    assert np.isfinite(force).all()
    return force.max()


def test_a_mechanism_too_light_for_its_coupler_ends_the_force_when_it_goes_to_infinity():
    m = kane.Model("runaway")
    m.connect(m.ground, m.body("mass", mass=1e-9), kane.Prismatic("x", axis="x"))
    with pulled(m, 100.0) as s:
        s.arm()
        s.rehearse(0.5)
        assert s.report.faults[0].cause == "a force was infinite or no number"
        assert largest(s.log) <= 5.0
        assert largest(s.log[-100:]) == 0.0


def test_a_simulation_that_cannot_go_on_ends_the_force_and_then_says_why():
    m = kane.Model("cliff")
    body = m.body("mass", mass=0.2)
    joint = m.connect(m.ground, body, kane.Prismatic("x", axis="x"))
    m.load(kane.Force(body.point(), (1e-3 * kane.log(0.05 - joint.q), 0, 0)))
    with pulled(m, 300.0) as s:
        s.arm()
        with pytest.raises(kane.SimulationError, match="cliff"):
            s.rehearse(2.0)
        assert s.snapshot().fault == "the simulation could not go on"
        assert 0.1 < largest(s.log) <= 5.0
        assert largest(s.log[-1:]) == 0.0
        assert s.snapshot().time == pytest.approx(s.log[-21, at.AT], abs=2e-3)  # 19 ms of force that ends
        with pytest.raises(kane.SimulationError, match="cliff"):
            s.rehearse(1.0)


def test_a_device_that_vanishes_ends_the_force_until_it_is_armed_again(slider):
    dyn, handle = slider
    arm = kane.haptics.Arm(stiffness=300.0, damping=5.0, path=[(0, 0, 0, 0), (1, 0.1, 0, 0)])
    hand = Simulated(arm=arm)
    with Session(dyn, hand, Coupler(handle, stiffness=300.0, damping=1.0)) as s:
        s.arm()
        s.rehearse(0.5)
        channel = s._channel
        channel.settings[:] = np.where(
            np.arange(len(channel.settings)) == 9, 1 - 1e-12, channel.settings
        )  # all are lost
        s.arm()
        s.rehearse(0.5)
        assert s.snapshot().status == "idle"
        assert "no new sample" in s.snapshot().fault
        channel.settings[9] = 0.0
        s.arm()
        s.rehearse(0.5)
        assert s.snapshot().fault == ""
        assert np.abs(s.log[-100:, at.OF_FORCE]).max() > 0.1


def test_forces_begin_softly_and_without_a_step(slider):
    dyn, handle = slider
    arm = kane.haptics.Arm(stiffness=300.0, damping=5.0, path=[(0, 0.0, 0, 0), (0.1, 0.05, 0, 0)])
    with Session(dyn, Simulated(arm=arm, quantum=0.0), Coupler(handle, stiffness=300.0, damping=1.0)) as s:
        s.rehearse(0.2)
        s.arm()
        s.rehearse(1.0)
        force = np.linalg.norm(s.log[200:, at.OF_FORCE : at.OF_FORCE + 3], axis=1)
        assert force[0] < 0.01
        assert np.diff(s.log[200:700, at.OF_LEVEL]) == pytest.approx(np.full(499, 1e-3 / 0.5), rel=1e-9)
        assert (force[-2:] == 0.0).all()  # at the end of a run it is gone


def test_time_that_was_lost_is_told_and_not_made_up_for_and_the_next_run_goes_on_from_there(slider):
    dyn, handle = slider
    hand = Hanging(100, 0.1)
    with Session(dyn, hand, Coupler(handle, stiffness=300.0, damping=0.5), safety=Safety(soft=0.01)) as s:
        s.arm()
        s.run(0.2)
        s.arm()
        s.run(0.1)
        log, lost = s.log, s.report.lost
    assert lost >= 80
    times = log[:, at.AT] - log[:, at.LATE]
    assert (np.diff(times) > -1e-9).all()  # the clock of the session never goes back
    assert times[-1] == pytest.approx(0.299 + lost * T, abs=1e-6)
    assert log[250, at.OF_STATUS] == at.ARMED or s.report.late > 20


class Hanging(kane.haptics.Device):
    """A device in Python, for tests only: its n-th read takes long."""

    traits = Traits(rate=1000.0, mass=0.1, damping=1.0, force=8.0)

    def __init__(self, hangs, seconds):
        self.hangs, self.seconds, self.reads, self.written = hangs, seconds, 0, []
        code = ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_double)] * 5)
        self._code = code(self._read), code(self._write)

    def _read(self, state, rest, stage, out, work):
        self.reads += 1
        if self.reads == self.hangs:
            time.sleep(self.seconds)
        out[SEQUENCE], out[MEASURED] = self.reads, state[0]
        out[POSITION] = 0.03 * math.sin(12.0 * state[0])

    def _write(self, state, rest, stage, out, work):
        self.written.append((time.perf_counter(), state[1]))

    def open(self):
        read, write = (ctypes.cast(code, ctypes.c_void_p).value for code in self._code)
        return kane.haptics.Channel(read, write, np.zeros(1), np.zeros(1), np.zeros(1))


def test_where_the_loop_hangs_a_watchdog_writes_zero(slider):
    dyn, handle = slider
    hand = Hanging(300, 0.2)
    with Session(dyn, hand, Coupler(handle, stiffness=400.0, damping=0.1), safety=Safety(soft=0.01)) as s:
        s.arm()
        s.run(0.8)
        assert "watchdog" in s.report.faults[0].cause or "missed" in s.report.faults[0].cause
    times, forces = np.array(hand.written).T
    hangs = int(np.argmax(np.diff(times) > 0.015)) if (np.diff(times) > 0.015).any() else 0
    assert np.abs(forces[: hangs + 1]).max() > 0.5
    within = (times > times[hangs]) & (times < times[hangs] + 0.19)
    assert within.sum() > 10  # the watchdog's
    assert (forces[within] == 0.0).all()
    assert times[hangs + 1] - times[hangs] < 0.04 + 0.05  # 20 ms, two looks, and a busy machine
