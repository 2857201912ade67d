"""Capsules that fall and lie on capsules and cylinders: against statics, energy, and distances found point by point."""

import numpy as np
import pytest

import kane

G, RADIUS, HALF, INERTIA = 9.81, 0.05, 0.3, 0.02
HEIGHT = 0.4
DROP = G * (HEIGHT - 2 * RADIUS)  # energy lost by what falls from HEIGHT and stays
# The energy of a run; where lines cross at a small angle what rolls is stiff, hence tolerances closer than usual.
KEPT, METHOD = 1e-8, kane.RK8(rtol=1e-10, atol=1e-10)


def falling(surface, restitution=0.0, half=HALF):
    """A free capsule above one that is fixed, or a cylinder, along x."""
    m = kane.Model("capsules", gravity=(0, 0, -G))
    body, N = m.body("c", mass=1.0, inertia=(0.001, INERTIA, INERTIA)), m.ground
    m.connect(N, body, kane.Free("c"))
    feature = kane.Capsule(body.point((-HALF, 0, 0)), body.point((HALF, 0, 0)), RADIUS)
    if surface == "capsule":
        below = kane.Capsule(N.point((-half, 0, 0)), N.point((half, 0, 0)), RADIUS)
    else:
        below = kane.Cylinder(N.point(), N.x, RADIUS)
    m.contact(feature, below, restitution=restitution, name="x")
    return kane.build(kane.formulate(m))


@pytest.fixture(scope="module")
def scenes():
    return {(s, e): falling(s, e) for s in ("capsule", "cylinder") for e in (0.0, 0.5)}


def turned(pitch, yaw):
    """Yaw about the vertical, then pitch about the axis across."""
    (a, b), (c, d) = (np.cos([pitch / 2, yaw / 2])), (np.sin([pitch / 2, yaw / 2]))
    return {"c_qw": a * b, "c_qx": -c * d, "c_qy": c * b, "c_qz": a * d}


def axes_apart(run, ends):
    """The least distance of the surfaces, over points along the axis of what falls."""
    w, x, y, z = (run[f"c_q{k}"][:, None] for k in "wxyz")
    along = np.linspace(-HALF, HALF, 601)
    px = run["c_x"][:, None] + along * (1 - 2 * (y * y + z * z))
    py = run["c_y"][:, None] + along * 2 * (x * y + w * z)
    pz = run["c_z"][:, None] + along * 2 * (x * z - w * y)
    past = np.maximum(abs(px) - ends, 0.0)
    return np.sqrt(past**2 + py**2 + pz**2).min() - 2 * RADIUS


def kept(run):
    """What the energy is more or less than the losses of events say, at the worst moment."""
    lost = np.zeros(len(run))
    for event in run.events:
        lost[run.time > event.time] += event.energy_lost
    return abs(run.energy - (run.energy[0] - lost)).max()


@pytest.mark.parametrize("surface", ["capsule", "cylinder"])
@pytest.mark.parametrize("x", [0.0, 0.1])
def test_a_parallel_capsule_bounces_straight(scenes, surface, x):
    """Who vouches: e = 1/2 of the velocity of free fall. It would turn if it were struck at one place beside its middle
    of mass alone; the middle is between the two places where it touches."""
    run = kane.simulate(scenes[surface, 0.5], until=0.4, q={"c_z": HEIGHT, "c_x": x})
    assert {e.name for e in run.events} == (
        {"x: start", "x: end"} if surface == "cylinder" or x == 0.0 else {"x: start", "x: surface's end"}
    )
    expected = np.array([0, 0, 0, 0, 0, 0.5 * np.sqrt(2 * G * (HEIGHT - 2 * RADIUS))])
    assert run.events[0].u == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("surface", ["capsule", "cylinder"])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize(
    ("pitch", "yaw", "x"),
    [(0.02, 0.0, 0.0), (-0.02, 0.0, 0.1), (0.3, 0.0, 0.1), (0.02, 0.01, 0.1), (0.1, 0.1, 0.1)],
)
def test_energy_is_lost_in_impacts_alone_and_nothing_goes_into_anything(scenes, surface, restitution, pitch, yaw, x):
    """Who vouches: the energy, and distances of points along the axis."""
    q = {"c_z": HEIGHT, "c_x": x} | turned(pitch, yaw)
    run = kane.simulate(scenes[surface, restitution], until=0.8, q=q, integrator=METHOD)
    assert len(run.events) >= 2
    assert kept(run) < KEPT
    assert axes_apart(run, HALF if surface == "capsule" else np.inf) > -1e-8


