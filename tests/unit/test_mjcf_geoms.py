"""Geoms of MJCF files become shapes where MuJoCo shows them, and change nothing else."""

import struct
from pathlib import Path

import numpy as np
import pytest

import kane
from kane.display.scene import Numbers, poses_at, scene_of

mujoco = pytest.importorskip("mujoco")

FILE = """<mujoco model="m">
<default><geom rgba=".5 .5 .5 1"/><default class="hidden"><geom group="3"/></default></default>
<worldbody><geom type="plane" size="1 1 .1"/>
<body name="a" pos="0 0 1"><joint name="q1" axis="0 1 0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
 <geom name="box" type="box" size=".1 .2 .3" pos=".1 0 0" euler="0 0 30"/>
 <geom name="ball" type="sphere" size=".1"/>
 <geom name="rod" type="capsule" size=".05" fromto="0 0 0 .5 .2 0"/>
 <geom name="drum" type="cylinder" size=".1 .3" euler="40 0 0"/>
 <geom name="egg" type="ellipsoid" size=".1 .2 .3"/>
 <geom class="hidden" type="box" size="9 9 9"/>
 <geom type="box" size="8 8 8" rgba="1 1 1 0"/>
 <body name="b" pos="0 0 .5"><joint name="q2" axis="1 0 0"/>
  <geom name="inferred" type="box" size=".1 .1 .4" pos="0 0 .2"/></body>
</body></worldbody></mujoco>"""


def test_geoms_lie_where_mujoco_puts_them():
    model = kane.load_mjcf(FILE)
    eqs = kane.formulate(model)
    scene, q = scene_of(eqs), [0.4, -0.7]
    m = mujoco.MjModel.from_xml_string(FILE)
    data = mujoco.MjData(m)
    data.qpos[:] = q
    mujoco.mj_forward(m, data)
    R, p = poses_at(scene.where, [0.0, *q, 0.0, 0.0], Numbers(eqs, {}))
    boxes = [piece for piece in scene.pieces if piece.form == "box"]
    assert len(boxes) == 2
    for piece, name in zip(boxes, ("box", "inferred"), strict=True):
        geom = data.geom(name)
        np.testing.assert_allclose(R[piece.body] @ piece.position + p[piece.body], geom.xpos, atol=1e-14)
        wanted = geom.xmat.reshape(3, 3) * 2 * m.geom(name).size
        np.testing.assert_allclose(R[piece.body] @ piece.stretch, wanted, atol=1e-14)
    shown = [type(shape).__name__ for shape in model.shapes]
    assert sorted(shown) == ["Box", "Box", "Capsule", "Cylinder", "Ellipsoid", "Plane", "Sphere"]
    capsule = next(shape for shape in model.shapes if isinstance(shape, kane.Capsule))
    ends = np.array([capsule.start.position_in_body, capsule.end.position_in_body], float)
    np.testing.assert_allclose(sorted(ends.tolist()), [[0, 0, 0], [0.5, 0.2, 0]], atol=1e-14)


def stl(corners, faces):
    """A binary STL file."""
    data = b"\0" * 80 + struct.pack("<I", len(faces))
    for face in faces:
        data += struct.pack("<12fH", 0, 0, 0, *np.ravel(corners[face]), 0)
    return data


