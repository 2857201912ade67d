"""Points and balls on ground of given heights. Peer: SciPy's tensor splines, and optimisation over them."""

import numpy as np
import pytest
from scipy.interpolate import RectBivariateSpline
from scipy.optimize import minimize

import kane
from kane.display.scene import scene_of
from kane.expression.derivative import total_time_derivative
from kane.expression.interpret import interpret

G, R = 9.81, 0.15
X, Y = np.linspace(-2.0, 2.0, 9), np.linspace(-1.5, 1.5, 7)
HILLS = 0.2 * np.sin(1.3 * X)[:, None] * np.cos(1.1 * Y) + 0.05 * X[:, None]


def ball(heights=HILLS, radius=R, friction=None, x=X, y=Y):
    m = kane.Model("ball on hills", gravity=(0, 0, -G))
    body = m.body("ball", mass=1.0, inertia=(0.4 * R * R,) * 3)
    m.connect(m.ground, body, kane.Free("ball"))
    ground = m.ground.shape(kane.HeightField(m.ground.point((0.1, 0.2, -0.3)), x, y, heights))
    feature = kane.Sphere(body.point(), radius) if radius else body.point()
    m.contact(feature, ground, friction=friction, name="ground")
    return m


PEER = RectBivariateSpline(X, Y, HILLS)


def nearest(c):
    """The distance of a place from the hills, and the nearest point, by optimisation."""
    c = c - (0.1, 0.2, -0.3)

    def square(p):
        return (p[0] - c[0]) ** 2 + (p[1] - c[1]) ** 2 + (PEER(*p)[0, 0] - c[2]) ** 2

    found = minimize(square, c[:2], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-18})
    foot = np.array([*found.x, PEER(*found.x)[0, 0]])
    return np.linalg.norm(c - foot), foot + np.array((0.1, 0.2, -0.3))


class Evaluated:
    def __init__(self, m):
        self.equations = kane.formulate(m).with_intermittent_rows
        self.constraint = self.equations.intermittents[0]  # of a rim its lowest place; test_flat_rims.py has the feet

    def values(self, expressions, c, u):
        q = [1.0, 0.0, 0.0, 0.0, *c]
        leaves = dict(zip(self.equations.q, q, strict=True)) | dict(zip(self.equations.u, u, strict=True))
        return np.array(interpret(list(expressions), leaves | {self.equations.t: 0.0}), float)

    def lowered(self, x, y):
        """The place over (x, y) at which the gap vanishes."""
        low, high = -2.0, 3.0
        while high - low > 1e-15:
            z = 0.5 * (low + high)
            if z in (low, high):
                break
            above = self.values(self.constraint.numbers[:1], (x, y, z), np.zeros(6))[0] > 0.0
            low, high = (low, z) if above else (z, high)
        return np.array([x, y, high])


@pytest.mark.parametrize("radius", [R, 0.0])
@pytest.mark.parametrize("place", [(0.3, -0.4), (-1.1, 0.7), (1.4, 1.0), (0.9, -1.1)])
def test_a_ball_that_touches_is_as_far_from_the_ground_as_its_radius(radius, place):
    """Also the normal and the rate of the gap, and the rows' own rates, where it touches."""
    e = Evaluated(ball(radius=radius, friction=kane.Coulomb(0.5)))
    c, u = e.lowered(*place), np.array([0.3, -0.2, 0.5, 0.4, -0.7, 0.6])
    distance, foot = nearest(c)
    assert distance == pytest.approx(radius, abs=1e-8)
    rates = dict(zip(e.equations.q, e.equations.unconstrained.kinematics, strict=True))
    motions = [row.motion for row in e.constraint.rows]
    found = e.values(motions, c, u)
    (derived,) = total_time_derivative(e.constraint.numbers[:1], rates)
    assert found[:1] == pytest.approx(e.values([derived], c, u), abs=1e-9)
    n = np.array([e.values(motions[:1], c, axis)[0] for axis in np.eye(6)[3:]])
    assert np.linalg.norm(n) == pytest.approx(1.0, rel=1e-12)
    if radius:
        assert n == pytest.approx((c - foot) / distance, abs=1e-6)
    still = rates | dict.fromkeys(e.equations.u, e.equations.t.arena.zero)
    straight, h = u * (0, 0, 0, 1, 1, 1), 1e-6  # so that its attitude stays
    difference = (e.values(motions, c + h * u[3:], straight) - e.values(motions, c - h * u[3:], straight)) / (2 * h)
    turning = e.values(total_time_derivative(motions, still), c, straight)
    assert turning == pytest.approx(difference, rel=1e-6, abs=1e-7)
    assert abs(turning).max() > 1e-3


def test_a_point_goes_round_in_a_bowl_as_a_conical_pendulum_does():
    """h = k (x^2 + y^2) / 2, which cubic splines follow exactly: level circles at w^2 = g k. Who vouches: Newton."""
    k, r = 1.5, 0.4
    x = np.linspace(-1.0, 1.0, 5)
    m = ball(0.5 * k * (x[:, None] ** 2 + x**2), radius=0.0, x=x, y=x)
    at = {"ball_x": 0.1 + r, "ball_y": 0.2, "ball_z": -0.3 + 0.5 * k * r * r}
    w = np.sqrt(G * k)
    run = kane.simulate(kane.build(kane.formulate(m)), until=3.0, q=at, u={"ball_vy": r * w})
    assert run["ball_x"] == pytest.approx(0.1 + r * np.cos(w * run.time), abs=1e-6)
    assert run["ball_y"] == pytest.approx(0.2 + r * np.sin(w * run.time), abs=1e-6)
    assert run["ball_z"] == pytest.approx(np.full(len(run), at["ball_z"]), abs=1e-7)


