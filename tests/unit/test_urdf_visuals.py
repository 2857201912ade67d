"""Visuals of URDF files: primitives and meshes become shapes; meshes stay inside their folder."""

import os

import numpy as np
import pytest

import kane
from kane.display.scene import scene_of

ROBOT = """<robot name="r">
<link name="base">{base}</link>
<link name="arm">{arm}
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="q1" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<link name="tip">{tip}</link>
<joint name="weld" type="fixed"><parent link="arm"/><child link="tip"/>
<origin xyz="0.5 0 0" rpy="0 0 1.5707963267948966"/></joint>
</robot>"""
BOX = '<visual><origin xyz="0.1 0 0"/><geometry><box size="0.3 0.2 0.1"/></geometry></visual>'
STL = (
    "solid t\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid t\n"
)


def mesh(name, scale=""):
    return f'<visual><geometry><mesh filename="{name}"{scale}/></geometry></visual>'


def robot(folder, **links):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "r.urdf"
    path.write_text(ROBOT.format(**{"base": "", "arm": "", "tip": "", **links}))
    return path


def unseen(model):
    return [note for note in model.notes if "not shown" in note]


def test_primitives_lie_where_the_file_puts_them(tmp_path):
    model = kane.load_urdf(robot(tmp_path, base=BOX, arm=BOX, tip=BOX))
    ground, arm, tip = (p for p in scene_of(kane.formulate(model)).pieces if p.look != "guess" and p.form == "box")
    np.testing.assert_array_equal(ground.position, [0.1, 0, 0])
    np.testing.assert_array_equal(arm.stretch, np.diag([0.3, 0.2, 0.1]))
    # The tip is welded a quarter turn round, 0.5 m out: its x is the arm's y.
    np.testing.assert_allclose(tip.position, [0.5, 0.1, 0], atol=1e-16)
    np.testing.assert_allclose(tip.stretch @ (1, 0, 0), [0, 0.3, 0], atol=1e-16)
    assert unseen(model) == []


@pytest.mark.parametrize("name", ["package://pack/meshes/m.stl", "../meshes/m.stl", "package:///pack/meshes/m.stl"])
def test_meshes_are_found_in_their_package_and_not_opened_before_they_are_drawn(name, tmp_path):
    package = tmp_path / "pack"
    (package / "meshes").mkdir(parents=True)
    (package / "package.xml").write_text("<package/>")
    (package / "meshes" / "m.stl").write_text("not read yet")
    model = kane.load_urdf(robot(package / "urdf", arm=mesh(name, ' scale="0.001 0.001 -0.001"')))
    assert unseen(model) == []
    (package / "meshes" / "m.stl").write_text(STL)
    scene = scene_of(kane.formulate(model))
    (piece,) = [p for p in scene.pieces if p.form.endswith("m.stl")]
    assert len(scene.forms[piece.form].faces) == 1
    np.testing.assert_array_equal(np.diag(piece.stretch), [0.001, 0.001, -0.001])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../../secret.stl", "outside of"),
        ("{tmp}/secret.stl", "outside of"),
        ("link.stl", "outside of"),
        ("package://pack/../../secret.stl", "outside of"),
        ("package://../secret.stl", "in no folder above"),
        ("package://other/secret.stl", "in no folder above"),
        ("missing.stl", "does not exist"),
        ("http://evil.example/m.stl", "is not a file path"),
        ("file:///etc/passwd", "is not a file path"),
        ("", "does not exist"),
        ("m.txt", "is not a mesh"),
    ],
)
def test_meshes_outside_of_the_package_are_noted_and_not_shown(name, words, tmp_path):
    package = tmp_path / "a" / "pack"
    (tmp_path / "secret.stl").write_text(STL)
    path = robot(package, arm=mesh(name.format(tmp=tmp_path)))
    (package / "m.txt").write_text(STL)
    os.symlink(tmp_path / "secret.stl", package / "link.stl")
    model = kane.load_urdf(path)
    (note,) = unseen(model)
    assert words in note
    assert "link 'arm'" in note
    assert model.shapes == []


def test_root_widens_and_narrows_where_meshes_may_lie(tmp_path):
    (tmp_path / "m.stl").write_text(STL)
    path = robot(tmp_path / "a", arm=mesh("../m.stl"))
    assert len(kane.load_urdf(path, root=tmp_path).shapes) == 1
    assert len(unseen(kane.load_urdf(path))) == 1


def test_meshes_of_a_text_have_no_folder(tmp_path):
    text = ROBOT.format(base="", arm=mesh("m.stl"), tip=BOX)
    model = kane.load_urdf(text)
    assert "set root=" in unseen(model)[0]
    assert len(model.shapes) == 1
    (tmp_path / "m.stl").write_text(STL)
    assert len(kane.load_urdf(text, root=tmp_path).shapes) == 2


@pytest.mark.parametrize(
    "visual",
    ["<visual><geometry/></visual>", '<visual><geometry><box size="1 1"/></geometry></visual>',
     '<visual><geometry><sphere radius="-1"/></geometry></visual>',
     '<visual><geometry><mesh filename="m.stl" scale="0 1 1"/></geometry></visual>'],
)  # fmt: skip
def test_malformed_visuals_do_not_keep_a_robot_from_moving(visual, tmp_path):
    (tmp_path / "m.stl").write_text(STL)
    model = kane.load_urdf(robot(tmp_path, arm=visual))
    assert len(unseen(model)) == 1
    assert kane.formulate(model).u


@pytest.mark.parametrize("name", ["ur5", "panda", "talos_reduced", "hyq_no_sensors"])
def test_robots_of_example_robot_data_are_shown_whole(name):
    model = kane.load_urdf(kane.example_robot(name))
    assert unseen(model) == []
    scene = scene_of(kane.formulate(model))
    assert all(len(form.faces) for form in scene.forms.values())
    assert {p.body for p in scene.pieces} >= set(range(1, len(model.bodies)))
