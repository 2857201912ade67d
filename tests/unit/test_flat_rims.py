"""Cans that stand and coins that lie flat, spin down and tip over: rims on a floor at every tilt."""

from functools import cache

import numpy as np
import pytest

import kane
from kane.expression.derivative import total_time_derivative
from kane.expression.interpret import interpret
from kane.model.contacts.pairs.rims import FOOT_INSET, LIFT_TILT, RIM_LIFT

G, R, H, M = 9.81, 0.05, 0.02, 0.3
TILTS = (0.0, 1e-9, 1e-6, 1e-3, 0.1, 0.5, np.pi / 2 - 1e-6, np.pi / 2)
RK8, RK4 = {}, {"integrator": kane.RK4(), "dt": 1e-3}


def model(kind, ground="plane", **laws):
    m = kane.Model(kind, gravity=(0, 0, -G))
    across = M * (3 * R * R + 4 * half(kind) ** 2) / 12
    body = m.body(kind, mass=M, inertia=(across, across, M * R * R / 2))
    m.connect(m.ground, body, kane.Free("b"))
    shape = kane.Cylinder(body.point(), body.z, R, H) if kind == "can" else kane.Disk(body.point(), body.z, R)
    level = np.linspace(-1, 1, 5)
    field = kane.HeightField(m.ground.point(), level, level, np.zeros((5, 5)))
    floor = field if ground == "field" else kane.Plane(m.ground.point(), m.ground.z)
    m.contact(shape, floor, name="c", **laws)
    return m


@cache
def built(kind, e, mu, **rest):
    return kane.build(kane.formulate(model(kind, restitution=e, friction=kane.Coulomb(mu) if mu else None, **rest)))


def tilted(tilt, azimuth=0.3, **place):
    s = np.sin(tilt / 2)
    return {"b_qw": np.cos(tilt / 2), "b_qx": s * np.cos(azimuth), "b_qy": s * np.sin(azimuth), **place}


def half(kind):
    return 0.5 * H if kind == "can" else 0.0


def standing(kind, tilt):
    """The height of the centre where the rim touches."""
    return R * np.sin(tilt) + half(kind) * abs(np.cos(tilt))


def heights(run, kind):
    """Of the lowest place of the rims over the floor, at the records."""
    lean = 1 - 2 * (run["b_qx"] ** 2 + run["b_qy"] ** 2)
    q = np.array([run[f"b_q{k}"] for k in "wxyz"])
    s = 2 * np.hypot(q[1] * q[3] - q[0] * q[2], q[2] * q[3] + q[0] * q[1])
    return run["b_z"] - R * s - half(kind) * abs(lean)


class Evaluated:
    def __init__(self, m):
        self.equations = kane.formulate(m).with_intermittent_rows
        self.intermittents = self.equations.intermittents

    def values(self, expressions, tilt, u):
        at = tilted(tilt, b_z=0.7)
        q = [at.get(name, 0.0) for name in ("b_qw", "b_qx", "b_qy", "b_qz", "b_x", "b_y", "b_z")]
        e = self.equations
        leaves = dict(zip(e.q, q, strict=True)) | dict(zip(e.u, u, strict=True)) | {e.t: 0.0}
        return np.array(interpret(list(expressions), leaves), float)


@cache
def evaluated(kind, ground):
    return Evaluated(model(kind, ground, friction=kane.Coulomb(0.5)))


GROUNDS = [(kind, ground) for kind in ("coin", "can") for ground in ("plane", "field")]


@pytest.mark.parametrize(("kind", "ground"), GROUNDS)
@pytest.mark.parametrize("tilt", TILTS)
def test_the_least_gap_of_a_rim_is_that_of_its_lowest_place_at_every_tilt(kind, ground, tilt):
    """Who vouches: the circle's lowest place in closed form."""
    e = evaluated(kind, ground)
    gaps = e.values([c.numbers[0] for c in e.intermittents], tilt, np.zeros(6))
    assert gaps.min() == pytest.approx(
        0.7 - standing(kind, tilt), abs=1.01 * RIM_LIFT * R if 0 < tilt < 0.01 else 1e-13
    )


