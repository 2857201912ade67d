"""Stronge's energetic restitution: against closed forms, and increments of impulse integrated by SciPy.

Who vouches: ``along_the_impulse`` integrates velocity, friction and work of each increment with events of its own. The
energy balances need no reference. Kernels run as Python, models through their native transitions.
"""

import numpy as np
import pytest
from oracles.contact_machine import ContactMachine
from scipy.integrate import solve_ivp
from unit.test_impact import impact, rod

import kane
from kane.engine.laws.impact import DONE
from kane.engine.memory.contact_codes import ADOPTED, NEWTON, POISSON, STRONGE

# Slip in space below which it counts as stopped [m/s].
SLOW = 1e-9
TIGHT = {"rtol": 1e-12, "atol": 1e-13, "method": "DOP853"}


def along_the_impulse(W, v0, e, mu, static=None):
    """Impulse, velocity, and works of compression and expansion, with one or two tangents and slip that may stop."""
    W, static = np.asarray(W, float), mu if static is None else static
    k = len(v0)
    holds = np.linalg.solve(W[1:, 1:], -W[1:, 0])  # friction per normal impulse of a sticking contact
    y, compression, done = np.concatenate([v0, np.zeros(k), [0.0]]), None, False
    stuck = False
    while not done:
        slip = np.linalg.norm(y[1:k])
        if slip <= 1e-11 and np.linalg.norm(holds) <= static:
            stuck = True
        # Friction cannot hold: the slip goes on in the direction that it keeps.
        away = y[1:k] / slip if slip > 1e-11 else -np.sign(holds)
        assert stuck or slip > 1e-11 or k == 2

        def friction(y, k=k, away=away, stuck=stuck):
            if stuck:
                return holds
            return -mu * (away if k == 2 else y[1:k] / np.linalg.norm(y[1:k]))

        def rate(p, y, friction=friction):
            dp = np.concatenate([[1.0], friction(y)])
            return np.concatenate([W @ dp, dp, [y[0]]])

        def ends(p, y, compression=compression):
            return y[0] if compression is None else y[-1] - (1.0 - e**2) * compression

        def stops(p, y, stuck=stuck, away=away, k=k):
            return 1.0 if stuck else y[1] * away[0] if k == 2 else np.linalg.norm(y[1:k]) - SLOW

        ends.terminal, ends.direction = True, 1.0
        stops.terminal, stops.direction = True, -1.0
        run = solve_ivp(rate, (0.0, 1e3), y, events=(ends, stops), **TIGHT)
        assert run.status == 1
        y = run.y[:, -1].copy()
        if len(run.t_events[1]):
            y[1:k] = 0.0
        elif compression is None:
            compression, done = y[-1], e == 0.0
        else:
            done = True
    return y[k : 2 * k], y[:k], compression, y[-1] - compression


@pytest.mark.parametrize("law", [POISSON, NEWTON, STRONGE])
def test_central_impacts_without_friction_are_the_same_by_all_laws(law):
    """Two balls on a line: v+ = -e v-, and the impulse is (1 + e) of the reduced mass times the approach."""
    m1, m2, e = 0.3, 0.7, 0.6
    _, p, v = impact([[1 / m1 + 1 / m2]], [-3.0], e, law=law)
    assert v[0] == pytest.approx(1.8, rel=1e-15)
    assert p[0] == pytest.approx((1 + e) * 3.0 / (1 / m1 + 1 / m2), rel=1e-15)


def test_slip_in_one_direction_has_the_restitution_of_all_laws():
    W, v0 = rod(np.radians(60)), [-1.0, 5.0]
    found = [impact(W, v0, 0.7, static=0.2, law=law) for law in (POISSON, NEWTON, STRONGE)]
    assert found[2][1] == pytest.approx(found[0][1], rel=1e-14)
    assert found[2][2] == pytest.approx(found[1][2], rel=1e-14)


