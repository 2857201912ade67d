"""The Stanford Arm of Kane & Levinson 1983: their explicit equations, their maneuvers, their constant of motion."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from oracles.kane_levinson import intermediate_quantities
from oracles.numbers import State, close
from oracles.pinocchio_twin import PinocchioTwin

import kane
from kane.library import stanford_arm, stanford_arm_feedback

# Some hundred products on each side; the paper's speeds divide by sin q2, about one on these motions.
ROUNDING = 1e-12
T = 10.0
START = np.array([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0])
TARGET = np.array([np.pi / 3] * 5 + [0.1])
# Signs of the paper's tau1, ..., tau5, sigma: all but tau1 act from the outer on the inner body (ERRATA).
SIGNS = np.array([1.0, -1.0, -1.0, -1.0, -1.0, -1.0])


@cache
def model():
    return stanford_arm()


@cache
def dynamics():
    return kane.build(kane.formulate(model()))


def maneuver(t):
    """q, qdot and qddot of Eq. 127."""
    reach, w = (TARGET - START) / T, 2.0 * np.pi / T
    q = START + reach * (t - np.sin(w * t) / w)
    return q, reach * (1.0 - np.cos(w * t)), reach * w * np.sin(w * t)


def paper_speeds(q, qdot, qddot):
    """u and udot of Eqs. 3 and 5-7."""
    (s2, s3), (c2, c3) = np.sin(q[1:3]), np.cos(q[1:3])
    Y, Ydot = np.eye(6), np.zeros((6, 6))
    Y[:3, :3] = [[s2 * s3, c3, 0.0], [c2, 0.0, 1.0], [-s2 * c3, s3, 0.0]]
    d2, d3 = qdot[1], qdot[2]
    Ydot[:3, :3] = [
        [c2 * s3 * d2 + s2 * c3 * d3, -s3 * d3, 0.0],
        [-s2 * d2, 0.0, 0.0],
        [-c2 * c3 * d2 + s2 * s3 * d3, c3 * d3, 0.0],
    ]
    return Y @ qdot, Y @ qddot + Ydot @ qdot


def paper_torques(q, qdot, qddot):
    """tau1, ..., tau5 and sigma by the paper's own procedure: Eqs. 119, 121-126 with the Z and X lists."""
    u, udot = paper_speeds(q, qdot, qddot)
    found = intermediate_quantities(q, u)
    X = np.array([[found[f"X{i}{j}"] for j in range(1, 7)] for i in range(1, 7)])
    Z = {k: found[f"Z{k}"] for k in range(1, 197)}
    left = X @ udot
    tau3, tau4 = left[1] + Z[193] + Z[183], left[3] + Z[195] + Z[185]
    tau5, sigma = left[4] + Z[186], left[5] + Z[196] + Z[187]
    Y1 = left[0] + tau3 * Z[6] + Z[192] + Z[182]
    Y2 = left[2] + tau3 * Z[7] + Z[194] + Z[184]
    (s2, s3), c3 = np.sin(q[1:3]), np.cos(q[2])
    return np.array([s2 * (-Y1 * s3 + Y2 * c3), Y1 * c3 + Y2 * s3, tau3, tau4, tau5, sigma])


TIMES = np.linspace(0.0, T, 11)


@pytest.mark.parametrize("t", TIMES)
def test_torques_of_the_maneuver_are_those_of_the_papers_explicit_equations(t):
    q, u, udot = maneuver(t)
    close(SIGNS * dynamics().inverse(q, u, udot), paper_torques(q, u, udot), ROUNDING)


@pytest.mark.parametrize("seed", range(5))
def test_torques_of_any_motion_are_those_of_the_papers_explicit_equations(seed):
    q, u, udot = np.random.default_rng(seed).normal(size=(3, 6))
    # The paper's equations divide by sin^2 q2.
    bound = ROUNDING / np.sin(q[1]) ** 2
    close(SIGNS * dynamics().inverse(q, u, udot), paper_torques(q, u, udot), bound)


@pytest.mark.parametrize("t", TIMES)
def test_torques_of_the_maneuver_are_those_of_pinocchio(t):
    q, u, udot = maneuver(t)
    twin = PinocchioTwin(model(), dynamics().equations)
    close(dynamics().inverse(q, u, udot), twin.inverse(State(q, u, udot, np.zeros(6))), ROUNDING)
    close(dynamics().inputs_for(q, u, udot), twin.inverse(State(q, u, udot, np.zeros(6))), ROUNDING)


