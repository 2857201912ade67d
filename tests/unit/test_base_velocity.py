"""Slides whose speeds are dependent give way to the velocity of a link, and rows of wheels to shorter ones.

The embedding in numbers, which knows neither, vouches for what follows.
"""

from functools import cache

import numpy as np
import pytest
from oracles.formulated import formulated

import kane
from kane.expression.derivative import linear_coefficients
from kane.expression.interpret import interpret
from kane.expression.operations import PARAMETER
from kane.expression.traverse import count_operations, leaves
from kane.formulation.quantities.programs import written_quantity
from kane.library import whipple_bicycle

LEANT = {"roll": 0.1, "steer": 0.2}


def loaded_bicycle():
    """With masses on what slides and turns before anything leans, and loads along the slides and on what they carry."""
    m = whipple_bicycle()
    body, joint = {b.name: b for b in m.bodies}, {c.name: c for c in m.connections}
    for name, mass in (("carriage", 3.0), ("heading", 5.0)):
        m.connect(
            body[name], m.body(f"on {name}", mass=mass, inertia=(0.1, 0.2, 0.3), com=(0.1, 0.2, 0.3)), kane.Weld()
        )
    m.load(kane.Spring(joint["heave"], 200.0, -0.2))
    m.load(kane.Force(body["heading"].point((0.1, 0.0, 0.2)), (3.0, m.input("push", default=1.0), 2.0)))
    m.load(kane.Motor(joint["steer"], m.input("hands", default=0.3)))
    return m


@cache
def near_a_state(make):
    """Equations near a state that leans."""
    numbers = formulated(make)
    return kane.formulate(numbers.model, near=kane.assemble(numbers, q=LEANT, fixed=["roll", "steer"]))


@pytest.fixture(
    params=[pytest.param(whipple_bicycle, marks=pytest.mark.slow), loaded_bicycle], ids=lambda make: make.__name__
)
def both(request):
    """Equations in numbers, and near a state."""
    return formulated(request.param), near_a_state(request.param)


def states(dyn, count=4):
    rng = np.random.default_rng(5)
    held = ["roll", "steer", "yaw", "x", "y", "roll_dot", "steer_dot", "rear_dot"]
    for _ in range(count):
        angles = dict(zip(held[:5], 0.3 * rng.normal(size=5), strict=True))
        speeds = dict(zip(held[5:], rng.normal(size=3), strict=True))
        yield kane.assemble(dyn, q=angles, u=speeds, fixed=held)


def test_accelerations_and_the_forces_that_they_need_are_those_embedded_in_numbers(both):
    numbers, near = both
    assert near.based is not None
    ours, theirs = kane.build(near), kane.build(numbers)
    independent = [j for j in range(len(near.u)) if j not in near.embedding.D]
    inputs = np.array([near.defaults[leaf.name] for leaf in near.inputs])
    for at in states(theirs):
        udot, expected = (dyn.forward(at.q, at.u, inputs) for dyn in (ours, theirs))
        np.testing.assert_allclose(udot, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
        needed = (ours.mass_matrix(at.q) @ udot + ours.bias(at.q, at.u))[independent]
        scale = np.abs(ours.bias(at.q, at.u)).max()
        np.testing.assert_allclose(needed, ours.inverse(at.q, at.u, udot)[independent], rtol=0, atol=1e-12 * scale)


def test_m_and_bias_of_a_bicycle_are_free_of_where_it_heads_and_take_few_operations():
    """SymPy's M and f take 1489 multiplications and 953 additions together."""
    near = near_a_state(whipple_bicycle)
    outputs = [*written_quantity(near, "mass_matrix").outputs, *written_quantity(near, "bias").outputs]
    assert {"x", "y", "yaw", "heave"}.isdisjoint(leaf.name for leaf in leaves(outputs))
    found = count_operations(outputs, free=(PARAMETER,))
    assert (found["mul"] < 600, found["add"] < 400, found["div"] <= 8) == (True,) * 3, found


def test_slides_that_stay_independent_keep_their_speeds():
    numbers = formulated(whipple_bicycle)
    near = kane.formulate(numbers.model, near=kane.assemble(numbers, q=LEANT, fixed=["x", "roll", "steer"]))
    assert "x_dot" not in [leaf.name for leaf in near.embedding.u]
    assert near.based is None


def test_rows_of_a_wheel_that_eliminate_allow_the_motions_of_those_that_react():
    """At states off the constraints too: six rows, and six more that say nothing new."""
    equations = formulated(whipple_bicycle)
    rows = equations.constraints
    motions = linear_coefficients([row.motion for row in rows], equations.u)[0]
    others = linear_coefficients([row.motion if row.instead is None else row.instead for row in rows], equations.u)[0]
    rng = np.random.default_rng(2)
    for _ in range(3):
        at = dict(zip(equations.q, rng.uniform(-1, 1, len(equations.q)), strict=True))
        A, B = (np.array(interpret([x for row in m for x in row], at)).reshape(6, -1) for m in (motions, others))
        sizes = np.linalg.svd(np.vstack([A, B]), compute_uv=False)
        assert np.linalg.matrix_rank(B) == 6
        assert sizes[6] < 1e-13 * sizes[0]