def test_a_rod_whose_slip_reverses_has_the_closed_form_of_stronge():
    """The normal velocity is piecewise linear in the impulse: slopes a until the slip stops in compression, then b.

    W_c is the sum of two trapezia; in expansion v^2 = 2 b e^2 |W_c|.
    """
    W, mu, v0, e = rod(np.radians(60)), 0.2, np.array([-1.0, 0.2]), 0.5
    a, b = (W[0] @ [1.0, -mu * s] for s in (1.0, np.sign(W[1, 0])))
    p1 = -v0[1] / (W[1] @ [1.0, -mu])
    v1 = v0[0] + a * p1
    assert p1 > 0 > v1
    work = 0.5 * (v0[0] + v1) * p1 - 0.5 * v1 * v1 / b
    _, p, v = impact(W, v0, e, static=mu, law=STRONGE)
    assert v[0] == pytest.approx(np.sqrt(-2.0 * b * e**2 * work), rel=1e-14)
    assert p[0] == pytest.approx(p1 + (v[0] - v1) / b, rel=1e-14)
    assert abs(v[0] + e * v0[0]) > 1e-3, "Newton's law has another end"
    assert abs(impact(W, v0, e, static=mu)[1][0] - p[0]) > 1e-3, "Poisson's law has another end"


def follows_the_increments(W, v0, e, mu, tolerance):
    """Compare an impact, and its ratio of works, with increments of impulse."""
    p, v, compression, expansion = along_the_impulse(W, v0, e, mu)
    ended, p_found, v_found = impact(W, v0, e, static=mu, law=STRONGE)
    assert ended == DONE
    assert expansion == pytest.approx(-(e**2) * compression, rel=1e-9)
    assert p_found == pytest.approx(p, rel=tolerance, abs=1e-8)
    assert v_found == pytest.approx(v, rel=tolerance, abs=1e-8)


