"""The rolling coin against Newton and Euler: steady circles, when it rolls upright, constants of its motion.

With A, C, A the moments of inertia, k = C + m r^2, t = tan(lean), moments about the point in contact give

    (A + m r^2) u1' = m g r sin(lean) + k u2 u3 - A t u3^2,   k u2' = -m r^2 u1 u3,   A u3' = A t u1 u3 - C u1 u2
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kane
from kane.library import rolling_coin

m, r, g = 0.1, 0.05, 9.81  # the defaults
A, C = m * r**2 / 4, m * r**2 / 2
k = C + m * r**2
CRITICAL = np.sqrt(m * g * r * A / (C * k))  # rad/s, of the spin of a coin that rolls upright: sqrt(g / 3r)


@pytest.fixture(scope="module")
def coin():
    return kane.build(kane.formulate(rolling_coin()))


def accelerations(lean, u):
    t = np.tan(lean)
    return [
        (m * g * r * np.sin(lean) + k * u[1] * u[2] - A * t * u[2] ** 2) / (A + m * r**2),
        -m * r**2 * u[0] * u[2] / k,
        t * u[0] * u[2] - C / A * u[0] * u[1],
    ]


def axes(dyn, q):
    """The axes of the plate in N, by columns, and those of the heading."""
    poses = dyn.poses(q)
    return poses["plate"].orientation, poses["heading"].orientation


def drawn(seed):
    random = np.random.default_rng(seed)
    return random.uniform([-1, -1, -3, -1.2, -3], [1, 1, 3, 1.2, 3]), 10.0 * random.normal(size=3)


@pytest.mark.parametrize("seed", range(6))
def test_the_coin_obeys_the_balance_of_moments_about_the_point_in_contact(coin, seed):
    """A few hundred operations: 1e-12."""
    q, u = drawn(seed)
    expected = np.array(accelerations(q[3], u))
    np.testing.assert_allclose(coin.forward(q, u), expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(6))
def test_the_point_in_contact_moves_along_the_heading_as_the_coin_spins(coin, seed):
    q, u = drawn(seed)
    x, y, yaw, lean, spin = coin.kinematics(q, u)
    np.testing.assert_allclose([x, y], r * spin * np.array([np.cos(q[2]), np.sin(q[2])]), rtol=0, atol=1e-12)
    np.testing.assert_allclose([lean, yaw * np.cos(q[3]), spin + yaw * np.sin(q[3])], [u[0], u[2], u[1]], atol=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_friction_is_what_accelerates_the_centre(coin, seed):
    """m a_C along heading and across, a_C the derivative of w x r b3; some hundred operations."""
    q, u = drawn(seed)
    (u1, u2, u3), (d1, d2, _), t = u, coin.forward(q, u), np.tan(q[3])
    plate, heading = axes(coin, q)
    a_C = plate @ [r * d2 + r * u1 * u3, -r * d1 + r * u2 * u3, -r * u1**2 - r * t * u2 * u3]
    revealed = kane.reveal_reactions(coin.equations, "rolling")
    found = dict(zip(revealed.names, kane.RevealedReactions(coin, revealed)(q, u), strict=True))
    friction = [found["rolling: no slip"], found["rolling: no skid"]]
    expected = m * (heading.T @ a_C)[:2]
    np.testing.assert_allclose(friction, expected, rtol=0, atol=1e-11 * np.abs(m * a_C).max())
    assert np.isnan(found["rolling: touch"])  # shared with the joint that keeps the coin in touch


@pytest.mark.parametrize("seed", range(4))
def test_a_free_coin_under_the_same_constraint_has_the_same_angular_acceleration(coin, seed):
    """Six speeds with three constraints embedded in numbers, and three speeds: alpha_NC = plate (u' + w_plate x u)."""
    q, u = drawn(seed)
    plate, _ = axes(coin, q)
    pose = coin.poses(q)["coin"]
    model = kane.Model("free coin")
    body = model.body("coin", mass=m, inertia=(A, C, A))
    model.connect(model.ground, body, kane.Free("f"))
    plane = kane.Plane(model.ground.point(), model.ground.z)
    model.constrain(kane.Rolling(kane.Disk(body.point(), body.y, r), plane))
    free = kane.build(kane.formulate(model))
    w, v = plate @ u, np.cross(plate @ u, r * plate[:, 2])
    state = [*quaternion(pose.orientation), *pose.position], [*pose.orientation.T @ w, *pose.orientation.T @ v]
    alpha = plate @ (coin.forward(q, u) + np.cross([u[0], u[2] * np.tan(q[3]), u[2]], u))
    found = pose.orientation @ free.forward(*state)[:3]
    np.testing.assert_allclose(found, alpha, rtol=0, atol=1e-10 * np.abs(alpha).max())


def quaternion(R):
    """(w, x, y, z) of a rotation by less than half a turn."""
    w = 0.5 * np.sqrt(1.0 + np.trace(R))
    return np.array([w, *np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4 * w)])


