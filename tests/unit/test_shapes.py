"""Shapes that say what bodies look like: their parts, their place, files of models."""

import numpy as np
import pytest

import kane
from kane.display.forms import UNIT_FORM_NAMES, unit_form
from kane.display.guess import bodies_of
from kane.display.scene import Numbers, scene_of
from kane.display.thinned_run import spans
from kane.errors import ImportFileError, ModelError
from kane.model.shapes.part import BALL_FORM, BOX_FORM, CYLINDER_FORM, RING_FORM, TUBE_FORM


def one_body():
    m = kane.Model("one")
    length = m.parameter("L", 0.4)
    b = m.body("b", mass=1.0, inertia=(0.1, 0.2, 0.15))
    m.connect(m.ground, b, kane.Revolute("q1", axis="z"))
    return m, b, length


def volume(form):
    """By the theorem of Gauss: the sum of the tetrahedra between the faces and the origin."""
    a, b, c = (form.points[form.faces[:, k]] for k in range(3))
    return np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6


@pytest.mark.parametrize(
    ("form", "exact"),
    [(BOX_FORM, 1.0), (BALL_FORM, 4 / 3 * np.pi), (CYLINDER_FORM, np.pi), (RING_FORM, np.pi * (1 - 0.86**2))],
)
def test_faces_of_forms_look_outwards_and_enclose_their_volume(form, exact):
    # Circles are polygons of 40 corners, of which 0.4 % is missing; of the ball, made of such in two directions, 1 %.
    assert volume(unit_form(form)) == pytest.approx(exact, rel=0.015)


