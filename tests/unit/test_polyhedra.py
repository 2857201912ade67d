"""Convex polyhedra and meshes as shapes: hulls, what is refused, pictures, files."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import kane
from kane.display.page import scene_form
from kane.display.scene import scene_of
from kane.model.shapes.hull import Hull, reduced

trimesh = pytest.importorskip("trimesh")

CUBE = list(product((-0.5, 0.5), repeat=3))


def globe(count, seed=0):
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1)[:, None]


def written(folder, mesh, name="part.stl"):
    path = folder / name
    mesh.export(path)
    return str(path)


def falling(shape):
    """A model in which what the function returns of a body falls onto a floor."""
    m = kane.Model("falling", gravity=(0, 0, -9.81))
    body = m.body("part", mass=1.0, inertia=(1e-2,) * 3)
    m.connect(m.ground, body, kane.Free("part"))
    m.contact(shape(body), kane.Plane(m.ground.point(), m.ground.z), name="floor")
    return m


def test_a_cube_with_points_within_its_faces_edges_and_inside_is_a_cube():
    hull = Hull.of(np.array([*CUBE, (0, 0, 0), (0.5, 0.1, 0.2), (0.5, 0.5, 0.1)]))
    assert hull.corners == pytest.approx(np.array(CUBE), abs=1e-15)
    assert sorted(len(face) for face in hull.faces) == [4] * 6
    assert len(hull.edges) == 12


@pytest.mark.parametrize("count", [4, 9, 60])
def test_a_hull_has_the_corners_and_heights_of_qhull_and_obeys_euler(count):
    points = globe(count)
    hull = Hull.of(points)
    assert len(hull.corners) - len(hull.edges) + len(hull.faces) == 2
    far = 3 * globe(50, seed=1)
    planes = ConvexHull(points).equations
    assert hull.heights(far).max(axis=1) == pytest.approx((far @ planes[:, :3].T + planes[:, 3]).max(axis=1), rel=1e-12)


@pytest.mark.parametrize("points", [CUBE, globe(60), globe(5)])
def test_no_face_has_two_corners_or_two_edges_of_one_class(points):
    hull = Hull.of(np.array(points))
    for face in map(set, hull.faces):
        assert all(len(face & set(members)) <= 1 for members in hull.corner_classes)
    for members in hull.edge_classes:
        beside = [face for k in members for face in hull.edges[k].faces]
        assert len(set(beside)) == len(beside)
    assert sorted(k for members in hull.corner_classes for k in members) == list(range(len(hull.corners)))


def test_edges_have_their_first_face_to_the_left():
    hull = Hull.of(globe(20))
    for edge in hull.edges:
        a, b = hull.corners[list(edge.corners)]
        left, right = (np.mean(hull.corners[list(hull.faces[k])], axis=0) - a for k in edge.faces)
        out = hull.normals[edge.faces[0]]
        assert np.cross(out, b - a) @ left > 0.0 > np.cross(out, b - a) @ right


def test_sides_that_single_precision_leaves_uneven_are_one_face():
    """A prism of twelve sides as an STL file has it: 14 faces whose corners are in their planes to rounding."""
    around = np.linspace(0, 2 * np.pi, 13)[:-1]
    turn = kane.Rotation.euler("zxz", 0.3, -0.8, 1.1).as_numpy()
    points = np.array([(np.cos(x), np.sin(x), z) for x in around for z in (0, 0.3)]) @ turn + 0.1
    rough = points.astype(np.float32).astype(float)
    hull = Hull.of(rough)
    assert (len(hull.faces), len(hull.corners)) == (14, 24)
    heights = hull.heights(hull.corners)
    assert max(abs(heights[list(face), k]).max() for k, face in enumerate(hull.faces)) < 1e-14
    assert hull.corners == pytest.approx(rough, abs=3e-7)


def test_a_hull_of_fewer_corners_says_how_far_the_others_are_outside():
    points = globe(300)
    offs = []
    for most in (4, 12, 40):
        corners, off = reduced(points, most)
        assert len(corners) == most
        assert Hull.of(corners).heights(points).max() == pytest.approx(off, rel=1e-12)
        offs.append(off)
    assert offs == sorted(offs, reverse=True)
    assert offs[-1] < 0.15
    assert reduced(np.array(CUBE), 8) == (pytest.approx(np.array(CUBE)), 0.0)


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], "the 4 corners of a Polyhedron lie in a plane"),
        ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], "four or more rows of three finite numbers"),
        ([(0, 0), (1, 0), (0, 1), (1, 1)], "four or more rows of three finite numbers"),
        ([*CUBE, (np.nan, 0, 0)], "four or more rows of three finite numbers"),
        ("cube", "the points of a Polyhedron are numbers"),
    ],
)
def test_points_that_make_no_polyhedron_are_refused(points, words):
    with pytest.raises(kane.ModelError, match=words):
        kane.Polyhedron(points)


def test_a_convex_mesh_touches_as_the_polyhedron_that_it_is(tmp_path):
    path = written(tmp_path, trimesh.creation.box((0.2, 0.3, 0.4)))
    m = falling(lambda body: body.shape(kane.Mesh(path, scale=0.5)))
    assert [c.name for c in m.intermittents] == [f"floor: corner {k}" for k in range(1, 5)]
    dyn = kane.build(kane.formulate(m))
    run = kane.simulate(dyn, until=0.4, q={"part_z": 0.2})
    assert run["part_z"][-1] == pytest.approx(0.1, abs=1e-7)  # 0.4 * 0.5 / 2 in single precision


def test_a_mesh_that_is_not_convex_is_refused_by_its_name_and_its_hull_is_not(tmp_path):
    path = written(tmp_path, trimesh.creation.annulus(0.1, 0.2, 0.05, sections=12))
    with pytest.raises(
        kane.ModelError, match=rf"{path} is not convex: its surface is up to 0\.\d+ m inside its hull; .*hull\(\)"
    ):
        falling(lambda body: body.shape(kane.Mesh(path)))
    m = falling(lambda body: body.shape(kane.Mesh(path)).hull())
    assert len(m.intermittents) == 12
    small = falling(lambda body: body.shape(kane.Mesh(path)).hull(corners=8))
    assert len(small.intermittents) < 12
    for corners in (3, 2.5):
        with pytest.raises(kane.ModelError, match="corners="):
            kane.Mesh(path).hull(corners=corners)


def test_too_many_edges_are_refused_with_the_cure():
    m = falling(lambda body: kane.Polyhedron(globe(60), body.point()))
    stone = kane.Polyhedron(globe(60), m.bodies[1].point())
    with pytest.raises(kane.ModelError, match=r"174 and 174 edges have 30276 pairs of edges.*mesh.hull\(corners="):
        m.contact(stone, kane.Polyhedron(globe(60), m.ground.point()), name="stones")


def test_a_box_of_parameters_has_no_corners_and_edges_for_a_polyhedron():
    m = falling(lambda body: kane.Polyhedron(CUBE, body.point()))
    side = m.parameter("side", 0.5)
    with pytest.raises(kane.ModelError, match="the sides of the Box of body 'ground' depend on parameters"):
        m.contact(kane.Polyhedron(CUBE, m.bodies[1].point()), kane.Box(side, 1, 1, m.ground.point()))


def test_polyhedra_are_drawn_and_survive_files(tmp_path):
    m = falling(lambda body: body.shape(kane.Polyhedron(globe(10)), at=(0.1, 0.2, 0.3)))
    kane.save_model(m, tmp_path / "m.json")
    back = kane.load_model(tmp_path / "m.json")
    assert back.shapes[0].points == m.shapes[0].points
    scene = scene_of(kane.formulate(back))
    (piece,) = [piece for piece in scene.pieces if piece.body == 1]
    triangles = scene.forms[piece.form]
    assert triangles.points == pytest.approx(np.array(m.shapes[0].points))
    assert piece.position == pytest.approx((0.1, 0.2, 0.3))
    volume = (
        np.einsum(
            "ij,ij->i",
            *(
                np.cross(triangles.points[triangles.faces[:, 0]], triangles.points[triangles.faces[:, 1]]),
                triangles.points[triangles.faces[:, 2]],
            ),
        ).sum()
        / 6
    )
    assert volume == pytest.approx(ConvexHull(globe(10)).volume)  # all faces look outwards
    form = scene_form(scene)
    assert {name for _, name, *_ in form["pieces"]} <= set(form["forms"])
    kane.draw3d(back)


def test_a_contact_shape_is_drawn_without_being_declared_as_a_shape():
    scene = scene_of(kane.formulate(falling(lambda body: kane.Polyhedron(globe(10), body.point()))))
    assert [len(scene.forms[piece.form].points) for piece in scene.pieces if piece.body == 1] == [10]


def dented(folder, *, deep):
    """A cube of one metre, whose top is a pyramid that points down."""
    cube = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    sides = [
        (0, 2, 6),
        (0, 6, 4),
        (0, 4, 5),
        (0, 5, 1),
        (2, 3, 7),
        (2, 7, 6),
        (0, 1, 3),
        (0, 3, 2),
        (4, 6, 7),
        (4, 7, 5),
    ]
    dent = [(4, 7, 5), (1, 5, 8), (5, 7, 8), (7, 3, 8), (3, 1, 8)]
    mesh = trimesh.Trimesh([*cube, (0.5, 0.5, 1 - deep)], sides + dent, process=False)
    return kane.Mesh(written(folder, mesh, f"{deep}.stl"))


def shell():
    """A ball with a hollow in it, both of 642 points, whose faces are nearly plane."""
    balls = [trimesh.creation.icosphere(3, radius) for radius in (0.1, 0.06)]
    balls[1].invert()
    return trimesh.util.concatenate(balls)


def test_how_far_a_mesh_is_inside_its_hull_is_looked_for_at_corners_sides_and_within_triangles(tmp_path):
    """Who vouches: geometry by hand.

    Of a dent of 0.1 m the deepest point is its tip; of one of 0.6 m it is a point of a side of the pyramid, which is as
    far from a side of the cube, (1 - s)/2, as from the bottom, 0.4 + 0.6 s: 5/11 m.
    """
    for deep, inside in ((0.1, 0.1), (0.6, 5 / 11)):
        mesh = dented(tmp_path, deep=deep)
        out, found = mesh.departure(mesh.hull())
        assert out == pytest.approx(0.0, abs=1e-12)
        assert found == pytest.approx(inside, rel=0.01)
    with pytest.raises(kane.ModelError, match=r"its surface is up to 0\.1 m inside its hull"):
        _ = dented(tmp_path, deep=0.1).polyhedron


@pytest.mark.parametrize(
    ("made", "inside"),
    [
        pytest.param(lambda: trimesh.creation.torus(0.1, 0.03), 0.03, marks=pytest.mark.slow),
        (lambda: trimesh.creation.annulus(0.1, 0.2, 0.05, sections=12), 0.025),
        (shell, 0.04),
    ],
    ids=["torus", "annulus", "shell"],
)
def test_how_far_round_meshes_are_inside_their_hulls(tmp_path, made, inside):
    """Who vouches: radii; facets of the shell leave 1 - cos of half an edge of them, less than a hundredth."""
    mesh = kane.Mesh(written(tmp_path, made()))
    assert mesh.departure(mesh.hull())[1] == pytest.approx(inside, rel=0.015)


def test_depths_are_those_of_many_points_of_the_triangles():
    """Who vouches: a fine net of points on each triangle, which is nowhere deeper, and as deep to its mesh width."""
    hull, rng = Hull.of(globe(30)), np.random.default_rng(3)
    net = np.array([(i, j, 60 - i - j) for i in range(61) for j in range(61 - i)]) / 60
    for _ in range(20):
        corners = 0.8 * rng.uniform(-1, 1, (3, 3)) / np.sqrt(3)
        seen = -hull.heights(net @ corners).max(axis=1).min()
        found = hull.depth(corners, np.array([(0, 1, 2)]))
        assert seen * 0.99 - 1e-12 <= found <= seen + 2 * np.sqrt(3) / 60


def test_a_departure_is_from_a_polyhedron_and_never_negative(tmp_path):
    mesh = kane.Mesh(written(tmp_path, trimesh.creation.icosphere(1, 0.1)))
    with pytest.raises(kane.ModelError, match=r"departure\(\) takes a hull of the mesh.*, not 5"):
        mesh.departure(5)
    assert not np.signbit(mesh.departure(mesh.hull())).any()


@pytest.mark.parametrize("off", [1e-13, 1e-10, 1e-8, 1e-7, 1e-6])
def test_points_that_are_nearly_in_a_plane_are_refused(off):
    with pytest.raises(kane.ModelError, match="the 4 corners of a Polyhedron lie in a plane, to a millionth"):
        kane.Polyhedron([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, off)])


def test_a_flat_mesh_and_a_file_without_triangles_are_refused_by_their_names(tmp_path):
    triangle = trimesh.Trimesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)])
    square = trimesh.Trimesh([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], [(0, 1, 2), (1, 3, 2)])
    for flat in (triangle, square):
        mesh = kane.Mesh(written(tmp_path, flat, "flat.stl"))
        for ask in (mesh.hull, lambda mesh=mesh: mesh.hull(corners=5), lambda mesh=mesh: mesh.polyhedron):
            with pytest.raises(kane.ModelError, match=r"the mesh .*flat\.stl is flat: its . points lie.*thickness"):
                ask()
    for text in ("hello", "solid a\nendsolid a\n"):
        (tmp_path / "empty.stl").write_text(text)
        with pytest.raises(kane.ModelError, match=r"empty\.stl has no triangles; give the file of a mesh"):
            kane.Mesh(str(tmp_path / "empty.stl")).hull()


def test_the_place_of_a_mesh_is_a_point(tmp_path):
    with pytest.raises(kane.ModelError, match="a Mesh"):
        kane.Mesh(written(tmp_path, trimesh.creation.box((1, 1, 1))), centre=5)