@pytest.mark.parametrize(("kind", "ground"), GROUNDS)
@pytest.mark.parametrize("tilt", TILTS)
def test_each_row_of_a_rim_is_the_rate_of_its_gap_and_the_velocity_of_a_place_of_the_disk(kind, ground, tilt):
    """Who vouches: the derivative of the graph of the gap; v_P = v_C + w x p, |p| no more than the radius."""
    e, u = evaluated(kind, ground), np.array([0.3, -0.2, 0.5, 0.4, -0.7, 0.6])
    rates = dict(zip(e.equations.q, e.equations.unconstrained.kinematics, strict=True))
    motions = [c.rows[0].motion for c in e.intermittents]
    found = e.values(motions, tilt, u)
    derived = e.values(total_time_derivative([c.numbers[0] for c in e.intermittents], rates), tilt, u)
    assert found == pytest.approx(derived, abs=1e-8)
    columns = np.array([e.values(motions, tilt, axis) for axis in np.eye(6)])  # p x n and n along the body's axes
    assert np.linalg.norm(columns[3:], axis=0) == pytest.approx(np.ones(len(motions)), abs=1e-12)
    assert (np.linalg.norm(columns[:3], axis=0) <= np.hypot(R, half(kind)) * (1 + 1.1 * RIM_LIFT / LIFT_TILT)).all()
    remainders = e.values([row.remainder for c in e.intermittents for row in c.rows], tilt, np.zeros(6))
    assert np.isfinite(remainders).all()


DROPS = [(tilt, RK8) for tilt in TILTS] + [(tilt, RK4) for tilt in (0.0, np.pi / 2)]
THROWN = [("coin", 0.5, 0.5), ("can", 0.0, 0.0)]
THROWN += [
    pytest.param(kind, e, mu, marks=pytest.mark.slow)
    for kind in ("coin", "can")
    for e in (0.0, 0.5)
    for mu in (0.0, 0.5)
    if (kind, e, mu) not in THROWN
]
MIDPOINT, GAUSS4 = ({"integrator": method, "dt": 1e-3} for method in (kane.Midpoint(), kane.Gauss4()))
FIXED = [("coin", 0.0, 0.5, 0.5, RK4), ("coin", 0.0, 0.5, 1e-3, MIDPOINT), ("coin", 0.0, 0.5, 0.5, GAUSS4)] + [
    pytest.param(kind, e, mu, tilt, RK4, marks=pytest.mark.slow)
    for kind in ("coin", "can")
    for e in (0.0, 0.5)
    for mu in (0.0, 0.5)
    for tilt in TILTS
]


@pytest.mark.parametrize(("kind", "e", "mu"), THROWN)
@pytest.mark.parametrize(("tilt", "integrator"), DROPS, ids=[f"{x:g} {'RK4' if i else 'RK8'}" for x, i in DROPS])
def test_what_is_dropped_at_any_tilt_stays_on_the_floor_and_comes_to_rest(kind, e, mu, tilt, integrator):
    """Who vouches: geometry, and energy that only falls.

    A can may roll on its rim on a rough floor for good, and what stands on its edge with friction takes long to fall.
    """
    start = tilted(tilt, b_z=standing(kind, tilt) + 0.05)
    run = kane.simulate(built(kind, e, mu), until=1.0, q=start, **integrator)
    assert heights(run, kind).min() > -1.01 * RIM_LIFT * R
    assert np.diff(run.energy).max() < 1e-6 * M * G * R
    on_edge = tilt > 1.5 and (kind == "can" or tilt == np.pi / 2 or mu > 0)
    if not (on_edge or (kind == "can" and tilt > 0 and mu > 0)):
        assert run["b_z"][-1] == pytest.approx(half(kind), abs=1e-12)
        assert abs(run.u[-1]).max() < 1e-9
    if tilt == np.pi / 2:
        assert run["b_z"][-1] == pytest.approx(R, abs=1e-8)


