"""Boxes that lie on boxes, slide off them and fall: against statics, energy and equations written by hand."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kane

G, MASS = 9.81, 2.0
TABLE = (1.0, 1.0, 0.4)


def on_table(sides, table=TABLE, friction=None):
    """A box that is free, on one that is fixed."""
    m = kane.Model("box on a table", gravity=(0, 0, -G))
    moments = tuple(MASS / 12 * (sum(x * x for x in sides) - x * x) for x in sides)
    body = m.body("box", mass=MASS, inertia=moments)
    m.connect(m.ground, body, kane.Free("box"))
    m.contact(kane.Box(*sides, body.point()), kane.Box(*table, m.ground.point()), friction=friction, name="table")
    return kane.build(kane.formulate(m))


def pushing(run):
    """The normal forces at the end, of what pushes."""
    return {name: force[-1, 0] for name, force in run.reactions.items() if force[-1, 0] != 0.0}


@pytest.mark.slow
def test_a_bar_across_a_bar_lies_on_the_four_places_where_their_edges_cross():
    dyn = on_table((1.0, 0.1, 0.1), (0.1, 1.0, 0.1), kane.Coulomb(0.5))
    run = kane.simulate(dyn, until=0.5, q={"box_z": 0.1, "box_qw": np.cos(0.1), "box_qz": np.sin(0.1)})
    found = pushing(run)
    assert {name.replace("+", "-") for name in found} == {"table: edge x- across y-"}
    assert len(found) == 4
    assert list(found.values()) == pytest.approx([MASS * G / 4] * 4, rel=1e-9)
    assert abs(run.u).max() < 1e-12


def test_a_box_that_slides_off_a_table_tips_and_leaves_it_as_lagranges_equations_have_it():
    """No friction. Level until its middle is over the edge; then it slides down its own lower side, on the edge.

    Who vouches: with s the way of the middle along its lower side from the edge, a the tilt, h half the height,
    T = m ((s' + h a')^2 + (s a')^2) / 2 + I a'^2 / 2 and V = m g (h cos a - s sin a), integrated by SciPy until the
    edge, which pushes along the normal of the side, would have to pull.
    """
    sides, start, v = (0.2, 0.2, 0.1), 0.3, 0.5
    h, inertia = sides[2] / 2, MASS / 12 * (sides[0] ** 2 + sides[2] ** 2)
    run = kane.simulate(on_table(sides), until=0.7, q={"box_z": TABLE[2] / 2 + h, "box_x": start}, u={"box_vx": v})
    left = {name: [e.time for e in run.events if e.name == name and e.cause == "deleted"] for name in run.reactions}
    times = sorted(time for times in left.values() for time in times)
    edge = TABLE[0] / 2
    front, middle = (edge - sides[0] / 2 - start) / v, (edge - start) / v
    assert times[:4] == pytest.approx([front, front, middle, middle], abs=1e-8)
    level = run.time < middle - 1e-6
    assert abs(run.q[level, 1:4]).max() < 1e-12
    assert run["box_z"][level] == pytest.approx(np.full(level.sum(), TABLE[2] / 2 + h), abs=1e-12)

    def rates(x):
        s, a, ds, da = x
        M = np.array([[MASS, MASS * h], [MASS * h, MASS * (h * h + s * s) + inertia]])
        f = [
            MASS * s * da**2 + MASS * G * np.sin(a),
            -2 * MASS * s * ds * da + MASS * G * (h * np.sin(a) + s * np.cos(a)),
        ]
        return np.linalg.solve(M, f)

    def push(t, x):
        """Of the edge over m: the acceleration along the normal, (sin a, cos a), and gravity."""
        s, a, ds, da = x
        _, dda = rates(x)
        return G * np.cos(a) - s * dda - 2 * ds * da - h * da**2

    push.terminal = True
    known = solve_ivp(
        lambda t, x: [x[2], x[3], *rates(x)], (middle, 1.0), [0, 0, v, 0], events=push, rtol=1e-10, atol=1e-12
    )
    assert times[4:] == pytest.approx([known.t[-1]] * 2, rel=1e-6)
    last = next(e for e in run.events if e.time == times[-1])
    s, a, _, da = known.y[:, -1]
    assert [last.q[2], last.u[1]] == pytest.approx([np.sin(a / 2), da], rel=1e-5)
    assert last.q[4:7] == pytest.approx(
        [edge + s * np.cos(a) + h * np.sin(a), 0.0, TABLE[2] / 2 - s * np.sin(a) + h * np.cos(a)], abs=1e-6
    )


def test_a_box_that_falls_onto_a_table_comes_to_rest_on_its_corners_and_never_gains_energy():
    q = {"box_z": 0.5, "box_qw": 0.9, "box_qx": 0.3, "box_qy": 0.2, "box_qz": 0.06**0.5}
    run = kane.simulate(on_table((0.2, 0.2, 0.1), friction=kane.Coulomb(0.5, 0.4)), until=1.5, q=q)
    assert np.diff(run.energy).max() < 1e-9
    assert sum(pushing(run).values()) == pytest.approx(MASS * G, rel=1e-9)
    assert all("corner" in name for name in pushing(run))
    assert run["box_z"][-1] == pytest.approx(TABLE[2] / 2 + 0.05, abs=1e-9)
    assert abs(run.u[-1]).max() < 1e-9


@pytest.mark.slow
def test_a_box_on_a_turned_box_lies_on_the_octagon_of_both():
    """Two cubes, the upper one turned: eight edges cross. They meet flat, and all that falling gave is lost."""
    m = kane.Model("two cubes", gravity=(0, 0, -G))
    lower, upper = (m.body(name, mass=1.0, inertia=(1e-3,) * 3) for name in ("lower", "upper"))
    for body in (lower, upper):
        m.connect(m.ground, body, kane.Free(body.name))
    cubes = [kane.Box(0.1, 0.1, 0.1, body.point()) for body in (lower, upper)]
    m.contact(cubes[0], kane.Plane(m.ground.point(), m.ground.z), friction=kane.Coulomb(0.5), name="floor")
    m.contact(cubes[1], cubes[0], friction=kane.Coulomb(0.5), name="cubes")
    start = {"lower_z": 0.05, "upper_z": 0.152, "upper_x": 0.01, "upper_qw": np.cos(0.2), "upper_qz": np.sin(0.2)}
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.3, q=start)
    assert sum(e.energy_lost for e in run.events) == pytest.approx(G * 0.002, rel=1e-9)
    assert run["upper_z"][-1] == pytest.approx(0.15, abs=1e-12)
    assert abs(run.u[-1]).max() < 1e-12
    forces = pushing(run)
    assert all("edge" in name or "floor" in name for name in forces)
    assert sum(f for name, f in forces.items() if "cubes" in name) == pytest.approx(G, rel=1e-9)
    assert sum(f for name, f in forces.items() if "floor" in name) == pytest.approx(2 * G, rel=1e-9)


@pytest.mark.parametrize("axis", range(3))
def test_a_ball_strikes_each_face_of_a_box_with_friction(axis):
    """Thrown across a face it sticks: the spin takes 2/7 of the slip. Who vouches: the impulses, by hand."""
    m = kane.Model("ball at a box", gravity=(0, 0, -1e-9))
    body = m.body("ball", mass=1.0, inertia=(0.4 * 0.01,) * 3)
    m.connect(m.ground, body, kane.Free("ball"))
    box = kane.Box(1.0, 1.0, 1.0, m.ground.point())
    m.contact(kane.Sphere(body.point(), 0.1), box, friction=kane.Coulomb(2.0), restitution=0.5, name="box")
    names, across = ["ball_vx", "ball_vy", "ball_vz"], (axis + 1) % 3
    q = {f"ball_{'xyz'[axis]}": 0.7}
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.2, q=q, u={names[axis]: -1.0, names[across]: 1.0})
    (event,) = run.events
    assert event.time == pytest.approx(0.1, rel=1e-6)
    v = np.array([run[name][-1] for name in names])  # the ball turns by the spin it has got
    expected = np.zeros(3)
    expected[axis], expected[across] = 0.5, 5 / 7
    q = run.q[-1, :4]
    assert rotated(q, v) == pytest.approx(expected, abs=1e-6)


def rotated(q, v):
    w, r = q[0], q[1:]
    return v + 2 * np.cross(r, np.cross(r, v) + w * v)


def test_contacts_between_shapes_without_a_rule_say_which_have_one():
    m = kane.Model("refused")
    body = m.body("body", mass=1.0, inertia=(1.0, 1.0, 1.0))
    m.connect(m.ground, body, kane.Free("body"))
    coin, box = kane.Disk(body.point(), body.x, 0.1), kane.Box(1, 1, 1, m.ground.point())
    with pytest.raises(
        kane.ModelError,
        match=(
            "no contact of a Disk with a Box; as a feature a Disk touches Plane or Sphere or Cylinder or HeightField, "
            "as a surface a Box is touched by Sphere or Capsule or Box or Polyhedron; give a simpler shape"
        ),
    ):
        m.contact(coin, box)
