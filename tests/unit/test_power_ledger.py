"""Power, load by load: by hand for a driven and damped slider, and summed along runs against the energy."""

import numpy as np
import pytest

import kane
from kane import Model, Prismatic, Revolute


def slider():
    m = Model("slider", gravity=(-9.0, 0.0, 0.0))
    body = m.body("B", mass=2.0)
    rail = m.connect(m.ground, body, Prismatic("x", axis="x"), name="rail")
    m.load(kane.Motor(rail, m.input("pull")))
    m.load(kane.Damper(rail, m.parameter("c", 0.5)))
    m.load(kane.Spring(rail, 8.0, rest=0.25))
    return m


def driven_arm():
    m = Model("arm", gravity=(0.0, -9.81, 0.0))
    a = m.body("A", mass=2.0, inertia=(0.1, 0.1, 0.1), com=(0.3, 0.0, 0.0))
    b = m.body("B", mass=1.0, inertia=(0.05, 0.05, 0.05), com=(0.2, 0.0, 0.0))
    first = m.connect(m.ground, a, Revolute("q1", axis="z"), name="shoulder")
    second = m.connect(a, b, Revolute("q2", axis="z"), at=(0.6, 0.0, 0.0))
    m.load(kane.Damper(first, 0.4))
    m.load(kane.Motor(second, 2.0 * kane.sin(3.0 * m.time)))
    m.load(kane.Force(b.point((0.4, 0.0, 0.0)), (0.0, 1.5, 0.0)))
    return m


def test_the_ledger_of_a_slider_is_that_worked_out_by_hand():
    m = slider()
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.5, q=[0.1], u=[0.3], inputs={"pull": 4.0})
    book = kane.power_ledger(m).along(run)
    x, v = run["x"], run["x_dot"]
    assert book["load"].to_numpy().tolist() == ["Motor on rail", "Damper on rail", "Spring on rail"]
    expected = np.stack([4.0 * v, -0.5 * v * v, -8.0 * (x - 0.25) * v], axis=1)
    # A few products of numbers of order ten.
    np.testing.assert_allclose(book.power, expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(book.imbalance, 0.0, atol=1e-13)
    assert book.power.attrs["units"] == "W"


def test_the_parameters_of_the_run_are_those_of_the_ledger():
    m = slider()
    dyn = kane.build(kane.formulate(m))
    run = kane.simulate(dyn, until=0.1, u=[1.0], parameters={"c": 5.0})
    power = kane.power_ledger(m).along(run).power.sel(load="Damper on rail")
    np.testing.assert_allclose(power, -5.0 * run["x_dot"] ** 2, rtol=1e-14)


def test_work_of_motors_dampers_and_forces_is_what_the_energy_gains():
    m = driven_arm()
    run = kane.simulate(kane.build(kane.formulate(m)), until=1.0, q=[0.3, 0.2])
    book = kane.power_ledger(m).along(run)
    h, power = run.time[1] - run.time[0], book.power.sum("load").to_numpy()
    assert len(run) % 2 == 1
    work = h / 3.0 * (power[0] + 4.0 * power[1:-1:2].sum() + 2.0 * power[2:-1:2].sum() + power[-1])
    # Simpson's rule and RK4 at 1 ms both err by some 1e-12 times fourth and fifth derivatives of order 1e3.
    assert work == pytest.approx(run.energy[-1] - run.energy[0], abs=1e-8)
    damped = book.power.sel(load="Damper on shoulder")
    assert (damped <= 0.0).all()
    assert damped.min() < -1e-3
    assert np.abs(book.imbalance).max() < 1e-11


def test_what_prescribes_motion_is_the_imbalance():
    """A mass lifted at 0.5 t^2: the drive gives m (g + 1) t."""
    m = Model("lift", gravity=(0.0, 0.0, -9.0))
    car = m.body("car", mass=2.0)
    m.connect(m.ground, car, Prismatic(0.5 * m.time * m.time, axis="z"), name="lift")
    bob = m.body("bob", mass=3.0)
    m.connect(car, bob, Prismatic("x", axis="x"))
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.5)
    book = kane.power_ledger(m).along(run)
    np.testing.assert_allclose(book.imbalance, 5.0 * 10.0 * run.time, rtol=1e-12, atol=1e-13)


def test_a_run_of_another_model_is_refused():
    run = kane.simulate(kane.build(kane.formulate(driven_arm())), until=0.01)
    with pytest.raises(kane.ModelError, match=r"\['q1', 'q2'\], 'slider' has \['x'\]; give a run of this model"):
        kane.power_ledger(slider()).along(run)


def test_a_ledger_prints_what_each_load_does_and_lists_the_rest_on_request():
    ledger = kane.power_ledger(slider())
    first, *lines = str(ledger).splitlines()
    assert first == "power of the loads of 'slider' [W]"
    assert [line.split("  ")[1] for line in lines] == [*ledger.loads]
    assert "Z1" not in str(ledger)
    assert "Damper on rail = " in ledger.listing()
    assert "energy rate = " in ledger.listing()


def test_a_model_without_loads_keeps_its_energy():
    m = Model("free", gravity=(0.0, 0.0, -9.0))
    m.connect(m.ground, m.body("B", mass=1.0, inertia=(1.0, 2.0, 2.5)), kane.Free("base"))
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.1, u={"base_wx": 1.0, "base_vz": 2.0})
    book = kane.power_ledger(m).along(run)
    assert book.power.shape == (len(run), 0)
    assert np.abs(book.energy_rate).max() < 1e-12  # two terms of order twenty that cancel
