"""Every joint through one suite: velocities and remainders are derivatives of the pose, coordinates are advanced.

A joint that ``kane.model.joints`` exports joins the suite by its own ``examples``.
"""

import math
from dataclasses import dataclass
from inspect import isabstract

import mpmath
import numpy as np
import pytest

from kane.deferred import exports
from kane.errors import ModelError
from kane.expression.arena import Arena
from kane.expression.functions import cos, sin
from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE, SPEED
from kane.geometry.rotation import Rotation
from kane.model import joints
from kane.model.joints import (
    CustomJoint,
    Cylindrical,
    Free,
    Gimbal,
    MeasureNumbers,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
    Weld,
)
from kane.model.joints.joint import Joint, default_speed_name
from kane.model.model import Model

EXAMPLES = {
    "weld": Weld(),
    "revolute": Revolute("q1", axis="y"),
    "revolute backwards": Revolute("q1", axis="-x"),
    "revolute about a skew axis": Revolute("q1", axis=(1.0, -2.0, 0.5)),
    "prismatic": Prismatic("q1", axis="z"),
    "prismatic along a skew axis": Prismatic("q1", axis=(0.3, 0.0, -4.0)),
    "spherical": Spherical("ball"),
    "free": Free("base"),
    "cylindrical": Cylindrical("nut", axis="x"),
    "cylindrical about a skew axis": Cylindrical("nut", axis=(1.0, 2.0, -0.5)),
    "universal": Universal("hook"),
    "universal backwards": Universal("hook", axis1="-z", axis2="x"),
    "universal about skew axes": Universal("hook", axis1=(1.0, 2.0, -0.5), axis2=(2.0, -1.0, 0.0)),
    "planar": Planar("cart"),
    "planar normal to y": Planar("cart", axis="-y"),
    "planar on a slope": Planar("cart", axis=(0.2, -0.4, 2.0)),
    "screw": Screw("q1", metres_per_radian=0.3),
    "screw about a skew axis, left-handed": Screw("q1", axis=(1.0, 2.0, -0.5), metres_per_radian=-0.2),
    "gimbal of one angle": Gimbal("ring", "y"),
    "gimbal of one angle, measure numbers": Gimbal("ring", "2", speeds=MeasureNumbers()),
    **{f"gimbal {axes}": Gimbal("ring", axes) for axes in ("xy", "31", "xyz", "213", "zxz", "121")},
    **{
        f"gimbal {axes}, measure numbers": Gimbal("ring", axes, speeds=MeasureNumbers())
        for axes in ("xy", "31", "yx", "xyz", "213", "zyx")
    },
    "custom, a door that rises": CustomJoint(
        "q1", lambda q: Rotation.about("z", q), lambda q: (0, 0, 0.3 * q * sin(q))
    ),
    "custom, of three coordinates": CustomJoint(
        ("elbow_a", "elbow_b", "elbow_c"),
        lambda a, b, c: Rotation.euler("xyz", a, a * b, c) @ Rotation.about((1.0, 2.0, 2.0), b),
        lambda a, b, c: (a * c, sin(b), c + a * a),
        units=("rad", "rad", "m"),
    ),
    "custom, by a matrix": CustomJoint(
        "q1", lambda q: Rotation.matrix([[cos(q), 0, sin(q)], [0, 1, 0], [-sin(q), 0, cos(q)]]), lambda q: (q, 0, -q)
    ),
}

EXPORTED = [x for x in exports(joints) if isinstance(x, type) and issubclass(x, Joint) and not isabstract(x)]
EXAMPLES |= {
    f"{kind.__name__}, example {k}": joint
    for kind in EXPORTED
    if kind not in {type(joint) for joint in EXAMPLES.values()}
    for k, joint in enumerate(kind.examples("j1", (1.0, -2.0, 0.5)))
}
every_joint = pytest.mark.parametrize("joint", EXAMPLES.values(), ids=EXAMPLES.keys())


def arenas(joint):
    """Leaves q and u of a joint, and its motion in them."""
    arena = Arena()
    label = joint.label if isinstance(joint.label, str) else "x"
    q = [arena.leaf(COORDINATE, n) for n in joint.coordinate_names(label)]
    u = [arena.leaf(SPEED, n) for n in joint.speed_names(label)]
    return arena, q, u, joint.motion(q, u)


