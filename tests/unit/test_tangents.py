"""Tangents of round surfaces have no pole: whichever way a normal looks, friction acts as it does elsewhere."""

import numpy as np
import pytest

import kane

RADIUS = 0.03


def test_a_ball_rests_on_a_table_and_touches_another_beside_it():
    """Where that was along y there were no tangents, and "friction of this size" was blamed."""
    m = kane.Model("beside", gravity=(0, 0, -9.81))
    body = m.body("ball", mass=0.2, inertia=(7e-5,) * 3)
    m.connect(m.ground, body, kane.Free("f"))
    ball = kane.Sphere(body.point(), RADIUS)
    m.contact(ball, kane.Plane(m.ground.point(), m.ground.z), friction=kane.Coulomb(0.2), name="table")
    fixed = kane.Sphere(m.ground.point((0, 2 * RADIUS, RADIUS)), RADIUS)
    m.contact(ball, fixed, friction=kane.Coulomb(0.05), name="fixed")
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.1, q={"f_z": RADIUS})
    assert run.modes == ("table held, fixed held",)
    assert np.abs(run.u).max() < 1e-15
    up = run.reactions["table"][-1, 0] - run.reactions["fixed"][-1, 1]  # t1 of the fixed ball is -z there
    assert up == pytest.approx(0.2 * 9.81, rel=1e-12)


@pytest.mark.parametrize("turned", [0, 1, 2])
def test_a_ball_slides_round_another_alike_along_every_great_circle(turned):
    """Pressed onto it by a spring; the normal begins along x, y or z, of which y is what tangents are normal to."""
    m = kane.Model("round", gravity=(0, 0, 0))
    body = m.body("ball", mass=1.0, inertia=(0.01,) * 3)
    m.connect(m.ground, body, kane.Free("f"))
    m.load(kane.PointSpring(body.point(), m.ground.point(), 40.0))
    rough = kane.Coulomb(0.05, 0.04)
    m.contact(kane.Sphere(body.point(), 0.1), kane.Sphere(m.ground.point(), 0.4), friction=rough, name="on")
    start, speed = np.roll([0.5, 0.0, 0.0], turned), np.roll([0.0, 0.0, 1.0], turned)
    axes = ("f_x", "f_y", "f_z"), ("f_vx", "f_vy", "f_vz")
    q, u = (dict(zip(*pair, strict=True)) for pair in zip(axes, (start, speed), strict=True))
    run = kane.simulate(kane.build(kane.formulate(m)), until=1.0, q=q, u=u, integrator=kane.RK8(rtol=1e-10))
    assert [event.cause for event in run.events] == ["imposed", "sticks"]
    # It is pressed on with k l - m v^2 / l, l = 0.5 m: with V = l sqrt(k / m), dv/dt = -mu (V^2 - v^2) / l.
    V, mu, early = 0.5 * 40.0**0.5, 0.04, np.searchsorted(run.time, 0.05)
    slowed = V * np.tanh(np.arctanh(1.0 / V) - mu * V * run.time[early] / 0.5)
    assert np.linalg.norm([run[w][early] for w in axes[1]]) == pytest.approx(slowed, rel=1e-9)
