"""Examples of what sticks, slips and lets go, against closed forms and other derivations; the models are theirs."""

import math
import runpy

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kane

# Runs by RK8 to 1e-9 a step; errors add up over some tens of steps.
SOLVED = 1e-8


def example(root, name):
    return runpy.run_path(str(root / "examples" / f"{name}.py"), run_name="example")


def built(model):
    return kane.build(kane.formulate(model))


@pytest.fixture(scope="module")
def piano(root):
    return example(root, "piano_action")


def test_the_hammer_of_a_piano_is_thrown_strikes_and_is_caught_at_the_times_of_closed_forms(piano):
    """Constant torques: with the jack key and hammer are one inertia, then each goes its own way."""
    p = piano
    run = p["stroke"]()
    one = p["KEY"] + p["RATIO"] ** 2 * p["HAMMER"]
    a = (p["FINGER"] - p["SPRING"] - p["RATIO"] * p["WEIGHT"]) / one
    letoff = math.sqrt(2 * p["LETOFF"] / a)
    thrown, falls = p["RATIO"] * a * letoff, p["WEIGHT"] / p["HAMMER"]
    way = p["STRING"] - p["RATIO"] * p["LETOFF"]
    strikes = letoff + (thrown - math.sqrt(thrown**2 - 2 * falls * way)) / falls
    speed = thrown - falls * (strikes - letoff)
    back = p["RESTITUTION"] * speed
    down = p["STRING"] - p["CHECK"]
    caught = strikes + (-back + math.sqrt(back**2 + 2 * falls * down)) / falls
    events = {(e.name, e.cause): e for e in reversed(run.events)}  # the first of each kind
    assert events["jack", "imposed"].time == 0.0
    assert events["jack", "deleted"].time == pytest.approx(letoff, rel=1e-9)
    assert events["hammer: upper", "bounces"].time == pytest.approx(strikes, rel=1e-9)
    struck = events["hammer: upper", "bounces"]
    assert struck.impulse == pytest.approx([p["HAMMER"] * (speed + back)], rel=1e-9)
    assert struck.energy_lost == pytest.approx(p["HAMMER"] * (speed**2 - back**2) / 2, rel=1e-9)
    check = events["check", "imposed"]
    assert check.time == pytest.approx(caught, rel=1e-9)
    assert check.impulse == pytest.approx([p["HAMMER"] * math.sqrt(back**2 + 2 * falls * down)], rel=1e-9)
    held = run.active("check")
    assert np.ptp(run["hammer"][held]) < 1e-12
    assert events["check", "deleted"].time > p["RELEASED"]
    assert run.final.q == pytest.approx([0.0, 0.0], abs=2e-6)  # the jack is under the hammer again
    assert "jack held" in run.modes[-1]


@pytest.fixture(scope="module")
def pushed(root):
    return example(root, "pushed_block")


def test_a_block_pushed_askew_slips_at_the_bound_and_then_as_friction_against_its_slip_has_it(pushed):
    """Who vouches: statics for the time, SciPy for the way in the plane of the slope."""
    p = pushed
    run = p["pushed"]()
    slips, stops = (next(e for e in run.events if e.cause == cause) for cause in ("slips", "sticks"))
    (rise, most), (end, _) = p["FORCES"][1:3]
    assert slips.time == pytest.approx(p["slips_at"]() * rise / most, rel=1e-10)
    sticking = run.time < slips.time
    assert abs(run.q[sticking]).max() < 1e-15
    weight, s = p["MASS"] * p["G"], p["SLOPE"]

    def load(t):
        push = np.interp(t, *zip(*p["FORCES"], strict=True)) / math.sqrt(2.0)
        return np.array([weight * math.sin(s) + push, push])

    def slope(t, x):
        v = x[2:]
        speed = np.linalg.norm(v)
        way = v / speed if speed > 1e-12 else load(t) / np.linalg.norm(load(t))
        return np.concatenate([v, (load(t) - p["KINETIC"] * weight * math.cos(s) * way) / p["MASS"]])

    options = {"rtol": 1e-11, "atol": 1e-13}
    first = solve_ivp(slope, (slips.time, rise), np.zeros(4), **options).y[:, -1]
    second = solve_ivp(slope, (rise, 0.5 * (rise + end)), first, **options).y[:, -1]
    found = kane.simulate(built(p["block"]()), until=0.5 * (rise + end), inputs={"push": askew(p)})
    assert found.final.q[:2] == pytest.approx(second[:2], rel=1e-6, abs=1e-8)
    assert found.final.u[:2] == pytest.approx(second[2:], rel=1e-6, abs=1e-8)
    assert stops.time > end - 0.5
    assert abs(run.u[-1]).max() == 0.0
    assert run.reactions["slope"][-1] == pytest.approx([weight * math.cos(s), 0.0, -weight * math.sin(s)], abs=1e-9)