class Numbers:
    """The functions of mpmath under the names that the interpreter uses."""

    sin, cos, number = mpmath.sin, mpmath.cos, staticmethod(mpmath.mpf)


@dataclass
class Motion:
    """A joint's motion at one q and u, in numbers of 40 digits; vectors in M but p_FM, which is in F."""

    R_FM: np.ndarray
    p_FM: np.ndarray
    w: np.ndarray
    v: np.ndarray
    alpha: np.ndarray
    a: np.ndarray
    qdot: np.ndarray


class Example:
    """A joint whose motion can be evaluated to 40 digits at any q, u and udot."""

    def __init__(self, joint):
        self.joint = joint
        self.arena, self.q, self.u, self.motion = arenas(joint)

    def at(self, q, u, udot):
        m = self.motion
        rows = [x for row in m.R_FM.entries for x in row]
        columns = [x for pair in (m.w_FM_u, m.v_FM_u) for column in pair for x in column]
        flat = [*rows, *m.p_FM, *columns, *m.alpha_t, *m.a_t, *m.kinematics]
        values = dict(zip(self.q, q, strict=True)) | dict(zip(self.u, u, strict=True))
        found = iter(interpret([self.arena.lift(x) for x in flat], values, Numbers))

        def take(*shape):
            return np.array([next(found) for _ in range(math.prod(shape))], dtype=object).reshape(shape)

        R_FM, p_FM, w_u, v_u = take(3, 3), take(3), take(len(u), 3), take(len(u), 3)
        u, udot = (np.array(x, dtype=object) for x in (u, udot))
        alpha, a = udot @ w_u + take(3), udot @ v_u + take(3)
        return Motion(R_FM, p_FM, u @ w_u, u @ v_u, alpha, a, take(len(q)))


STEP = mpmath.mpf("1e-12")
# Differences of step 1e-12 in 40 digits are good to 1e-23; what remains is the joint's axis and its frames in doubles.
TOLERANCE = 1e-14


def states(joint, count=3):
    """Random q on the joint's manifold, u and udot, to 40 digits."""
    random = np.random.default_rng(7)
    for _ in range(count):
        q, u, udot = ([mpmath.mpf(x) for x in random.normal(size=n).tolist()] for n in (joint.nq, joint.nu, joint.nu))
        if joint.quaternion_at is not None:
            part = slice(joint.quaternion_at, joint.quaternion_at + 4)
            length = mpmath.sqrt(sum(x * x for x in q[part]))
            q[part] = [x / length for x in q[part]]
        yield q, u, udot


def derivative(example, q, u, udot, quantity):
    """d/dt of a quantity of the motion along qdot = kinematics and udot, by central differences."""
    rates = example.at(q, u, udot).qdot

    def moved(h):
        ahead = [x + h * r for x, r in zip(q, rates, strict=True)]
        return quantity(example.at(ahead, [x + h * a for x, a in zip(u, udot, strict=True)], udot))

    return (moved(STEP) - moved(-STEP)) / (2 * STEP)


def difference(a, b):
    return float(max(abs(x) for x in np.ravel(a - b)))


@pytest.fixture(autouse=True)
def forty_digits():
    with mpmath.workdps(40):
        yield


def test_every_exported_joint_is_in_this_suite():
    assert {type(joint) for joint in EXAMPLES.values()} == set(EXPORTED)


@every_joint
def test_names_units_and_numbers_agree(joint):
    names, speeds = joint.coordinate_names("elbow"), joint.speed_names("elbow")
    assert len(names) == len(joint.coordinate_units) == len(joint.neutral) == joint.nq
    assert len(speeds) == len(joint.speed_units) == joint.nu
    assert len({*names, *speeds}) == joint.nq + joint.nu
    assert all("elbow" in name for name in (*names, *speeds))
    assert joint.one_dof == (joint.nq == joint.nu == 1)


@every_joint
def test_speed_units_are_those_of_coordinates_per_second(joint):
    if joint.quaternion_at is None:
        assert joint.speed_units == tuple(f"{unit}/s" for unit in joint.coordinate_units)
    else:
        at = joint.quaternion_at
        assert joint.coordinate_units[at : at + 4] == ("1",) * 4
        rest = joint.coordinate_units[:at] + joint.coordinate_units[at + 4 :]
        assert joint.speed_units == ("rad/s",) * 3 + tuple(f"{unit}/s" for unit in rest)


