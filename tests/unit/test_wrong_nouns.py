"""What is given the wrong thing says its own name and what it takes."""

import numpy as np
import pytest

import kane
from kane.errors import ModelError


@pytest.fixture
def pendulum():
    m = kane.Model("pendulum", gravity=(0, -9.81, 0))
    bob = m.body("bob", mass=1.0, com=(0, -0.5, 0))
    m.load(kane.Motor(m.connect(m.ground, bob, kane.Revolute("q1", axis="z")), m.input("tau", default=0.0)))
    return m


def test_functions_of_models_name_themselves(pendulum):
    dyn = kane.build(kane.formulate(pendulum))
    for function in (kane.certify, kane.power_ledger, kane.formulate):
        with pytest.raises(ModelError, match=f"{function.__name__} takes a kane.Model"):
            function(dyn)


def test_arrays_are_shown_by_their_shapes(pendulum):
    dyn, rows = kane.build(kane.formulate(pendulum)), np.zeros((500, 1))
    with pytest.raises(ModelError, match=r"Measurements.*, not \(an array of shape \(500,\), an array") as caught:
        kane.identify(dyn, (rows[:, 0], rows, rows), ["M"])
    assert len(str(caught.value)) < 200


def test_input_functions_take_t_q_and_u(pendulum):
    dyn = kane.build(kane.formulate(pendulum))
    for wrong in (lambda t: 0.0, lambda t, q, u, more: 0.0):
        for inputs in (wrong, {"tau": wrong}):
            with pytest.raises(ModelError, match=r"give a function of three arguments, \(t, q, u\)"):
                kane.simulate(dyn, until=0.1, inputs=inputs)
    for right in (lambda *state: 0.0, lambda t, q, u, gain=1.0: 0.0):
        kane.simulate(dyn, until=0.1, inputs={"tau": right})


def test_the_opposite_of_a_direction_is_one_and_multiples_are_refused(pendulum):
    ground = pendulum.ground
    assert -ground.x == ground.direction((-1.0, 0.0, 0.0))
    assert repr(-ground.x) == "ground.direction((-1, 0, 0))"
    for wrong in (lambda: 2 * ground.x, lambda: ground.x * 2.0, lambda: np.float64(2.0) * ground.x):
        with pytest.raises(ModelError, match=r"write ground\.direction\(\(x, y, z\)\)"):
            wrong()


def test_where_there_are_no_names_a_wrong_one_is_told_so():
    m = kane.Model("free")
    m.connect(m.ground, m.body("b", mass=1.0), kane.Prismatic("x", axis="x"))
    with pytest.raises(kane.ModelError, match="no input 'nope'; there are none"):
        kane.simulate(kane.build(kane.formulate(m)), until=1.0, inputs={"nope": 1.0})