def askew(p):
    times, forces = zip(*p["FORCES"], strict=True)
    return kane.Interpolated(list(times), list(forces))


@pytest.fixture(scope="module")
def disk(root):
    return example(root, "disk_on_rough_floor")


def test_a_disk_with_backspin_slips_until_it_rolls_back(disk):
    """mu g slows both the centre and the spin, until v = r w; m v r + I w about the floor is kept."""
    d = disk
    run = d["thrown"]()
    (stick,) = [e for e in run.events if e.cause == "sticks"]
    slip = d["SPEED"] - d["R"] * d["BACKSPIN"]
    assert stick.time == pytest.approx(slip / (3 * d["KINETIC"] * d["G"]), rel=1e-9)
    rolls = (2 * d["SPEED"] + d["R"] * d["BACKSPIN"]) / 3
    assert rolls < 0.0  # it comes back
    assert run["x_dot"][-1] == pytest.approx(rolls, rel=1e-9)
    assert run.energy[-1] - d["M"] * d["G"] * d["R"] == pytest.approx(0.75 * d["M"] * rolls**2, rel=1e-8)


def test_a_leaning_disk_rolls_as_one_that_rolls_for_good_until_friction_reaches_its_bound(disk):
    """Who vouches: the permanent constraint of rolling, and the reactions of a floor rough enough."""
    d = disk
    run, rough = d["leaning"](), d["leaning"](static=10.0)
    slips = next(e for e in run.events if e.cause == "slips")
    assert 0.1 < slips.time < d["UNTIL"]
    m = d["disk"]()
    m.candidates.clear()
    body = next(b for b in m.bodies if b.name == "disk")
    m.constrain(kane.Rolling(kane.Disk(body.point(), body.y, d["R"]), kane.Plane(m.ground.point(), m.ground.z)))
    dyn = built(m)
    start = kane.assemble(dyn, q=run.q[0], u=run.u[0])
    rolling = kane.simulate(dyn, until=slips.time, q=start.q, u=start.u)
    assert slips.q == pytest.approx(rolling.final.q, rel=SOLVED, abs=SOLVED)
    assert slips.u == pytest.approx(rolling.final.u, rel=SOLVED, abs=SOLVED)
    force = rough.reactions["floor"]
    demand = np.hypot(force[:, 1], force[:, 2]) / force[:, 0]
    at = np.interp(slips.time, rough.time, demand)
    assert at == pytest.approx(d["STATIC"], rel=1e-5)  # a straight line between records
    assert demand[rough.time < slips.time - 2e-3].max() < d["STATIC"]
    after = run.time > slips.time + 1e-6
    assert (run.energy[after][-1] < run.energy[0]).all()


def test_a_block_rocks_on_a_cylinder_as_one_that_rolls_does():
    """Rolling by the angle a brings the centre to (R + h) n + R a t. Who vouches: that, the energy, and for small
    angles w^2 = g (R - h) / (k^2 + h^2), whose next term is of the order of R^2 a^2 / (k^2 + h^2).
    """
    R, side, mass, g, a = 0.5, 0.2, 2.0, 9.81, 0.005
    h, k2 = side / 2, side**2 / 6
    m = kane.Model("block on a cylinder", gravity=(0, -g, 0))
    body = m.body("block", mass=mass, inertia=(mass * k2,) * 3)
    m.connect(m.ground, body, kane.Planar(("x", "y", "angle")))
    log = kane.Cylinder(m.ground.point(), m.ground.z, R)
    m.contact(kane.Box(side, side, 0.3, body.point()), log, friction=kane.Coulomb(0.9), name="log")

    def centre(a):
        return np.array([-(R + h) * np.sin(a) + R * a * np.cos(a), (R + h) * np.cos(a) + R * a * np.sin(a)])

    x, y = centre(a)
    turns = kane.Event(m.connections[0]["angle"].q, name="upright")
    run = kane.simulate(built(m), until=3.0, q={"x": x, "y": y, "angle": a}, events=[turns])
    assert run.active("log").all()
    assert np.array([run["x"], run["y"]]) == pytest.approx(centre(run["angle"]), abs=1e-8)
    assert run.energy == pytest.approx(np.full(len(run), run.energy[0]), rel=1e-9)
    upright = [event.time for event in run.events if event.name == "upright"]
    w = math.sqrt(g * (R - h) / (k2 + h**2))
    assert np.diff(upright) == pytest.approx(np.full(len(upright) - 1, math.pi / w), rel=2e-4)
