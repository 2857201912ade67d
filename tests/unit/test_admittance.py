"""Admittance display. Who vouches: closed forms of servo, statics and a damper; ``simulate`` under recorded inputs;
growth and decay of the loop of session and simulated device, which share no code with the eigenvalues; the limits
themselves, looked for in the log of positions after 600 faults.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from oracles.waiting import until

import kane
from kane.engine.memory.devices import DEVICE_SAMPLE
from kane.engine.memory.fill import record_dtype
from kane.engine.memory.realtime import LOG_ROW
from kane.engine.memory.views import log_row_size, loop_command_at, taken_command_at, taken_command_size
from kane.engine.realtime import loop_arrays as at
from kane.engine.realtime.coupler import find_target
from kane.engine.realtime.safety import place
from kane.errors import ModelError
from kane.haptics import (
    AdmittanceCoupler,
    Arm,
    Coupler,
    PassiveMidpoint,
    RecordedDevice,
    RigidCoupler,
    Safety,
    Session,
    Simulated,
    Traits,
    admittance_limits,
    coupler_limits,
    largest_inertia,
    replay,
)
from kane.haptics.recording.recording import Recording
from kane.haptics.safety.servo_loop import ServoLoop

T = 1e-3
PATH = [(0, 0, 0, 0), (0.3, 0, 0, 0), (0.8, 0.03, 0.01, 0), (1.4, -0.02, 0, 0), (1.8, 0, 0, 0)]


def slider(mass=1.0, spring=0.0, damper=0.0, stop=None):
    m = kane.Model("slider", gravity=(0, 0, 0))
    body = m.body("slider", mass=mass)
    joint = m.connect(m.ground, body, kane.Prismatic("x", axis="x"))
    if spring:
        m.load(kane.Spring(joint, spring))
    if damper:
        m.load(kane.Damper(joint, damper))
    if stop is not None:
        m.stop(joint, lower=-stop, upper=stop, restitution=0.0)
    m.load(kane.Force(body.point(), (m.input("push"), 0, 0)))
    return kane.build(kane.formulate(m)), body.point()


def servo(**values):
    arm = Arm(mass=0.3, damping=8.0, stiffness=300.0, path=PATH)
    given = {"measures_force": True, "lag": 3e-3, "delay": 1.4e-3, "mass": 0.05, "force": 50.0, "arm": arm}
    return Simulated(**{**given, **values})


@pytest.fixture(scope="module")
def session():
    dyn, handle = slider()
    with Session(dyn, servo(), AdmittanceCoupler(handle, damping=10.0, axes="x", scale=2.0, force_scale=0.5)) as s:
        s.arm()
        s.rehearse(2.0)
    return s


# The device


def test_the_servo_moves_along_its_closed_form_and_its_sensor_measures_what_hand_and_handle_need():
    """A step command is a ramp r of one period; h x' = r - x in closed form; F = k (xi - x) - c x' - m x''."""
    h, td, u, k, c, m = 4e-3, 0.3e-3, 0.02, 300.0, 8.0, 0.35
    arm = Arm(mass=0.3, damping=c, stiffness=k, path=[(0, 0, 0.001, 0)])
    channel = servo(lag=h, delay=td, arm=arm, quantum=0.0, patience=1.0).open()
    channel.sample(0.0)
    channel.push(0.0, position=(u, 0.001, 0))
    for i in range(1, 20):
        sample = channel.sample(i * T)
        t, slope = i * T - td, u / T
        if t <= T:
            x, v, a = (
                slope * (t - h + h * math.exp(-t / h)),
                slope * (1 - math.exp(-t / h)),
                slope / h * math.exp(-t / h),
            )
        else:
            away = slope * (-h + h * math.exp(-T / h)) * math.exp(-(t - T) / h)
            x, v, a = u + away, -away / h, away / h**2
        assert sample["position"] == pytest.approx([x, 0.001, 0.0], abs=1e-15)
        assert sample["force"][0] == pytest.approx(-k * x - c * v - m * a, rel=1e-9)


def test_the_device_holds_its_handle_without_commands_and_after_a_command_to_hold():
    channel = servo(patience=0.02).open()
    channel.push(0.0, position=(0.02, 0, 0))
    places = [channel.sample(i * T)["position"][0] for i in range(60)]
    assert 0.019 < places[25] == places[59]  # its own watchdog: no renewed command for 20 ms
    channel.push(0.06, position=(0.0, 0, 0))
    moving = channel.sample(0.065)["position"][0]
    assert moving < 0.95 * places[59]
    channel.release(0.065)
    held = channel.sample(0.067)["position"][0]
    assert 0.0 < held < moving  # 1.4 ms later
    assert channel.sample(0.1)["position"][0] == held


# The display


def test_the_mechanism_gets_the_force_by_its_scale_less_the_damper_and_the_device_the_place_of_the_handle(session):
    log, run = session.log, session.trajectory
    n, B, s, c = len(log), 10.0, 2.0, 0.5
    force, v = -log["force"][:, 0], run.u[:n, 0]
    full = log["level"] == 1.0
    assert full.sum() > 1000
    assert np.ptp(force[full]) > 2.0
    assert log["pull"][full, 0] == pytest.approx(force[full] / c - B * v[full], rel=1e-12, abs=1e-12)
    moved = run.q[1 : n + 1, 0] / s  # it began at zero, where the device was
    armed = log["status"] == at.ARMED
    assert log["position"][armed, 0] == pytest.approx(moved[armed], abs=1e-15)
    assert (log["position"][:, 1:] == log["sample"]["position"][0, 1:]).all()  # along these axes it stays
    assert session.report.faults == ()


def test_the_motion_is_that_of_simulate_under_the_recorded_inputs(session):
    held, run = session._loop.coupled.dyn, session.trajectory
    names = [leaf.name for leaf in held.equations.inputs]
    inputs = {name: kane.Held(run.time, column) for name, column in zip(names, run.inputs.T, strict=True)}
    again = kane.simulate(held, until=2.0, dt=1e-3, inputs=inputs)
    assert np.ptp(run.q) > 0.03
    assert (again.q[:-1] == run.q[:-1]).all()


def test_energy_of_the_hand_is_energy_of_the_mechanism_and_of_the_damper(session):
    """What the operator gives, times s/c, the mechanism and the damper get; the display is late by D, some percent.

    To the mechanism: its kinetic energy; the error of the trapezoidal rule is B a^2 T^3/12 in each of 2000 ticks.
    """
    log, run = session.log, session.trajectory
    k = int(np.flatnonzero(log["status"] == at.ARMED)[-1])
    kinetic = 0.5 * run.u[k, 0] ** 2
    given = log["energies"]
    assert given["to_mechanism"][k] == pytest.approx(kinetic, abs=3e-6)
    damped = np.trapezoid(10.0 * log["level"][: k + 1] * run.u[: k + 1, 0] ** 2, dx=T)
    from_hand = -given["to_operator"][k] * 2.0 / 0.5
    assert damped > 0.01
    assert from_hand == pytest.approx(kinetic + damped, rel=0.05)
    assert session.report.to_hand == pytest.approx(given["to_operator"][-1])
    assert session.report.force == pytest.approx(np.linalg.norm(log["sample"]["force"], axis=1).max(), rel=1e-12)


def test_at_rest_arm_and_mechanism_are_two_springs():
    """k (xi - x) = F, F/c = K p, x = p/s: statics."""
    k, K, s, c, xi = 300.0, 400.0, 2.0, 0.5, 0.02
    dyn, handle = slider(spring=K)
    hand = servo(arm=Arm(stiffness=k, path=[(0, 0, 0, 0), (1, xi, 0, 0)]))
    coupler = AdmittanceCoupler(handle, damping=20.0, axes="x", scale=s, force_scale=c)
    with Session(dyn, hand, coupler) as session:
        session.arm()
        session.rehearse(5.0)
        row = session.log[-100]
    x = k * xi / (k + c * K * s)
    assert row["sample"]["position"][0] == pytest.approx(x, rel=1e-6)
    assert row["handle"][0] == pytest.approx(s * x, rel=1e-6)
    assert row["sample"]["force"][0] == pytest.approx(c * K * s * x, rel=1e-6)
    assert row["force"][0] == -row["sample"]["force"][0]


def test_a_stop_is_as_hard_as_the_servo():
    """The operator presses beyond the stop, and the device stays at it: 1e-5 m, with a force of k (xi - stop)."""
    dyn, handle = slider(stop=0.01)
    hand = servo(arm=Arm(damping=8.0, stiffness=300.0, path=[(0.2, 0, 0, 0), (0.6, 0.02, 0, 0)]))
    with Session(dyn, hand, AdmittanceCoupler(handle, damping=10.0, axes="x")) as s:
        s.arm()
        s.rehearse(2.0)
    pressed = s.log[1500:1900]
    assert pressed["sample"]["position"][:, 0] == pytest.approx(0.01, abs=1e-5)
    assert pressed["force"][:, 0] == pytest.approx(-3.0, abs=0.01)
    assert any(cause == "closes" or "impos" in cause or "bounce" in cause for _, _, cause in s.report.events)


def test_a_constraint_that_is_imposed_holds_the_device_and_one_that_is_deleted_lets_it_move():
    m = kane.Model("braked", gravity=(0, 0, 0))
    body = m.body("slider", mass=1.0)
    joint = m.connect(m.ground, body, kane.Prismatic("x", axis="x"))
    hand = servo(arm=Arm(damping=8.0, stiffness=300.0, path=[(0, 0, 0, 0), (1.5, 0.02, 0, 0)]))
    coupler = AdmittanceCoupler(body.point(), damping=60.0, axes="x")
    with Session(kane.build(kane.formulate(m)), hand, coupler) as s:
        s.rehearse(0.01)
        s.impose(joint.qdot, name="brake").wait()
        s.arm()
        s.rehearse(0.7)
        s.delete("brake").wait()
        s.arm()
        s.rehearse(0.7)
        log = s.log
    braked, moving = log[20:680], log[720:1380]
    assert (braked["moves"] == 1.0).all()
    assert np.ptp(braked["position"][:, 0]) < 1e-12
    assert np.abs(braked["force"][:, 0]).max() > 2.0
    assert np.ptp(moving["position"][:, 0]) > 5e-3


def test_with_passive_steps_the_ledger_has_the_work_of_the_coupler():
    dyn, handle = slider()
    coupler = AdmittanceCoupler(handle, damping=10.0, axes="x")
    with Session(dyn, servo(), coupler, integrator=PassiveMidpoint()) as s:
        s.arm()
        s.rehearse(1.0)
        ledger = s.ledger
    assert ledger.kinetic == pytest.approx(ledger.coupler, rel=1e-12)
    assert ledger.kinetic > 1e-4


def test_a_clutch_holds_the_device_and_then_couples_without_a_jump():
    """In real time, because Python gives commands within a run; the hand pulls all the time."""
    dyn, handle = slider()
    hand = servo(arm=Arm(damping=8.0, stiffness=300.0, path=[(0, 0, 0, 0), (2, 0.06, 0, 0)]))
    with Session(dyn, hand, AdmittanceCoupler(handle, damping=60.0, axes="x")) as s:
        s.arm()
        s.start(1.0)
        until(lambda: s.snapshot().tick > 300)
        s.clutch(True)
        until(lambda: s.snapshot().tick > 500)
        s.clutch(False)
        s.wait()
        log = s.log
    place = log["position"][:, 0]
    still = np.flatnonzero((np.diff(place) == 0.0) & (log["moves"][1:] == 1.0))
    assert len(still) > 100
    assert (np.diff(still) == 1).all()
    begun = still[-1] + 1
    assert place[begun] - place[begun - 1] == pytest.approx(0.0, abs=2e-4)  # it was 1.4 ms and 3 ms behind
    assert place[begun + 100] - place[begun] > 1e-3
    assert s.report.faults == ()


def test_a_session_runs_again_bit_for_bit_from_its_file_with_forces_and_positions(session, tmp_path):
    session.save(tmp_path / "pushed.session")
    again = replay(tmp_path / "pushed.session", slider()[0])
    assert isinstance(again.coupling.coupler, AdmittanceCoupler)
    for name in ("force", "position", "moves", "pull", "sample"):
        np.testing.assert_array_equal(again.log[name], session.log[name])
    session.save_html(tmp_path / "pushed.html")


def test_it_runs_in_real_time_too():
    dyn, handle = slider()
    with Session(dyn, servo(), AdmittanceCoupler(handle, damping=10.0, axes="x")) as s:
        s.arm()
        s.run(0.6)
        assert s.log["moves"].max() == 1.0
        assert s.log["moves"][-1] == 0.0


# Its limits


ARMS = [
    ({"lag": 3e-3, "delay": 0.0}, {"stiffness": 500.0}, 1.0),
    ({"lag": 2e-4, "delay": 0.0}, {"stiffness": 500.0}, 0.1),
    ({"lag": 5e-3, "delay": 1.4e-3}, {"stiffness": 300.0}, 0.2),
    ({"lag": 5e-3, "delay": 1.4e-3}, {"stiffness": 2000.0, "damping": 3.0, "mass": 0.2}, 0.5),
    ({"lag": 5e-3, "delay": 3.7e-3}, {"stiffness": 300.0, "mass": 0.5}, 0.3),
    ({"lag": 2e-3, "delay": 1.4e-3}, {"stiffness": 300.0, "mass": 0.5}, 0.2),  # an arm heavier than the mechanism
    ({"lag": 1e-2, "delay": 0.5e-3, "rate": 300.0}, {"stiffness": 300.0}, 0.5),
]


@pytest.mark.parametrize(("device", "arm", "mass"), ARMS)
def test_the_limit_is_where_an_arm_at_the_device_begins_to_shake(device, arm, mass):
    """5 % inside and outside, and 2 % too; servo and arm by the device, the mechanism by RK4."""
    hand = servo(arm=Arm(**arm, path=[(0, 0, 0, 0), (0.1, 0.0, 0, 0), (0.105, 1e-3, 0, 0)]), **device)
    least = admittance_limits(hand, Arm(**arm), mass=mass).stable
    assert least > 0.1
    for part, grows in ((0.95, True), (0.98, True), (1.02, False), (1.05, False)):
        dyn, handle = slider(mass)
        safety = Safety(soft=1e-3, force=50.0, power=1e4, speed=4.0, leap=100.0)
        coupler = AdmittanceCoupler(handle, damping=part * least, axes="x")
        with Session(dyn, hand, coupler, safety=safety) as s:
            s.arm()
            s.rehearse(4.0)
        moved = np.abs(np.diff(s.log["position"][:, 0]))
        n = len(moved)
        early, late = (moved[int(a * n) : int(b * n)].max() for a, b in ((0.1, 0.3), (0.75, 0.95)))
        assert bool(late > early or s.report.faults) is grows, part


def test_with_scales_the_limit_is_that_of_what_is_felt():
    hand, arm = servo(), Arm(stiffness=400.0)
    felt = admittance_limits(hand, arm, mass=0.5 * 2.0 * 0.25)
    here = admittance_limits(hand, arm, mass=0.5, scale=2.0, force_scale=0.25)
    assert here.stable * 0.5 == pytest.approx(felt.stable, rel=1e-9)
    assert here.any_spring * 0.5 == pytest.approx(felt.any_spring, rel=1e-12)
    assert here.rule * 0.5 == pytest.approx(felt.rule, rel=1e-12)
    assert "feels 0.5 times" in str(here)
    assert "D = h + td + T/2 = 4.9 ms" in str(here)


@pytest.mark.parametrize(("lag", "delay"), [(2e-4, 0.0), (3e-3, 0.0), (1e-2, 0.0), (5e-3, 1e-3), (1e-2, 2.4e-3)])
def test_the_rule_exceeds_the_limit_by_at_most_its_part_k_d_squared_over_m(lag, delay):
    """To first order in D: b > k (h + td + T/2); the error is of second order."""
    k = 500.0
    device = servo(lag=lag, delay=delay, mass=1e-9)
    for mass in (0.1, 1.0, 10.0, 1000.0):
        found = admittance_limits(device, Arm(stiffness=k), mass=mass)
        assert found.rule == pytest.approx(k * (lag + delay + 0.5 * T), rel=1e-12)
        assert 0.0 < found.rule - found.stable < found.rule * k * found.age**2 / mass
    assert admittance_limits(device, Arm(stiffness=k, damping=20.0), mass=10.0).stable == 0.0  # with any damping
    damped = admittance_limits(device, Arm(stiffness=k, damping=0.1), mass=1000.0)
    assert damped.stable == pytest.approx(found.rule - 0.1, rel=2e-3)


def response(loop, damping, z):
    """x_k per F_k: the loop without an arm, with a force from outside."""
    free = ServoLoop(loop.mass, loop.period, loop.delay, loop.lag, (0.0, 0.0, 0.0))
    A, push = free.servo_matrix(damping), free.moved(damping)[1]
    x, _, _ = free.followed()
    b = np.zeros(len(A))
    b[:2], b[3] = push, push[0]
    b[2] = x[3] * push[0] if loop.late == 0 else 0.0
    return np.linalg.solve(z * np.eye(len(A)) - A, b)[2]


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(k, marks=pytest.mark.slow) for k in range(4, 12))])
def test_the_response_meets_the_circle_criterion_from_the_limit_for_any_spring_on(seed):
    """min Re G(e^jwT) = -1/k at the limit, over all frequencies, for random devices and masses."""
    rng = np.random.default_rng(seed)
    k, mass, lag = 10 ** rng.uniform(1, 4), 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-4, -1.3)
    loop = ServoLoop(mass, T, rng.choice([0.0, rng.uniform(0.0, 6e-3)]), lag, (k, 0.0, 0.0))
    b = loop.any_spring
    slow = b / (mass + b * loop.age)
    angles = np.unique(np.concatenate([np.geomspace(1e-4, 1e3, 400) * slow * T, np.linspace(1e-3, math.pi, 800)]))
    angles = angles[angles <= math.pi]
    real = np.array([response(loop, b, np.exp(1j * w)).real for w in angles])
    assert real.min() * k == pytest.approx(-1.0, rel=1e-3)
    assert loop.is_stable(b)


@pytest.mark.parametrize(("part", "grows"), [(0.2, True), (1.0, False)])
def test_a_spring_that_is_tensed_at_the_wrong_times_shakes_a_stable_loop_and_none_beyond_the_limit(part, grows):
    """An arm that is stiff while it returns and slack while it leaves gains energy twice in each period."""
    loop = ServoLoop(1.0, T, 1e-3, 5e-3, (500.0, 0.0, 0.0))
    b = part * loop.any_spring
    assert loop.is_stable(b)
    stiff = loop.servo_matrix(b)
    slack = ServoLoop(1.0, T, 1e-3, 5e-3, (0.0, 0.0, 0.0)).servo_matrix(b)
    state = np.zeros(len(stiff))
    state[[0, 2, 3, 4, 5]] = 1.0
    sizes, before = [], state
    for _ in range(5000):
        before, state = state, (stiff if state[2] * (state[2] - before[2]) <= 0.0 else slack) @ state
        sizes.append(abs(state[2]))
    assert bool(max(sizes[-1000:]) > max(sizes[:1000])) is grows


def test_a_damper_alone_is_felt_as_it_is():
    """At constant speed x' = F/(s c B), whatever the mass."""
    dyn, handle = slider(mass=0.05)
    coupler = AdmittanceCoupler(handle, damping=40.0, axes="x", scale=0.5, force_scale=2.0)
    hand = servo(arm=Arm(stiffness=300.0, path=[(0.6, 0, 0, 0), (1.6, 0.05, 0, 0), (3, 0.05, 0, 0)]))
    with Session(dyn, hand, coupler) as s:
        s.arm()
        s.rehearse(1.5)
    row, before = s.log[1300], s.log[1200]
    speed = (row["position"][0] - before["position"][0]) / 0.1
    mean = s.log["sample"]["force"][1200:1300, 0].mean()
    assert speed > 0.01
    assert mean == pytest.approx(40.0 * speed, rel=1e-3)