def test_a_parallel_capsule_lies_on_two_ends_as_a_beam_does(scenes):
    """Its start is at x = -0.2 and the end of the other at 0.3. Who vouches: moments about its middle at 0.1."""
    run = kane.simulate(scenes["capsule", 0.0], until=0.5, q={"c_z": HEIGHT, "c_x": 0.1})
    found = {name: force[-1, 0] for name, force in run.reactions.items() if force[-1, 0] != 0.0}
    assert found == pytest.approx({"x: start": 0.4 * G, "x: surface's end": 0.6 * G}, rel=1e-9)
    assert run.energy[0] - run.energy[-1] == pytest.approx(DROP, abs=1e-9)


def test_capsules_that_cross_are_struck_where_they_cross(scenes):
    """Off its middle by 0.1 m. Who vouches: P = (1 + e) v / (1 / m + x^2 / I)."""
    q = {"c_z": HEIGHT, "c_y": 0.1, "c_qw": np.sqrt(0.5), "c_qz": np.sqrt(0.5)}
    run = kane.simulate(scenes["capsule", 0.5], until=0.3, q=q)
    v = np.sqrt(2 * G * (HEIGHT - 2 * RADIUS))
    P = 1.5 * v / (1.0 + 0.1**2 / INERTIA)
    assert [e.name for e in run.events] == ["x: across"]
    assert run.events[0].u[5] == pytest.approx(P - v, rel=1e-9)
    assert abs(run.events[0].u[1]) == pytest.approx(0.1 * P / INERTIA, rel=1e-9)


@pytest.mark.parametrize("surface", ["capsule", "cylinder"])
@pytest.mark.parametrize("rate", [0.3, 1.0, 3.0])
def test_a_capsule_that_turns_on_another_past_the_parallel_stays_on_it(scenes, surface, rate):
    """It crosses, lies on two ends for a moment, and crosses the other way. Who vouches: it turns as it did, level."""
    q = {"c_z": 2 * RADIUS} | turned(0.0, -0.3)
    run = kane.simulate(scenes[surface, 0.0], until=0.6 / rate, q=q, u={"c_wz": rate}, integrator=METHOD)
    assert abs(run["c_wz"] - rate).max() < 1e-6 * rate
    assert abs(run["c_z"] - 2 * RADIUS).max() < 1e-9
    assert abs(run.energy - run.energy[0]).max() < 1e-8
    assert {name for name, force in run.reactions.items() if force[-1, 0] > 0.0} == {"x: across"}


def test_a_capsule_that_slides_along_another_hands_its_ends_over(scenes):
    """Its start leaves the other where the start of that comes onto it. Who vouches: it slides on as it did, level."""
    run = kane.simulate(scenes["capsule", 0.0], until=0.4, q={"c_z": 2 * RADIUS, "c_x": 0.1}, u={"c_vx": -0.5})
    assert run["c_x"][-1] == pytest.approx(-0.1, abs=1e-9)
    assert abs(run["c_z"] - 2 * RADIUS).max() < 1e-9
    assert abs(run.energy - run.energy[0]).max() < 1e-9
    assert {name for name, force in run.reactions.items() if force[-1, 0] > 0.0} == {"x: surface's start", "x: end"}
