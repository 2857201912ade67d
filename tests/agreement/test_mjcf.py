"""What load_mjcf makes of MJCF files has the accelerations, forces and mass matrix that MuJoCo finds itself."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from oracles.mjcf_twin import MjcfTwin
from oracles.numbers import close, evaluated, mass_matrix, random_state

import kane
from kane.importers.mjcf.mjcf import load_mjcf

# MuJoCo finds principal axes of the inertias by rotations until what is left is below 1e-12.
PRINCIPAL = 1e-10

ARM = """<mujoco model="arm"><compiler angle="degree" eulerseq="XYZ"/>
<option gravity="0.3 -0.2 -9.7"/>
<default><joint damping="0.4" armature="0.05"/>
  <default class="soft"><joint stiffness="7" springref="15"/></default></default>
<worldbody><geom type="plane" size="1 1 1"/>
  <body name="shoulder" pos="0.1 0 0.4" euler="10 20 90">
    <joint name="pan" axis="0 0 1" pos="0.01 0.02 0" ref="20"/>
    <joint name="tilt" axis="1 2 0.5" pos="0 0.03 0.1" class="soft"/>
    <inertial mass="3" pos="0.05 0.01 0.2" fullinertia="0.03 0.04 0.05 0.001 0.002 -0.003"/>
    <geom size="0.1"/>
    <frame pos="0 0 0.3" axisangle="1 0 0 30">
      <body name="rail" pos="0 0.02 0.1">
        <joint name="reach" type="slide" axis="0 1 1" ref="0.1" stiffness="30" springref="0.3" armature="0.7"/>
        <geom type="capsule" fromto="0 0 0 0.1 0.2 0.4" size="0.03"/>
        <body name="hand" pos="0 0 0.4" zaxis="1 1 1">
          <joint name="wrist_turn" axis="0 0 1"/>
          <joint name="wrist_lift" type="slide" axis="0 0 1" damping="3"/>
          <joint name="wrist_bend" axis="0 1 0" pos="0 0 0.1" ref="-35" springref="5" stiffness="2"/>
          <geom type="box" size="0.02 0.05 0.08" pos="0 0.01 0.1" euler="0 30 0"/>
          <body name="plate" pos="0.1 0 0"><geom type="ellipsoid" size="0.05 0.02 0.04"/><site name="tool"/></body>
        </body>
      </body>
    </frame>
  </body>
</worldbody>
<actuator>
  <motor name="pan" joint="pan" gear="12"/>
  <motor joint="tilt" gear="-3"/>
  <position name="servo" joint="reach" kp="40" kv="3" gear="2"/>
  <velocity name="speed" joint="wrist_turn" kv="0.7"/>
  <general name="odd" joint="wrist_bend" gaintype="affine" gainprm="2 0.3 0.1" biastype="affine" biasprm="0.2 -1 -0.3"/>
  <general name="clamped" joint="wrist_lift" gainprm="5" forcelimited="true" forcerange="-2 3"/>
  <general name="lagging" joint="tilt" dyntype="filter" dynprm="0.1" gainprm="4"/>
</actuator></mujoco>"""

FLYER = """<mujoco model="flyer"><compiler angle="radian"/>
<worldbody>
  <body name="hull" pos="1 2 3" quat="0.5 0.5 0.1 0.3" gravcomp="0.4">
    <joint name="root" type="free" damping="0.6"/>
    <inertial mass="2" pos="0.1 0.2 0.3" diaginertia="0.3 0.4 0.5" quat="1 0.2 0.3 0.1"/>
    <site name="rotor1" pos="0.2 0.1 0" euler="0.1 0.2 0.3"/><site name="rotor2" pos="-0.2 0.1 0"/>
    <body name="pod" pos="0.1 -0.2 0.3" euler="0.3 0.2 0.1">
      <joint name="ball" type="ball" pos="0.02 0.01 0.03" damping="0.2"/>
      <geom type="cylinder" size="0.1 0.2" pos="0 0 0.2"/>
      <body name="flap" pos="0 0.3 0"><joint name="hinge" axis="0 0 1"/><geom size="0.1" pos="0.2 0 0"/></body>
    </body>
  </body>
  <body name="lamp" pos="0 0 2"><joint name="hook" type="ball"/><geom size="0.1" pos="0 0 -0.5"/></body>
