"""Examples of Capobianco, Harsch, Eugster & Leine (2021) against closed forms and laws.

Section 10.1: a ball of 1 kg and 0.1 m falls from 1 m with a spin on a floor with friction 0.2, in their cases of
restitution and spin. Section 10.2: a ball falls into a corner of two rough slopes. Section 10.6 is a tippe top whose
friction also resists drilling, which kane has no law for: here it is the limit of a point in contact.
Source of the data: A nonsmooth generalized-alpha method, Int. J. Numer. Methods Eng. 122, 2021, doi 10.1002/nme.6801.
"""

from math import cos, pi, sin, sqrt

import numpy as np
import pytest

import kane

R, MU, G, HEIGHT = 0.1, 0.2, 9.81, 1.0


def ball(e, spin, until, x=0.0, speed=0.0):
    m = kane.Model("ball", gravity=(0, -G, 0))
    body = m.body("ball", mass=1.0, inertia=(0.4 * R**2,) * 3)
    m.connect(m.ground, body, kane.Planar(("x", "y", "turn")))
    floor, rough = kane.Plane(m.ground.point(), m.ground.y), kane.Coulomb(MU)
    m.contact(kane.Sphere(body.point(), R), floor, restitution=e, friction=rough, name="floor")
    dyn = kane.build(kane.formulate(m))
    return kane.simulate(dyn, until=until, q={"y": HEIGHT, "x": x}, u={"turn_dot": spin, "x_dot": speed})


FALL, CAME = sqrt(2 * (HEIGHT - R) / G), sqrt(2 * G * (HEIGHT - R))


def test_without_spin_it_bounces_half_as_fast_each_time_and_rests():
    """Case 1: it comes to rest at fall + 2 v / g (e + e^2 + ...) = fall + 2 v / g."""
    run = ball(0.5, 0.0, 1.5)
    times = [event.time for event in run.events]
    expected = [FALL + 2 * CAME / G * (1 - 0.5**k) for k in range(8)]
    assert times[:8] == pytest.approx(expected, rel=1e-10)
    # What would hop no higher than 1e-12 m does not: such hops take 4 v / g in all, v = sqrt(2 g 1e-12).
    assert times[-1] == pytest.approx(FALL + 2 * CAME / G, abs=2e-6)
    assert run["y"][-1] == pytest.approx(R, abs=1e-12)


def test_with_much_spin_it_slips_through_the_impact_and_on_until_it_rolls():
    """Case 2: the impact takes 7/2 mu v of the slip r w = 5 m/s, sliding 7/2 mu g t of the rest."""
    run = ball(0.0, 50.0, 1.1)
    slip = 50.0 * R - 3.5 * MU * CAME
    assert slip > 0
    first, *later = run.events
    assert (first.time, first.cause) == (pytest.approx(FALL, rel=1e-12), "imposed")
    assert first.u[:2] == pytest.approx([-MU * CAME, 0.0], abs=1e-10)
    rolls = next(event for event in later if event.cause == "sticks")
    assert rolls.time == pytest.approx(FALL + slip / (3.5 * MU * G), rel=1e-9)
    assert run["x_dot"][-1] == pytest.approx(-50.0 * R * 2 / 7, rel=1e-9)
    assert run["turn_dot"][-1] == pytest.approx(50.0 * 2 / 7, rel=1e-9)


def test_with_little_spin_it_rolls_behind_the_impact():
    """Case 3: 7/2 mu v is more than the slip r w = 1 m/s."""
    run = ball(0.0, 10.0, 1.1)
    assert [event.time for event in run.events] == pytest.approx([FALL], rel=1e-12)
    assert run["x_dot"][-1] == pytest.approx(-10.0 * R * 2 / 7, rel=1e-12)
    assert run.active("floor")[-1]


def test_bouncing_with_spin_and_speed_it_slips_in_the_first_impacts_and_rolls_then():
    """Case 4: each impact takes 7/2 mu (1 + e) v of the slip x' + r w = 6 m/s until there is none."""
    run = ball(0.5, 50.0, 1.5, x=-0.5, speed=1.0)
    slip, x_dot, came = 1.0 + 50.0 * R, 1.0, CAME
    for event in run.events[:4]:
        lost = min(slip, 3.5 * MU * 1.5 * came)
        slip, x_dot, came = slip - lost, x_dot - lost / 3.5, 0.5 * came
        assert event.u[:2] == pytest.approx([x_dot, came], abs=1e-9)
    assert slip == 0.0
    assert run["x_dot"][-1] == pytest.approx((1.0 * 5 - 50.0 * R * 2) / 7, rel=1e-9)


SLOPES = {"left": (-1.1 * pi / 4, 0.0), "right": (pi / 4, 0.5)}  # inclination, restitution


