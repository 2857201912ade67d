"""Gillespie 2003, Example 2: what the choice of generalized speeds does to the equations of a wrist."""

import numpy as np
import pytest

import kane
from kane.library import wrist, wrist_measure_numbers

# A few dozen products, divided by sin q2 > 0.2 and inertias: 1e3 roundings of 1.1e-16.
ROUNDING = 1e-12
DEFAULTS = dict(M=2.0, L=0.2, I1=0.03, I2=0.04, I3=0.02, G=9.81)
# Table 3: multiply or divide, add or subtract, sin or cos of the dynamical equations with u = dq/dt and of Eq. (49).
RATES, MEASURES = (790, 285, 372), (29, 16, 10)


@pytest.fixture(scope="module")
def rates():
    return kane.build(kane.formulate(wrist()))


@pytest.fixture(scope="module")
def measures():
    return kane.build(kane.formulate(wrist_measure_numbers()))


def state(seed):
    random = np.random.default_rng(seed)
    q = random.uniform([-3.0, 0.2, -3.0], [3.0, 2.9, 3.0])
    return q, *random.normal(size=(2, 3)), random.normal(size=6)


def equation_50(q, u):
    (_, s2, s3), (_, c2, c3) = np.sin(q), np.cos(q)
    q1 = (s3 * u[1] - c3 * u[0]) / s2
    return [q1, s3 * u[0] + c3 * u[1], u[2] - c2 * q1]


def equation_49(q, u, inputs, parameters):
    M, L, I1, I2, I3, G = parameters.values()
    T1, T2, T3, F1, F2, _ = inputs
    (s1, _, s3), (c1, c2, c3) = np.sin(q), np.cos(q)
    return [
        (T1 - L * (F2 + G * M * (s1 * c3 + s3 * c1 * c2)) - (I3 - I2 - M * L**2) * u[1] * u[2]) / (I1 + M * L**2),
        (T2 + L * (F1 + G * M * (s1 * s3 - c1 * c2 * c3)) + (I3 - I1 - M * L**2) * u[0] * u[2]) / (I2 + M * L**2),
        (T3 + (I1 - I2) * u[0] * u[1]) / I3,
    ]


@pytest.mark.parametrize("seed", range(5))
def test_measure_numbers_as_speeds_give_equations_49_and_50(measures, seed):
    q, u, _, inputs = state(seed)
    other = {name: value * 1.3 for name, value in DEFAULTS.items()}
    for parameters in (DEFAULTS, other):
        udot = equation_49(q, u, inputs, parameters)
        found = measures.forward(q, u, inputs, parameters=parameters)
        np.testing.assert_allclose(found, udot, rtol=0, atol=ROUNDING * np.abs(udot).max())
    qdot = equation_50(q, u)
    np.testing.assert_allclose(measures.kinematics(q, u), qdot, rtol=0, atol=ROUNDING * np.abs(qdot).max())


@pytest.mark.parametrize("seed", range(5))
def test_rates_as_speeds_give_equation_48_and_the_same_motion(rates, measures, seed):
    """qddot, by d/dt of Eq. (50) along the motion (differences of fourth order over 1e-3 s: 1e-12/1e-3 of rounding,
    1e-12 of truncation times fifth derivatives of some 1e3)."""
    q, u, _, inputs = state(seed)
    qdot = np.array(equation_50(q, u))
    np.testing.assert_array_equal(rates.kinematics(q, qdot), qdot)
    qddot = rates.forward(q, qdot, inputs)
    h, udot = 1e-3, measures.forward(q, u, inputs)

    def rate(t):
        return np.array(equation_50(q + t * qdot + 0.5 * t * t * qddot, u + t * udot))

    slope = (rate(-2 * h) - 8.0 * rate(-h) + 8.0 * rate(h) - rate(2 * h)) / (12.0 * h)
    np.testing.assert_allclose(slope, qddot, rtol=0, atol=1e-7 * np.abs(qddot).max())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("speeds", [kane.AngleRates(), kane.MeasureNumbers()], ids=["rates", "measure numbers"])
def test_three_hinges_with_massless_links_move_as_one_gimbal(rates, measures, speeds, seed):
    m = kane.Model("gimbal", gravity=(-DEFAULTS["G"], 0.0, 0.0))
    inertia = [DEFAULTS[f"I{i}"] for i in (1, 2, 3)]
    C = m.body("C", mass=DEFAULTS["M"], inertia=inertia, com=(0.0, 0.0, DEFAULTS["L"]))
    m.connect(m.ground, C, kane.Gimbal(("q1", "q2", "q3"), sequence="323", speeds=speeds), name="wrist")
    q, u, udot, _ = state(seed)
    gimbal, hinges = kane.build(kane.formulate(m)), rates if speeds == kane.AngleRates() else measures
    needed = gimbal.inverse(q, u, udot)
    np.testing.assert_allclose(hinges.inverse(q, u, udot), needed, rtol=0, atol=ROUNDING * np.abs(needed).max())
    np.testing.assert_allclose(hinges.kinematics(q, u), gimbal.kinematics(q, u), rtol=0, atol=ROUNDING * 100)


def test_declared_measure_numbers_fail_only_where_the_wrist_is_straight(measures):
    (divisor,) = measures.equations.system.fails_where
    assert repr(divisor) in {"sin(q2)", "-sin(q2)"}


def test_the_better_speeds_need_fewer_operations_and_neither_more_than_the_paper(rates, measures):
    for dyn, (mul, add, trig) in ((rates, RATES), (measures, MEASURES)):
        count = dyn.equations.count()["forward"]
        assert count["mul"] + count["div"] <= mul
        assert count["add"] <= add
        assert count["trig"] <= trig
    few, many = (dyn.equations.count()["forward"] for dyn in (measures, rates))
    assert 2 * few["mul"] < many["mul"]
    assert 2 * few["add"] < many["add"]


def test_both_kinds_of_speeds_move_the_wrist_alike(rates, measures):
    """RK4 with 1 ms over 1 s of motions of some 10 rad/s: (h w)^4 w t/120 is 1e-9."""
    start = {"q1": 0.3, "q2": 1.2, "q3": -0.4}
    runs = [kane.simulate(dyn, until=1.0, q=start, dt=1e-3, inputs={"T3": 0.05}) for dyn in (rates, measures)]
    np.testing.assert_allclose(runs[0].final.q, runs[1].final.q, rtol=0, atol=1e-8)
    assert np.abs(runs[0].final.q - runs[0].q[0]).max() > 0.5


def test_the_wrist_falls_from_upright_and_swings_back_when_hanging(rates):
    """c3 points along n1, upwards, at q1 = 0, q2 = 90 deg, and downwards at q1 = 180 deg."""

    def fall(q1):
        return rates.forward([q1, np.pi / 2, 0.3], np.zeros(3), np.zeros(6))[0]

    np.testing.assert_allclose([fall(0.0), fall(np.pi)], 0.0, atol=1e-12)
    assert fall(0.1) > 1.0
    assert fall(np.pi + 0.1) < -1.0
