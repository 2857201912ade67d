"""Geoms of MJCF files become shapes where MuJoCo shows them, and change nothing else."""

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