@pytest.mark.parametrize("name", UNIT_FORM_NAMES)
def test_normals_of_forms_are_those_of_their_faces(name):
    form = unit_form(name)
    a, b, c = (form.points[form.faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    size = np.linalg.norm(across, axis=1)
    given = form.normals[form.faces].mean(axis=1)
    real = size > 1e-12
    assert np.all(np.einsum("ij,ij->i", across, given)[real] >= 0.0)


def shapes_of(m, b, length):
    return {
        "box": kane.Box(length, 0.02, 0.02),
        "ellipsoid": kane.Ellipsoid(0.1, 0.2, length),
        "sphere": kane.Sphere(b.point((0, 0, length)), 0.1),
        "disk": kane.Disk(b.point(), b.y, length),
        "ring": kane.Ring(b.point(), b.x, 0.3),
        "cylinder": kane.Cylinder(b.point(), b.direction((1, 1, 0)), 0.1, length),
        "endless cylinder": kane.Cylinder(b.point(), b.x, 0.1),
        "capsule": kane.Capsule(b.point(), b.point((0.1, length, 0)), 0.05),
        "plane": kane.Plane(b.point(), b.z),
    }


@pytest.mark.parametrize("kind", list(shapes_of(*one_body())))
def test_every_shape_is_shown_at_its_parameters_and_survives_a_file(kind, tmp_path):
    m, b, length = one_body()
    b.shape(shapes_of(m, b, length)[kind])
    scene = scene_of(kane.formulate(m), parameters={"L": 0.7})
    assert {piece.look for piece in scene.pieces if piece.body} == {"shape"}
    assert all(np.isfinite(piece.stretch).all() and np.linalg.det(piece.stretch) > 0 for piece in scene.pieces)
    kane.save_model(m, tmp_path / "m.json")
    again = scene_of(kane.formulate(kane.load_model(tmp_path / "m.json")), parameters={"L": 0.7})
    for ours, theirs in zip(scene.pieces, again.pieces, strict=True):
        np.testing.assert_array_equal(ours.stretch, theirs.stretch)
        np.testing.assert_array_equal(ours.position, theirs.position)


def test_a_box_lies_where_it_was_put():
    m, b, _ = one_body()
    placed = b.shape(kane.Box(0.3, 0.02, 0.04), at=(0.15, 0, 0), orientation=kane.Rotation.about("z", np.pi / 2))
    assert placed.origin == b.point((0.15, 0, 0))
    (piece,) = [p for p in scene_of(kane.formulate(m)).pieces if p.body]
    np.testing.assert_allclose(piece.stretch, [[0, -0.02, 0], [0.3, 0, 0], [0, 0, 0.04]], atol=1e-16)
    np.testing.assert_array_equal(piece.position, [0.15, 0, 0])


def test_a_capsule_is_a_tube_between_two_balls_at_its_ends():
    m, b, _ = one_body()
    b.shape(kane.Capsule(b.point((0, 0.1, 0)), b.point((0.3, 0.5, 0)), 0.05))
    tube, *balls = [p for p in scene_of(kane.formulate(m)).pieces if p.body]
    assert tube.form == TUBE_FORM
    for end, ball in zip((-0.5, 0.5), balls, strict=True):
        np.testing.assert_allclose(tube.position + tube.stretch @ (0, 0, end), ball.position, atol=1e-15)


def test_a_body_without_shapes_is_the_ellipsoid_of_its_inertia():
    m, _, _ = one_body()
    ellipsoid = next(p for p in scene_of(kane.formulate(m)).pieces if p.body and p.form == BALL_FORM)
    # The even ellipsoid with semi-axes a, b, c has the moments m (b^2 + c^2) / 5 and so on.
    S = ellipsoid.stretch @ ellipsoid.stretch.T
    np.testing.assert_allclose((np.trace(S) * np.eye(3) - S) / 5, np.diag([0.1, 0.2, 0.15]), rtol=1e-12, atol=1e-15)


def test_spans_are_those_between_the_records_where_something_begins_and_ends():
    time = np.arange(6.0)
    assert spans(time, np.array([1, 1, 0, 0, 1, 0], bool)) == [(0.0, 2.0), (4.0, 5.0)]
    assert spans(time, np.ones(6, bool)) == [(0.0, 5.0)]
    assert spans(time, np.zeros(6, bool)) == []


def test_a_contact_holds_the_body_of_its_point_and_a_stop_that_of_its_joint():
    m, b, _ = one_body()
    c = m.body("c", mass=1.0, inertia=(1, 1, 1))
    hinge = m.connect(b, c, kane.Revolute("q2", axis="x"))
    m.contact(b.point((0, 0, 1)), kane.Plane(m.ground.point(), m.ground.z), name="touch")
    m.stop(hinge, lower=-1, upper=1)
    assert [bodies_of(m, constraint) for constraint in m.intermittents] == [[1], [2], [2]]


def test_parameters_that_were_substituted_are_known():
    m, b, length = one_body()
    b.shape(kane.Box(length, 0.1, 0.1))
    eqs = kane.substitute(kane.formulate(m), L=0.9)
    (piece,) = [p for p in scene_of(eqs).pieces if p.body]
    assert piece.stretch[0, 0] == 0.9
    assert Numbers(eqs, {}).of([length, 2.0]).tolist() == [0.9, 2.0]


def test_what_is_no_shape_or_has_no_place_is_refused_by_name(tmp_path):
    m, b, _ = one_body()
    other = m.body("other", mass=1.0)
    (tmp_path / "x.stl").write_text("solid x")
    for shape, given, words in [
        (3, {}, "3 is not a shape"),
        (kane.Box, {}, "is not a shape"),
        (kane.Box(-1.0, 1, 1), {}, "length of a Box"),
        (kane.Sphere(other.point(), 0.1), {}, "in body 'other'"),
        (kane.Sphere(b.point(), 0.1), {"at": (0, 0, 1)}, "a place of its own"),
        (kane.Box(0.1, 0.1, 0.1), {"at": (0, 0)}, "three numbers"),
        (kane.Box(0.1, 0.1, 0.1), {"orientation": np.eye(2)}, "orientation"),
        (kane.Mesh(tmp_path / "y.stl"), {}, "there is no file"),
    ]:
        with pytest.raises(ModelError, match=words):
            b.shape(shape, **given)
    assert m.shapes == []
    for path, scale, words in [
        ("x.txt", 1, "is not a mesh"),
        ("x.stl", 0, "scale"),
        ("x.stl", (1, 2), "scale"),
        ("x.stl", "1", "scale"),
    ]:
        with pytest.raises(ModelError, match=words):
            kane.Mesh(path, scale)


def test_a_model_without_bodies_is_refused():
    with pytest.raises(ModelError, match="no bodies"):
        scene_of(kane.formulate(kane.Model("nothing")))


TETRAHEDRON = """\
solid t
facet normal 0 0 -1\nouter loop\nvertex 0 0 0\nvertex 0 1 0\nvertex 1 0 0\nendloop\nendfacet
facet normal 0 -1 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 0 1\nendloop\nendfacet
facet normal -1 0 0\nouter loop\nvertex 0 0 0\nvertex 0 0 1\nvertex 0 1 0\nendloop\nendfacet
facet normal 1 1 1\nouter loop\nvertex 1 0 0\nvertex 0 1 0\nvertex 0 0 1\nendloop\nendfacet
endsolid t
"""


def test_a_mesh_is_read_from_its_file_when_it_is_drawn(tmp_path):
    m, b, _ = one_body()
    (tmp_path / "t.stl").write_text(TETRAHEDRON)
    b.shape(kane.Mesh(tmp_path / "t.stl", 0.001), at=(0, 0, 1))
    scene = scene_of(kane.formulate(m))
    assert volume(scene.forms[str(tmp_path / "t.stl")]) == pytest.approx(1 / 6)
    kane.save_model(m, tmp_path / "m.json")
    assert kane.load_model(tmp_path / "m.json").shapes[0].path == str(tmp_path / "t.stl")


@pytest.mark.parametrize(
    "text", ["", "solid", "\0" * 200, "v 1 2\nf 1 2 9", '<!DOCTYPE x [<!ENTITY a "b">]><COLLADA/>']
)
@pytest.mark.parametrize("kind", ["stl", "obj", "ply", "dae", "glb"])
def test_malformed_meshes_are_errors_that_name_the_file(text, kind, tmp_path):
    m, b, _ = one_body()
    path = tmp_path / f"broken.{kind}"
    path.write_text(text)
    b.shape(kane.Mesh(path))
    with pytest.raises(ImportFileError, match=f"broken.{kind}"):
        _ = scene_of(kane.formulate(m)).forms


def test_a_mesh_opens_no_other_file(tmp_path):
    m, b, _ = one_body()
    (tmp_path / "secret.mtl").write_text("newmtl x\nmap_Kd secret.png\n")
    (tmp_path / "m.obj").write_text("mtllib secret.mtl\nusemtl x\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    b.shape(kane.Mesh(tmp_path / "m.obj"))
    import builtins

    opened = []
    real = builtins.open
    builtins.open = lambda file, *a, **k: (opened.append(str(file)), real(file, *a, **k))[1]
    try:
        assert len(scene_of(kane.formulate(m)).forms[str(tmp_path / "m.obj")].faces) == 1
    finally:
        builtins.open = real
    assert not [path for path in opened if "secret" in path]
