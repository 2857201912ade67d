"""Who vouches: statics and energy in closed form, ``simulate`` under recorded inputs, ``kane.Rotation``."""

import math

import numpy as np
import pytest
from oracles.devices import memory_of

import kane
from kane.geometry.quaternion import conjugate, from_matrix, multiply_quaternions, rotate
from kane.haptics import Arm, Coupler, PassiveMidpoint, Safety, Session, Simulated, Traits, coupler_limits, replay
from kane.haptics.loop.report import energy_made


def block(inertia=(2e-3, 3e-3, 4e-3)):
    """A body that floats in space, its point that is held, and equations."""
    m = kane.Model("block", gravity=(0, 0, 0))
    body = m.body("block", mass=0.5, inertia=inertia)
    m.connect(m.ground, body, kane.Free("b"))
    return kane.build(kane.formulate(m)), body.point((0.02, 0.01, 0.0))


def six_axes(**values):
    path = [(0, 0, 0, 0, 0, 0, 0), (0.2, 0, 0, 0, 0, 0, 0), (0.8, 0.03, -0.02, 0.04, 0.4, -0.5, 0.6)]
    arm = Arm(
        mass=0.5, damping=8.0, stiffness=250.0, inertia=1e-3, turning_damping=0.01, turning_stiffness=0.5, path=path
    )
    values = {"turns": "xyz", "turning_damping": 2e-3, "turning_quantum": 1e-4, "quantum": 2e-5, "arm": arm, **values}
    return Simulated(**values)


def holding(handle, **values):
    return Coupler(
        handle,
        stiffness=200.0,
        damping=2.0,
        **{"turning_stiffness": 0.5, "turning_damping": 4e-3, "turns": "xyz", **values},
    )


@pytest.mark.parametrize("angles", [(0.4, -0.7, 1.1), (-2.0, 0.3, 0.2)])
def test_the_gimbal_of_a_simulated_handle_says_its_orientation_and_gives_torques_their_power(angles):
    """R_x R_y R_z by ``kane.Rotation``; t . w is the power of the three motors, w by differences of orientations."""
    channel = six_axes(turning_quantum=0.0, arm=None).open()
    rates, torque, h = np.array([0.3, -0.2, 0.5]), np.array([0.02, 0.05, -0.03]), 1e-6
    memory_of(channel).x[3:] = angles

    def turned(values):
        return from_matrix(kane.Rotation.euler("xyz", *map(float, values)).as_numpy())

    found = channel.sample(0.0)["orientation"]
    assert abs(found @ turned(angles)) == pytest.approx(1.0, abs=1e-15)
    step = multiply_quaternions(turned(np.add(angles, h * rates)), conjugate(turned(np.subtract(angles, h * rates))))
    w = step[1:] * np.sign(step[0]) / h
    channel.push(0.0, np.zeros(3), torque)
    memory_of(channel).v[3:] = 0.0
    inertia, before = 2e-4, memory_of(channel).v[3:].copy()
    channel.sample(1e-7)
    motors = (memory_of(channel).v[3:] - before) * inertia / 1e-7
    assert motors @ rates == pytest.approx(torque @ w, rel=1e-6)


def test_at_rest_a_planar_handle_a_coupler_and_a_spring_are_three_springs_in_a_row_of_angles():
    """K_t sin(turn) = k theta, k_a (xi - hand) = d K_t sin(turn): statics of a device of 2 + 1 axes."""
    k, K, ka, xi, d = 0.4, 0.3, 0.5, 0.9, 0.5
    m = kane.Model("wheel")
    wheel = m.body("wheel", mass=0.5, inertia=(1e-3, 1e-3, 2e-3))
    joint = m.connect(m.ground, wheel, kane.Revolute("theta", axis="z"))
    m.load(kane.Spring(joint, k))
    m.load(kane.Damper(joint, 0.02))
    path = [(0, 0, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0, 0, xi)]
    arm = Arm(
        mass=0.3, damping=20.0, stiffness=300.0, inertia=1e-3, turning_damping=0.02, turning_stiffness=ka, path=path
    )
    hand = Simulated(axes="xy", turns="z", arm=arm, turning_damping=2e-3)
    coupler = Coupler(
        wheel.point(), stiffness=10.0, axes="xy", turns="z", turning_stiffness=K, turning_damping=2e-3, torque_scale=d
    )
    with Session(kane.build(kane.formulate(m)), hand, coupler) as s:
        s.arm()
        s.rehearse(6.0)
        row = s.log[-100]
    theta = row["pull"][5] / k
    hand_at = 2 * math.atan2(row["sample"]["orientation"][3], row["sample"]["orientation"][0])
    assert row["pull"][5] > 0.05
    assert row["pull"][5] == pytest.approx(K * math.sin(hand_at - theta), rel=1e-5)
    assert ka * (xi - hand_at) == pytest.approx(d * K * math.sin(hand_at - theta), rel=1e-5)
    assert row["torque"][2] == pytest.approx(-d * row["pull"][5], rel=1e-9)
    assert 2 * math.atan2(row["handle"][6], row["handle"][3]) == pytest.approx(theta, rel=1e-5)