@every_joint
def test_at_the_neutral_coordinates_M_lies_on_F(joint):
    motion = Example(joint).at(joint.neutral, [0] * joint.nu, [0] * joint.nu)
    assert difference(motion.R_FM, np.eye(3)) < TOLERANCE
    assert not motion.p_FM.any()


@every_joint
def test_the_motion_has_one_column_per_speed_and_one_rate_per_coordinate(joint):
    _, _, _, motion = arenas(joint)
    assert len(motion.w_FM_u) == len(motion.v_FM_u) == joint.nu
    assert len(motion.kinematics) == joint.nq
    assert isinstance(motion.R_FM, Rotation)


@every_joint
def test_R_FM_is_a_rotation(joint):
    example = Example(joint)
    for q, u, udot in states(joint):
        R = example.at(q, u, udot).R_FM
        assert difference(R.T @ R, np.eye(3)) < TOLERANCE
        assert np.linalg.det(R.astype(float)) > 0.0


@every_joint
def test_the_angular_velocity_is_that_of_R_FM(joint):
    example = Example(joint)
    for q, u, udot in states(joint):
        now = example.at(q, u, udot)
        spin = now.R_FM.T @ derivative(example, q, u, udot, lambda m: m.R_FM)
        x, y, z = now.w
        assert difference(spin, np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])) < TOLERANCE


@every_joint
def test_the_velocity_is_that_of_p_FM(joint):
    example = Example(joint)
    for q, u, udot in states(joint):
        now = example.at(q, u, udot)
        assert difference(now.R_FM @ now.v, derivative(example, q, u, udot, lambda m: m.p_FM)) < TOLERANCE


@every_joint
def test_the_angular_acceleration_is_that_of_the_angular_velocity(joint):
    example = Example(joint)
    for q, u, udot in states(joint):
        now = example.at(q, u, udot)
        expected = derivative(example, q, u, udot, lambda m: m.R_FM @ m.w)
        assert difference(now.R_FM @ now.alpha, expected) < TOLERANCE


@every_joint
def test_the_acceleration_is_that_of_the_velocity(joint):
    example = Example(joint)
    for q, u, udot in states(joint):
        now = example.at(q, u, udot)
        assert difference(now.R_FM @ now.a, derivative(example, q, u, udot, lambda m: m.R_FM @ m.v)) < TOLERANCE


@every_joint
def test_kinematics_keep_a_quaternion_at_unit_length(joint):
    if joint.quaternion_at is None:
        assert set(joint.neutral) <= {0.0}
        return
    example = Example(joint)
    for q, u, udot in states(joint):
        part = slice(joint.quaternion_at, joint.quaternion_at + 4)
        rates = list(example.at(q, u, udot).qdot)[part]
        assert abs(sum(x * r for x, r in zip(q[part], rates, strict=True))) < 1e-35  # 40 digits


def numeric(joint, shape):
    """A batch of coordinates on the manifold, and small motions."""
    random = np.random.default_rng(11)
    q, du = random.normal(size=(*shape, joint.nq)), 0.4 * random.normal(size=(*shape, joint.nu))
    if joint.quaternion_at is not None:
        part = slice(joint.quaternion_at, joint.quaternion_at + 4)
        q[..., part] /= np.linalg.norm(q[..., part], axis=-1, keepdims=True)
    return q, du


@every_joint
@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_difference_undoes_integrate(joint, shape):
    q, du = numeric(joint, shape)
    reached = joint.integrate(q, du)
    assert reached.shape == q.shape
    found = joint.difference(q, reached)
    assert found.shape == du.shape
    # A rotation vector of up to 2 rad through the sine of its half, angles of a gimbal of up to 10 rad: a few units in
    # the last place of those.
    np.testing.assert_allclose(found, du, atol=8e-15, rtol=4e-15)


@every_joint
def test_integrate_undoes_difference(joint):
    q0, _ = numeric(joint, (4,))
    q1 = q0[::-1].copy()
    if joint.quaternion_at is not None:  # q and -q are one orientation; compare like with like
        part = slice(joint.quaternion_at, joint.quaternion_at + 4)
        q1[..., part] *= np.sign(np.sum(q0[..., part] * q1[..., part], axis=-1, keepdims=True))
    np.testing.assert_allclose(joint.integrate(q0, joint.difference(q0, q1)), q1, atol=4e-15, rtol=4e-15)


