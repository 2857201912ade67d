"""One impact with friction: against closed forms, and Routh's equations integrated in the impulse by SciPy.

The functions are those that native code is made of, called as they are from Python.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from kane.engine.laws.impact import DONE, IMMOVABLE, strike
from kane.engine.memory.contact_codes import NEWTON, POISSON
from kane.engine.memory.views import impact_at, impact_size


def impact(mobility, velocity, restitution, *, static=0.0, kinetic=None, law=POISSON, tangents=None):
    """Impulse and velocity after an impact; the mobility is (k, k), normal first."""
    k = len(velocity)
    b = impact_at(np.zeros(impact_size()), 0)
    b.G[:k, :k], b.v[:k] = mobility, velocity
    b.static[0], b.kinetic[0] = static, static if kinetic is None else kinetic
    ended = strike(b, k - 1 if tangents is None else tangents, law, restitution)
    return ended, b.p[:k].copy(), b.v[:k].copy()


def in_the_impulse(mobility, velocity, restitution, mu):
    """The same by Routh's equations in Cartesian velocities, for slip that never stops."""
    W, v0 = np.asarray(mobility, float), np.asarray(velocity, float)

    def rate(p, y):
        t = y[1:3] / np.hypot(*y[1:3])
        return np.concatenate([W @ np.concatenate([[1.0], -mu * t]), -mu * t])

    def closed(p, y):
        return y[0]

    closed.direction, closed.terminal = 1.0, True
    options = {"rtol": 1e-12, "atol": 1e-13, "method": "DOP853"}
    first = solve_ivp(rate, (0.0, 20.0 * abs(v0[0]) / W[0, 0]), [*v0, 0.0, 0.0], events=closed, **options)
    compression = first.t[-1]
    rest = solve_ivp(rate, (compression, (1.0 + restitution) * compression), first.y[:, -1], **options)
    return np.concatenate([[rest.t[-1]], rest.y[3:, -1]]), rest.y[:3, -1]


# A ball of mass m and radius r with inertia 2/5 m r^2: the tangential mobility of the point that touches is 7/2 of the
# normal one, and the two do not couple.
M, BALL = 0.5, np.diag([2.0, 7.0])


@pytest.mark.parametrize("law", [POISSON, NEWTON])
def test_without_friction_the_normal_velocity_is_reversed_and_reduced(law):
    ended, p, v = impact([[4.0]], [-3.0], 0.6, law=law)
    assert ended == DONE
    assert v[0] == pytest.approx(1.8, rel=1e-15)
    assert p[0] == pytest.approx(4.8 / 4.0, rel=1e-15)


def test_a_ball_that_slips_all_the_time_gets_friction_times_the_normal_impulse():
    _, p, v = impact(BALL, [-2.0, 9.0], 0.8, static=0.1)
    assert p == pytest.approx([1.8, -0.18], rel=1e-14)
    assert v == pytest.approx([1.6, 9.0 - 7.0 * 0.18], rel=1e-14)


def test_a_ball_whose_slip_stops_rolls_away():
    _, p, v = impact(BALL, [-2.0, 0.7], 0.8, static=0.4)
    assert v == pytest.approx([1.6, 0.0], abs=1e-15)
    assert p == pytest.approx([1.8, -0.1], rel=1e-14)


# A rod of length 2 l at the angle a to the floor: mobility of its end, by hand.
def rod(a, m=1.0, l=1.0):
    J = m * l**2 / 3.0
    s, c = l * np.sin(a), l * np.cos(a)
    return np.array([[1 / m + c * c / J, -s * c / J], [-s * c / J, 1 / m + s * s / J]])


def test_slip_of_a_rod_is_reversed_where_friction_cannot_hold_it():
    """By hand (Routh): slip stops at p1, goes on backwards; the bound of friction is below what sticking takes."""
    W, mu, v0 = rod(np.radians(60)), 0.2, np.array([-1.0, 0.05])
    assert abs(W[1, 0]) > mu * W[1, 1]
    _, p, v = impact(W, v0, 0.5, static=mu)
    first = W @ [1.0, -mu]
    p1 = -v0[1] / first[1]
    assert p1 > 0
    v1 = v0 + p1 * first
    turned = np.sign(W[1, 0])
    second = W @ [1.0, -mu * turned]
    compression = p1 - v1[0] / second[0]
    end = 1.5 * compression
    assert v == pytest.approx(v1 + (end - p1) * second, rel=1e-13)
    assert p[0] == pytest.approx(end, rel=1e-13)


def test_a_push_that_drives_a_sliding_rod_into_the_floor_ends_when_the_slip_has_stopped():
    """Painleve's rod, mu > 4/3: an impulse without approach, which takes the slip away (dynamic jamming resolved)."""
    W, mu = rod(np.arctan(2.0)), 1.8
    slip = 1.0 if W[0, 0] - mu * W[0, 1] < 0 else -1.0
    assert W[0, 0] - mu * slip * W[0, 1] < 0
    ended, p, v = impact(W, [0.0, slip], 0.0, static=mu)
    assert ended == DONE
    assert p[0] > 0
    assert v == pytest.approx([0.0, 0.0], abs=1e-14)
    assert W @ p == pytest.approx([0.0, -slip], rel=1e-13)