CORNERS = np.array([[0.5, 0.2, 0.1], [1.5, 0.2, 0.1], [0.5, 2.2, 0.1], [0.5, 0.2, 0.4]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
WITH_MESH = """<mujoco model="m"><compiler meshdir="assets"/>
<default><default class="seen"><mesh scale=".2 .2 .1"/><geom type="mesh" group="2" contype="0"/></default></default>
<asset><mesh name="tip" class="seen" file="tip.stl"/><mesh file="plain.stl"/></asset>
<worldbody><body name="a" pos="0 0 1"><joint name="q1" axis="0 1 0"/>
 <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom class="seen" mesh="tip" pos=".1 0 .2" euler="0 30 10"/>
 <body name="b" pos="0 0 .5"><joint name="q2" axis="1 0 0"/><geom type="mesh" mesh="plain" euler="20 0 0"/></body>
</body></worldbody></mujoco>"""


@pytest.fixture
def with_meshes(tmp_path):
    """The file, and its meshes."""
    (tmp_path / "assets").mkdir()
    for name in ("tip", "plain"):
        (tmp_path / "assets" / f"{name}.stl").write_bytes(stl(CORNERS, FACES))
    path = tmp_path / "m.xml"
    path.write_text(WITH_MESH)
    return path


def test_meshes_lie_where_mujoco_puts_them(with_meshes):
    model = kane.load_mjcf(with_meshes)
    eqs = kane.formulate(model)
    scene, q = scene_of(eqs), [0.4, -0.7]
    m = mujoco.MjModel.from_xml_path(str(with_meshes))
    data = mujoco.MjData(m)
    data.qpos[:] = q
    mujoco.mj_forward(m, data)
    R, p = poses_at(scene.where, [0.0, *q, 0.0, 0.0], Numbers(eqs, {}))
    meshes = [piece for piece in scene.pieces if piece.form.endswith(".stl")]
    assert [Path(piece.form).name for piece in meshes] == ["tip.stl", "plain.stl"]
    for i, piece in enumerate(meshes):
        points = scene.forms[piece.form].points @ piece.stretch.T + piece.position
        seen = points @ R[piece.body].T + p[piece.body]
        k = m.geom_dataid[i]
        own = m.mesh_vert[m.mesh_vertadr[k] : m.mesh_vertadr[k] + m.mesh_vertnum[k]]
        theirs = own @ data.geom_xmat[i].reshape(3, 3).T + data.geom_xpos[i]
        # MuJoCo keeps corners in single precision.
        for corner in theirs:
            assert np.linalg.norm(seen - corner, axis=1).min() < 1e-6
        assert len({tuple(np.round(x, 5)) for x in theirs}) == 4


def test_meshes_outside_of_the_folder_or_not_there_are_noted_and_nothing_is_opened(with_meshes, tmp_path):
    (tmp_path / "assets" / "tip.stl").write_bytes(b"no mesh")  # is not opened before it is drawn
    (tmp_path.parent / "away.stl").write_bytes(stl(CORNERS, FACES))
    with_meshes.write_text(WITH_MESH.replace('"plain.stl"', '"../../away.stl"').replace('"plain"', '"away"'))
    with pytest.raises(kane.ImportFileError, match="outside of the folder"):
        kane.load_mjcf(with_meshes)  # its mass is to be inferred from it
    text = WITH_MESH.replace('"plain.stl"', '"../../away.stl"').replace('mesh="plain"', 'mesh="away" mass="0"')
    text = text.replace('axis="1 0 0"/>', 'axis="1 0 0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>')
    with_meshes.write_text(text)
    model = kane.load_mjcf(with_meshes)
    assert [Path(shape.path).name for shape in model.shapes] == ["tip.stl"]
    assert any("away.stl' lies outside of" in note and "is not shown" in note for note in model.notes)
    with pytest.raises(kane.ImportFileError, match=r"tip\.stl has no triangles"):
        kane.draw3d(model)
    with_meshes.write_text(text.replace("tip.stl", "nowhere.stl").replace('name="tip"', 'name="tip"'))
    assert any("nowhere.stl' does not exist" in note for note in kane.load_mjcf(with_meshes).notes)


def test_geoms_that_are_shown_change_no_mass():
    model = kane.load_mjcf(FILE)
    m = mujoco.MjModel.from_xml_string(FILE)
    masses = {body.name: body.mass for body in model.bodies[1:]}
    assert masses["b"] == pytest.approx(float(m.body("b").mass[0]))
    assert masses["a"] == 1.0


def test_a_file_whose_looks_cannot_be_read_moves_all_the_same():
    bad = FILE.replace('type="box" size=".1 .2 .3"', 'type="hfield"')
    model = kane.load_mjcf(bad)
    assert model.shapes == []
    assert len(kane.formulate(model).u) == 2