@every_joint
def test_integrating_nothing_changes_nothing(joint):
    q, du = numeric(joint, (3,))
    np.testing.assert_allclose(joint.integrate(q, 0 * du), q, atol=2e-16, rtol=2e-16)  # a quaternion is normalised anew
    np.testing.assert_allclose(joint.difference(q, q), 0.0, atol=4e-16)


@every_joint
def test_integrate_follows_kinematics_to_first_order(joint):
    example = Example(joint)
    q, u = numeric(joint, ())
    rates = np.array([float(x) for x in example.at(q.tolist(), u.tolist(), [0] * joint.nu).qdot])
    h = 1e-5
    central = (joint.integrate(q, h * u) - joint.integrate(q, -h * u)) / (2 * h)
    # Truncation h^2 times third derivatives of order 0.1 to 1, round-off 1e-16 / h.
    np.testing.assert_allclose(central, rates, atol=1e-10)


def test_the_speed_of_q3_is_u3_and_that_of_any_other_name_says_so():
    assert default_speed_name("q3") == "u3"
    assert default_speed_name("q12") == "u12"
    assert default_speed_name("q") == "q_dot"
    assert default_speed_name("qa") == "qa_dot"
    assert default_speed_name("elbow") == "elbow_dot"


def test_an_axis_with_a_minus_turns_the_other_way():
    model = Model()
    leaf = model.arena.leaf(COORDINATE, "q1")
    forwards, backwards = (
        Revolute("q1", axis="x").motion([leaf], [leaf]),
        Revolute("q1", axis="-x").motion([leaf], [leaf]),
    )
    assert backwards.w_FM_u[0] == (-1.0, 0.0, 0.0)
    v = (0.0, 1.0, 2.0)
    assert backwards.R_FM.apply(v) == forwards.R_FM.apply_inverse(v)


@pytest.mark.parametrize("kind", [Revolute, Prismatic])
def test_an_axis_of_any_length_is_a_direction(kind):
    leaf = Arena().leaf(COORDINATE, "q1")
    motion = kind("q1", axis=(3.0, 0.0, 4.0)).motion([leaf], [leaf])
    direction = motion.w_FM_u[0] if kind is Revolute else motion.v_FM_u[0]
    np.testing.assert_allclose(direction, (0.6, 0.0, 0.8), rtol=1e-15)  # one rounding


@pytest.mark.parametrize("kind", [Revolute, Prismatic])
@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ("w", r"the axis 'w' is not one of x, y, z, -x, -y, -z; or give three numbers"),
        ("", r"the axis '' is not one of x, y, z"),
        ("xy", r"the axis 'xy' is not one of x, y, z"),
        ((0, 0, 0), r"the axis \(0, 0, 0\) must be three finite numbers, not all zero"),
        ((1, 0), r"the axis \(1, 0\) must be three finite numbers, not all zero"),
        ((1, 0, 0, 0), r"must be three finite numbers"),
        ((math.nan, 0, 1), r"the axis \(nan, 0, 1\) must be three finite numbers"),
        ((math.inf, 0, 1), r"must be three finite numbers"),
        (5, r"the axis 5 must be three finite numbers"),
        (None, r"the axis None must be three finite numbers"),
        (("a", "b", "c"), r"the axis \('a', 'b', 'c'\) must be three finite numbers"),
    ],
)
def test_an_axis_that_is_none_is_refused(kind, axis, message):
    with pytest.raises(ModelError, match=message):
        kind("q1", axis=axis)


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        (
            Revolute(1.5),
            r"the coordinate of joint 'ground_A' is 1.5; give a name, or an expression",
        ),
        (Prismatic(None), r"the coordinate of joint 'ground_A' is None; give a name, or an expression"),
        (Spherical(None), r"the coordinate of joint 'ground_A' is None; give a name"),
        (Free(3), r"the coordinate of joint 'ground_A' is 3; give a name"),
        (Revolute(""), r"'' is not a name; give a non-empty word"),
        (Revolute(" q"), r"' q' is not a name; give a non-empty word without spaces around it"),
        (Free(""), r"'' is not a name"),
    ],
)
def test_a_coordinate_without_a_name_is_refused(joint, message):
    model = Model()
    body = model.body("A", mass=1.0)
    with pytest.raises(ModelError, match=message):
        model.connect(model.ground, body, joint)
    assert model.connections == []
