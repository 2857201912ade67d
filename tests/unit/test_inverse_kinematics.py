"""Inverse kinematics: every kind of target, joint and path, and poses out of reach."""

import numpy as np
import pytest

import kane
from kane.library.angeles_arms import SIX_AXIS_START

# The search ends where no component of the error exceeds 1e-12; the pose is computed anew here.
REACHED = 2e-12


def built(model):
    return kane.build(kane.formulate(model))


def seven_axes():
    """A redundant arm of 1.2 m."""
    rows = [
        dict(alpha=angle, a=0.0, d=d, theta=0.0, mass=1.0, inertia=(0.01, 0.01, 0.01))
        for angle, d in zip([0, -1, 1, -1, 1, -1, 1], [0.0, 0.0, 0.4, 0.0, 0.4, 0.0, 0.4], strict=True)
    ]
    for row in rows:
        row["alpha"] *= np.pi / 2
    return built(kane.from_dh(rows, convention="modified"))


@pytest.fixture(scope="module")
def six():
    return built(kane.library.six_axis_arm())


def test_poses_of_random_configurations_are_found_from_nearby(six):
    random = np.random.default_rng(1)
    for _ in range(10):
        q = np.array(SIX_AXIS_START) + random.uniform(-0.3, 0.3, 6)
        pose = six.poses(q)["link6"]
        found = kane.inverse_kinematics(
            six, "link6", position=pose.position, orientation=pose.orientation, q=SIX_AXIS_START
        )
        reached = six.poses(found)["link6"]
        np.testing.assert_allclose(reached.position, pose.position, rtol=0, atol=REACHED * 3)
        np.testing.assert_allclose(reached.orientation, pose.orientation, rtol=0, atol=REACHED)
        np.testing.assert_allclose(found, q, rtol=0, atol=1e-9)  # the error of the pose over the Jacobian's least value


def test_a_point_of_a_body_is_brought_to_a_position_with_any_orientation(six):
    at, wanted = np.array([0.1, -0.2, 0.3]), np.array([1.2, 0.4, 1.0])
    q = kane.inverse_kinematics(six, "link6", position=wanted, at=at, q=SIX_AXIS_START)
    pose = six.poses(q)["link6"]
    np.testing.assert_allclose(pose.position + pose.orientation @ at, wanted, rtol=0, atol=REACHED)


def test_an_orientation_alone_is_reached(six):
    wanted = kane.Rotation.euler("zyx", 0.3, 1.0, -0.4)
    q = kane.inverse_kinematics(six, "link6", orientation=wanted, q=SIX_AXIS_START)
    np.testing.assert_allclose(six.poses(q)["link6"].orientation, wanted.as_numpy(), rtol=0, atol=REACHED)


def test_an_orientation_half_a_turn_away_is_reached():
    model = kane.Model("ball")
    model.connect(model.ground, model.body("ball", mass=1.0, inertia=(1.0, 1.0, 1.0)), kane.Spherical("s"))
    dyn = built(model)
    wanted = kane.Rotation.about((1.0, 2.0, 2.0), np.pi)
    q = kane.inverse_kinematics(dyn, "ball", orientation=wanted)
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(dyn.poses(q)["ball"].orientation, wanted.as_numpy(), rtol=0, atol=REACHED)


def test_a_redundant_arm_reaches_a_pose():
    dyn = seven_axes()
    pose = dyn.poses(np.array([0.3, 0.7, -0.4, 1.1, 0.2, 0.6, -0.3]))["link7"]
    q = kane.inverse_kinematics(
        dyn, "link7", position=pose.position, orientation=pose.orientation, q=[0.1, 0.5, 0.1, 0.9, 0.1, 0.4, 0.1]
    )
    np.testing.assert_allclose(dyn.poses(q)["link7"].position, pose.position, rtol=0, atol=REACHED)


def test_an_arm_stretched_to_the_full_is_reached_slowly_but_reached():
    """There the Jacobian is singular: the error falls by a factor a step, not to its square."""
    dyn = seven_axes()
    q = kane.inverse_kinematics(dyn, "link7", position=(0.0, 0.0, 1.2), q={"q2": 0.3, "q4": 0.5}, tolerance=1e-6)
    assert dyn.poses(q)["link7"].position[2] == pytest.approx(1.2, abs=1e-6)


