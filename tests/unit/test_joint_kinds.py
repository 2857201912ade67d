"""Cylindrical, universal, planar, screw, gimbal and custom joints: names, what is refused, and examples from textbooks.

That velocities are derivatives of poses is tested for all joints in test_joints.py; dynamics in tests/agreement.
"""

import math
import re

import numpy as np
import pytest

import kane
from kane import (
    AngleRates,
    CustomJoint,
    Cylindrical,
    Gimbal,
    MeasureNumbers,
    Model,
    ModelError,
    Planar,
    Revolute,
    Rotation,
    Screw,
    SimulationError,
    Spherical,
    Universal,
)
from kane.expression.interpret import interpret


def one_body(joint, *, gravity=(0.0, 0.0, 0.0), mass=2.0, inertia=(0.3, 0.4, 0.5), **pose):
    model = Model(gravity=gravity)
    model.connect(model.ground, model.body("B", mass=mass, inertia=inertia), joint, **pose)
    return model


def names(joint, **pose):
    connection = one_body(joint, **pose).connections[0]
    return connection.name, connection.coordinate_names, connection.speed_names


def test_coordinates_are_named_after_the_joint_or_one_by_one():
    assert names(Cylindrical("nut")) == (
        "nut",
        ("nut_angle", "nut_slide"),
        ("nut_angle_dot", "nut_slide_dot"),
    )
    assert names(Planar("cart"))[1] == ("cart_x", "cart_y", "cart_angle")
    assert names(Universal(("q1", "q2"))) == ("ground_B", ("q1", "q2"), ("u1", "u2"))
    assert names(Universal(["q1", "q2"]), name="hook") == ("hook", ("q1", "q2"), ("u1", "u2"))
    assert names(Gimbal("ring", "zxz"))[1] == ("ring_1", "ring_2", "ring_3")


def test_measure_numbers_are_named_by_axis_unless_coordinates_have_numbers():
    measured = MeasureNumbers()
    assert names(Gimbal("ring", "zxz", speeds=measured))[2] == ("ring_wx", "ring_wy", "ring_wz")
    assert names(Gimbal(("yaw", "tilt"), "zy", speeds=measured), name="head")[2] == ("head_wz", "head_wy")
    assert names(Gimbal(("q1", "q2", "q3"), "zxz", speeds=measured))[2] == ("u1", "u2", "u3")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Universal(("a", "b", "c")), "give one name for the joint, or one for each of its 2 coordinates: 1, 2"),
        (lambda: Cylindrical(("a", 3)), "its 2 coordinates: angle, slide"),
        (lambda: Planar(None), "the coordinates of a Planar are named None"),
        (
            lambda: Universal("j", "x", (1, 1, 0)),
            "the axes 'x' and (1, 1, 0) of a universal joint are not perpendicular",
        ),
        (lambda: Universal("j", "x", "x"), "are not perpendicular"),
        (lambda: Universal("j", "x", "w"), "the axis 'w' is not one of x, y, z"),
        (lambda: Planar("j", (0, 0, 0)), "must be three finite numbers, not all zero"),
        (lambda: Cylindrical("j", "w"), "the axis 'w' is not one of x, y, z"),
        (lambda: Screw("q"), "metres_per_radian of the screw 'q' is zero"),
        (lambda: Screw("q", metres_per_radian=math.nan), "metres_per_radian of a screw is nan; give a finite number"),
        (lambda: Screw("q", metres_per_radian="1"), "metres_per_radian of a screw is '1'"),
        (lambda: Screw("q", metres_per_radian=Model().time), "metres_per_radian of the screw 'q' depends on t"),
        (lambda: Gimbal("j", "xxz"), "the sequence 'xxz' of a gimbal repeats an axis in a row"),
        (lambda: Gimbal("j", "zz"), "repeats an axis in a row"),
        (lambda: Gimbal("j", "133"), "repeats an axis in a row"),
        (lambda: Gimbal("j", "xyzx"), "'xyzx' is not a sequence of axes of a gimbal"),
        (lambda: Gimbal("j", ""), "'' is not a sequence of axes"),
        (lambda: Gimbal("j", "x2z"), "'x2z' is not a sequence of axes"),
        (lambda: Gimbal("j", "xyw"), "'xyw' is not a sequence of axes"),
        (lambda: Gimbal("j", 123), "123 is not a sequence of axes"),
        (lambda: Gimbal("j", speeds="rates"), "give kane.AngleRates() or MeasureNumbers()"),
        (lambda: Gimbal(("a", "b"), "xyz"), "its 3 coordinates: 1, 2, 3"),
        (lambda: CustomJoint(("a", "b"), units=("m",)), "has 1 units; give one for every coordinate"),
        (lambda: CustomJoint(()), "has 0 units"),
        (lambda: CustomJoint(None), "the coordinates of a custom joint are named None"),
    ],
)
def test_what_is_no_joint_is_refused_where_it_is_made(make, message):
    with pytest.raises(ModelError, match=re.escape(message)):
        make()


