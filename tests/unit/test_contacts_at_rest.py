"""Rough contacts at rest whose forces balance leaves open: they are held as long as any forces within bounds hold them.

SciPy's linear programmes over all forces in balance vouch for the limits; closed forms for the ladder's angle and for
the torque that turns a ball in a groove; Coulomb's and Signorini's bounds for what is reported.
"""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, linprog

import kane

G, MASS, LENGTH, RADIUS = 9.81, 5.0, 2.0, 0.1


def ladder(wall, floor, pull=0.0):
    """A ladder against a wall, its foot pulled away from it by a force that grows with time [N/s]."""
    model = kane.Model("ladder", gravity=(0, -G, 0))
    ground, body = model.ground, model.body("rod", mass=MASS, inertia=(MASS * LENGTH**2 / 12,) * 3)
    model.connect(ground, body, kane.Planar(("x", "y", "th")))
    for name, x, axis, friction in (("wall", -1, ground.x, wall), ("floor", 1, ground.y, floor)):
        surface = kane.Plane(ground.point(), axis)
        model.contact(body.point((x * LENGTH / 2, 0, 0)), surface, friction=friction, name=name)
    if pull:
        model.load(kane.Force(body.point((LENGTH / 2, 0, 0)), (pull * model.time, 0, 0)))
    return model


def leaning(dyn, degrees):
    """The state with the ladder at an angle from the vertical."""
    a = np.radians(degrees)
    x, y = LENGTH / 2 * np.sin(a), LENGTH / 2 * np.cos(a)
    return kane.assemble(dyn, q={"th": a - np.pi / 2, "x": x, "y": y}, fixed=["th"])


def greatest_margin(degrees, wall, floor, pull):
    """The largest t with mu N - |f| >= t at both ends, over all forces in balance, by a linear programme."""
    a = np.radians(degrees)
    x, y = LENGTH * np.sin(a), LENGTH * np.cos(a)
    # N and f (up) at the wall, N and f (outwards) at the floor, t; moments about the foot.
    balance = [[1, 0, 0, 1, 0], [0, 1, 1, 0, 0], [-y, -x, 0, 0, 0]]
    loads = [-pull, MASS * G, -MASS * G * x / 2]
    bounds = [[-wall, s, 0, 0, 1] for s in (1, -1)] + [[0, 0, -floor, s, 1] for s in (1, -1)]
    free = (None, None)
    ranges = [(0, None), free, (0, None), free, free]
    return linprog([0, 0, 0, 0, -1], bounds, [0] * 4, balance, loads, ranges).x[4]


def keeps_bounds(run, static):
    """Whether all contacts push, and friction keeps its bounds, at all records; to 1e-9 of the weight."""
    for name, mu in static.items():
        force = run.reactions[name]
        normal, friction = force[:, 0], np.linalg.norm(force[:, 1:], axis=1)
        assert normal.min() >= -1e-9 * MASS * G
        assert (mu * normal - friction).min() >= -1e-9 * MASS * G


@pytest.mark.parametrize("degrees", [30, 46, 50, 53])
def test_a_rough_ladder_stands_up_to_its_angle_with_forces_within_bounds(degrees):
    """tan a = 2 mu / (1 - mu^2) from the vertical: 53.13 degrees."""
    dyn = kane.build(kane.formulate(ladder(kane.Coulomb(0.5), kane.Coulomb(0.5))))
    run = kane.simulate(dyn, until=0.2, q=leaning(dyn, degrees).q)
    assert run.modes == ("wall held, floor held",)
    assert np.abs(run.q - run.q[0]).max() < 1e-12
    keeps_bounds(run, {"wall": 0.5, "floor": 0.5})
    total = run.reactions["wall"][-1] + run.reactions["floor"][-1][::-1]
    np.testing.assert_allclose(total, (0.0, MASS * G), atol=1e-9)


def test_a_ladder_pulled_at_its_foot_slips_when_no_forces_hold_it():
    dyn = kane.build(kane.formulate(ladder(kane.Coulomb(0.8), kane.Coulomb(0.4), pull=10.0)))
    run = kane.simulate(dyn, until=1.2, q=leaning(dyn, 20).q)
    limit = brentq(lambda t: greatest_margin(20, 0.8, 0.4, 10 * t), 0.5, 1.5, xtol=1e-12)
    slips = [event.time for event in run.events if event.time > 0.0]
    assert slips[0] == pytest.approx(limit, abs=1e-7)
    assert slips[-1] == pytest.approx(limit, abs=1e-5)
    assert run.modes[0] == "wall held, floor held"
    assert np.abs(run.q[run.time < limit] - run.q[0]).max() < 1e-10
    keeps_bounds(run, {"wall": 0.8, "floor": 0.4})