# Safety


def limits(**values):
    """A place of one device for the kernel, called as it is from Python: at 0.1, 0, 0, armed, at full level."""
    rules = {"period": [T], "ramp_down": [0.019], "fast": [1.0, 10.0], "reach": [0.3], "power": [5.0]}
    state = {
        "placed": np.array([0.1, 0.0, 0.0]),
        "device": np.array([0.1, 0.0, 0.0, 1.0, 0, 0, 0]),
        "advance": np.zeros(3),
        "end_advance": np.zeros(3),
        "end_wrench": np.zeros(6),
        "written": np.zeros(6),
        "force": np.zeros(3),
        "moves": [0.0],
        "level": [1.0],
        "end_time": [0.0],
    }
    counts = {"status": [at.ARMED], "fault": [at.NO_FAULT]}
    for group in (rules, state, counts):
        group.update({word: value for word, value in values.items() if word in group})
    return SimpleNamespace(
        *(), **{k: SimpleNamespace(**v) for k, v in (("rules", rules), ("state", state), ("counts", counts))}
    )


def test_a_position_is_limited_in_speed_workspace_and_power():
    s = limits()
    place(s, 0.0, np.array([0.1003, 0.0004, 0.0]))
    assert s.state.placed == pytest.approx([0.1003, 0.0004, 0.0], abs=1e-15)  # 0.5 m/s: as it was asked
    assert s.state.moves == [1.0]
    s = limits()
    place(s, 0.0, np.array([0.4, 0.4, 0.0]))  # to 0.3, 0.3 in the workspace: 0.2, 0.3 from here
    way = np.array([0.2, 0.3, 0.0])
    assert s.state.placed - [0.1, 0, 0] == pytest.approx(way / np.linalg.norm(way) * 1e-3, rel=1e-12)
    s = limits(placed=np.array([0.2999, 0.0, 0.0]))
    place(s, 0.0, np.array([0.31, 0.0, 0.0]))
    assert s.state.placed[0] == 0.3
    s = limits(level=[0.25])
    place(s, 0.0, np.array([0.2, 0.0, 0.0]))
    assert s.state.placed[0] == pytest.approx(0.1 + 0.25e-3, rel=1e-12)
    s = limits(force=np.array([-20.0, 0.0, 0.0]))  # the device pushes the operator with 20 N: 5 W are 0.25 m/s
    place(s, 0.0, np.array([0.2, 0.0, 0.0]))
    assert s.state.placed[0] == pytest.approx(0.1 + 0.25e-3, rel=1e-12)
    s = limits(force=np.array([20.0, 0.0, 0.0]))  # the operator pushes the device
    place(s, 0.0, np.array([0.2, 0.0, 0.0]))
    assert s.state.placed[0] == pytest.approx(0.1 + 1e-3, rel=1e-12)