def test_each_pose_of_a_path_is_reached_from_the_one_before(six):
    start = six.poses(SIX_AXIS_START)["link6"]
    path = start.position + np.outer(np.linspace(0.0, 0.5, 26), [0.0, 1.0, 0.0])
    q = kane.inverse_kinematics(six, "link6", position=path, orientation=start.orientation, q=SIX_AXIS_START)
    assert q.shape == (26, 6)
    poses = six.poses(q)["link6"]
    np.testing.assert_allclose(poses.position, path, rtol=0, atol=REACHED)
    np.testing.assert_allclose(poses.orientation - start.orientation, 0.0, rtol=0, atol=REACHED)
    assert np.abs(np.diff(q, axis=0)).max() < 0.1


def test_speeds_that_are_not_rates_and_moving_bases_are_taken_into_account():
    model = kane.Model("gimbal")
    cart, top = model.body("cart", mass=1.0), model.body("top", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.connect(model.ground, cart, kane.Prismatic(2.0 * model.time, axis="x"))
    model.connect(cart, top, kane.Gimbal("g", sequence="zxz", speeds=kane.MeasureNumbers()))
    dyn = built(model)
    q = kane.inverse_kinematics(dyn, "top", position=(3.0, 0.0, 1.0), at=(0.0, 0.6, 0.8), q={"g_2": 0.4}, t=1.5)
    pose = dyn.poses(q, 1.5)["top"]
    np.testing.assert_allclose(pose.position + pose.orientation @ [0.0, 0.6, 0.8], [3.0, 0.0, 1.0], atol=3 * REACHED)


def test_a_named_frame_and_a_body_may_be_brought_somewhere():
    model = kane.Model("arm")
    L = model.parameter("L", 1.0)
    link = model.body("link", mass=1.0, com=(1.0, 0.0, 0.0))
    model.connect(model.ground, link, kane.Revolute("q1", axis="z"))
    model.frame("tool", link, at=(L, 0.0, 0.0))
    dyn = built(model)
    for target in ("tool", link):
        at = (0.0, 0.0, 0.0) if target == "tool" else (2.0, 0.0, 0.0)
        q = kane.inverse_kinematics(dyn, target, position=(0.0, 2.0, 0.0), at=at, q=[0.4], parameters={"L": 2.0})
        assert q[0] == pytest.approx(np.pi / 2, abs=REACHED)


def test_a_pose_out_of_reach_is_refused_with_what_is_missing(six):
    with pytest.raises(kane.ModelError, match=r"'link6' does not reach the pose: .* m away.*start elsewhere"):
        kane.inverse_kinematics(six, "link6", position=(9.0, 0.0, 0.0), q=SIX_AXIS_START)
    reach = six.poses(SIX_AXIS_START)["link6"].position
    with pytest.raises(kane.ModelError, match="pose 1 of the path"):
        kane.inverse_kinematics(six, "link6", position=[reach, 9.0 * reach], q=SIX_AXIS_START)


def test_an_orientation_that_no_joint_makes_is_refused_in_radians():
    model = kane.Model("door")
    model.connect(model.ground, model.body("door", mass=1.0, com=(1.0, 0.0, 0.0)), kane.Revolute("q1", axis="z"))
    with pytest.raises(kane.ModelError, match="rad away"):
        kane.inverse_kinematics(built(model), "door", orientation=kane.Rotation.about("x", 0.5))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "the position or the orientation"),
        ({"position": (1.0, 2.0)}, r"shape \(2,\)"),
        ({"position": "here"}, "must be numbers"),
        ({"position": (1.0, 2.0, np.nan)}, "not finite"),
        ({"orientation": 2.0 * np.eye(3)}, "not orthogonal"),
        ({"position": np.zeros((2, 3)), "orientation": [np.eye(3)] * 3}, "2 positions and 3 orientations"),
        ({"position": (1.0, 0.0, 0.0), "at": (1.0,)}, "component"),
        ({"position": (1.0, 0.0, 0.0), "q": {"q9": 0.0}}, "q9"),
    ],
)
def test_what_is_no_pose_is_refused(six, options, words):
    with pytest.raises(kane.ModelError, match=words):
        kane.inverse_kinematics(six, "link6", **options)


def test_inverse_kinematics_needs_dynamics_and_a_body(six):
    with pytest.raises(kane.ModelError, match=r"kane\.build"):
        kane.inverse_kinematics(kane.library.six_axis_arm(), "link6", position=(0.0, 0.0, 0.0))
    with pytest.raises(kane.ModelError, match="link7"):
        kane.inverse_kinematics(six, "link7", position=(0.0, 0.0, 0.0))
    with pytest.raises(kane.ModelError, match="another model"):
        kane.inverse_kinematics(six, kane.library.six_axis_arm().bodies[1], position=(0.0, 0.0, 0.0))
