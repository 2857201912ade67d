"""What load_urdf makes of real robots equals, body by body, what Pinocchio's own parser makes of them."""

from __future__ import annotations

from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from kane.errors import ImportFileError
from kane.importers.urdf.urdf import load_urdf
from kane.model.joints.free import Free
from kane.model.joints.joint import axis_components

# Positions, masses and inertias are the same numbers added in another order.
ROUNDING = 1e-13
# kane takes angles within 1e-9 rad of a right angle for right angles, which moves a point at 1 m by 1e-9 m.
SNAPPING = 2e-9

MUST_LOAD = (
    "ur_description/urdf/ur5_robot.urdf",
    "panda_description/urdf/panda.urdf",
    "anymal_c_simple_description/urdf/anymal.urdf",
    "talos_data/robots/talos_reduced.urdf",
)
OTHERS = (
    "talos_data/robots/talos_full_v2.urdf",
    "tiago_description/robots/tiago_dual.urdf",
    "baxter_description/urdf/baxter.urdf",
    "human_description/robots/human.urdf",
    "kinova_description/robots/kinova.urdf",
    "pr2_description/urdf/pr2.urdf",
    "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
)
# Files whose own text forbids a meaning, and the words that say so.
NOT_LOADABLE = {
    "ur_description/urdf/ur3.urdf": "lacks name",
    "alex_description/urdf/alex_psyonic_hands.urdf": "mimics 'index_q1', which does not exist",
    "romeo_description/urdf/romeo.urdf": "lock=['LHand', 'RHand']",
    "romeo_description/urdf/romeo_small.urdf": "repair=['RShoulderYawLink', 'RElbowYawLink']",
    "romeo_description/urdf/romeo_laas_small.urdf": "repair=[",
    "icub_description/robots/icub.urdf": "repair=[",
    "icub_description/robots/icub_reduced.urdf": "repair=[",
}


def folder() -> Path:
    package = distribution("example-robot-data")
    return Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots")))


@cache
def pinocchio_model(name: str, free: bool):
    path = str(folder() / name)
    return pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if free else pin.buildModelFromUrdf(path)


def both(name: str, free: bool):
    ours = load_urdf(folder() / name, base=Free("root_joint") if free else None)
    theirs = pinocchio_model(name, free)
    return ours, theirs


cases = pytest.mark.parametrize(
    ("name", "free"), [(name, free) for name in MUST_LOAD for free in (False, True)] + [(n, False) for n in OTHERS]
)


@cases
def test_joints_sit_in_the_same_places_and_turn_about_the_same_axes(name, free):
    ours, theirs = both(name, free)
    assert {c.name for c in ours.connections} == set(theirs.names[1:])
    for c in ours.connections:
        index = theirs.getJointId(c.name)
        placement = theirs.jointPlacements[index]
        np.testing.assert_allclose(c.p_PF, placement.translation, atol=SNAPPING)
        np.testing.assert_allclose(c.R_PF.as_numpy(), placement.rotation, atol=SNAPPING)
        if c.joint.one_dof:
            data = theirs.joints[index].createData()
            # Their motion subspace at q = 0, linear part first, is our axis.
            theirs.joints[index].calc(data, np.array([1.0, 0.0]) if theirs.joints[index].nq == 2 else np.zeros(1))
            subspace = np.asarray(data.S).reshape(2, 3)
            np.testing.assert_allclose(subspace.sum(axis=0), axis_components(c.joint.axis), atol=SNAPPING)


@cases
def test_lumped_bodies_have_the_same_mass_centre_and_inertia(name, free):
    ours, theirs = both(name, free)
    for c in ours.connections:
        body, inertia = c.child, theirs.inertias[theirs.getJointId(c.name)]
        assert body.mass == pytest.approx(inertia.mass, rel=ROUNDING)
        if body.mass:
            np.testing.assert_allclose(body.com, inertia.lever, atol=SNAPPING)
            scale = np.abs(inertia.inertia).max() + inertia.mass * SNAPPING
            np.testing.assert_allclose(body.inertia, inertia.inertia, atol=ROUNDING * scale + SNAPPING * scale)


@cases
def test_lumped_links_stay_known_as_frames_in_the_same_places(name, free):
    ours, theirs = both(name, free)
    bodies = {c.child.name: theirs.getJointId(c.name) for c in ours.connections} | {"ground": 0}
    checked = 0
    for frame in theirs.frames:
        made = ours.frames.get(frame.name)
        if frame.type == pin.FrameType.BODY and made is not None:
            assert bodies[made.body.name] == frame.parentJoint
            np.testing.assert_allclose(made.position, frame.placement.translation, atol=SNAPPING)
            np.testing.assert_allclose(made.orientation.as_numpy(), frame.placement.rotation, atol=SNAPPING)
            checked += 1
    assert checked == len(ours.frames)


@pytest.mark.parametrize("free", [False, True])
def test_every_robot_of_example_robot_data_loads_or_says_what_is_wrong_with_it(free):
    seen, loaded = {}, 0
    for path in sorted(folder().rglob("*.urdf")):
        name = str(path.relative_to(folder()))
        try:
            load_urdf(path, base=Free("root_joint") if free else None)
            loaded += 1
        except ImportFileError as error:
            seen[name] = str(error)
    assert loaded >= 60
    for name, message in seen.items():
        assert NOT_LOADABLE[name].partition("[")[0] in message


def test_the_cures_that_the_messages_name_do_cure():
    small = folder() / "romeo_description/urdf/romeo_small.urdf"
    assert load_urdf(small, repair=["RShoulderYawLink", "RElbowYawLink"]).name == "romeo"
    full = folder() / "romeo_description/urdf/romeo.urdf"
    assert load_urdf(full, lock=["LHand", "RHand"]).name == "romeo"


def test_damping_and_friction_are_those_of_the_file():
    ours, theirs = both("talos_data/robots/talos_reduced.urdf", False)
    damped = {load.connection.name: load.coefficient for load in ours.loads if hasattr(load, "coefficient")}
    noted = {note.split("'")[1] for note in ours.notes if "Coulomb friction" in note}
    for name in theirs.names[1:]:
        at = theirs.joints[theirs.getJointId(name)].idx_v
        assert damped.get(name, 0.0) == theirs.damping[at]
        assert (name in noted) == (theirs.friction[at] > 0.0)
    assert len(damped) == len(noted) == 20
