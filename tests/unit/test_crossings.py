"""Where stability changes over a parameter: closed forms, with zeros, pairs on the axis and pairs that meet there."""

import math

import numpy as np
import pytest
from oracles.formulated import built
from scipy.linalg import block_diag
from scipy.stats import ortho_group

import kane
from kane.errors import ModelError
from kane.library import rolling_coin, whipple_bicycle

# Of a change that bisection finds, in units of the value; a matrix is known to 1e-13 of its norm.
CLOSE = 1e-10


def oscillator(k, c=0.0):
    """x'' + c x' + k x = 0."""
    return np.array([[0.0, 1.0], [-k, -c]])


def mixed(*blocks):
    """Independent systems in coordinates that mix them."""
    A = block_diag(*blocks)
    Q = ortho_group.rvs(len(A), random_state=np.random.default_rng(3))
    return Q @ A @ Q.T


def changes(matrix, values):
    return kane.root_locus(matrix, values).crossings()


@pytest.mark.parametrize("grid", [np.linspace(0.0, 20.0, 21), np.linspace(0.0, 19.62, 3), np.linspace(20.0, 0.0, 8)])
def test_a_pendulum_upright_on_a_spring_is_stable_from_m_g_l_on(grid):
    m = kane.Model("upright")
    stiffness = m.parameter("k", 1.0)
    joint = m.connect("ground", m.body("bob", mass=1.0, com=(0, 0, 1)), kane.Revolute("q", axis="y"))
    m.load(kane.Spring(joint, stiffness))
    dyn = kane.build(kane.formulate(m))
    found = changes(lambda k: kane.linearize(dyn, parameters={"k": k}), grid)
    assert found == pytest.approx([9.81], abs=CLOSE)


@pytest.mark.parametrize("grid", [np.linspace(1.0, 14.0, 14), [1.0, 14.0], np.linspace(5.0, 11.0, 50)])
def test_a_coin_that_rolls_upright_is_stable_from_its_critical_spin_on(grid):
    """C (C + m r^2) w^2 = A m g r, with C = m r^2 / 2 and A = m r^2 / 4: w^2 = g / (3 r) (Neimark & Fufaev 1972)."""
    dyn = kane.build(kane.formulate(rolling_coin()))
    found = changes(lambda spin: kane.linearize(dyn, u={"u2": spin}), grid)
    assert found == pytest.approx([math.sqrt(9.81 / (3 * 0.05))], abs=CLOSE)


def test_the_whole_bicycle_weaves_and_capsizes_at_the_published_speeds():
    """With all its cyclic coordinates, whose zeros have Jordan chains. Meijaard et al. 2007, Table 2."""
    dyn = built(whipple_bicycle)

    def ride(v):
        return kane.linearize(dyn, q={"heave": -0.3}, u={"x_dot": v, "rear_dot": -v / 0.3, "front_dot": -v / 0.35})

    locus = kane.root_locus(ride, np.linspace(0.0, 10.0, 21))
    assert locus.crossings() == pytest.approx([4.29238253634111, 6.02426201538837], abs=1e-10)
    assert locus.crossings(ignoring=6) == pytest.approx([4.29238253634111, 6.02426201538837], abs=1e-10)


def test_pairs_that_meet_on_the_axis_leave_it_there():
    """x'' - g y' - k x = 0, y'' + g x' - k y = 0: s^2 + (g^2 - 2 k) s + k^2 = 0, s = l^2: stable from 2 sqrt(k)."""
    k = 2.0

    def gyroscopic(g):
        return mixed(np.array([[0, 0, 1, 0], [0, 0, 0, 1], [k, 0, 0, g], [0, k, -g, 0]]), oscillator(7.0))

    assert changes(gyroscopic, np.linspace(0.5, 6.0, 12)) == pytest.approx([2 * math.sqrt(k)], abs=CLOSE)


@pytest.mark.parametrize("copies", [1, 2, 3])
@pytest.mark.parametrize("beside", [(), (oscillator(4.0),), (np.zeros((1, 1)), oscillator(0.0), oscillator(9.0))])
def test_modes_that_pass_the_axis_are_found_beside_those_that_stay_on_it(copies, beside):
    """Of equal modes none passes alone: a determinant would not change its sign."""

    def damped(c):
        return mixed(*[oscillator(3.0, c - 0.7)] * copies, *beside)

    assert changes(damped, np.linspace(0.0, 2.0, 9)) == pytest.approx([0.7], abs=CLOSE)


@pytest.mark.parametrize("copies", [1, 2])
def test_real_roots_pass_through_zero_alone_and_in_pairs(copies):
    grid = np.linspace(-1.0, 2.0, 8)
    assert changes(lambda k: mixed(*[oscillator(k - 0.3)] * copies), grid) == pytest.approx([0.3], abs=CLOSE)
    assert changes(lambda k: mixed(*[oscillator(k - 0.3, 0.5)] * copies), grid) == pytest.approx([0.3], abs=CLOSE)


def test_a_conservative_system_that_stays_stable_has_no_crossings():
    assert changes(lambda k: mixed(oscillator(k), oscillator(2 * k), oscillator(0.0)), np.linspace(1.0, 9.0, 33)) == []
    assert changes(lambda k: np.zeros((3, 3)), [0.0, 1.0]) == []


@pytest.mark.parametrize("ignoring", [-1, 1.5, "two"])
def test_how_many_are_ignored_is_a_whole_number(ignoring):
    with pytest.raises(ModelError, match="ignoring="):
        kane.root_locus(oscillator, [1.0, 2.0]).crossings(ignoring=ignoring)