def test_a_ball_that_rolls_over_hills_keeps_its_energy():
    m = ball(friction=kane.Coulomb(5.0))
    e = Evaluated(m)
    c = e.lowered(0.3, 0.1)
    start = dict(zip(("ball_x", "ball_y", "ball_z"), c, strict=True))
    run = kane.simulate(kane.build(kane.formulate(m)), until=1.0, q=start)
    assert run.active("ground").all()
    assert run.energy == pytest.approx(np.full(len(run), run.energy[0]), abs=1e-8)
    assert np.linalg.norm(run.q[-1, 4:7] - c) > 0.3
    assert nearest(run.q[-1, 4:7])[0] == pytest.approx(R, abs=1e-8)


def test_heights_that_are_none_are_refused_and_a_field_is_shown_and_survives_a_file(tmp_path):
    m = kane.Model("field")
    for x, y, heights, words in (
        ([0, 1, 2], Y, np.zeros((3, 7)), "x of a HeightField are at least 4 numbers that increase"),
        (X, Y[::-1], HILLS, "y of a HeightField"),
        (X, Y, HILLS.T, r"9 rows for x of 7 for y; these have the shape \(7, 9\)"),
        (X, Y, np.full((9, 7), np.nan), "finite numbers"),
        (X, Y, "high", "heights of a HeightField are numbers"),
    ):
        with pytest.raises(kane.ModelError, match=words):
            kane.HeightField(m.ground.point(), x, y, heights)
    m = ball()
    kane.save_model(m, tmp_path / "m.json")
    back = kane.load_model(tmp_path / "m.json")
    assert back.shapes[0].heights == m.shapes[0].heights
    lines = [piece for piece in scene_of(kane.formulate(back)).pieces if not piece.body]
    assert len(lines) >= 9 * 6 + 8 * 7  # the grid


def wheel(axle, shape=kane.Disk, **length):
    m = kane.Model("wheel on hills", gravity=(0, 0, -G))
    body = m.body("wheel", mass=1.0, inertia=(0.25 * R * R, 0.5 * R * R, 0.25 * R * R))
    m.connect(m.ground, body, kane.Free("wheel"))
    ground = kane.HeightField(m.ground.point((0.1, 0.2, -0.3)), X, Y, HILLS)
    m.contact(shape(body.point(), body.direction(axle), R, **length), ground, friction=kane.Coulomb(5.0), name="ground")
    return m


@pytest.mark.parametrize("axle", [(0, 1, 0), (0.3, 1.0, 0.2), (1.0, 0.5, -0.4)])
@pytest.mark.parametrize("place", [(0.3, -0.4), (-1.1, 0.7), (0.9, -1.1)])
def test_the_rim_of_a_disk_touches_in_one_place_and_is_above_the_ground_everywhere_else(axle, place):
    """Also the rate of the gap. Who vouches: SciPy's spline below ten thousand places of the rim."""
    e = Evaluated(wheel(axle))
    c, u = e.lowered(*place), np.array([0.3, -0.2, 0.5, 0.4, -0.7, 0.6])
    k = np.array(axle) / np.linalg.norm(axle)
    e1 = np.cross(k, [0.3, -0.5, 0.9])
    e1 /= np.linalg.norm(e1)
    turns = 2 * np.pi * np.arange(10_000) / 10_000
    rim = c - (0.1, 0.2, -0.3) + R * (np.cos(turns)[:, None] * e1 + np.sin(turns)[:, None] * np.cross(k, e1))
    above = rim[:, 2] - PEER(rim[:, 0], rim[:, 1], grid=False)
    # Of the places the one next to where it touches is half of R 2 pi / 10,000 off, and above it by 1e-8 m.
    assert -1e-10 < above.min() < 2e-8
    rates = dict(zip(e.equations.q, e.equations.unconstrained.kinematics, strict=True))
    (derived,) = total_time_derivative(e.constraint.numbers[:1], rates)
    found = e.values([e.constraint.rows[0].motion], c, u)
    assert found == pytest.approx(e.values([derived], c, u), abs=1e-8)


def test_a_wheel_that_rolls_over_hills_keeps_its_energy_and_a_cylinder_has_two_rims():
    dyn = kane.build(kane.formulate(wheel((0, 1, 0))))
    start = kane.assemble(dyn, q={"wheel_x": -0.4, "wheel_y": 0.3, "wheel_z": 0.0}, fixed=["wheel_x", "wheel_y"])
    run = kane.simulate(dyn, until=0.5, q=start.q, u={"wheel_vx": 1.0, "wheel_wy": 1.0 / R, "wheel_wz": 0.5})
    assert run.modes[-1] == "ground held"
    lost = sum(event.energy_lost for event in run.events)  # what does not roll at first
    assert run.energy[-1] == pytest.approx(run.energy[0] - lost, abs=1e-8)
    names = [c.name for c in wheel((0, 1, 0), kane.Cylinder, length=0.2).intermittents]
    assert names == ["ground: start", "ground: end", *(f"ground: foot {k}" for k in range(1, 5))]