@pytest.mark.parametrize(("value", "axis"), [(math.nan, 0), (math.inf, 1), (-math.inf, 2)])
def test_a_position_that_is_no_number_is_not_written_and_ends_the_motion(value, axis):
    s, target = limits(advance=np.array([5e-4, 0.0, 0.0])), np.array([0.1, 0.0, 0.0])
    target[axis] = value
    place(s, 7.0, target)
    assert (s.counts.status[0], s.counts.fault[0]) == (at.ENDING, at.POSITION_NOT_FINITE)
    assert s.state.placed == pytest.approx([0.1005, 0.0, 0.0], rel=1e-12)
    place(s, 7.0095, target)
    assert s.state.placed == pytest.approx([0.10075, 0.0, 0.0], rel=1e-12)  # half the speed at half the time
    place(s, 7.0195, target)
    assert s.state.placed == pytest.approx([0.10075, 0.0, 0.0], rel=1e-12)
    s.counts.status[0] = at.UNARMED
    place(s, 7.0205, target)
    assert (s.state.placed == s.state.device[:3]).all()
    assert s.state.moves[0] == 0.0
    assert (s.state.advance == 0.0).all()  # it was the handle that moved, and no motion that could end


@pytest.mark.parametrize(("status", "clutched", "held"), [(at.ARMED, 0, 0), (at.ARMED, 1, 1), (at.ENDING, 0, 1)])
def test_the_target_is_where_proxy_and_handle_meet_and_along_other_axes_the_last_position(status, clutched, held):
    """x = (p - x_0)/s."""
    s = SimpleNamespace(
        state=SimpleNamespace(offset=np.array([0.1, 0.2, 0.3, 1.0, 0, 0, 0]), placed=np.array([0.01, 0.02, 0.03])),
        rules=SimpleNamespace(axes=[1.0, 0.0, 1.0, 0.0, 0.0, 0.0], scale=[2.0, 1.0]),
        calls=SimpleNamespace(scratch=SimpleNamespace(target=np.zeros(3))),
        handle=SimpleNamespace(motion=SimpleNamespace(position=np.array([0.5, 0.6, 0.9]))),
        counts=SimpleNamespace(status=[status], clutched=[clutched]),
    )
    find_target(s)
    assert s.calls.scratch.target == pytest.approx([0.01, 0.02, 0.03] if held else [0.2, 0.02, 0.3], rel=1e-12)


