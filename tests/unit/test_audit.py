"""Constants of motion are found where nature says there are some, and only there; drift is measured along the run.

The momentum and energy of simple systems vouch for what is found; Kane & Levinson's Stanford Arm for an input left out.
"""

import copy

import numpy as np
import pytest

import kane
from kane import Free, Model, Prismatic, Revolute


def floating_pair(gravity=(0.0, 0.0, 0.0)):
    m = Model("pair", gravity=gravity)
    a = m.body("A", mass=2.0, inertia=(1.0, 2.0, 2.5), com=(0.1, 0.0, 0.2))
    b = m.body("B", mass=1.0, inertia=(0.3, 0.4, 0.5), com=(0.0, 0.3, 0.0))
    m.connect(m.ground, a, Free("base"))
    hinge = m.connect(a, b, Revolute("q1", axis=(1.0, 2.0, 3.0)), at=(0.5, 0.0, 0.0))
    m.load(kane.Motor(hinge, m.input("tau")))
    return m


def names(run):
    return [c.name for c in run.audit()]


def simulated(model, **options):
    u = {"base_wx": 0.3, "base_wy": 0.2, "base_wz": -0.4, "base_vx": 0.1, "q1_dot": 0.5}
    dyn = kane.build(kane.formulate(model))
    known = [leaf.name for leaf in dyn.equations.u]
    return kane.simulate(dyn, until=0.5, u={k: v for k, v in u.items() if k in known}, **options)


def test_a_floating_pair_keeps_energy_and_both_momenta():
    run = simulated(floating_pair())
    assert names(run) == ["energy", "P_x", "P_y", "P_z", "H_x", "H_y", "H_z"]
    # RK4 at 1 ms with rates below 1 rad/s errs by about 500 (1e-3)^5 = 5e-13; a wrong equation errs by 1.
    assert max(c.relative for c in run.audit()) < 1e-11


def test_an_internal_torque_breaks_energy_but_no_momentum():
    assert names(simulated(floating_pair(), inputs={"tau": 0.3})) == ["P_x", "P_y", "P_z", "H_x", "H_y", "H_z"]


def test_gravity_leaves_what_is_normal_to_it():
    assert names(simulated(floating_pair(gravity=(0.0, 0.0, -9.81)))) == ["energy", "P_x", "P_y", "H_z"]


def test_a_driven_damped_slider_has_no_constant_of_motion():
    m = Model("slider")
    body = m.body("B", mass=1.0)
    rail = m.connect(m.ground, body, Prismatic("q1", axis="x"), at=(0.0, 0.5, 0.25))
    m.load(kane.Damper(rail, 0.5))
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.5, u=[1.0])
    # The rail holds the body against y and z, so P_y, P_z and H_x stay zero; a body on a rail along x has no others.
    assert names(run) == ["P_y", "P_z", "H_x"]
    assert "kept to at least 16 digits" in str(run.audit())


def test_the_stanford_arm_keeps_its_angular_momentum_about_the_vertical_without_tau1():
    arm = kane.library.stanford_arm()
    laws = kane.library.stanford_arm_feedback(arm)
    dyn = kane.build(kane.formulate(arm))
    free = {name: law for name, law in laws.items() if name != "tau1"}
    run = kane.simulate(dyn, until=2.0, q={"q2": np.pi / 2}, inputs=free)
    (found,) = run.audit()
    assert found.name == "H_y"
    assert found.drift < 1e-9  # the paper's own figure
    assert names(kane.simulate(dyn, until=0.1, q={"q2": np.pi / 2}, inputs=laws)) == []


def test_a_loaded_trajectory_asks_for_its_dynamics(tmp_path):
    run = simulated(floating_pair())
    run.save(tmp_path / "run.nc")
    loaded = kane.Trajectory.load(tmp_path / "run.nc")
    with pytest.raises(kane.ModelError, match=r"does not hold its equations; use run.audit\(dyn\)"):
        loaded.audit()
    assert loaded.audit(run._dyn) == run.audit()


def bouncing(restitution):
    """A ball over a floor, which may also fly."""
    m = Model("ball", gravity=(0.0, -9.81, 0.0))
    ball = m.body("ball", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, ball, kane.Planar(("x", "y", "th")))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(ball.point((0.1, 0.0, 0.0)), floor, restitution=restitution, friction=kane.Coulomb(0.3), name="floor")
    return kane.build(kane.formulate(m))


def test_what_a_floor_takes_is_no_drift_and_what_flies_keeps_what_it_has():
    run = kane.simulate(bouncing(0.7), until=1.5, q={"y": 1.0}, u={"x_dot": 1.0})
    assert sum(event.cause == "bounces" for event in run.events) >= 2
    assert np.ptp(run.energy) > 1.0
    # P_z, H_x and H_y are nothing of a plane motion in z = 0. RK8 follows a parabola to rounding.
    assert names(run) == ["energy", "P_x", "P_z", "H_x", "H_y"]
    assert max(c.relative for c in run.audit()) < 1e-12
    assert "while no contact, stop, stick, latch or switch is active, kept to at least" in str(run.audit())
    assert str(copy.deepcopy(run.audit())) == str(run.audit())


def test_of_what_lies_on_the_floor_all_along_nothing_is_claimed():
    run = kane.simulate(bouncing(0.0), until=0.5, q={"th": -np.pi / 2, "y": 0.1}, times=np.linspace(0.0, 0.5, 11))
    assert run.active("floor")[1:].all()
    assert names(run) == []
    assert "no constant of motion" in str(run.audit())
