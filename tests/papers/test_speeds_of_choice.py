"""The papers' choices of generalized speeds, declared as an analyst would: Gillespie 2003, Example 2; Kane & Levinson
1983, Eqs. 3 and 5-7."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from oracles.kane_levinson import intermediate_quantities
from oracles.numbers import State, close, input_matrix

import kane
from kane.expression.traverse import count_operations
from kane.formulation.quantities.programs import program
from kane.library import stanford_arm, stanford_arm_feedback, wrist, wrist_measure_numbers

# Some hundred products on each side; the paper's speeds divide by sin q2, squared in what is compared.
ROUNDING = 1e-12


def strict(equations, name):
    """Operations as Table 3 counts them: parameters are symbols like others, nothing is computed beforehand."""
    found = count_operations(program(equations, name).outputs)
    return found["mul"] + found["div"], found["add"], found["trig"]


# ---- the wrist ------------------------------------------------------------------------------------------------------


def test_the_wrist_in_measure_numbers_takes_no_more_operations_than_equations_49_and_50():
    """Table 3: 29 mul or div, 16 add, 10 sin or cos for Eq. (49); 10, 4, 9 for Eq. (50)."""
    e = kane.formulate(wrist_measure_numbers())
    assert np.all(np.array(strict(e, "forward")) <= (29, 16, 10)), strict(e, "forward")
    assert np.all(np.array(strict(e, "kinematics")) <= (10, 4, 9)), strict(e, "kinematics")


def test_the_wrist_in_rates_takes_far_fewer_than_table_3_and_more_than_in_measure_numbers():
    rates, measures = (strict(kane.formulate(m), "forward") for m in (wrist(), wrist_measure_numbers()))
    assert np.all(np.array(rates) <= (790, 285, 372))
    assert 2 * measures[0] < rates[0]
    assert 2 * measures[1] < rates[1]


def test_the_search_finds_the_papers_speeds_of_the_wrist():
    """Whatever is declared: the same measure numbers, the same table."""
    for model in (wrist(), wrist_measure_numbers()):
        best = kane.best_speeds(model)
        assert best.table[0].operations == sum(
            map(sum, (strict(found(best, model), n) for n in ("forward", "kinematics")))
        )
        assert best.table[0].fails_where == ("sin(q2) = 0",)
        assert {x.data.direction for x in best.choice.values()} == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}
        assert {(x.data.body, x.data.direction_body) for x in best.choice.values()} == {(3, 3)}


def found(best, model):
    model.speeds(**best.choice)
    return kane.formulate(model)


# ---- the Stanford Arm -----------------------------------------------------------------------------------------------


def paper_arm():
    """u_i = w_ND . d_i for i = 1, 2, 3; u4, u5, u6 are rates (Eqs. 3, 5-7)."""
    m = stanford_arm()
    D = next(body for body in m.bodies if body.name == "D")
    joint = {c.name: c for c in m.connections}
    w = D.angular_velocity
    rates = {u: joint[q].qdot for u, q in (("u4", "q4"), ("u5", "q5"), ("u6", "q6"))}
    m.speeds(u1=w.dot(D.x), u2=w.dot(D.y), u3=w.dot(D.z), **rates)
    return m


@cache
def arm():
    return kane.build(kane.formulate(paper_arm()))


@cache
def rates():
    return kane.build(kane.formulate(stanford_arm()))


def jacobian(q, qdot):
    """Y and dY/dt of u = Y qdot."""
    (s2, s3), (c2, c3), (d2, d3) = np.sin(q[1:3]), np.cos(q[1:3]), qdot[1:3]
    Y, rate = np.eye(6), np.zeros((6, 6))
    Y[:3, :3] = [[s2 * s3, c3, 0.0], [c2, 0.0, 1.0], [-s2 * c3, s3, 0.0]]
    rate[:3, :3] = [
        [c2 * s3 * d2 + s2 * c3 * d3, -s3 * d3, 0.0],
        [-s2 * d2, 0.0, 0.0],
        [-c2 * c3 * d2 + s2 * s3 * d3, c3 * d3, 0.0],
    ]
    return Y, rate


def states():
    for seed in range(5):
        random = np.random.default_rng(seed)
        q, qdot, qddot = random.normal(size=(3, 6))
        q[1] = random.uniform(0.3, 2.8)
        Y, rate = jacobian(q, qdot)
        yield q, qdot, qddot, Y, rate, random.normal(size=6)


@pytest.mark.parametrize("case", list(states()), ids=lambda case: f"q2={case[0][1]:.1f}")
def test_the_papers_speeds_agree_with_rates(case):
    q, qdot, qddot, Y, rate, tau = case
    u, udot = Y @ qdot, Y @ qddot + rate @ qdot
    bound = ROUNDING / np.sin(q[1]) ** 2
    W = np.linalg.inv(Y)
    close(arm().kinematics(q, u), qdot, bound)
    close(arm().mass_matrix(q), W.T @ rates().mass_matrix(q) @ W, bound)
    close(arm().inverse(q, u, udot), W.T @ rates().inverse(q, qdot, qddot), bound)
    # The torques of the motors are what they are, whatever the speeds.
    close(arm().inputs_for(q, u, udot), rates().inputs_for(q, qdot, qddot), bound)
    forward = rates().forward(q, qdot, tau)
    close(arm().forward(q, u, tau), Y @ forward + rate @ qdot, bound * np.linalg.cond(rates().mass_matrix(q)))
    close(arm().energy(q, u).total, rates().energy(q, qdot).total, bound)


@pytest.mark.parametrize("case", list(states()), ids=lambda case: f"q2={case[0][1]:.1f}")
def test_the_mass_matrix_in_the_papers_speeds_is_their_list_of_x(case):
    """K*_r = sum of X_rs udot_s + ..., so that X is -M."""
    q, qdot, _, Y, _, _ = case
    quantities = intermediate_quantities(q, Y @ qdot)
    X = np.array([[quantities[f"X{i}{j}"] for j in range(1, 7)] for i in range(1, 7)])
    close(arm().mass_matrix(q), -X, ROUNDING / np.sin(q[1]) ** 2)


@pytest.mark.parametrize("case", list(states()), ids=lambda case: f"q2={case[0][1]:.1f}")
def test_the_input_matrix_gives_the_torques_their_place(case):
    """M udot + bias = B tau, with B of the rates turned by the inverse of Y."""
    q, qdot, _, Y, _, tau = case
    u = Y @ qdot
    udot = arm().forward(q, u, tau)
    B = input_matrix(arm().equations, State(q, u, udot, tau))
    close(B, np.linalg.inv(Y).T, ROUNDING / np.sin(q[1]) ** 2)
    left = arm().inverse(q, u, udot)
    close(left, B @ tau, ROUNDING / np.sin(q[1]) ** 2 * np.linalg.cond(arm().mass_matrix(q)))


def test_where_the_papers_speeds_fail_is_said():
    (divisor,) = arm().equations.system.fails_where
    assert [kane.evaluate(divisor, {"q2": x}) for x in (0.0, np.pi / 2)] == pytest.approx([0.0, -1.0])


def test_the_listing_is_read_as_appendix_1_is():
    """Z1 = (u1 s3 - u3 c3) / s2 and Z2 = u1 c3 + u3 s3 give q1', q2', q3' (Eqs. 12-17); then Z by Z in order."""
    equations = arm().equations
    lines = equations.listing("kinematics").splitlines()
    assert lines[2:6] == ["Z1 = (u3*c3 - u1*s3)/sin(q2)", "q1' = -Z1", "q2' = u3*s3 + u1*c3", "q3' = u2 + Z1*cos(q2)"]
    names = [line.split(" = ")[0] for line in equations.listing("inverse").splitlines()]
    Z = [int(name[1:]) for name in names if name.startswith("Z")]
    assert list(range(1, len(Z) + 1)) == Z
    # Appendix 1 has 196 of them, and the paper counts 646 mul and 394 add, for the same torques.
    assert len(Z) < 196
    mul, add, _ = strict(equations, "inverse")
    assert (mul < 646, add < 394) == (True, True)


def test_the_feedback_laws_bring_both_to_the_target_together():
    """Eqs. 128-133, stated in coordinates and rates, in either kind of speeds: 10 s at 1 ms.

    RK4 leaves (h k)^4/120 of what decays at the rate k, some 1e2 per s for k12 and the hand, in each of some 1e2 steps.
    """
    start, target = [0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0], np.array([np.pi / 3] * 5 + [0.1])
    runs = []
    for model in (stanford_arm(), paper_arm()):
        dyn = kane.build(kane.formulate(model))
        runs.append(kane.simulate(dyn, until=10.0, q=start, inputs=stanford_arm_feedback(model), dt=1e-3))
    np.testing.assert_allclose(runs[1].q[-1], target, rtol=0.0, atol=0.05)
    np.testing.assert_allclose(runs[1].q, runs[0].q, rtol=0.0, atol=1e-6)
