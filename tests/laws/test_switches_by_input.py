"""Switches and latches whose signs depend on inputs; closed forms vouch for times and speeds."""

from __future__ import annotations

import numpy as np
import pytest

import kane
from kane.errors import ModelError
from kane.haptics import Coupler, Session, Simulated


@pytest.fixture(scope="module")
def clutch() -> kane.Model:
    """Return two equal rotors, which a switch couples while the input is positive."""
    m = kane.Model("commanded clutch")
    motor, load = (m.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0)) for name in ("motor", "load"))
    a = m.connect(m.ground, motor, kane.Revolute("a", axis="z"))
    b = m.connect(m.ground, load, kane.Revolute("b", axis="z"))
    command = m.input("command", default=-1.0)
    m.switch(a.qdot - b.qdot, on=command, off=-command, name="clutch")
    return m


@pytest.fixture(scope="module")
def dyn(clutch: kane.Model) -> kane.Dynamics:
    return kane.build(kane.formulate(clutch))


SPIN = {"a_dot": 2.0}


def _told(run):
    return [(event.cause, event.time) for event in run.events]


@pytest.mark.parametrize("settings", [{}, {"integrator": kane.RK4(), "dt": 0.01}])
def test_a_held_command_acts_at_its_jump(dyn, settings):
    held = kane.Held([0.0, 1.0, 2.0], [-1.0, 1.0, -1.0])
    run = kane.simulate(dyn, until=3.0, u=SPIN, inputs={"command": held}, **settings)
    (first, on), (second, off) = _told(run)
    assert (first, second) == ("imposed", "deleted")
    np.testing.assert_allclose([on, off], [1.0, 2.0], atol=1e-12)
    # Equal inertias share the momentum, and half of the energy 1/2 I w^2 = 2 J is lost.
    np.testing.assert_allclose(run.u[-1], [1.0, 1.0], rtol=1e-12)
    assert run.events[0].energy_lost == pytest.approx(1.0, rel=1e-12)


def test_an_interpolated_command_and_expressions_act_where_they_cross_zero(clutch, dyn):
    ramp = kane.Interpolated([0.0, 3.0], [-1.0, 1.0])
    angle = clutch.connections[0].q - 2.0  # a = 2 t until the clutch closes
    for given, time in ((ramp, 1.5), (clutch.time - 1.25, 1.25), (angle, 1.0)):
        run = kane.simulate(dyn, until=2.5, u=SPIN, inputs={"command": given})
        assert [(cause, pytest.approx(time, abs=1e-9)) for cause, time in [("imposed", time)]] == _told(run)


def test_a_substituted_command_acts_as_the_same_input(clutch):
    closed = kane.substitute(kane.formulate(clutch), command=clutch.time - 1.25)
    run = kane.simulate(kane.build(closed), until=2.0, u=SPIN)
    assert _told(run) == [("imposed", pytest.approx(1.25, abs=1e-9))]


def test_a_sampled_law_acts_at_its_tick(clutch, dyn):
    law = kane.Sampled(clutch.connections[0].q - 1.9, period=0.1)
    run = kane.simulate(dyn, until=2.0, u=SPIN, inputs={"command": law})
    assert _told(run) == [("imposed", pytest.approx(1.0, abs=1e-9))]


def test_a_stepper_takes_the_command_of_its_step(dyn):
    stepper, events = kane.Stepper(dyn, u=SPIN), []
    for value in (-1.0, 1.0, -1.0):
        stepper.inputs = {"command": value}
        events += stepper.step(0.5)
    on, off = events
    assert (on.cause, on.time, off.cause, off.time) == ("imposed", 0.5, "deleted", 1.0)
    np.testing.assert_allclose(stepper.u, [1.0, 1.0], rtol=1e-12)


def test_time_steps_take_the_command(dyn):
    held = kane.Held([0.0, 1.0], [-1.0, 1.0])
    run = kane.simulate(dyn, until=2.0, u=SPIN, inputs={"command": held}, integrator=kane.MoreauJean(), dt=0.01)
    np.testing.assert_allclose(run.u[-1], [1.0, 1.0], rtol=1e-9)
    assert run.active("clutch")[-1]
    assert not run.active("clutch")[0]


def test_many_runs_and_compiled_modes_each_read_their_command(dyn):
    for each in (dyn, kane.compile_modes(dyn, "all")):
        runs = kane.simulate_many(each, until=1.0, u={"a_dot": [2.0, 2.0]}, inputs={"command": [-1.0, 1.0]})
        np.testing.assert_allclose(runs.u[:, -1], [[2.0, 0.0], [1.0, 1.0]], rtol=1e-12)


def test_python_functions_sensitivities_and_gaps_of_inputs_are_refused(clutch, dyn):
    with pytest.raises(ModelError, match="depends on the input 'command', which is a function of Python"):
        kane.simulate(dyn, until=1.0, inputs={"command": lambda t, q, u: 1.0})
    m = kane.Model("latch")
    slide = m.connect(m.ground, m.body("mass", mass=1.0), kane.Prismatic("x", axis="x"))
    with pytest.raises(ModelError, match="depends on pull"):
        m.latch(slide.q + m.input("pull"), name="latch")
    run = kane.simulate(dyn, until=1.0, u=SPIN)
    with pytest.raises(ModelError, match="'clutch' depends on an input or a reaction, and the times of"):
        kane.sensitivities(run, wrt=["command"])


def test_an_energy_balance_certifies_the_model(clutch):
    certificate = kane.certify(clutch, states=3)
    assert certificate.holds, str(certificate)


def test_a_latch_opens_by_command():
    m = kane.Model("latch")
    slide = m.connect(m.ground, m.body("mass", mass=1.0), kane.Prismatic("x", axis="x"))
    m.load(kane.Spring(slide, 1.0, rest=2.0))  # pulls away from the closed gap at x = 0
    m.latch(slide.q, off=m.input("open") - 0.5, name="latch")
    pull = kane.Held([0.0, 1.0], [0.0, 1.0])
    run = kane.simulate(kane.build(kane.formulate(m)), until=2.0, inputs={"open": pull})
    assert [(e.cause, pytest.approx(e.time, abs=1e-12)) for e in run.events][-1] == ("deleted", 1.0)
    np.testing.assert_allclose(run["x"][-1], 2.0 - 2.0 * np.cos(1.0), rtol=1e-8)


def test_a_session_closes_a_clutch_when_its_input_is_set():
    m = kane.Model("commanded clutch of two carts")
    carts = [m.connect(m.ground, m.body(name, mass=1.0), kane.Prismatic(name, axis="x")) for name in ("a", "b")]
    command = m.input("command", default=-1.0)
    m.switch(carts[0].qdot - carts[1].qdot, on=command, off=-command, name="clutch")
    dyn = kane.build(kane.formulate(m))
    coupler = Coupler(m.bodies[-1].point(), stiffness=50.0)
    with Session(dyn, Simulated(), coupler, inputs={"command": -1.0}, u={"a_dot": 0.4}) as session:
        session.rehearse(0.1)
        assert session.trajectory.u[-1].tolist() == [0.4, 0.0]  # nobody has armed the coupler
        session.inputs = {"command": 1.0}
        session.rehearse(0.1)
        np.testing.assert_allclose(session.trajectory.u[-1], [0.2, 0.2], rtol=1e-12)
        session.inputs = {"command": -1.0}
        session.rehearse(0.1)
        told = [(event.cause, event.time) for event in session.trajectory.events]
    assert [cause for cause, _ in told] == ["imposed", "deleted"]
    np.testing.assert_allclose([time for _, time in told], [0.1, 0.2], atol=1.5e-3)  # one tick