@pytest.mark.parametrize(("kind", "e", "mu", "tilt", "integrator"), FIXED)
def test_fixed_steps_through_the_flat_position_gain_no_energy(kind, e, mu, tilt, integrator):
    """Energy rises by the error of the method, at up to 0.3 rad a step. Who vouches: energy, geometry."""
    start = tilted(tilt, b_z=standing(kind, tilt) + 0.05)
    run = kane.simulate(built(kind, e, mu), until=1.0, q=start, **integrator)
    rises = np.diff(run.energy)
    assert heights(run, kind).min() > -1.01 * RIM_LIFT * R
    assert rises[rises > 0].sum() < 2e-3 * M * G * R


@pytest.mark.parametrize(("mu", "wobble"), [(0.0, 1e-6), (0.5, 0.1)])
def test_a_stepper_follows_a_coin_through_the_flat_position(mu, wobble):
    """With friction rounding errors decide whether it wobbles after 1 s: half of 60 starts 1e-9 rad apart do."""
    start = tilted(0.5, b_z=standing("coin", 0.5) + 0.05)
    stepper = kane.Stepper(built("coin", 0.0, mu), integrator=kane.RK4(), q=start)
    for _ in range(1000):
        stepper.step(1e-3)
    assert abs(stepper.q[6]) < wobble
    assert stepper.time == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-6, 1e-3, 0.1, 0.5])
@pytest.mark.parametrize("kind", ["coin", "can"])
def test_an_elastic_bounce_keeps_the_energy_at_every_tilt(kind, tilt):
    start = tilted(tilt, b_z=standing(kind, tilt) + 0.05)
    run = kane.simulate(built(kind, 1.0, 0.0), until=0.3, q=start, u={"b_wz": 3.0})
    assert any(event.cause == "bounces" for event in run.events)
    assert run.energy == pytest.approx(np.full(len(run), run.energy[0]), rel=1e-8)
    assert heights(run, kind).min() > -1.01 * RIM_LIFT * R


@cache
def incline():
    """A tall can on a floor that gravity is inclined to."""
    m = kane.Model("can on an incline")
    b, mu = m.parameter("b", 0.0), m.parameter("mu", 0.0)
    m.gravity = (G * kane.sin(b), 0.0, -G * kane.cos(b))
    across = M * (3 * R * R + TALL * TALL) / 12
    body = m.body("can", mass=M, inertia=(across, across, M * R * R / 2))
    m.connect(m.ground, body, kane.Free("b"))
    can, floor = kane.Cylinder(body.point(), body.z, R, TALL), kane.Plane(m.ground.point(), m.ground.z)
    m.contact(can, floor, friction=kane.Coulomb(mu), name="c")
    return kane.build(kane.formulate(m))


TALL = 0.16


def inclined(b, mu, azimuth=0.0, **course):
    start = {"b_z": 0.5 * TALL, "b_qw": np.cos(azimuth / 2), "b_qz": np.sin(azimuth / 2)}
    return kane.simulate(incline(), q=start, parameters={"b": b, "mu": mu}, **course)


@pytest.mark.parametrize("integrator", [RK8, RK4], ids=["RK8", "RK4"])
def test_a_can_slides_down_an_incline_as_a_block_does(integrator):
    """x'' = g (sin b - mu cos b). Who vouches: Coulomb."""
    b, mu = 0.4, 0.3
    run = inclined(b, mu, until=0.5, **integrator)
    assert run["b_x"][-1] == pytest.approx(0.5 * G * (np.sin(b) - mu * np.cos(b)) * 0.25, rel=1e-9)
    assert abs(run.u[-1, :3]).max() < 1e-9