def test_with_six_axes_the_motion_is_that_of_simulate_and_the_session_is_run_again_bit_for_bit(tmp_path):
    """The torque is written twice: as a load of the equations, and in the tick, which logs what it found."""
    dyn, handle = block()
    with Session(dyn, six_axes(), holding(handle)) as s:
        s.arm()
        s.rehearse(1.2)
        run, log, held = s.trajectory, s.log, s._loop.coupled.dyn
        s.save(tmp_path / "six.session")
    names = [leaf.name for leaf in held.equations.inputs]
    inputs = {name: kane.Held(run.time, column) for name, column in zip(names, run.inputs.T, strict=True)}
    again = kane.simulate(held, until=1.2, dt=1e-3, inputs=inputs)
    assert np.abs(run.q[-1, :4] - [1, 0, 0, 0]).max() > 0.1
    assert (again.q[:-1] == run.q[:-1]).all()
    k = 700  # I w' + w x I w = R^T (torque + force at the handle): the tick's own numbers
    turn, u = run.q[k, :4], run.u[k]
    inertia = np.array([2e-3, 3e-3, 4e-3])
    force, torque = log["pull"][k, :3], log["pull"][k, 3:]
    about = torque + np.cross(rotate(turn, np.array([0.02, 0.01, 0.0])), force)
    udot = held.forward(run.q[k], u, inputs=run.inputs[k])
    assert np.abs(torque).max() > 1e-3
    moment = inertia * udot[:3] + np.cross(u[:3], inertia * u[:3])
    assert rotate(turn, moment) == pytest.approx(about, abs=1e-12)
    assert (replay(tmp_path / "six.session", dyn).states == s.states).all()


@pytest.mark.parametrize("turns", ["xyz", "xz", "y"])
def test_a_body_that_swings_on_the_spring_of_orientations_keeps_its_energy_whatever_the_axes(turns):
    """The hand is still: |w|_I^2/2 + 2 K sum e_i^2 stays, e by ``kane.geometry``; RK4 with 1 ms to 1e-9 of it."""
    dyn, _ = block()
    body = dyn.equations.model.bodies[-1]
    K = 0.5
    coupler = Coupler(body.point(), stiffness=1.0, turning_stiffness=K, turns=turns)
    hand = Simulated(turns="xyz", mass=1e6, inertia=1e9, damping=1e3, turning_damping=1e3)
    with Session(dyn, hand, coupler, u=[1.0, -2.0, 1.5, 0, 0, 0], safety=Safety(soft=1e-3)) as s:
        s.arm()
        s.rehearse(2.0)
        run, log = s.trajectory, s.log
    on = np.array([axis in turns for axis in "xyz"])
    rows = slice(10, -30)
    e = multiply_quaternions(log["proxy"][rows, 3:], conjugate(run.q[:-1][rows, :4]))[:, 1:]
    kinetic = 0.5 * run.u[:-1][rows, :3] ** 2 @ np.array([2e-3, 3e-3, 4e-3])
    total = kinetic + 2 * K * e**2 @ on
    assert np.ptp(kinetic) > 0.1 * kinetic.max()
    assert np.abs(total - total[0]).max() < 1e-6 * total[0]


def test_hand_and_mechanism_together_gain_nothing_from_a_coupler_of_orientations():
    """The observer: no more than springs held over samples make, K d^2/2 a tick, in closed form."""
    dyn, handle = block()
    with Session(dyn, six_axes(quantum=0.0, turning_quantum=0.0), holding(handle)) as s:
        s.arm()
        s.rehearse(1.5)
        log, report = s.log[:-25], s.report
        made = energy_made(log, s._loop.circuit.rules)
    assert log["energies"]["to_operator_by_torque"].min() < -1e-3  # the hand gave energy by torques
    assert report.to_mechanism == pytest.approx(report.energy[1] - report.energy[0], abs=2e-5)
    ways = np.diff(log["sample"]["position"], axis=0)
    turns = log["rates"][:, 3:][1:] * 1e-3
    held = 0.5 * (200.0 * np.sum(ways**2) + 0.5 * np.sum(turns**2))
    assert 0.0 < report.made < 1.01 * held
    assert (made - np.minimum.accumulate(made)).max() <= report.made


