"""Changes of the mode at one instant come to an end: see ``kane.engine.hybrid.rest``.

Who vouches: Euler's equation of a plank about one end, the height of a wheel's centre beside its axle.
"""

import math
from collections import Counter

import numpy as np
import pytest

import kane

G, MASS, HALF = 10.0, 2.0, 0.1


def plank(inertia, lift):
    """A plank on two contacts, of which one is lifted by a force."""
    m = kane.Model("plank", gravity=(0, -G, 0))
    body = m.body("plank", mass=MASS, inertia=(inertia,) * 3)
    m.connect(m.ground, body, kane.Planar(("x", "y", "angle")))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for name, x in (("left", -HALF), ("right", HALF)):
        m.contact(body.point((x, 0, 0)), floor, name=name)
    m.load(kane.Force(body.point((-HALF, 0, 0)), (0, lift, 0)))
    return kane.build(kane.formulate(m))


@pytest.mark.parametrize("speed", [1e-6, 1e-7])
@pytest.mark.parametrize("share", [10.0, 50.0])
def test_a_plank_that_rocks_slower_than_a_hop_comes_to_rest_on_both_ends_at_once(share, speed):
    """An impact of the left end lifts the right one, which is held then, and would drive the left one down again."""
    inertia, lift = share * MASS * HALF**2, 0.6 * MASS * G
    start = {"y_dot": -0.5 * speed, "angle_dot": 0.5 * speed / HALF}  # the left end approaches, the right one rests
    run = kane.simulate(plank(inertia, lift), until=0.1, u=start)
    assert max(Counter(event.time for event in run.events).values()) <= 4
    assert {event.cause for event in run.events}.isdisjoint({"is stepped over"})
    # about the right end: (I + m l^2) d2(angle)/dt2 = m g l - 2 l lift, to first order of a small angle
    turn = HALF * (MASS * G - 2.0 * lift) / (inertia + MASS * HALF**2)
    assert turn < 0.0
    assert run["angle"][-1] == pytest.approx(0.5 * turn * 0.1**2, rel=2e-3)
    lowest = np.minimum(run["y"] - HALF * np.sin(run["angle"]), run["y"] + HALF * np.sin(run["angle"]))
    assert lowest.min() > -1e-11


def wheel_beside_feet(off):
    """A sledge on two feet with a wheel whose centre is beside its axle by less than rows are told apart by."""
    m = kane.Model("sledge", gravity=(0, -G, 0))
    sledge, wheel = m.body("sledge", mass=MASS, inertia=(0.02,) * 3), m.body("wheel", mass=0.5, inertia=(1e-3,) * 3)
    m.connect(m.ground, sledge, kane.Planar(("x", "y", "angle")))
    m.connect(sledge, wheel, kane.Revolute("turn", axis="z"), at=(0, 0.05, 0))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for name, x in (("left", -HALF), ("right", HALF)):
        m.contact(sledge.point((x, 0, 0)), floor, name=name)
    m.contact(kane.Sphere(wheel.point((off, 0, 0)), 0.05), floor, name="wheel")
    return kane.build(kane.formulate(m))


@pytest.mark.parametrize("off", [1e-8, 1e-9])
def test_a_wheel_that_hardly_differs_from_its_axle_lifts_what_it_carries_without_chatter(off):
    """While its centre is below the axle, the sledge rests on the wheel; else on its feet."""
    run = kane.simulate(wheel_beside_feet(off), until=1.0, u={"turn_dot": -20.0})
    assert len(run.events) < 60
    assert {event.cause for event in run.events}.isdisjoint({"is stepped over"})
    centre = run["y"] + 0.05 * np.cos(run["angle"]) + off * np.sin(run["angle"] + run["turn"])
    below = (run["y"] - HALF * np.sin(run["angle"]), run["y"] + HALF * np.sin(run["angle"]), centre - 0.05)
    assert min(gap.min() for gap in below) > -3e-11
    assert max(np.min(below, axis=0)) < 1e-10
    assert run["turn"][-1] == pytest.approx(-20.0, rel=1e-6)
    assert math.isclose(run["turn_dot"][-1], -20.0, rel_tol=1e-6)
