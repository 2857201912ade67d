"""Native quaternions of the haptic loop: SciPy's rotations vouch for them, differences of the potential for torques.

The kernels of native code are called from Python.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kane.engine.realtime.coupler import _rotate_by
from kane.engine.realtime.rotations import product, quaternion_of, spring_torque, turn_between

PAIRS = [Rotation.random(2, random_state=k) for k in range(8)]
# Turns of nearly half a turn about each axis, in which the scalar part is not the largest, and a small one.
TURNS = [Rotation.from_rotvec(angle * np.eye(3)[k] + [0.1, -0.2, 0.05]) for k in range(3) for angle in (-2.9, 0.3, 2.9)]


def numbers(rotation):
    """Return a quaternion with the scalar part first."""
    return np.roll(rotation.as_quat(), 1)


@pytest.mark.parametrize("pair", PAIRS)
def test_products_of_quaternions_are_those_of_scipy(pair):
    out = np.zeros(4)
    product(numbers(pair[0]), numbers(pair[1]), out)
    expected = numbers(pair[0] * pair[1])
    assert out * np.sign(out @ expected) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_turn_between_two_orientations_is_the_shorter_one(pair, sign):
    out = np.zeros(4)
    turn_between(sign * numbers(pair[0]), numbers(pair[1]), out)
    expected = numbers(pair[0] * pair[1].inv())
    assert out == pytest.approx(expected * np.sign(expected[0]), abs=1e-15)


@pytest.mark.parametrize("turn", [*TURNS, *(pair[0] for pair in PAIRS)])
def test_the_quaternion_of_a_rotation_matrix_is_that_of_scipy(turn):
    out = np.zeros(4)
    quaternion_of(turn.as_matrix().ravel(), out)
    expected = numbers(turn)
    assert out * np.sign(out @ expected) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("pair", PAIRS)
def test_torques_of_a_spring_take_from_its_potential_what_they_do(pair):
    """V = 2 sum_i k_i e_i^2, differences of 1e-6 rad."""
    k, step = np.array([2.0, 0.5, 1.3]), 1e-6

    def potential(first, second):
        e = (first * second.inv()).as_quat()[:3]
        return 2.0 * k @ e**2

    e = np.zeros(4)
    turn_between(numbers(pair[0]), numbers(pair[1]), e)
    for i in range(3):
        turn = Rotation.from_rotvec(step * np.eye(3)[i])
        ahead = (potential(turn * pair[0], pair[1]) - potential(turn.inv() * pair[0], pair[1])) / (2.0 * step)
        behind = (potential(pair[0], turn * pair[1]) - potential(pair[0], turn.inv() * pair[1])) / (2.0 * step)
        assert spring_torque(e, k, i, 1.0) == pytest.approx(ahead, abs=1e-8)
        assert -spring_torque(e, k, i, -1.0) == pytest.approx(behind, abs=1e-8)


def test_rates_turn_by_a_unit_quaternion_whose_vector_part_is_half_the_small_angle():
    turn, rates = np.zeros(4), np.array([0.3, -2.0, 5.0])
    _rotate_by(rates, 0.1, turn)
    assert turn[1:] == pytest.approx(0.05 * rates, rel=1e-15)
    assert turn[0] > 0.0
    assert turn @ turn == pytest.approx(1.0, rel=1e-15)