def test_a_leaning_coin_rolls_on_a_circle_at_the_speed_of_its_lean(coin):
    """u1 = u1' = 0 for u2 of this u3; RK8 at 1e-9 for 5 s, a dozen rounds."""
    lean, u3 = -0.4, 14.0
    u2 = (A * np.tan(lean) * u3**2 - m * g * r * np.sin(lean)) / (k * u3)
    run = kane.simulate(coin, until=5.0, q={"lean": lean}, u={"u2": u2, "u3": u3})
    np.testing.assert_allclose(run["lean"], lean, rtol=0, atol=1e-6)
    radius = r * (u2 - u3 * np.tan(lean)) / (u3 / np.cos(lean))
    place = np.array([run["x"], run["y"]])
    np.testing.assert_allclose(np.hypot(*(place - [[0.0], [radius]])), abs(radius), rtol=1e-5)


@pytest.mark.parametrize("share", [0.5, 0.9, 1.1, 2.0])
def test_an_upright_coin_falls_below_the_critical_spin_and_sways_above(coin, share):
    """lean'' = (m g r - k C w^2 / A) / (A + m r^2) lean for small leans; terms left out are lean^2, 1e-8, beside it."""
    w, small = share * CRITICAL, 1e-6
    rate = np.sqrt(complex((m * g * r - k * C * w**2 / A) / (A + m * r**2)))
    times = np.linspace(0.0, 4.0 / abs(rate), 50)
    start = {"u2": w, "u3": -C / A * w * small}
    run = kane.simulate(coin, until=times[-1], q={"lean": small}, u=start, times=times)
    expected = small * np.cosh(rate * run.time).real
    np.testing.assert_allclose(run["lean"], expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    assert (np.abs(expected).max() > 20 * small) == (share < 1.0)


def test_a_wobbling_coin_keeps_its_energy_and_spins_as_its_lean_says(coin):
    """u2 and u3 are functions of the lean: k du2 = -m r^2 u3 dlean, A du3 = (A t u3 - C u2) dlean (Appell, Korteweg).

    RK8 at 1e-9 over some hundred steps, for the run and for the functions.
    """
    start = [0.3, 0.0, 12.0, 4.0]
    run = kane.simulate(coin, until=3.0, q={"lean": start[0]}, u=dict(zip(("u1", "u2", "u3"), start[1:], strict=True)))
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-8)
    lean = run["lean"]
    assert np.ptp(lean) > 0.1  # from where it starts, at rest in its lean, to the other side

    def slope(x, y):
        return [-m * r**2 / k * y[1], np.tan(x) * y[1] - C / A * y[0]]

    far = lean[np.argmax(np.abs(lean - start[0]))]
    line = solve_ivp(slope, (start[0], far), start[2:], "DOP853", rtol=1e-12, atol=1e-12, dense_output=True)
    expected = line.sol(lean)
    np.testing.assert_allclose([run["u2"], run["u3"]], expected, rtol=0, atol=1e-6)


def test_rolling_of_a_coin_restricts_no_coordinate():
    """In the joints' own speeds, where the three equations of rolling stand."""
    model = rolling_coin()
    model.speeds()
    found = kane.assemble(kane.formulate(model), q={"lean": 0.3}, u={"spin_dot": 2.0})
    assert found.integrable == ()
    assert set(found.free) >= {"x", "y", "yaw", "lean", "spin"}
    assert found.rank == 2