@pytest.mark.parametrize("names", [("q1", "q1"), ("u1", "q1")])
def test_two_names_of_a_joint_must_differ(names):
    with pytest.raises(ModelError, match="of joint 'ground_B' are the same; give others"):
        one_body(Universal(names))


def test_a_gimbal_says_where_it_is_singular_and_how_near():
    zxz, xyz = Gimbal("g", "zxz"), Gimbal("g", "xyz")
    q = np.array([[1.0, 0.1, 2.0], [0.0, math.pi - 0.2, 0.0], [0.0, -7.0, 0.0]])
    np.testing.assert_allclose(zxz.distance_to_singularity(q), [0.1, 0.2, 7.0 - 2.0 * math.pi], atol=1e-15)
    np.testing.assert_allclose(
        xyz.distance_to_singularity(q),
        [math.pi / 2 - 0.1, math.pi / 2 - 0.2, math.pi / 2 - (7 - 2 * math.pi)],
        atol=1e-15,
    )
    assert xyz.singular_at(np.zeros(3)) is None
    assert "singular where the second is 0 or 180 deg, here 0 rad" in zxz.singular_at(np.zeros(3))
    assert "Spherical, which is never singular" in zxz.singular_at(np.zeros(3))
    assert "90 or -90 deg" in xyz.singular_at(np.array([0.0, -math.pi / 2, 0.0]))


def test_two_angles_are_singular_only_for_measure_numbers():
    q = np.array([0.3, math.pi / 2])
    assert Gimbal("g", "xy").singular_at(q) is None
    assert "90 or -90 deg" in Gimbal("g", "xy", speeds=MeasureNumbers()).singular_at(q)
    assert Gimbal("g", "x", speeds=MeasureNumbers()).singular_at(q[:1]) is None


@pytest.mark.parametrize("speeds", [AngleRates(), MeasureNumbers()])
def test_a_run_that_starts_at_a_singularity_is_refused(speeds):
    dyn = kane.build(kane.formulate(one_body(Gimbal("ring", "zxz", speeds=speeds))))
    with pytest.raises(
        ModelError, match=r"cannot start there: \(ring_1, ring_2, ring_3\): the angles 'zxz' of a gimbal"
    ):
        kane.simulate(dyn, until=0.1)


def test_a_run_that_fails_near_a_singularity_says_so():
    model = one_body(Gimbal("ring", "zxz"))
    arm = model.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
    joint = model.connect(model.bodies[1], arm, Revolute("q1"))
    model.load(kane.Motor(joint, kane.log(0.01 - model.time)))
    dyn = kane.build(kane.formulate(model))
    with pytest.raises(SimulationError, match=r"stops being finite .*; \(ring_1, ring_2, ring_3\): the angles 'zxz'"):
        kane.simulate(dyn, until=0.1, q={"ring_2": 0.05}, dt=1e-3)


def orientation_after(joint, q, u):
    """R_NB after half a second of torque-free motion."""
    dyn = kane.build(kane.formulate(one_body(joint)))
    run = kane.simulate(dyn, until=0.5, q=q, u=u)
    return dyn.poses(run.q[-1])["B"].orientation


@pytest.mark.parametrize("sequence", ["xyz", "213", "zyx"])
def test_a_tumbling_body_moves_alike_in_every_chart(sequence):
    w = (1.0, -2.0, 1.5)
    ball = orientation_after(Spherical("s"), None, w)
    measured = orientation_after(Gimbal("g", sequence, speeds=MeasureNumbers()), None, w)
    # At zero angles the rates are the measure numbers along the axes of the sequence.
    rates = [w["xyz123".index(axis) % 3] for axis in sequence]
    turned = orientation_after(Gimbal("g", sequence), None, rates)
    # RK4 at 1 ms: 500 steps of (1e-3 * 3 rad)^5 / 120 are 3e-13; ten times that for steep angles.
    np.testing.assert_allclose(measured, ball, atol=3e-12)
    np.testing.assert_allclose(turned, ball, atol=3e-12)


