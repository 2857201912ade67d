"""P.acceleration and B.angular_acceleration: closed forms and differences of velocities along a run vouch."""

import numpy as np
import pytest

import kane
from kane import library


def crank():
    m = kane.Model("crank", gravity=(0, -9.81, 0))
    rod = m.body("rod", mass=2.0, inertia=(0.1, 0.1, 0.1), com=(0.5, 0, 0))
    joint = m.connect(m.ground, rod, kane.Revolute("q1", axis="z"))
    m.load(kane.Motor(joint, m.input("T", 0.3)))
    return m, rod, joint


def test_a_turning_rod_has_the_accelerations_of_the_textbook():
    """a_P = r (-q'^2 e_r + q'' e_t), alpha = q''."""
    m, rod, _ = crank()
    P = rod.point((0.8, 0, 0))
    dyn = kane.build(kane.formulate(m))
    wanted = [P.acceleration.dot(rod.x), P.acceleration.dot(rod.y), rod.angular_acceleration.dot(m.ground.z)]
    wanted.append(P.acceleration.dot(m.ground.x))
    found = dyn.derivatives(wanted, wrt=())([0.4], [1.5], [0.3]).value
    (a,) = dyn.forward([0.4], [1.5], [0.3])
    inertia = 0.1 + 2.0 * 0.25
    assert a == pytest.approx((0.3 - 2.0 * 9.81 * 0.5 * np.cos(0.4)) / inertia, rel=1e-13)
    along, across = -0.8 * 1.5**2, 0.8 * a
    expected = [along, across, a, along * np.cos(0.4) - across * np.sin(0.4)]
    assert found == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("model", ["rolling_coin", "six_axis_arm", "wrist_measure_numbers", "spacecraft_tree"])
def test_accelerations_are_the_rates_of_velocities_in_the_inertial_frame(model):
    m = getattr(library, model)()
    eqs = kane.formulate(m)
    dyn, N, B = kane.build(eqs), m.ground, m.bodies[-1]
    P = B.point((0.1, -0.2, 0.3))
    pairs = [(P.velocity.dot(e), P.acceleration.dot(e)) for e in (N.x, N.y, N.z)]
    pairs += [(B.angular_velocity.dot(e), B.angular_acceleration.dot(e)) for e in (N.x, N.y, N.z)]
    rng = np.random.default_rng(3)
    q, u = np.array(eqs.neutral) + 0.3, rng.normal(size=len(eqs.u))
    for i in eqs.quaternions:
        q[i : i + 4] /= np.linalg.norm(q[i : i + 4])
    inputs = np.full(len(eqs.inputs), 0.2)
    h = 1e-4
    ends = [dyn.derivatives([v for v, _ in pairs], wrt=())]
    exact = dyn.derivatives([a for _, a in pairs], wrt=())(q, u, inputs, 0.0).value
    qdot = dyn.kinematics(q, u, 0.0)
    udot = dyn.forward(q, u, inputs, 0.0)
    # The velocities at the ends of a straight step of the state: central differences have errors h^2.
    values = [ends[0](q + s * h * qdot, u + s * h * udot, None, 0.0).value for s in (1, -1)]
    assert exact == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-5, abs=1e-5)


def test_an_event_ends_a_run_at_an_acceleration():
    m, rod, _ = crank()
    dyn = kane.build(kane.formulate(m))
    P = rod.point((1.0, 0, 0))
    event = kane.Event(P.acceleration.dot(rod.x) + 4.0, terminal=True, name="fast")
    run = kane.simulate(dyn, until=5.0, q={"q1": 0.0}, events=[event])
    assert run.time[-1] < 5.0
    assert run.u[-1, 0] ** 2 == pytest.approx(4.0, rel=1e-6)  # the centripetal acceleration of the end


def test_accelerations_have_no_place_in_loads_constraints_and_speeds():
    m, rod, joint = crank()
    a = rod.point((1, 0, 0)).acceleration.dot(rod.x)
    assert repr(a) == "rod.point((1, 0, 0)).acceleration.dot(rod.x)"
    assert repr(rod.angular_acceleration.dot(rod.z)) == "rod.angular_acceleration.dot(rod.z)"
    with pytest.raises(kane.ModelError, match="constrain the velocity, which kane differentiates"):
        m.constrain(a)
    m.load(kane.Motor(joint, -0.1 * a))
    with pytest.raises(kane.ModelError, match=r"depends on rod\.point.*acceleration.*accelerations are outputs"):
        kane.formulate(m)
    closed = library.four_bar()
    dyn = kane.build(kane.formulate(closed))
    with pytest.raises(kane.ModelError, match="embedded numerically"):
        dyn.derivatives(closed.bodies[1].point().acceleration.dot(closed.ground.x), wrt=())