def test_torques_at_the_ends_of_the_maneuver_hold_the_arm_still():
    """At rest gravity alone is left: the bracket of Eq. 129 on tau2, Eq. 133's on sigma."""
    q, u, udot = maneuver(0.0)
    close(u, 0.0 * u, ROUNDING)
    tau = dict(
        zip(
            ("tau1", "tau2", "tau3", "tau4", "tau5", "sigma"), SIGNS * dynamics().inverse(q, u, 0.0 * udot), strict=True
        )
    )
    m = {"C": 4.0, "D": 1.0, "E": 0.6, "F": 0.5}
    hand = m["E"] * 0.06 + m["F"] * 0.2
    expected = 9.81 * (m["D"] * 0.7 + hand + (m["E"] + m["F"]) * 0.6)
    assert tau["tau2"] == pytest.approx(expected, rel=ROUNDING)
    assert tau["tau4"] == pytest.approx(9.81 * hand, rel=ROUNDING)
    # What is left of products of weights with cos(pi/2) = 6e-17.
    assert max(abs(tau[k]) for k in ("tau1", "tau3", "tau5", "sigma")) < 1e-13


@cache
def controlled(**changes):
    laws = stanford_arm_feedback(model())
    return kane.simulate(dynamics(), until=T, q=START, inputs={**laws, **changes}, dt=1e-3)


def test_the_feedback_laws_bring_the_arm_to_its_target_in_ten_seconds():
    run = controlled()
    # Fig. 3 shows the curves at their targets; how near cannot be read off to better than some hundredths.
    np.testing.assert_allclose(run.q[-1], TARGET, rtol=0.0, atol=0.05)
    np.testing.assert_allclose(run.u[-1], np.zeros(6), rtol=0.0, atol=0.03)


def test_the_arm_stays_at_its_target():
    run = kane.simulate(dynamics(), until=1.0, q=TARGET, inputs=stanford_arm_feedback(model()), dt=1e-3)
    # The laws balance gravity exactly; what moves it is rounding.
    np.testing.assert_allclose(run.q, np.broadcast_to(TARGET, run.q.shape), rtol=0.0, atol=1e-13)


def test_inverse_dynamics_along_the_controlled_motion_give_back_the_control_laws():
    """The paper's closed circle: the accelerations of the motion ask for the torques that made it."""
    run = controlled()
    rows = slice(0, None, 50)
    q, u, tau = run.q[rows], run.u[rows], run.inputs[rows]
    udot = dynamics().forward(q, u, tau)
    condition = np.linalg.cond(dynamics().mass_matrix(q)).max()
    close(dynamics().inputs_for(q, u, udot), tau, ROUNDING * condition)
    # And by differences of the recorded motion, of second order in the time between records.
    t = run.time
    along = np.gradient(run.u, t, axis=0, edge_order=2)[5:-5]
    again = dynamics().inverse(run.q[5:-5], run.u[5:-5], along)
    np.testing.assert_allclose(again, run.inputs[5:-5], rtol=0.0, atol=2e-3 * np.abs(run.inputs).max())


def test_without_tau1_the_vertical_angular_momentum_stays_zero():
    """Eq. 138: H . n2 about A*, at the origin, differs from zero by less than 1e-9, as the paper found."""
    run = controlled(tau1=0.0)
    H = dynamics().momentum(run.q, run.u).angular[:, 1]
    others = np.abs(dynamics().momentum(run.q, run.u).angular[:, [0, 2]]).max()
    assert others > 1e-2
    assert np.abs(H).max() < 1e-9
    # The paper's own expression for it.
    for k in range(0, len(run), max(1, len(run) // 20)):
        u, _ = paper_speeds(run.q[k], run.u[k], np.zeros(6))
        assert intermediate_quantities(run.q[k], u)["W31"] == pytest.approx(H[k], abs=1e-12)


def test_the_papers_angular_momentum_is_that_of_any_motion():
    for q, u in np.random.default_rng(1).normal(size=(10, 2, 6)):
        W31 = intermediate_quantities(q, paper_speeds(q, u, np.zeros(6))[0])["W31"]
        H = dynamics().momentum(q, u).angular
        assert abs(W31 - H[1]) <= ROUNDING * np.abs(H).max() / np.sin(q[1]) ** 2


def test_fewer_operations_are_needed_than_the_papers_646_and_394():
    row = dynamics().equations.count()["inverse"]
    print(f"inverse dynamics: {row['mul']} multiplications and {row['add']} additions; the paper needs 646 and 394")
    assert row["mul"] < 646
    assert row["add"] < 394