def test_a_body_on_a_plane_goes_straight_while_it_turns():
    dyn = kane.build(kane.formulate(one_body(Planar("cart"), child_at=(0.0, 0.0, 0.1))))
    run = kane.simulate(dyn, until=1.0, u=(0.3, -0.2, 2.0))
    np.testing.assert_allclose(run.q[-1], (0.3, -0.2, 2.0), atol=1e-13)  # a thousand sums of numbers of order one


def value(model, expression, **values):
    leaves = {leaf.name: leaf for leaf in (*kane.formulate(model).q, *kane.formulate(model).u)}
    known = {leaves[n]: x for n, x in values.items()}
    known |= {p: model.parameters[p.name] for p in kane.formulate(model).parameters}
    return float(interpret([model.arena.lift(expression)], known)[0])


def test_a_screw_feels_the_inertia_of_turning_and_of_advancing():
    model = Model(gravity=(0.0, 0.0, -10.0))
    h = model.parameter("h", 0.2)
    model.connect(model.ground, model.body("B", mass=2.0, inertia=(0.3, 0.4, 0.5)), Screw("q1", metres_per_radian=h))
    e = kane.formulate(model)
    assert value(model, e.mass_matrix[0][0]) == pytest.approx(0.5 + 2.0 * 0.2**2, rel=1e-15)
    assert value(model, e.bias[0]) == pytest.approx(2.0 * 10.0 * 0.2, rel=1e-15)


def test_a_screw_may_follow_another_joint():
    model = Model(gravity=(0.0, 0.0, 0.0))
    a, b = (model.body(n, mass=2.0, inertia=(0.3, 0.4, 0.5)) for n in "ab")
    first = model.connect(model.ground, a, Revolute("q1", axis="z"))
    model.connect(a, b, Screw(-3.0 * first.q, metres_per_radian=0.1), name="nut")
    e = kane.formulate(model)
    # b turns at 1 - 3 and advances at -0.3.
    assert value(model, e.mass_matrix[0][0], q1=0.4) == pytest.approx(0.5 + 0.5 * 4.0 + 2.0 * 0.09, rel=1e-14)


def trammel(model, length):
    """A rod whose ends slide on the axes of F: its centre goes round a circle while it turns the other way."""
    return CustomJoint(
        "q1",
        lambda q: Rotation.about("z", -q),
        lambda q: (0.5 * length * kane.cos(q), 0.5 * length * kane.sin(q), 0.0),
    )


def test_an_elliptic_trammel_has_a_constant_inertia():
    model = Model(gravity=(0.0, -10.0, 0.0))
    L = model.parameter("L", 0.6)
    model.connect(model.ground, model.body("rod", mass=2.0, inertia=(0.0, 0.06, 0.06)), trammel(model, L))
    e = kane.formulate(model)
    for q in (0.0, 0.4, 2.0):
        # T = 1/2 (m L^2/4 + I) qdot^2, V = m g L/2 sin q
        assert value(model, e.mass_matrix[0][0], q1=q) == pytest.approx(2.0 * 0.09 + 0.06, rel=1e-15)
        assert value(model, e.bias[0], q1=q, u1=1.7) == pytest.approx(20.0 * 0.3 * math.cos(q), abs=1e-14)


def test_a_custom_joint_that_follows_an_expression_is_the_joint_it_copies():
    def model_of(joint):
        model = Model(gravity=(1.0, -2.0, -9.0))
        a, b = (model.body(n, mass=2.0, inertia=(0.3, 0.4, 0.5), com=(0.1, 0.2, 0.3)) for n in "ab")
        first = model.connect(model.ground, a, Revolute("q1", axis="x"))
        model.connect(a, b, joint(0.5 * first.q + kane.sin(model.time)), at=(0.1, 0.0, 0.2), name="follower")
        return kane.formulate(model)

    def custom(q):
        return CustomJoint(q, lambda x: Rotation.about((1, 2, 2), x))

    ours, theirs = model_of(custom), model_of(lambda q: Revolute(q, axis=(1, 2, 2)))
    state = np.array([0.7, 0.4, 1.1])
    for name in ("mass_matrix", "inverse", "forward"):
        found = []
        for e in (ours, theirs):
            known = dict(zip((*e.q, *e.u, *e.udot), state, strict=True)) | {e.t: 0.3}
            outputs = getattr(e, name)
            found.append(
                interpret([e.system.arena.lift(x) for x in (outputs[0] if name == "mass_matrix" else outputs)], known)
            )
        np.testing.assert_allclose(*found, rtol=1e-13)  # some hundred roundings