BLOCK = 80
KINDS = ("nan force", "infinite force", "large force", "nan", "leap", "outside", "stale", "older", "missed", "none")


def inject(kind, k, data, rng):
    t, late, samples = data
    if kind == "nan force":
        samples["force"][k, rng.integers(3)] = math.nan
    elif kind == "infinite force":
        samples["force"][k, rng.integers(3)] = math.copysign(math.inf, rng.normal())
    elif kind == "large force":
        samples["force"][k : k + rng.integers(1, 40), rng.integers(3)] = rng.choice([-1, 1]) * 10 ** rng.uniform(
            1.1, 300
        )
    elif kind == "nan":
        rows = samples.view(float).reshape(len(samples), -1)
        rows[k, rng.integers(rows.shape[1])] = math.nan
    elif kind == "leap":
        samples["position"][k, rng.integers(3)] += rng.choice([-1, 1]) * rng.uniform(0.02, 0.15)
    elif kind == "outside":
        samples["position"][k : k + rng.integers(1, 30), rng.integers(3)] = rng.choice([-1, 1]) * 10 ** rng.uniform(
            -0.4, 300
        )
    elif kind == "stale":
        samples[k : k + 25] = samples[k - 1]
    elif kind == "older":
        samples["sequence"][k] -= rng.integers(2, k)
    elif kind == "missed":
        late[k] = rng.uniform(0.0105, 0.5)
        t[k:] += late[k]
        samples["measured"][k:] += late[k]