def test_a_ladder_that_slides_to_rest_is_held_as_one_that_was_put_there():
    dyn = kane.build(kane.formulate(ladder(kane.Coulomb(0.5, 0.4), kane.Coulomb(0.5, 0.4))))
    state, a, rate = leaning(dyn, 35), np.radians(35), 0.3
    slip = {"x_dot": -LENGTH / 2 * np.cos(a) * rate, "y_dot": LENGTH / 2 * np.sin(a) * rate, "th_dot": -rate}
    run = kane.simulate(dyn, until=0.5, q=state.q, u=slip)
    assert run.modes[-1] == "wall held, floor held"
    keeps_bounds(run, {"wall": 0.5, "floor": 0.5})


def test_a_ball_in_a_rough_groove_turns_at_the_torque_that_both_walls_cannot_hold():
    """Both walls at mu N: N_1 + N_2 = m g sqrt(2) / (1 + mu^2), torque mu R times that."""
    mu, c = 0.5, np.sqrt(0.5)
    model = kane.Model("groove", gravity=(0, -G, 0))
    ground, body = model.ground, model.body("ball", mass=1.0, inertia=(0.004,) * 3)
    joint = model.connect(ground, body, kane.Planar(("x", "y", "th")))
    for name, x in (("l", c), ("r", -c)):
        wall = kane.Plane(ground.point(), ground.direction((x, c, 0)))
        model.contact(kane.Sphere(body.point(), RADIUS), wall, friction=kane.Coulomb(mu), name=name)
    model.load(kane.Motor(joint["th"], 0.1 * model.time))
    dyn = kane.build(kane.formulate(model))
    run = kane.simulate(dyn, until=6.0, q=kane.assemble(dyn, q={"y": RADIUS / c}).q)
    limit = mu * RADIUS * G * np.sqrt(2.0) / (1.0 + mu**2) / 0.1
    slips = [event.time for event in run.events if event.time > 0.0]
    assert slips[0] == pytest.approx(limit, abs=1e-6)
    assert run.modes[0] == "l held, r held"
    keeps_bounds(run, {"l": mu, "r": mu})


def test_a_crate_pressed_into_a_corner_is_held_at_all_three_contacts():
    model = kane.Model("corner", gravity=(0, -G, 0))
    ground, body = model.ground, model.body("crate", mass=2.0, inertia=(0.02,) * 3)
    model.connect(ground, body, kane.Planar(("x", "y", "th")))
    floor = kane.Plane(ground.point(), ground.y)
    wall = kane.Plane(ground.point((0.1, 0, 0)), ground.direction((-1, 0, 0)))
    names = {"left": (-0.1, floor), "right": (0.1, floor), "wall": (0.1, wall)}
    for name, (x, surface) in names.items():
        model.contact(body.point((x, -0.1, 0)), surface, friction=kane.Coulomb(0.5), name=name)
    model.load(kane.Force(body.point(), (15.0, 0, 0)))
    run = kane.simulate(kane.build(kane.formulate(model)), until=0.2, q={"y": 0.1})
    assert run.modes == ("left held, right held, wall held",)
    keeps_bounds(run, dict.fromkeys(names, 0.5))


@pytest.mark.parametrize("seed", [2, 4, 6, 7])
def test_a_box_that_drops_into_a_groove_is_held_on_both_sides_when_it_rests(seed):
    """The slips of both end at once: what the rows of one end for the other is decided anew."""
    model = kane.Model("box in a groove", gravity=(0, -G, 0))
    ground, body, c = model.ground, model.body("box", mass=MASS, inertia=(0.03,) * 3), np.sqrt(0.5)
    model.connect(ground, body, kane.Planar(("x", "y", "th")))
    for name, x in (("l", c), ("r", -c)):
        wall, corner = kane.Plane(ground.point(), ground.direction((x, c, 0))), (-np.sign(x) * 0.1, -0.1, 0)
        friction = kane.Coulomb(0.5, 0.4)
        model.contact(body.point(corner), wall, restitution=0.2, friction=friction, name=name)
    rng = np.random.default_rng(seed)
    start = {"y": 0.25, "x": rng.normal() * 0.01, "th": rng.normal() * 0.05}
    run = kane.simulate(kane.build(kane.formulate(model)), until=3.0, q=start, u={"x_dot": rng.normal() * 0.1})
    assert np.abs(run.u[-1]).max() < 1e-12
    assert run.modes[-1] == "l held, r held"
    keeps_bounds(run, {"l": 0.5, "r": 0.5})