@pytest.mark.parametrize("azimuth", [0.3, *(pytest.param(x, marks=pytest.mark.slow) for x in (0.0, np.pi / 8))])
def test_a_can_tips_over_where_its_load_passes_the_rim(azimuth):
    """tan b = R / (L / 2), wherever feet are; up to 0.92 R feet bear it. Who vouches: statics."""
    for share, tips in ((0.92, False), (1.002, True)):
        run = inclined(np.arctan(share * R / (0.5 * TALL)), 3.0, azimuth, until=1.0)
        moved = np.linalg.norm(run.q[-1, :4] - run.q[0, :4])
        assert moved > 0.1 if tips else moved < 1e-12


@pytest.mark.slow
def test_a_load_between_two_feet_and_the_rim_is_borne():
    """By a rocking too small to see, and by tens of thousands of events a second."""
    run = inclined(np.arctan(0.99 * R / (0.5 * TALL)), 3.0, np.pi / 8, until=0.05)
    assert np.linalg.norm(run.q[:, 1:3], axis=1).max() < 100 * RIM_LIFT


def test_a_coin_that_spins_flat_is_braked_at_its_rim():
    """C w' = -mu m g r (1 - FOOT_INSET), C = m r^2 / 2. Who vouches: Coulomb, the pressure at the feet."""
    mu, w = 0.2, 20.0
    run = kane.simulate(built("coin", 0.0, mu), until=2.0, u={"b_wz": w})
    end = next(event.time for event in run.events if event.cause == "sticks")
    assert end == pytest.approx(w * R / (2 * mu * G * (1 - FOOT_INSET)), rel=1e-8)
    assert abs(run.u[-1]).max() < 1e-9


@pytest.mark.parametrize("tilt", [0.2, 1e-2, 1e-4])
def test_a_coin_that_rolls_on_its_rim_with_its_centre_at_rest_goes_round_as_fast_as_it_must(tilt):
    """W^2 = 4 g / (a sin tilt): with the angular velocity W sin(tilt) along the diameter through the lowest place, the
    moment m g a cos(tilt) turns the angular momentum m a^2 / 4 W sin(tilt). Who vouches: Euler.
    """
    W = np.sqrt(4 * G / (R * np.sin(tilt)))
    start = tilted(tilt, azimuth=0.0, b_z=R * np.sin(tilt))
    T = 2 * np.pi / W
    run = kane.simulate(
        built("coin", 0.0, 0.5), until=T, q=start, u={"b_wy": W * np.sin(tilt)}, times=np.linspace(0, T, 9)
    )
    w, x, y, z = (run[f"b_q{k}"] for k in "wxyz")
    axle = np.array([2 * (x * z + w * y), 2 * (y * z - w * x)]) / np.sin(tilt)
    close = 1e-6 if tilt > 10 * LIFT_TILT else 30 * RIM_LIFT / LIFT_TILT
    assert axle[0] == pytest.approx(np.sin(W * run.time), abs=close)
    assert axle[1] == pytest.approx(-np.cos(W * run.time), abs=close)
    assert run["b_z"] == pytest.approx(np.full(len(run), R * np.sin(tilt)), abs=1e-8)
    assert len(run.events) <= 1


def test_a_coin_that_spins_down_on_a_rough_floor_comes_to_rest_or_goes_on_above_it():
    """It is braked by a damper of its own. Who vouches: energy, geometry."""
    m = model("coin", friction=kane.Coulomb(0.5))
    (body,) = m.bodies[1:]
    m.load(kane.Torque(body, tuple(-2e-5 * body.angular_velocity.dot(k) for k in (body.x, body.y, body.z))))
    tilt = 0.1
    W = np.sqrt(4 * G / (R * np.sin(tilt)))
    start = tilted(tilt, azimuth=0.0, b_z=R * np.sin(tilt))
    run = kane.simulate(kane.build(kane.formulate(m)), until=3.0, q=start, u={"b_wy": W * np.sin(tilt)})
    assert heights(run, "coin").min() > -1.01 * RIM_LIFT * R
    assert np.diff(run.energy).max() < 1e-9