</worldbody>
<actuator>
  <general name="thrust" site="rotor1" gear="0.1 0.2 1 0.01 0 0.05" gainprm="3"/>
  <motor name="lift" site="rotor2" gear="0 0 1 0 0 -0.05"/>
  <motor name="twist" joint="ball" gear="0.3 0.2 0.1"/>
  <motor name="turn" jointinparent="ball" gear="0.1 0.5 0.2"/>
  <motor name="swing" jointinparent="hook" gear="0.4 0.1 0.2"/>
  <motor name="push" joint="root" gear="1 2 3 0.1 0.2 0.3"/>
  <motor name="pull" jointinparent="root" gear="1 0 0.5 0.3 0.1 0.2"/>
  <motor joint="hinge"/>
</actuator></mujoco>"""

COPIES = """<mujoco model="copies"><option><flag gravity="disable" spring="disable"/></option>
<compiler angle="radian" inertiafromgeom="true"/>
<worldbody>
  <replicate count="3" offset="0.3 0 0" euler="0 0 0.4">
    <body name="leg" childclass="main"><joint name="swing" axis="0 1 0" stiffness="4" damping="0.1"/>
      <inertial mass="9" pos="0 0 0" diaginertia="1 1 1"/>
      <geom type="capsule" fromto="0 0 0 0 0.1 -0.4" size="0.03"/><geom size="0.05" pos="0 0 -0.5"/></body>
  </replicate>
</worldbody></mujoco>"""

SHIPPED = Path(mujoco.__file__).parent / "testdata" / "model.xml"


def agree(text, **options):
    """Random states of both, as far as quaternions are of unit length."""
    model = load_mjcf(text, **options)
    equations = kane.formulate(model)
    own = mujoco.MjModel.from_xml_path(str(text)) if isinstance(text, Path) else mujoco.MjModel.from_xml_string(text)
    twin = MjcfTwin(own, model, equations)
    for seed in range(3):
        state = random_state(equations, np.random.default_rng(seed))
        M = twin.mass_matrix(state)
        close(mass_matrix(equations, state), M, PRINCIPAL)
        close(evaluated(equations, "inverse", state), twin.inverse(state), PRINCIPAL)
        close(evaluated(equations, "forward", state), twin.forward(state), PRINCIPAL * np.linalg.cond(M))
    return model


@pytest.mark.parametrize("text", [ARM, FLYER, COPIES], ids=["arm", "flyer", "copies"])
def test_accelerations_forces_and_mass_matrix_are_mujocos(text):
    agree(text)


def test_the_model_that_mujoco_ships_is_read_and_what_is_left_out_is_listed():
    model = agree(SHIPPED)
    words = "\n".join(model.notes)
    assert all(word in words for word in ("contacts are left out", "tendon", "limits", "fluid", "keyframe"))


def test_poses_of_sites_are_mujocos():
    model = load_mjcf(ARM)
    equations = kane.formulate(model)
    twin = MjcfTwin(mujoco.MjModel.from_xml_string(ARM), model, equations)
    state = random_state(equations, np.random.default_rng(5))
    twin.load(state)
    mujoco.mj_forward(twin.m, twin.data)
    _, position = kane.build(equations).poses(state.q)["tool"]
    np.testing.assert_allclose(position, twin.data.site("tool").xpos, atol=1e-12)  # sums of a few lengths below 2 m


def test_inertia_inferred_from_a_mesh_is_mujocos(tmp_path):
    folder = tmp_path / "meshes"
    folder.mkdir()
    corners = ((0, 0, 0), (0.3, 0, 0), (0, 0.2, 0), (0, 0, 0.4))
    faces = ((1, 3, 2), (1, 2, 4), (1, 4, 3), (2, 3, 4))
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a} {b} {c}" for a, b, c in faces]
    (folder / "wedge.obj").write_text("\n".join(lines))
    path = tmp_path / "wedge.xml"
    path.write_text(
        '<mujoco><compiler meshdir="meshes"/><asset><mesh file="wedge.obj"/><mesh file="../../unused.obj"/></asset>'
        '<worldbody><body><joint axis="1 2 3"/>'
        '<geom type="mesh" mesh="wedge" pos="0.1 0 0"/></body></worldbody></mujoco>'
    )
    model = load_mjcf(path)
    text = path.read_text().replace('<mesh file="../../unused.obj"/>', "")
    own = mujoco.MjModel.from_xml_string(
        text.replace(' meshdir="meshes"', ""), {"wedge.obj": (folder / "wedge.obj").read_bytes()}
    )
    equations = kane.formulate(model)
    twin = MjcfTwin(own, model, equations)
    state = random_state(equations, np.random.default_rng(2))
    close(evaluated(equations, "inverse", state), twin.inverse(state), PRINCIPAL)
    close(mass_matrix(equations, state), twin.mass_matrix(state), PRINCIPAL)