@pytest.mark.parametrize("push", [0.5, 2.0, 20.0])
def test_balls_that_lean_on_a_wall_share_their_forces_apart(push):
    """Ball a leans on a wall without a load, ball b is pushed against it: closed forms and the bounds vouch.

    Without a push only a wall force of zero is admissible: the friction of floor and wall is equal, as moments balance.
    With a push F the friction s between ball and wall is open: floor mass g - s, wall F - s.
    """
    model = kane.Model("leaning", gravity=(0, 0, -G))
    floor, wall = (kane.Plane(model.ground.point(), axis) for axis in (model.ground.z, -model.ground.x))
    q = {}
    for k, name in enumerate("ab"):
        ball = model.body(name, mass=MASS, inertia=(0.4 * MASS * RADIUS**2,) * 3)
        model.connect(model.ground, ball, kane.Free(name))
        sphere = kane.Sphere(ball.point(), RADIUS)
        model.contact(sphere, floor, friction=kane.Coulomb(0.5), name=f"floor {name}")
        model.contact(sphere, wall, friction=kane.Coulomb(0.5), name=f"wall {name}")
        q |= {f"{name}_qw": 1.0, f"{name}_x": -RADIUS, f"{name}_y": 3 * k * RADIUS, f"{name}_z": RADIUS}
    model.load(kane.Force(ball.point(), (push, 0, 0)))
    run = kane.simulate(kane.build(kane.formulate(model)), until=0.1, q=q)
    assert len(run.events) <= 4
    assert np.all(run.reactions["wall a"] == 0.0)
    assert run.reactions["floor a"] == pytest.approx(np.tile([MASS * G, 0, 0], (len(run.time), 1)), abs=1e-9 * MASS * G)
    keeps_bounds(run, {f"{of} {ball}": 0.5 for of in ("floor", "wall") for ball in "ab"})
    share = MASS * G - run.reactions["floor b"][:, 0]
    assert run.reactions["wall b"][:, 0] == pytest.approx(push - share, abs=1e-9 * MASS * G)
    for of in ("floor b", "wall b"):
        assert np.linalg.norm(run.reactions[of][:, 1:], axis=1) == pytest.approx(np.abs(share), abs=1e-9 * MASS * G)
    assert np.abs(run.u).max() < 1e-12


def test_the_certificate_of_a_ladder_holds():
    certificate = kane.certify(ladder(kane.Coulomb(0.5), kane.Coulomb(0.5)), states=10)
    assert "FAILS" not in str(certificate)


@pytest.mark.parametrize("integrator", [kane.RK8(), kane.RK5()], ids=lambda method: method.name)
def test_a_block_that_sticks_on_a_slope_does_not_move_by_one_bit(integrator):
    """What is at rest has no error, so that steps grow: rounding of 1e-15 m/s^2 would move it by 1e-14 m in 4 s."""
    slope = math.atan(0.4)
    m = kane.Model("incline", gravity=(0, -9.81, 0))
    block = m.body("block", mass=2, inertia=(0.02,) * 3)
    m.connect(m.ground, block, kane.Planar(("x", "y", "th")))
    plane = kane.Plane(m.ground.point(), m.ground.direction((-math.sin(slope), math.cos(slope), 0)))
    for name, x in (("left", -0.1), ("right", 0.1)):
        m.contact(block.point((x, -0.05, 0)), plane, friction=kane.Coulomb(static=0.5, kinetic=0.4), name=name)
    q = [-0.05 * math.sin(slope), 0.05 * math.cos(slope), slope]
    run = kane.simulate(kane.build(kane.formulate(m)), until=4.0, q=q, integrator=integrator)
    assert run.active("left").all()
    assert run.active("right").all()
    assert (run.q == run.q[0]).all()
    assert not run.u.any()
