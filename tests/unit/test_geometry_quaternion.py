"""Quaternions against SciPy, and the exponential and logarithm against each other."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Peer

from kane.expression.arena import Arena
from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE, SPEED
from kane.expression.traverse import count_operations
from kane.geometry import quaternion
from kane.geometry.rotation import Rotation

# A dozen operations on numbers of order one.
ROUND_OFF = 1e-14
RNG_SEED = 1


def peer(q):
    return Peer.from_quat(np.asarray(q)[..., [1, 2, 3, 0]])


@pytest.fixture
def pair():
    return quaternion.normalized(np.random.default_rng(RNG_SEED).normal(size=(2, 50, 4)))


def test_products_conjugates_and_rotated_vectors_agree_with_scipy(pair):
    p, q = pair
    v = np.random.default_rng(2).normal(size=(50, 3))
    product = (peer(p) * peer(q)).as_matrix()
    np.testing.assert_allclose(peer(quaternion.multiply_quaternions(p, q)).as_matrix(), product, atol=ROUND_OFF)
    np.testing.assert_allclose(peer(quaternion.conjugate(p)).as_matrix(), peer(p).inv().as_matrix(), atol=ROUND_OFF)
    np.testing.assert_allclose(quaternion.rotate(p, v), peer(p).apply(v), atol=ROUND_OFF)


def test_quaternions_mean_the_rotations_of_geometry(pair):
    q = pair[0][0]
    v = (1.0, 2.0, 3.0)
    np.testing.assert_allclose(quaternion.rotate(q, v), Rotation.quaternion(*q).apply(v), atol=ROUND_OFF)


def test_shapes_broadcast(pair):
    p, _ = pair
    q = pair[1][0]
    assert quaternion.multiply_quaternions(p[:, None], q).shape == (50, 1, 4)
    assert quaternion.rotate(q, np.ones((7, 3))).shape == (7, 3)
    assert quaternion.from_matrix(np.eye(3)).shape == (4,)
    assert quaternion.integrate(q, np.ones((5, 3)), 0.1).shape == (5, 4)
    assert quaternion.rotation_vector_between(p, q).shape == (50, 3)


def test_a_matrix_gives_its_quaternion_back_with_positive_w(pair):
    q = np.where(pair[0][:, :1] < 0, -pair[0], pair[0])
    np.testing.assert_allclose(quaternion.from_matrix(peer(q).as_matrix()), q, atol=ROUND_OFF)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("angle", [0.0, 1e-9, np.pi - 1e-9, np.pi])
def test_a_matrix_of_a_half_turn_gives_its_quaternion_without_cancellation(axis, angle):
    phi = np.zeros(3)
    phi[axis] = angle
    ours = quaternion.from_matrix(Peer.from_rotvec(phi).as_matrix())
    np.testing.assert_allclose(abs(ours @ quaternion.exponential(phi)), 1.0, atol=ROUND_OFF)
    np.testing.assert_allclose(peer(ours).as_matrix(), Peer.from_rotvec(phi).as_matrix(), atol=ROUND_OFF)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-12, 1e-4, 0.5, 3.0, np.pi - 1e-6])
def test_the_logarithm_undoes_the_exponential(angle):
    phi = angle * np.array((2.0, -1.0, 2.0)) / 3.0
    np.testing.assert_allclose(quaternion.logarithm(quaternion.exponential(phi)), phi, rtol=ROUND_OFF)
    np.testing.assert_allclose(quaternion.logarithm(-quaternion.exponential(phi)), phi, rtol=ROUND_OFF)
    np.testing.assert_allclose(peer(quaternion.exponential(phi)).as_rotvec(), phi, rtol=ROUND_OFF)


def test_the_logarithm_has_the_least_length():
    phi = np.array((0.0, 0.0, 4.0))
    ours = quaternion.logarithm(quaternion.exponential(phi))
    np.testing.assert_allclose(ours, (0.0, 0.0, 4.0 - 2 * np.pi), atol=ROUND_OFF)


def test_integration_turns_about_the_axes_of_the_moving_frame(pair):
    q = pair[0]
    w, dt = np.random.default_rng(3).normal(size=(50, 3)), 0.3
    expected = (peer(q) * Peer.from_rotvec(w * dt)).as_matrix()
    moved = quaternion.integrate(q, w, dt)
    np.testing.assert_allclose(peer(moved).as_matrix(), expected, atol=ROUND_OFF)
    np.testing.assert_allclose(np.linalg.norm(moved, axis=-1), 1.0, atol=ROUND_OFF)
    np.testing.assert_allclose(quaternion.rotation_vector_between(q, moved), w * dt, atol=ROUND_OFF)
    np.testing.assert_allclose(quaternion.rotation_vector_between(q, -moved), w * dt, atol=ROUND_OFF)


def test_what_is_nan_stays_nan():
    assert np.isnan(quaternion.normalized(np.zeros(4))).all()
    assert np.isnan(quaternion.integrate((np.nan, 0, 0, 1), (1, 2, 3), 0.1)).all()
    assert np.isnan(quaternion.logarithm((np.nan,) * 4)).all()
    assert np.isnan(quaternion.exponential((np.nan, 0, 0))).all()


def test_kinematics_are_the_derivative_of_integration(pair):
    arena = Arena()
    q = tuple(arena.leaf(COORDINATE, name) for name in "wxyz")
    w = tuple(arena.leaf(SPEED, name) for name in "abc")
    rates = quaternion.kinematics(q, w)
    totals = count_operations(rates)
    assert (totals["mul"], totals["add"]) == (15, 8)
    q0, w0, h = pair[0][0], np.array((0.3, -0.4, 0.5)), 1e-4
    known = dict(zip(q + w, (*q0, *w0), strict=True))
    slope = (quaternion.integrate(q0, w0, h) - quaternion.integrate(q0, w0, -h)) / (2 * h)
    # Central difference: truncation h^2 |w|^3 / 48 = 1e-10, round-off 1e-16 / h = 1e-12.
    np.testing.assert_allclose(interpret(rates, known), slope, atol=2e-10)