def into_a_corner():
    m = kane.Model("corner", gravity=(0, -10.0, 0))
    body = m.body("ball", mass=1.25, inertia=(0.4 * 1.25 * R**2,) * 3)
    m.connect(m.ground, body, kane.Free("ball"))
    for name, (a, e) in SLOPES.items():
        slope = kane.Plane(m.ground.point(), m.ground.direction((-sin(a), cos(a), 0)))
        m.contact(kane.Sphere(body.point(), R), slope, restitution=e, friction=kane.Coulomb(0.3), name=name)
    return kane.simulate(kane.build(kane.formulate(m)), until=2.0, q={"ball_x": -0.5, "ball_y": 1.0})


def test_a_ball_falls_onto_a_slope_slides_against_the_other_and_comes_to_rest_between_them():
    """Both friction impulses and the way between follow by hand: it slips in the first impact, 0.3 < 2/7 tan slope in
    between, and rolls off the second slope, where 2/7 of the slip take less than 0.3 of the impulse.
    """
    run, mass, mu, down = into_a_corner(), 1.25, 0.3, np.array([0.0, -10.0])
    (nl, tl), (nr, tr) = ((np.array([-sin(a), cos(a)]), np.array([cos(a), sin(a)])) for a, _ in SLOPES.values())
    start = np.array([-0.5, 1.0])
    fall = sqrt(2 * (start @ nl - R) / -(down @ nl))
    push = mass * -(down @ nl) * fall
    first, second = run.events[:2]
    assert (first.name, first.time, first.impulse[0]) == ("left", pytest.approx(fall), pytest.approx(push))
    assert np.hypot(*first.impulse[1:]) == pytest.approx(mu * push)
    corner = np.linalg.solve([nl, nr], [R, R])
    way, speed = tl @ (corner - start - down * fall**2 / 2), tl @ down * fall - mu * push / mass
    along = tl @ down - mu * -(down @ nl)
    slides = (sqrt(speed**2 + 2 * along * way) - speed) / along
    assert (second.name, second.time) == ("right", pytest.approx(fall + slides))
    assert second.q[4:6] == pytest.approx(corner, abs=1e-9)
    came = (speed + along * slides) * tl
    # Spin is what friction has made: 5/2 of its impulse, at the end of the radius, against the way.
    spin = -2.5 * mu * -(down @ nl) * (fall + slides) / R
    pushed = -1.5 * mass * (came @ nr)
    slip = came @ tr + R * spin
    assert second.impulse[0] == pytest.approx(pushed)
    assert np.hypot(*second.impulse[1:]) == pytest.approx(abs(2 / 7 * mass * slip))
    assert 2 / 7 * mass * abs(slip) < mu * pushed
    assert run.final.q[4:6] == pytest.approx(corner, abs=1e-6)
    assert run.final.u == pytest.approx(0.0, abs=1e-9)
    assert run.modes[-1] == "left held, right held"
    assert np.diff(run.energy).max() < 1e-9


def test_a_tippe_top_that_touches_in_a_point_rolls_and_does_not_turn_over():
    """In the limit of no drilling friction it soon rolls, and what rolls loses no energy: it stays upright, as Leine &
    Glocker (2003) say of this limit. J, angular momentum about the centre along the arm of the contact, is constant.
    """
    mass, across, along, a, r, tilt = 6e-3, 8e-7, 7e-7, 3e-3, 1.5e-2, 0.1
    m = kane.Model("top", gravity=(0, 0, -G))
    body, table = m.body("top", mass=mass, inertia=(across, across, along)), kane.Plane(m.ground.point(), m.ground.z)
    m.connect(m.ground, body, kane.Free("top"))
    for name, up, radius in (("ball", a, r), ("stem", 1.6e-2, 5e-3)):
        m.contact(kane.Sphere(body.point((0, 0, up)), radius), table, friction=kane.Coulomb(0.3), name=name)
    start = {"top_z": 1.2015e-2, "top_qw": cos(tilt / 2), "top_qx": sin(tilt / 2)}
    run = kane.simulate(kane.build(kane.formulate(m)), until=2.0, q=start, u={"top_wz": 180.0})
    assert [(e.name, e.cause) for e in run.events] == [("ball", "imposed"), ("ball", "sticks")]
    w, x, y, z = (run[f"top_q{axis}"] for axis in "wxyz")
    up = np.column_stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
    momentum = np.column_stack([run["top_wx"], run["top_wy"], run["top_wz"]]) * (across, across, along)
    jellett = np.sum(momentum * (r * up - (0, 0, a)), axis=1)
    assert jellett == pytest.approx(jellett[0], rel=1e-9)
    rolls = run.time > run.events[1].time
    assert run.energy[rolls] == pytest.approx(run.energy[-1], rel=1e-8)
    assert np.degrees(np.arccos(up[rolls, 2])).max() < 3.0