def test_newton_with_friction_can_make_energy_and_poisson_does_not():
    """Kane's paradox: a double pendulum's tip; here the mobility of a rod with much coupling."""
    rng = np.random.default_rng(0)
    made = 0
    for _ in range(2000):
        L = rng.normal(size=(2, 2))
        W = L @ L.T + 0.05 * np.eye(2)
        v0 = np.array([-rng.uniform(0.1, 2.0), rng.normal()])
        mu, e = rng.uniform(0, 1.5), rng.uniform(0, 1)
        for law in (POISSON, NEWTON):
            ended, p, v = impact(W, v0, e, static=mu, law=law)
            assert ended == DONE
            gained = p @ (v0 + v) / 2
            assert v[0] >= -1e-12
            assert v == pytest.approx(v0 + W @ p, abs=1e-9 * (1 + np.abs(v0).max() + np.abs(W).max()))
            if law == POISSON:
                assert gained <= 1e-12
            else:
                made += gained > 1e-9
    assert made > 0


@pytest.mark.parametrize("seed", range(12))
def test_slip_in_space_follows_rouths_equations(seed):
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(3, 3))
    W = L @ L.T + np.eye(3)
    v0 = np.array([-1.0, *(20.0 * rng.normal(size=2))])
    expected = in_the_impulse(W, v0, 0.4, 0.3)
    _, p, v = impact(W, v0, 0.4, static=0.3)
    assert p == pytest.approx(expected[0], rel=1e-8, abs=1e-8)
    assert v == pytest.approx(expected[1], rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_slow_slip_in_space_stops_for_good_or_turns_and_goes_on(seed):
    """It stops where sticking is possible; else Routh's equations lead it past zero."""
    rng = np.random.default_rng(100 + seed)
    L = rng.normal(size=(3, 3))
    W = L @ L.T + 0.3 * np.eye(3)
    v0 = np.array([-3.0, *(0.05 * rng.normal(size=2))])
    mu = 0.3
    ended, p, v = impact(W, v0, 0.5, static=mu)
    assert ended == DONE
    assert v == pytest.approx(v0 + W @ p, abs=1e-9)
    assert p @ (v0 + v) / 2 <= 1e-12
    stick = np.linalg.solve(W[1:, 1:], -W[1:, 0])
    if np.hypot(*stick) <= mu:
        assert v[1:] == pytest.approx([0.0, 0.0], abs=1e-10)
    else:
        expected = in_the_impulse(W, v0, 0.5, mu)
        assert p == pytest.approx(expected[0], abs=1e-7)
        assert v == pytest.approx(expected[1], abs=1e-7)


def test_what_turns_in_space_is_the_plane_turned():
    """A problem of the plane, turned by an angle about the normal, has the solution of the plane turned."""
    planar = rod(np.radians(50))
    W = np.zeros((3, 3))
    W[:2, :2], W[2, 2] = planar, 1.3
    angle = 0.7
    R = np.array([[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]])
    for v0 in ([-1.0, 0.4], [-1.0, -0.4], [-1.0, 3.0]):
        _, p, v = impact(planar, v0, 0.3, static=0.25)
        _, p3, v3 = impact(R @ W @ R.T, R @ [*v0, 0.0], 0.3, static=0.25)
        assert R.T @ p3 == pytest.approx([*p, 0.0], abs=1e-11)
        assert R.T @ v3 == pytest.approx([*v, 0.0], abs=1e-11)


@pytest.mark.parametrize("mass", [2.0**-80, 2.0**-47, 2.0**60])
def test_an_impact_of_what_is_light_or_heavy_has_the_digits_of_one_kilogram(mass):
    """A cube of a micrometre has 8e-15 kg; powers of two change no digit."""
    W = np.array([[2.0, 0.5, 0.3], [0.5, 3.0, 0.1], [0.3, 0.1, 1.5]])
    _, p, v = impact(W, [-1.0, 0.7, -0.4], 0.3, static=0.5, kinetic=0.4)
    ended, scaled, v_scaled = impact(W / mass, [-1.0, 0.7, -0.4], 0.3, static=0.5, kinetic=0.4)
    assert ended == DONE
    assert np.array_equal(v_scaled, v)
    assert np.array_equal(scaled, mass * p)


def test_what_cannot_give_way_is_said():
    assert impact([[0.0]], [-1.0], 0.5)[0] == IMMOVABLE
    assert impact([[np.inf]], [-1.0], 0.5)[0] == IMMOVABLE


@pytest.mark.parametrize("angle", [0.0, 0.4, 2.0])
def test_friction_along_what_gives_way_in_one_direction_only_is_the_smallest_that_holds(angle):
    """A point that moves along one line across: least squares by NumPy, and no slip at the end."""
    line = np.array([np.cos(angle), np.sin(angle)])
    J = np.vstack([[1.0, 0.2], np.outer(line, [0.1, 1.5])])
    W = J @ J.T
    _, p, v = impact(W, [-1.0, 0.0, 0.0], 0.0, static=5.0)
    assert v == pytest.approx(0.0, abs=1e-14)
    assert p[1:] / p[0] == pytest.approx(np.linalg.lstsq(W[1:, 1:], -W[1:, 0], rcond=1e-12)[0], rel=1e-12)
