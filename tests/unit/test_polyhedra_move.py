"""Convex polyhedra that fall, tumble and slide: against energy, statics and closed forms."""

import numpy as np
import pytest

import kane

G = 9.81
S = 0.1
TETRA = [(S, S, S), (S, -S, -S), (-S, S, -S), (-S, -S, S)]


def free(name, points, mass=1.0, inertia=1e-2):
    m = kane.Model(name, gravity=(0, 0, -G))
    body = m.body("part", mass=mass, inertia=(inertia,) * 3)
    m.connect(m.ground, body, kane.Free("part"))
    return m, kane.Polyhedron(points, body.point())


def pushing(run):
    return {name: force[-1, 0] for name, force in run.reactions.items() if force[-1, 0] != 0.0}


THROWN = {"part_qw": 0.9, "part_qx": 0.4, "part_qy": 0.1, "part_qz": 0.02**0.5, "part_z": 1.0}


def tumbling(touch):
    """A tetrahedron that is thrown onto what ``touch`` lets it touch, and what it comes to."""
    m, tetra = free("tetrahedron", TETRA)
    touch(m, tetra, {"restitution": 0.4, "friction": kane.Coulomb(0.5, 0.4)})
    dyn = kane.build(kane.formulate(m))
    return dyn, kane.simulate(dyn, until=2.5, q=THROWN, u={"part_vx": 1.0, "part_wy": 3.0})


def on_points(m, tetra, law):
    for name, corner in tetra.corners:
        m.contact(corner, kane.Plane(m.ground.point(), m.ground.z), name=name, **law)


def on_floor(m, tetra, law):
    m.contact(tetra, kane.Plane(m.ground.point(), m.ground.z), name="t", **law)


def on_table(m, tetra, law):
    m.contact(tetra, kane.Box(20.0, 20.0, 1.0, m.ground.point((0.0, 0.0, -0.5))), name="t", **law)


@pytest.fixture(scope="module")
def by_points():
    return tumbling(on_points)[1]


def struck(run):
    """Corners, and when they strike by 1e-3 N s or more: how often the last hops stick and slip follows rounding."""
    hits = [event for event in run.events if event.cause == "bounces" and event.impulse[0] > 1e-3]
    return [event.name[-1] for event in hits], [event.time for event in hits]


@pytest.mark.parametrize("touch", [on_floor, on_table])
def test_a_tetrahedron_tumbles_to_rest_on_a_face_and_never_gains_energy_or_passes_through(touch, by_points):
    """Who vouches: contacts of its four corners as points, which know nothing of polyhedra."""
    dyn, run = tumbling(touch)
    assert np.diff(run.energy).max() < 5e-9  # what the integrator's tolerance makes of 10 J
    lowest = [min((p.orientation @ c + p.position)[2] for c in TETRA) for p in (dyn.poses(q)["part"] for q in run.q)]
    assert min(lowest) > -1e-9
    assert abs(run.u[-1]).max() < 1e-9
    assert run["part_z"][-1] == pytest.approx(S / np.sqrt(3), abs=1e-9)  # from its middle to a face
    assert list(pushing(run).values()) == pytest.approx([G / 3] * 3, rel=1e-6)
    corners, times = struck(run)
    wanted, when = struck(by_points)
    assert corners == wanted
    assert times == pytest.approx(when, abs=1e-6)
    assert run.q[-1] == pytest.approx(by_points.q[-1], abs=1e-6)


WEDGE = [(x, y, z) for y in (-0.4, 0.4) for x, z in ((0.0, 0.0), (2.0, 0.0), (0.0, 1.0))]
PRISM = [(x, y, z) for y in (-0.1, 0.1) for x, z in ((-0.15, -0.05), (0.15, -0.05), (0.0, 0.16))]


@pytest.fixture(scope="module")
def prism_on_wedge():
    m, prism = free("prism", PRISM)
    friction = kane.Coulomb(m.parameter("static", 0.6), m.parameter("kinetic", 0.5))
    m.contact(prism, kane.Polyhedron(WEDGE, m.ground.point()), friction=friction, name="wedge")
    return kane.build(kane.formulate(m))