def refusal(joint, model=None):
    model = Model() if model is None else model
    with pytest.raises(ModelError) as caught:
        model.connect(model.ground, model.body("B", mass=1.0), joint)
    assert model.connections == []
    return str(caught.value)


def test_coordinates_that_move_nothing_of_their_own_are_refused():
    turn = lambda *q: Rotation.about("z", sum(q))  # noqa: E731
    idle = refusal(CustomJoint(("a", "b"), lambda a, b: Rotation.about("z", a)))
    assert idle == (
        "the velocity map of joint 'ground_B' is rank-deficient everywhere: b does not move M; "
        "leave a coordinate out, or correct the pose"
    )
    assert "a and b move M in the same way" in refusal(CustomJoint(("a", "b"), turn))
    assert "q does not move M" in refusal(CustomJoint("q"))
    assert "rank-deficient everywhere" in refusal(CustomJoint(tuple("abcdefg"), turn, lambda *q: q[:3]))


def test_coordinates_that_move_alike_at_one_place_only_are_accepted():
    model = Model()
    joint = CustomJoint(("a", "b"), None, lambda a, b: (a, b * b, 0.0), units=("m", "m"))
    assert model.connect(model.ground, model.body("B", mass=1.0), joint).coordinate_names == ("a", "b")


def test_a_function_of_small_domain_is_tried_inside_it():
    model = Model()
    joint = CustomJoint("q", None, lambda q: (kane.sqrt(1e-4 - q * q), q, 0.0), units=("m",))
    assert model.connect(model.ground, model.body("B", mass=1.0), joint).q.name == "q"
    assert "not finite at any tested" in refusal(CustomJoint("q", None, lambda q: (kane.log(q - 9.0), 0, 0)))


def test_a_pose_that_is_none_is_refused():
    assert "is not a rotation matrix" in refusal(
        CustomJoint("q", lambda q: Rotation.matrix([[q, 0, 0], [0, 1, 0], [0, 0, 1]]))
    )
    assert "return a kane.Rotation" in refusal(CustomJoint("q", lambda q: 3.0))
    assert "give three numbers or expressions" in refusal(CustomJoint("q", None, lambda q: (q, q)))


def test_a_pose_depends_on_its_own_coordinates_and_parameters_only():
    model = Model()
    message = refusal(CustomJoint("q", None, lambda q: (q * model.time, 0, 0)), model)
    assert "the pose of joint 'q' depends on t; it may depend on its own coordinates and on parameters" in message


def test_a_knee_of_splines_carries_its_load():
    model = Model(gravity=(0.0, -10.0, 0.0))
    bend = np.linspace(-1.0, 1.0, 9)
    joint = CustomJoint(
        "knee",
        lambda q: Rotation.about("z", q),
        lambda q: (kane.spline(q, bend, 0.05 * np.cos(bend)), kane.spline(q, bend, 0.03 * bend**2), 0.0),
    )
    model.connect(model.ground, model.body("shank", mass=3.0, inertia=(0.1, 0.1, 0.1)), joint)
    e = kane.formulate(model)
    # V = m g y(q), y = 0.03 q^2; the spline's slope is off where its ends are straight.
    assert value(model, e.bias[0], knee=0.3, knee_dot=0.0) == pytest.approx(30.0 * 0.06 * 0.3, rel=2e-2)


def test_coordinates_that_turn_by_a_multiple_have_a_certificate():
    """The partial angular velocity of the angle 2 q has length 2."""
    m = kane.Model("geared", gravity=(0.0, 0.0, -9.81))
    parent = m.ground
    for name, axis, ratio in (("a", "z", 2.0), ("b", "y", -0.5)):
        body = m.body(name, mass=1.0, inertia=(1.0, 2.0, 2.5), com=(0.1, 0.2, 0.3))
        turned = CustomJoint((f"q{name}",), lambda q, axis=axis, ratio=ratio: kane.Rotation.about(axis, ratio * q))
        m.connect(parent, body, turned, at=(0.5, 0.0, 0.2))
        parent = body
    assert kane.certify(m).holds