@pytest.mark.parametrize("kind", ["coin", "can"])
@pytest.mark.parametrize("tilt", [0.0, 1e-6, 0.1])
def test_what_is_dropped_on_level_ground_of_given_heights_lies_on_it(kind, tilt):
    """Who vouches: geometry."""
    dyn = on_field(kind)
    run = kane.simulate(dyn, until=1.0, q=tilted(tilt, b_z=standing(kind, tilt) + 0.05))
    assert run["b_z"][-1] == pytest.approx(half(kind), abs=1e-12)
    assert abs(run.u[-1]).max() < 1e-9


@cache
def on_field(kind):
    return kane.build(kane.formulate(model(kind, "field")))


@pytest.mark.parametrize(
    ("joint", "falls"),
    [
        (kane.Planar(("x", "y", "th")), None),
        (kane.Revolute("th", axis="z"), None),
        (kane.Prismatic("z", axis="z"), "z"),
        (kane.Cylindrical(("th", "z"), axis="z"), "z"),
    ],
    ids=lambda x: type(x).__name__,
)
@pytest.mark.parametrize("connected", ["before", "after"])
def test_a_can_whose_joint_keeps_it_upright_stands_on_the_floor(joint, falls, connected):
    m = kane.Model("upright", gravity=(0, 0, -G))
    body = m.body("can", mass=M, inertia=(1e-3,) * 3)
    if connected == "before":
        m.connect(m.ground, body, joint)
    m.contact(kane.Cylinder(body.point(), body.z, R, H), kane.Plane(m.ground.point(), m.ground.z), name="c")
    if connected == "after":
        m.connect(m.ground, body, joint)
    equations = kane.formulate(m)
    if falls:
        run = kane.simulate(kane.build(equations), until=0.5, q={falls: 0.1})
        assert run[falls][-1] == pytest.approx(0.5 * H, abs=1e-12)
    else:
        assert "no speed changes the gap" in str(equations.notes)


def test_rolling_of_a_disk_that_lies_flat_is_refused_with_the_cure():
    m = kane.Model("flat", gravity=(0, 0, -G))
    body = m.body("coin", mass=M, inertia=(1e-3,) * 3)
    disk, floor = kane.Disk(body.point(), body.z, R), kane.Plane(m.ground.point(), m.ground.z)
    m.constrain(kane.Rolling(disk, floor), name="rolls")
    m.connect(m.ground, body, kane.Planar(("x", "y", "th")))
    with pytest.raises(kane.ModelError, match="'rolls: no slip' has no equation where its bodies move by these joints"):
        kane.formulate(m)
    for kind in (kane.Rolling, kane.Sliding):
        with pytest.raises(kane.ModelError, match="'coin' is always parallel to its plane"):
            kind(disk, floor)


URDF = """<robot name="table"><link name="can">
<inertial><mass value="0.3"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><cylinder radius="0.05" length="0.02"/></geometry></collision></link></robot>"""
MJCF = """<mujoco><worldbody><body name="can" pos="0 0 0.3"><freejoint/>
<geom type="cylinder" size="0.05 0.01" density="1000"/></body>
<body name="puck" pos="1 0 0.05"><joint type="slide" axis="0 1 0"/><joint type="slide" axis="1 0 0"/>
<geom type="cylinder" size="0.05 0.05"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("text", [URDF, MJCF], ids=["urdf", "mjcf"])
def test_an_upright_cylinder_of_a_file_stands_on_its_floor(text):
    """The puck has the joints and the geom of the object of Gymnasium's Pusher."""
    if text is URDF:
        m = kane.load_urdf(text, base=kane.Free("can"), floor=0.0)
    else:
        pytest.importorskip("mujoco")
        m = kane.load_mjcf(text, floor=0.0)
    dyn = kane.build(kane.formulate(m))
    height = next(name for name in (str(x) for x in dyn.equations.q) if name.endswith("_z"))
    run = kane.simulate(dyn, until=1.0, q={height: 0.3})
    assert run[height][-1] == pytest.approx(0.01, abs=1e-12)
    assert run.events