def test_the_passive_step_takes_torques_within_its_one_linear_system():
    """A light body on a stiff spring of orientations, w T = 7: RK4 cannot; the books balance to rounding."""
    dyn, handle = block(inertia=(1e-8, 1e-8, 1e-8))
    with Session(dyn, six_axes(), holding(handle)) as s:
        s.arm()
        with pytest.raises(kane.SimulationError):
            s.rehearse(2.0)
    with Session(dyn, six_axes(), holding(handle), integrator=PassiveMidpoint()) as s:
        s.arm()
        s.rehearse(2.0)
        now, ledger = s.snapshot(), s.ledger
    energy = sum(dyn.energy(now.q, now.u))
    wanted = from_matrix(kane.Rotation.euler("xyz", 0.4, -0.5, 0.6).as_numpy())
    assert abs(now.q[:4] @ wanted) == pytest.approx(1.0, abs=2e-3)
    assert ledger.kinetic + ledger.potential == pytest.approx(energy, abs=1e-12)
    assert energy == pytest.approx(ledger.coupler + ledger.other + ledger.owed, abs=1e-11)


def test_the_largest_turning_stiffness_is_that_of_a_handle_with_the_inertia_for_its_mass():
    turning = {"inertia": 3e-4, "turning_damping": 2e-3, "turning_friction": 1e-3, "turning_quantum": 1e-4}
    both = Traits(rate=1000.0, mass=0.1, damping=0.1, force=10.0, delay=1e-3, turns="xyz", torque=0.4, **turning)
    alone = Traits(rate=1000.0, mass=3e-4, damping=2e-3, friction=1e-3, quantum=1e-4, force=0.4, delay=1e-3)
    found, wanted = coupler_limits(both, torque_scale=2.0).turning, coupler_limits(alone, force_scale=2.0)
    for word in ("damping", "stable", "passive", "unconditional", "quiet"):
        assert getattr(found, word) == pytest.approx(getattr(wanted, word), rel=1e-12)
    assert coupler_limits(alone).turning is None
    assert "N m/rad" in str(coupler_limits(both))


def test_torques_stay_within_their_limit_and_a_coupler_too_stiff_to_turn_is_told():
    dyn, handle = block(inertia=(1.0, 1.0, 1.0))
    hand = six_axes(quantum=0.0, turning_quantum=0.0)
    limit = coupler_limits(hand, turning_damping=4e-3).turning.stable
    with pytest.warns(UserWarning, match=f"it may have {limit:.4g} N m/rad"):
        Session(dyn, hand, holding(handle, turning_stiffness=1.1 * limit)).close()
    with Session(dyn, hand, holding(handle), safety=Safety(torque=0.02)) as s:
        s.arm()
        s.rehearse(1.2)
        torque, report = s.log["torque"], s.report
    size = np.linalg.norm(torque, axis=1)
    assert 0.0199 < size.max() <= 0.02 * (1 + 1e-12)
    assert np.linalg.norm(np.diff(torque, axis=0), axis=1).max() <= 500 * 0.02 * 1e-3 * (1 + 1e-9)
    assert report.torque == size.max()
    assert size[-1] == 0.0


def test_what_cannot_turn_is_refused():
    dyn, handle = block()
    for wrong in (
        lambda: Coupler(handle, stiffness=1.0, turns="xyz"),
        lambda: Coupler(handle, stiffness=1.0, turning_stiffness=1.0),
        lambda: Coupler(handle, stiffness=1.0, turning_stiffness=-1.0, turns="z"),
        lambda: Coupler(handle, stiffness=1.0, turning_stiffness=1.0, turns="zz"),
        lambda: Simulated(turns="z", inertia=0.0),
        lambda: Simulated(axes=""),
        lambda: Traits(rate=1000.0, mass=0.1, force=1.0, inertia=1e-4),
        lambda: Arm(path=[(0, 0, 0, 0, 0)]),
        lambda: Session(dyn, Simulated(), holding(handle)),
        lambda: Session(dyn, Simulated(axes="xy", turns="z"), holding(handle, axes="xy")),
    ):
        with pytest.raises(kane.ModelError):
            wrong()
