"""The Coriolis matrix: vouched for by the derivative of M, by the bias, and by what a user may choose of speeds."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import robots
from oracles.numbers import random_state, values_of

import kane
from kane.errors import ModelError
from kane.expression.derivative import total_time_derivative
from kane.expression.interpret import interpret
from kane.library.random_tree import random_tree


def arm_in_measure_numbers():
    m = kane.Model("arm", gravity=(0.1, 0.2, -9.81))
    A = m.body("A", mass=2.0, inertia=(0.1, 0.2, 0.15), com=(0.1, 0.0, 0.2))
    B = m.body("B", mass=m.parameter("mB", 1.5), inertia=(0.05, 0.04, 0.03), com=(0.0, 0.1, 0.0))
    j1 = m.connect(m.ground, A, kane.Revolute("q1", axis=(1.0, 2.0, 0.5)))
    j2 = m.connect(A, B, kane.Revolute("q2", axis="x"))
    m.load(kane.Spring(j2, 20.0))
    m.speeds(v1=B.angular_velocity.dot(B.y) + 0.5 * j1.qdot, v2=j2.qdot)
    return m


def four_bar_near():
    model = kane.library.four_bar()
    return kane.formulate(model, near=kane.assemble(kane.formulate(model)))


EQUATIONS = {
    "Stanford Arm": lambda: kane.formulate(kane.library.stanford_arm()),
    "ANYmal": lambda: kane.formulate(robots.anymal()),
    "tree of all joints": lambda: kane.formulate(random_tree(4, 6)),
    "chosen speeds": lambda: kane.formulate(arm_in_measure_numbers()),
    "rolling coin": lambda: kane.formulate(kane.library.rolling_coin()),
    "four-bar near a state": four_bar_near,
}
# Some hundred products of numbers that cancel.
ROUNDING = 1e-12


@pytest.mark.parametrize("which", EQUATIONS)
def test_the_derivative_of_the_mass_matrix_is_the_coriolis_matrix_and_its_transpose(which):
    e = EQUATIONS[which]()
    state, n = random_state(e, np.random.default_rng(1)), len(e.u)
    rates = dict(zip(e.q, e.kinematics, strict=True))
    flat = [x for row in e.mass_matrix for x in row]
    values = values_of(e, state)
    M_dot = np.array(interpret(total_time_derivative(flat, rates), values), float).reshape(n, n)
    C = np.array(interpret([x for row in e.coriolis_matrix for x in row], values), float).reshape(n, n)
    assert np.abs(C).max() > 1e-6
    np.testing.assert_allclose(M_dot, C + C.T, rtol=0, atol=ROUNDING * np.abs(C).max())


@pytest.mark.parametrize("which", EQUATIONS)
def test_bias_without_loads_is_coriolis_times_speeds_and_the_gravity_vector(which):
    e = EQUATIONS[which]()
    model = e.model
    model.loads[:] = []
    e = kane.formulate(model, near=model.speed_choice.near) if which.startswith("four") else kane.formulate(model)
    state, n = random_state(e, np.random.default_rng(2)), len(e.u)
    values = values_of(e, state)
    u = np.array(interpret([e.embedding.u.get(x, x) for x in e.u], values), float)
    C = np.array(interpret([x for row in e.coriolis_matrix for x in row], values), float).reshape(n, n)
    gravity = np.array(interpret(e.gravity_vector, values), float)
    bias = np.array(interpret(e.bias, values), float)
    np.testing.assert_allclose(C @ u + gravity, bias, rtol=0, atol=ROUNDING * max(1.0, np.abs(bias).max()))


def test_both_are_programs_and_print():
    e = kane.formulate(kane.library.n_link_pendulum(1))
    assert "C_1_2" in e.listing("coriolis_matrix")
    assert "f_u2" in e.listing("gravity_vector")
    dyn = kane.build(e)
    C = dyn.evaluate(dyn.function("coriolis_matrix"), [0.0, 0.4], [0.0, 2.0]).reshape(2, 2)
    # m l u2^2 sin q2 pushes the cart against x.
    np.testing.assert_allclose(C, [[0.0, -np.sin(0.4) * 2.0], [0.0, 0.0]], atol=1e-15)


def test_where_constraints_are_embedded_in_numbers_there_is_none():
    with pytest.raises(ModelError, match="there are no expressions"):
        _ = kane.formulate(kane.library.four_bar()).coriolis_matrix