@pytest.mark.parametrize(("static", "kinetic"), [(0.2, 0.2), (0.6, 0.5)])
def test_a_prism_on_a_wedge_slides_as_an_inclined_plane_has_it_or_sticks(prism_on_wedge, static, kinetic):
    slope = np.arctan2(1.0, 2.0)
    along, n = np.array([np.cos(slope), 0, -np.sin(slope)]), np.array([np.sin(slope), 0, np.cos(slope)])
    start = np.array([0.4, 0.05, 0.8]) + 0.05 * n
    q = dict(zip(("part_x", "part_y", "part_z"), start, strict=True))
    q |= {"part_qw": np.cos(slope / 2), "part_qy": np.sin(slope / 2)}
    run = kane.simulate(prism_on_wedge, until=0.3, q=q, parameters={"static": static, "kinetic": kinetic})
    moved = np.array([run[x] for x in ("part_x", "part_y", "part_z")]).T - start
    a = 0.0 if static > np.tan(slope) else G * (np.sin(slope) - kinetic * np.cos(slope))
    assert moved @ along == pytest.approx(0.5 * a * run.time**2, abs=1e-9)
    assert abs(moved @ n).max() < 1e-10
    assert sum(pushing(run).values()) == pytest.approx(G * np.cos(slope), rel=1e-9)


def test_a_capsule_lies_on_a_box_that_it_reaches_over_at_an_end_and_at_an_edge():
    """Who vouches: the balance of moments."""
    m = kane.Model("capsule on a box", gravity=(0, 0, -G))
    body = m.body("rod", mass=1.0, inertia=(1e-2,) * 3)
    m.connect(m.ground, body, kane.Free("rod"))
    rod = kane.Capsule(body.point((-0.3, 0, 0)), body.point((0.3, 0, 0)), 0.05)
    m.contact(rod, kane.Box(1.0, 1.0, 0.4, m.ground.point()), friction=kane.Coulomb(0.5), name="c")
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.3, q={"rod_x": 0.4, "rod_z": 0.25})
    forces = pushing(run)
    (across,) = [f for name, f in forces.items() if "across" in name]
    assert len(forces) == 2
    assert forces["c: start"] == pytest.approx(G * 0.1 / 0.4, rel=1e-9)
    assert across == pytest.approx(G * 0.3 / 0.4, rel=1e-9)
    assert abs(run.u).max() < 1e-12


def test_a_tetrahedron_balanced_on_the_tip_of_another_stays_by_symmetry_until_it_is_pushed():
    """Corner on corner has no normal of its own; edge on edge, at a right angle, has: it rocks there and falls off."""
    m, tetra = free("two", TETRA)
    fixed = kane.Polyhedron(TETRA, m.ground.point())
    m.contact(tetra, fixed, friction=kane.Coulomb(0.8), name="t")
    # The upper edge of the fixed one is along (1, 1, 0), the lower one of the other along (1, -1, 0).
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.2, q={"part_z": 2 * S + 0.001})
    forces = pushing(run)
    assert [name.partition(" ")[0] for name in (x.removeprefix("t: ") for x in forces)] == ["edge"]
    assert list(forces.values()) == pytest.approx([G], rel=1e-9)
    assert run["part_z"][-1] == pytest.approx(2 * S, abs=1e-9)


def test_a_block_comes_to_rest_in_a_hollow_of_heights():
    """Level ground given as heights: as on a plane."""
    x = np.linspace(-1.0, 1.0, 5)
    ends = []
    for kind in ("plane", "heights"):
        m, tetra = free("block", TETRA)
        ground = kane.Plane(m.ground.point(), m.ground.z)
        if kind == "heights":
            ground = kane.HeightField(m.ground.point(), x, x, np.zeros((5, 5)))
        m.contact(tetra, ground, restitution=0.3, friction=kane.Coulomb(0.8), name="t")
        run = kane.simulate(kane.build(kane.formulate(m)), until=1.0, q=THROWN | {"part_z": 0.3})
        ends.append(run.q[-1])
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)
