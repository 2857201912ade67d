"""Rotations against SciPy, their merging, and what they cost."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Peer

from kane.errors import ModelError
from kane.expression.arena import Arena
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.operations import COORDINATE, PARAMETER
from kane.expression.traverse import count_operations
from kane.geometry.rotation import Rotation
from kane.geometry.rotation_factor import Elementary, General

# A product of three matrices of entries below one: a few units in the last place of 1.
ROUND_OFF = 1e-14
SEQUENCES = [s for s in map("".join, itertools.product("xyz", repeat=3)) if s[0] != s[1] and s[1] != s[2]]


@pytest.fixture
def arena():
    return Arena()


def leaves(arena, *names):
    return tuple(arena.leaf(COORDINATE, name) for name in names)


def value(scalars, numbers):
    """Numbers and expressions as numbers."""
    roots = [x for x in scalars if isinstance(x, Expr)]
    known = dict(zip(roots, interpret(roots, numbers), strict=True))
    return np.array([known[x] if isinstance(x, Expr) else x for x in scalars], dtype=float)


def cost(scalars):
    counts = count_operations([x for x in scalars if isinstance(x, Expr)])
    return counts["mul"], counts["add"]


def symmetric(six):
    xx, yy, zz, xy, xz, yz = six
    return np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("frame", ["body", "space"])
def test_every_euler_sequence_agrees_with_scipy(sequence, frame):
    angles = np.random.default_rng(1).uniform(-3, 3, 3)
    peer = Peer.from_euler(sequence.upper() if frame == "body" else sequence, angles).as_matrix()
    ours = Rotation.euler(sequence, *angles, frame=frame).as_numpy()
    np.testing.assert_allclose(ours, peer, atol=ROUND_OFF)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_an_euler_sequence_of_expressions_has_the_value_of_one_of_numbers(arena, sequence):
    leaf = leaves(arena, "a", "b", "c")
    angles = np.random.default_rng(2).uniform(-3, 3, 3)
    entries = Rotation.euler(sequence, *leaf).entries
    flat = value([x for row in entries for x in row], dict(zip(leaf, angles, strict=True)))
    np.testing.assert_allclose(flat.reshape(3, 3), Rotation.euler(sequence, *angles).as_numpy(), atol=ROUND_OFF)


def test_twelve_sequences_exist_and_digits_mean_letters():
    assert len(SEQUENCES) == 12
    for sequence in SEQUENCES:
        digits = sequence.translate(str.maketrans("xyz", "123"))
        assert Rotation.euler(digits, 0.1, 0.2, 0.3).entries == Rotation.euler(sequence, 0.1, 0.2, 0.3).entries


@pytest.mark.parametrize("sequence", ["xxy", "zyy", "111", "xy", "xyzx", "abc", "XYZ", "x2z", "", 123])
def test_what_is_no_euler_sequence_is_refused(sequence):
    with pytest.raises(ModelError, match="sequence"):
        Rotation.euler(sequence, 1.0, 2.0, 3.0)


def test_euler_angles_need_a_known_frame_and_finite_angles():
    with pytest.raises(ModelError, match='frame="body" or frame="space"'):
        Rotation.euler("xyz", 1.0, 2.0, 3.0, frame="world")
    with pytest.raises(ModelError, match="'xyz' is nan; give a finite number"):
        Rotation.euler("xyz", 1.0, math.nan, 3.0)


def test_rpy_of_urdf_is_yaw_after_pitch_after_roll():
    peer = Peer.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix()
    np.testing.assert_allclose(Rotation.rpy(0.1, 0.2, 0.3).as_numpy(), peer, atol=ROUND_OFF)


def test_a_rotation_about_any_axis_agrees_with_scipy():
    rng = np.random.default_rng(3)
    for _ in range(20):
        axis, angle = rng.normal(size=3), rng.uniform(-6, 6)
        peer = Peer.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
        np.testing.assert_allclose(Rotation.about(axis, angle).as_numpy(), peer, atol=ROUND_OFF)


@pytest.mark.parametrize("axis", [(1, 2, 3), (-1, 0.5, -2), (1, 1, 0), (0, -1, 1), (-3, 0, 4), (1e-9, 0, 1)])
def test_a_rotation_through_an_expression_about_any_axis_agrees_with_numbers(arena, axis):
    (q,) = leaves(arena, "q")
    flat = value([x for row in Rotation.about(axis, q).entries for x in row], {q: 0.7})
    np.testing.assert_allclose(flat.reshape(3, 3), Rotation.about(axis, 0.7).as_numpy(), atol=ROUND_OFF)


def test_coordinate_axes_give_elementary_factors_whatever_their_sign_and_length(arena):
    (q,) = leaves(arena, "q")
    for k, letter in enumerate("xyz"):
        axis = np.zeros(3)
        axis[k] = -2.5
        (negative,) = Rotation.about(axis, q).factors
        (positive,) = Rotation.about(letter, q).factors
        assert (negative.axis, negative.angle) == (k, -q)
        assert (positive.axis, positive.angle) == (k, q)


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ((0, 0, 0), "no direction"),
        ("w", "no axis 'w'"),
        ((1, 2), "three numbers"),
        ((1, math.inf, 0), "finite"),
        (3, "three numbers"),
    ],
)
def test_an_axis_that_is_none_is_refused(axis, message):
    with pytest.raises(ModelError, match=message):
        Rotation.about(axis, 0.3)


def test_an_axis_of_expressions_is_refused(arena):
    with pytest.raises(ModelError, match="not constant"):
        Rotation.about((arena.leaf(PARAMETER, "n"), 0, 1), 0.3)


def test_quaternions_agree_with_scipy_and_are_normalised(arena):
    w, x, y, z = np.random.default_rng(4).normal(size=4)
    peer = Peer.from_quat([x, y, z, w])
    np.testing.assert_allclose(Rotation.quaternion(w, x, y, z).as_numpy(), peer.as_matrix(), atol=ROUND_OFF)
    q = leaves(arena, "w", "x", "y", "z")
    unit = dict(zip(q, np.array((w, x, y, z)) / np.linalg.norm((w, x, y, z)), strict=True))
    flat = value([e for row in Rotation.quaternion(*q).entries for e in row], unit)
    np.testing.assert_allclose(flat.reshape(3, 3), peer.as_matrix(), atol=ROUND_OFF)


def test_the_zero_quaternion_is_refused():
    with pytest.raises(ModelError, match="is no rotation"):
        Rotation.quaternion(0, 0, 0, 0)


def test_a_matrix_is_checked():
    with pytest.raises(ModelError, match=r"not orthogonal: R\^T R differs from the identity by 3"):
        Rotation.matrix(np.diag([1.0, 1.0, 2.0]))
    with pytest.raises(ModelError, match="it reflects"):
        Rotation.matrix(np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(ModelError, match="three rows"):
        Rotation.matrix([[1, 0], [0, 1]])
    with pytest.raises(ModelError, match="finite"):
        Rotation.matrix([[1, 0, 0], [0, math.nan, 0], [0, 0, 1]])


def test_a_rounded_matrix_becomes_a_rotation():
    exact = Peer.from_rotvec([0.3, 0.4, 0.5]).as_matrix()
    ours = Rotation.matrix(np.round(exact, 7)).as_numpy()
    np.testing.assert_allclose(ours.T @ ours, np.eye(3), atol=ROUND_OFF)
    np.testing.assert_allclose(ours, exact, atol=2e-7)  # seven digits were given


def test_a_matrix_that_turns_about_a_coordinate_axis_is_an_elementary_rotation():
    (factor,) = Rotation.matrix(Peer.from_rotvec([0, 0.3, 0]).as_matrix()).factors
    assert factor.axis == 1
    assert factor.angle == pytest.approx(0.3, abs=ROUND_OFF)
    assert Rotation.matrix(np.eye(3)).factors == ()


@pytest.mark.parametrize("turns", range(-5, 6))
@pytest.mark.parametrize("axis", "xyz")
def test_quarter_turns_are_exact(turns, axis):
    entries = Rotation.about(axis, turns * math.pi / 2 + 5e-13).entries
    assert {x for row in entries for x in row} <= {0.0, 1.0, -1.0}
    peer = Peer.from_euler(axis, turns * math.pi / 2).as_matrix()
    np.testing.assert_array_equal(np.array(entries), np.round(peer))


def test_an_angle_that_is_not_quite_a_quarter_turn_is_kept():
    assert Rotation.about("z", math.pi / 2 + 1e-11).entries[0][0] == pytest.approx(-1e-11, rel=1e-4)


def test_consecutive_rotations_about_one_axis_are_one(arena):
    a, b = leaves(arena, "a", "b")
    (factor,) = (Rotation.about("z", a) @ Rotation.about("z", b) @ Rotation.about("z", 0.5)).factors
    assert factor.angle is a + b + 0.5
    assert len(Rotation.euler("zxz", a, 0.3, b).factors) == 3
    assert len(Rotation.euler("zxz", a, 0.0, b).factors) == 1
    entries = (Rotation.about("z", a) @ Rotation.about("z", b)).entries
    assert count_operations([x for row in entries for x in row if isinstance(x, Expr)])["trig"] == 2


def test_merging_goes_on_across_what_cancels(arena):
    a, b, c = leaves(arena, "a", "b", "c")
    left = Rotation.about("z", a) @ Rotation.about("x", b)
    right = Rotation.about("x", -b) @ Rotation.about("z", c)
    (factor,) = (left @ right).factors
    assert (factor.axis, factor.angle) == (2, a + c)
    assert (left @ left.inverse()).factors == ()


def test_constant_matrices_multiply_and_cancel(arena):
    (q,) = leaves(arena, "q")
    A, B = Rotation.about((1, 2, 3), 0.4), Rotation.about((3, 1, 0), 1.4)
    (product,) = (A @ B).factors
    assert isinstance(product, General)
    np.testing.assert_allclose((A @ B).as_numpy(), A.as_numpy() @ B.as_numpy(), atol=ROUND_OFF)
    assert (A @ A.inverse()).factors == ()
    joint = Rotation.about("z", q)
    assert [type(f) for f in (A @ joint @ B).factors] == [General, Elementary, General]
    assert [type(f) for f in (joint @ A @ A.inverse() @ joint).factors] == [Elementary]


def test_composition_and_inverse_are_those_of_matrices():
    R = Rotation.euler("zxz", 0.1, 0.2, 0.3) @ Rotation.about((1, 2, 3), 0.4)
    S = Rotation.about((-1, 2, 0), 0.7) @ Rotation.euler("yzx", 1.1, 1.2, 1.3)
    v = (0.3, -0.2, 0.9)
    np.testing.assert_allclose((R @ S).as_numpy(), R.as_numpy() @ S.as_numpy(), atol=ROUND_OFF)
    np.testing.assert_allclose(R.inverse().as_numpy(), R.as_numpy().T, atol=ROUND_OFF)
    np.testing.assert_allclose(R.apply(v), R.as_numpy() @ v, atol=ROUND_OFF)
    np.testing.assert_allclose(R.apply_inverse(v), R.as_numpy().T @ v, atol=ROUND_OFF)


def test_applying_costs_four_products_for_each_elementary_factor(arena):
    a, b, c, x, y, z = leaves(arena, "a", "b", "c", "x", "y", "z")
    about_z = Rotation.about("z", a)
    euler = Rotation.euler("zxz", a, b, c)
    assert cost(about_z.apply((x, y, z))) == (4, 2)
    assert cost(about_z.apply_inverse((x, y, z))) == (4, 2)
    assert cost(euler.apply((x, y, z))) == (12, 6)
    assert cost(euler.apply_inverse((x, y, z))) == (12, 6)
    assert cost(Rotation.about((1, 2, 3), 0.4).apply((x, y, z))) == (9, 6)
    assert cost(Rotation.quaternion(a, b, c, x).apply((x, y, z))) == (12 + 9, 12 + 6)


def test_what_is_zero_or_one_costs_nothing(arena):
    a, x, y, z = leaves(arena, "a", "x", "y", "z")
    about_z = Rotation.about("z", a)
    assert about_z.apply((0.0, 0.0, z)) == (0.0, 0.0, z)
    assert cost(about_z.apply((x, 0.0, z))) == (2, 0)
    assert cost(about_z.apply((arena.zero, y, z))) == (2, 0)
    assert cost(about_z.apply((1.0, 0.0, 0.0))) == (0, 0)
    assert Rotation.rpy(math.pi / 2, 0, math.pi).apply((x, y, z)) == (-x, z, y)
    assert Rotation.matrix([[0, 0, 1], [1, 0, 0], [0, 1, 0]]).apply((x, y, z)) == (z, x, y)
    assert Rotation.matrix([[0, 0, 1], [1, 0, 0], [0, 1, 0]]).apply_inverse((x, y, z)) == (y, z, x)
    assert Rotation.identity().apply((x, y, z)) == (x, y, z)


def test_a_rotation_about_a_skew_axis_is_cheaper_than_with_matrices(arena):
    q, x, y, z = leaves(arena, "q", "x", "y", "z")
    assert cost(Rotation.about((1, 2, 3), q).apply((x, y, z))) == (20, 10)
    assert cost(Rotation.about((1, 1, 0), q).apply((x, y, z))) == (12, 6)


@pytest.mark.parametrize(
    "R",
    [
        *(Rotation.about(axis, angle) for axis in "xyz" for angle in (0.4, -2.0, math.pi / 2, math.pi, -math.pi / 2)),
        Rotation.euler("zxz", 0.3, 0.4, 0.5),
        Rotation.about((1, 2, 3), 0.7),
        Rotation.about((-1, 2, 3), 2.7) @ Rotation.about("y", 0.2),
        Rotation.matrix([[0, 0, 1], [1, 0, 0], [0, 1, 0]]),
        Rotation.identity(),
    ],
    ids=repr,
)
def test_a_symmetric_matrix_is_turned_on_both_sides(R):
    S = np.random.default_rng(5).normal(size=6)
    expected = R.as_numpy() @ symmetric(S) @ R.as_numpy().T
    np.testing.assert_allclose(symmetric(R.rotate_symmetric(tuple(S))), expected, atol=ROUND_OFF)


def test_a_symmetric_matrix_is_turned_by_a_quaternion(arena):
    q = leaves(arena, "w", "x", "y", "z")
    numbers = np.random.default_rng(6).normal(size=4)
    numbers /= np.linalg.norm(numbers)
    S = (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)
    R = Rotation.quaternion(*numbers).as_numpy()
    ours = value(Rotation.quaternion(*q).rotate_symmetric(S), dict(zip(q, numbers, strict=True)))
    np.testing.assert_allclose(symmetric(ours), R @ symmetric(S) @ R.T, atol=ROUND_OFF)


def test_turning_a_symmetric_matrix_costs_eight_products_for_each_elementary_factor(arena):
    a, b = leaves(arena, "a", "b")
    S = leaves(arena, "xx", "yy", "zz", "xy", "xz", "yz")
    assert cost(Rotation.about("z", a).rotate_symmetric(S)) == (8, 8)
    assert cost((Rotation.about("x", b) @ Rotation.about("y", a)).rotate_symmetric(S)) == (16, 16)
    assert cost(Rotation.about((1, 2, 3), 0.3).rotate_symmetric(S)) == (24, 24)
    assert cost(Rotation.rpy(math.pi / 2, math.pi, -math.pi / 2).rotate_symmetric(S)) == (0, 0)
    assert cost(Rotation.about("z", a).rotate_symmetric((a, b, a, 0.0, 0.0, 0.0))) == (3, 3)


def test_a_symmetric_matrix_turned_by_expressions_has_the_right_value(arena):
    a, b = leaves(arena, "a", "b")
    S = (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)
    R = Rotation.about("y", a) @ Rotation.about("x", b)
    known = (Rotation.about("y", 0.3) @ Rotation.about("x", 0.9)).as_numpy()
    ours = symmetric(value(R.rotate_symmetric(S), {a: 0.3, b: 0.9}))
    np.testing.assert_allclose(ours, known @ symmetric(S) @ known.T, atol=ROUND_OFF)


def test_zxz_angles_give_the_rotation_back():
    rng = np.random.default_rng(7)
    for _ in range(50):
        R = Rotation.quaternion(*rng.normal(size=4))
        beta, alpha, gamma = R.euler_zxz()
        assert -math.pi / 2 < beta <= math.pi / 2
        np.testing.assert_allclose(Rotation.euler("zxz", beta, alpha, gamma).as_numpy(), R.as_numpy(), atol=ROUND_OFF)


def test_zxz_angles_of_special_rotations_are_simple():
    assert Rotation.identity().euler_zxz() == (0.0, 0.0, 0.0)
    assert Rotation.about("x", -0.3).euler_zxz() == pytest.approx((0.0, -0.3, 0.0), abs=1e-15)
    assert Rotation.about("z", 0.3).euler_zxz() == pytest.approx((0.0, 0.0, 0.3), abs=1e-15)
    assert Rotation.about("x", -math.pi / 2 + 5e-11).euler_zxz() == (0.0, -math.pi / 2, 0.0)
    flipped = Rotation.about("z", 0.4) @ Rotation.about("x", math.pi) @ Rotation.about("z", 0.3)
    assert flipped.euler_zxz() == pytest.approx((0.0, math.pi, -0.1), abs=1e-15)
    np.testing.assert_allclose(
        Rotation.euler("zxz", *flipped.euler_zxz()).as_numpy(), flipped.as_numpy(), atol=ROUND_OFF
    )


def test_what_needs_numbers_says_so(arena):
    (q,) = leaves(arena, "q")
    for method in (Rotation.as_numpy, Rotation.euler_zxz):
        with pytest.raises(ModelError, match="is not constant"):
            method(Rotation.about("z", q))
    assert not Rotation.about("z", q).is_constant
    assert not Rotation.quaternion(q, 0, 0, 0).is_constant
    assert Rotation.about("z", arena.constant(0.3)).is_constant