def test_after_any_of_six_hundred_faults_the_device_was_within_its_limits_and_holds_within_40_ms():
    run_into_faults(600)


def test_after_each_of_twenty_faults_the_device_was_within_its_limits_and_holds_within_40_ms():
    """Few enough to be run as Python too: test_engine_mutants."""
    run_into_faults(20)


def run_into_faults(faults):
    rng, ticks = np.random.default_rng(7), faults * BLOCK
    t = np.arange(ticks) * T
    samples, late = np.zeros(ticks, record_dtype(DEVICE_SAMPLE)), np.zeros(ticks)
    samples["sequence"], samples["measured"] = np.arange(ticks) + 1, t
    samples["position"][:, 0], samples["orientation"][:, 0] = 0.05 * np.sin(9.0 * t), 1.0
    samples["force"][:, 0] = 6.0 * np.sin(50.0 * t) + 3.0 * np.sin(7.0 * t)
    begins = np.arange(faults) * BLOCK + rng.integers(12, 20, faults)
    kinds = rng.choice(KINDS, faults)
    for kind, k in zip(kinds, begins, strict=True):
        inject(kind, k, (t, late, samples), rng)
    commands = np.zeros((faults, taken_command_size(1)))
    taken = taken_command_at(commands, 0, 1)
    command = loop_command_at(commands, taken.command, 1)
    taken.tick[:, 0], command.arm[:, 0] = np.arange(faults) * BLOCK, np.arange(faults) + 1
    command.damping[:, 0] = rng.uniform(1.0, 20.0, faults)
    rows = np.zeros((ticks, log_row_size()))
    log = rows.view(record_dtype(LOG_ROW))[:, 0]
    log["time"], log["lateness"] = t, late
    traits = Traits(rate=1 / T, mass=0.1, force=12.0, reach=0.3, measures_force=True, lag=3e-3)
    dyn, handle = slider(mass=0.05)
    device = RecordedDevice(traits, samples.view(float).reshape(ticks, -1))
    safety = Safety(force=12.0, power=0.5, speed=0.2, soft=0.003)
    with Session(dyn, device, AdmittanceCoupler(handle, damping=10.0, axes="x"), safety=safety) as s:
        s.run_recorded(Recording({"lengths": [ticks]}, rows, commands, np.zeros((0, 0))))
        log = s.log
    assert np.isfinite(log["position"]).all()
    assert np.abs(log["position"]).max() <= 0.3
    moving = (log["moves"][1:] == 1.0) & (log["moves"][:-1] == 1.0)
    way = np.diff(log["position"], axis=0)[moving]
    speed = np.linalg.norm(way, axis=1) / T
    assert 0.199 < speed.max() <= 0.2 * (1 + 1e-9)
    power = np.einsum("ij,ij->i", log["force"][1:][moving], way) / T
    assert 0.499 < power.max() <= 0.5 * (1 + 1e-9)
    for kind, k in zip(kinds, begins, strict=True):
        end = (k // BLOCK + 1) * BLOCK
        after = np.arange(k, end)[t[k:end] >= t[k] + 0.04 - 1e-9]
        assert log["status"][k - 1] == at.ARMED, (kind, k)
        if kind == "none" and end < ticks:
            assert (log["moves"][after] == 1.0).all()
        elif kind != "none":
            assert (log["moves"][after] == 0.0).all(), (kind, k)
            assert log["fault"][after[0]] != at.NO_FAULT, (kind, k)


def test_a_force_above_the_limit_ends_the_motion_and_says_so():
    dyn, handle = slider()
    hand = servo(arm=Arm(stiffness=300.0, path=[(0.5, 0, 0, 0), (0.6, 0.1, 0, 0)]))
    with Session(dyn, hand, AdmittanceCoupler(handle, damping=200.0, axes="x")) as s:
        s.arm()
        s.rehearse(1.0)
        assert s.report.faults[0].cause == "the measured force was larger than Safety(force=...) and the sensor allow"
        log = s.log
    k = int(np.flatnonzero(log["fault"])[0])
    assert log["sample"]["force"][k - 1, 0] <= 5.0 < log["sample"]["force"][k, 0]
    assert np.ptp(log["sample"]["position"][k + 40 :, 0]) == 0.0
    assert log["moves"][k + 40] == 0.0
    change = np.abs(np.diff(log["position"][k - 1 : k + 19, 0]))
    assert change[0] > 1e-5
    assert change == pytest.approx(change[0] * (1 - np.arange(19) / 19), rel=1e-9)  # it slows down within 20 ms


def test_a_motion_begins_softly_and_the_device_does_not_move_unarmed():
    dyn, handle = slider(mass=0.1)
    hand = servo(arm=Arm(stiffness=300.0, path=[(0, 0, 0, 0), (0.1, 0.01, 0, 0)]))
    with Session(dyn, hand, AdmittanceCoupler(handle, damping=10.0, axes="x"), u=[0.1]) as s:
        s.rehearse(0.2)
        assert s.log["sample"]["position"][:, 0] == pytest.approx(0.0, abs=1e-15)
        assert s.log["force"][150, 0] == pytest.approx(-3.0)
        s.arm()
        s.rehearse(1.0)
        log = s.log[200:]
    speed = np.abs(np.diff(log["position"][:, 0])) / T
    assert s.report.faults == ()
    assert (speed[:400] <= log["level"][1:401] * (1 + 1e-9)).all()
    assert speed[:40] == pytest.approx(log["level"][1:41], rel=1e-9)


# Errors


def test_coupler_and_device_of_different_displays_are_refused_by_name():
    dyn, handle = slider()
    admittance = AdmittanceCoupler(handle, damping=10.0, axes="x")
    with pytest.raises(ModelError, match=r"needs a device that measures force, and this Simulated does not"):
        Session(dyn, Simulated(), admittance)
    for coupler in (Coupler(handle, stiffness=100.0), RigidCoupler(handle, axes="x")):
        with pytest.raises(
            ModelError, match=f"measures force and takes positions, and a {type(coupler).__name__} gives"
        ):
            Session(dyn, servo(), coupler)
    with pytest.raises(ModelError, match="predict=True extrapolates positions"):
        Session(dyn, servo(), admittance, predict=True)
    with pytest.raises(ModelError, match="the coupler has axes='x'"):
        Session(dyn, servo(axes="yz"), admittance)
    Session(dyn, servo(), admittance).close()  # a refused session leaves the device free


def test_bad_settings_are_refused():
    dyn, handle = slider()
    for words in ({"damping": 0.0}, {"scale": -1.0}, {"force_scale": 0.0}, {"axes": ""}, {"axes": "xx"}):
        with pytest.raises(ModelError, match="admittance coupler"):
            AdmittanceCoupler(handle, **{"damping": 1.0, **words})
    with pytest.raises(ModelError, match="point such as"):
        AdmittanceCoupler("slider", damping=1.0)
    with Session(dyn, servo(), AdmittanceCoupler(handle, damping=10.0, axes="x")) as s:
        s.set(damping=20.0)
        assert s.coupling.coupler.damping == 20.0
        with pytest.raises(ModelError, match="takes damping for an admittance coupler, not 'stiffness'"):
            s.set(stiffness=100.0)
        with pytest.raises(ModelError, match="damping of an admittance coupler"):
            s.set(damping=0.0)
    for words in ({"measures_force": True}, {"lag": 1e-3}, {"measures_force": True, "lag": 1e-3, "turns": "z"}):
        with pytest.raises(ModelError, match=r"lag=0; give the lag|lag=0\.001; give measures|displays no torques"):
            Simulated(**words)
    with pytest.raises(ModelError, match="takes True or False"):
        Simulated(measures_force=1, lag=1e-3)


def test_limits_of_the_other_display_are_refused_by_name():
    for limit in (coupler_limits, largest_inertia):
        with pytest.raises(ModelError, match=f"{limit.__name__} is for devices that apply a force"):
            limit(servo())
    for device in (Simulated(), "device"):
        with pytest.raises(ModelError, match="takes a device that measures force"):
            admittance_limits(device, Arm(stiffness=100.0), mass=1.0)
    for arm, words in ((Arm(), {"mass": 1.0}), (Arm(stiffness=1.0), {"mass": 0.0}), (300.0, {"mass": 1.0})):
        with pytest.raises(ModelError, match="admittance_limits"):
            admittance_limits(servo(), arm, **words)