@pytest.mark.parametrize("seed", range(30))
def test_planar_impacts_follow_the_increments_of_impulse(seed):
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(2, 2))
    W = L @ L.T + 0.2 * np.eye(2)
    v0 = np.array([-rng.uniform(0.2, 2.0), 0.7 * rng.normal()])
    mu, e = rng.uniform(0.05, 1.0), rng.uniform(0.05, 1.0)
    follows_the_increments(W, v0, e, mu, 1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_impacts_in_space_follow_the_increments_of_impulse(seed):
    """The slip turns along the path. Half of them slip so slowly that it stops, and stick."""
    rng = np.random.default_rng(seed)
    L = rng.normal(size=(3, 3))
    W = L @ L.T + np.eye(3)
    v0, mu = np.array([-1.0, *((2.0 if seed % 2 else 0.1) * rng.normal(size=2))]), 0.6 if seed % 2 else 1.0
    if np.linalg.norm(np.linalg.solve(W[1:, 1:], -W[1:, 0])) > 0.8 * mu:
        W[1:, 0] *= 0.3
        W[0, 1:] *= 0.3
    e = rng.uniform(0.1, 1.0)
    follows_the_increments(W, v0, e, mu, 1e-7)


@pytest.mark.parametrize("k", [2, 3])
def test_no_impact_gains_energy(k):
    """The same impacts gain energy by Newton's law; with e = 1 only friction takes energy."""
    rng, gains, count = np.random.default_rng(k), 0, 0
    for _ in range(600 if k == 2 else 120):
        L = rng.normal(size=(k, k))
        W = L @ L.T + 0.05 * np.eye(k)
        v0 = np.array([-rng.uniform(0.1, 2.0), *rng.normal(size=k - 1)])
        mu, e = rng.uniform(0, 1.5), rng.choice([0.0, rng.uniform(), 1.0])
        ended, p, v = impact(W, v0, e, static=mu, law=STRONGE)
        assert ended == DONE
        assert v[0] >= -1e-12
        assert v == pytest.approx(v0 + W @ p, abs=1e-9 * (1 + np.abs(v0).max() + np.abs(W).max()))
        assert p @ (v0 + v) / 2 <= 1e-12
        _, p, v = impact(W, v0, e, static=mu, law=NEWTON)
        gains, count = gains + (p @ (v0 + v) / 2 > 1e-9), count + 1
    assert gains > 0.02 * count


def test_the_end_changes_smoothly_with_the_coefficient():
    """From plastic, v = 0, to elastic, without steps: the departure goes with e, the impulse has a finite slope."""
    W, v0 = rod(np.radians(60)), np.array([-1.0, 0.05])
    plastic = impact(W, v0, 0.0, static=0.2, law=STRONGE)
    assert plastic[2][0] == 0.0
    for near in (1e-3, 1e-6, 1e-9):
        _, p, v = impact(W, v0, near, static=0.2, law=STRONGE)
        assert 0.5 * near < v[0] < 2.0 * near
        assert p == pytest.approx(plastic[1], abs=3.0 * near)
    elastic = impact(W, v0, 1.0, static=0.2, law=STRONGE)
    assert impact(W, v0, 1.0 - 1e-9, static=0.2, law=STRONGE)[2] == pytest.approx(elastic[2], abs=1e-8)


def test_a_dynamic_jam_departs_with_the_work_that_it_took():
    """Painleve's rod: friction alone drives the end down, so that W_c < 0 without an approach, and the end departs."""
    W, mu, e = rod(np.arctan(2.0)), 1.8, 0.5
    slip = 1.0 if W[0, 0] - mu * W[0, 1] < 0 else -1.0
    p, v, compression, _ = along_the_impulse(W, np.array([0.0, slip]), e, mu)
    _, p_found, v_found = impact(W, [0.0, slip], e, static=mu, law=STRONGE)
    assert compression < -1e-3
    assert p_found == pytest.approx(p, rel=1e-9)
    assert v_found == pytest.approx(v, abs=1e-9)


def double_pendulum(law):
    """Two rods of 1 m and 1 kg that hang from a pivot; the end of the lower one touches a rough floor."""
    m = kane.Model("double pendulum", gravity=(0, 0, 0))
    upper, lower = (m.body(name, mass=1.0, inertia=(0, 1 / 12, 1 / 12), com=(0.5, 0, 0)) for name in ("upper", "lower"))
    m.connect(m.ground, upper, kane.Revolute("q1", axis="z"))
    m.connect(upper, lower, kane.Revolute("q2", axis="z"), at=(1, 0, 0))
    height = -np.cos(np.radians(20)) - np.cos(np.radians(30))
    floor = kane.Plane(m.ground.point((0, height, 0)), m.ground.y)
    m.contact(lower.point((1, 0, 0)), floor, restitution=law, friction=kane.Coulomb(0.7), name="end")
    return ContactMachine(m)


@pytest.mark.parametrize("e", [0.3, 0.8])
def test_a_double_pendulum_strikes_a_rough_floor_as_its_increments_say(e):
    """The impact of Kane & Levinson 1985 (20 and 30 degrees, mu = 0.7), whose slip reverses: Newton's law is refused.

    Who vouches: the mass matrix and the Jacobian of the end by hand, and increments of impulse by SciPy.
    """
    a, b, rates = np.radians(20) - np.pi / 2, np.radians(30) - np.pi / 2, np.array([-0.1, -0.2])
    M = np.array([[4 / 3, np.cos(a - b) / 2], [np.cos(a - b) / 2, 1 / 3]])  # for the rates of both absolute angles
    J = np.array([[np.cos(a), np.cos(b)], [-np.sin(a), -np.sin(b)]])  # velocity along y, then along x
    W, v0 = J @ np.linalg.solve(M, J.T), J @ rates
    p, v, _, _ = along_the_impulse(W, v0, e, 0.7)
    found = double_pendulum(kane.Stronge(e)).transition([a, b - a], [rates[0], rates[1] - rates[0]])
    assert found.status == ADOPTED
    assert J @ [found.u[0], found.u[0] + found.u[1]] == pytest.approx(v, abs=1e-9)
    assert found.impulses == pytest.approx(p, rel=1e-8, abs=1e-9)
    assert found.energy_lost == pytest.approx(-p @ (v0 + v) / 2, abs=1e-9)
    assert found.energy_lost > 0


def test_contacts_that_are_struck_together_follow_poisson():
    """Two ends of a bar, dropped flat: the bar rises with e of its speed, and does not turn."""
    for impacts, turns in (("together", False), ("in turn", True)):
        m = kane.Model("bar", gravity=(0, 0, 0))
        m.impacts = impacts
        bar = m.body("bar", mass=1.0, inertia=(0, 1.0, 1.0))
        m.connect(m.ground, bar, kane.Planar(("x", "y", "turn")))
        for x in (-0.5, 0.5):
            floor = kane.Plane(m.ground.point(), m.ground.y)
            m.contact(bar.point((x, 0, 0)), floor, restitution=kane.Stronge(0.5), name=f"end {x}")
        found = ContactMachine(m).transition([0, 0, 0], [0, -1.0, 0])
        assert found.status == ADOPTED
        assert found.energy_lost > 0
        if turns:
            assert abs(found.u[2]) > 0.1
        else:
            assert found.u == pytest.approx([0, 0.5, 0], abs=1e-12)


@pytest.mark.parametrize("e", [-0.1, 1.1, np.nan, np.inf])
def test_coefficients_outside_of_zero_to_one_are_refused(e):
    m = kane.Model("ball")
    ball = m.body("ball", mass=1.0, inertia=(1.0,) * 3)
    hinge = m.connect(m.ground, ball, kane.Revolute("q", axis="z"))
    with pytest.raises(kane.ModelError, match="restitution of"):
        m.stop(hinge, lower=0.0, restitution=kane.Stronge(e))
    with pytest.raises(kane.ModelError, match="restitution of"):
        m.stop(hinge, lower=0.0, restitution=kane.Stronge("0.5"))
    m.stop(hinge, lower=0.0, restitution=kane.Stronge(0.5))


def test_a_model_with_this_law_survives_its_file(tmp_path):
    m = kane.Model("ball")
    ball = m.body("ball", mass=1.0, inertia=(1.0,) * 3)
    hinge = m.connect(m.ground, ball, kane.Revolute("q", axis="z"))
    m.stop(hinge, lower=0.0, restitution=kane.Stronge(0.5), name="stop")
    kane.save_model(m, tmp_path / "ball.json")
    assert kane.load_model(tmp_path / "ball.json").intermittents[0].restitution == kane.Stronge(0.5)


def test_sensitivities_derive_slip_in_one_direction_and_refuse_its_reversal():
    """The end of a falling rod slides on; central differences of runs vouch."""
    m = kane.Model("rod", gravity=(0, -9.81, 0))
    bar = m.body("rod", mass=1.0, inertia=(0, 1 / 12, 1 / 12))
    m.connect(m.ground, bar, kane.Planar(("x", "y", "turn")))
    law, floor = kane.Stronge(m.parameter("e", 0.7)), kane.Plane(m.ground.point(), m.ground.y)
    m.contact(bar.point((0.5, 0, 0)), floor, restitution=law, friction=kane.Coulomb(0.2), name="end")
    dyn, turn = kane.build(kane.formulate(m)), -np.pi / 3
    start = {"turn": turn, "y": 0.01 - 0.5 * np.sin(turn)}

    def dropped(slip, e=0.7):
        return kane.simulate(dyn, until=0.02, q=start, u={"x_dot": slip, "y_dot": -1.0}, parameters={"e": e})

    small = 1e-5
    for slip in (5.0, -5.0):
        slope = (dropped(slip, 0.7 + small).u[-1] - dropped(slip, 0.7 - small).u[-1]) / (2 * small)
        found = kane.sensitivities(dropped(slip), wrt=["e"]).final["e"][-3:]
        assert found == pytest.approx(slope, rel=1e-7)  # rounding of runs, 1e-13, over the change
    with pytest.raises(kane.ModelError, match="its slip begins, ends or turns in it"):
        kane.sensitivities(dropped(-0.2), wrt=["e"])
