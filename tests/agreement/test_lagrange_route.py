"""The certificate's witness: Lagrange's equations with all loads agree with the recursive route."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.loaded_tree import EVERY_JOINT, loaded_tree
from oracles.numbers import close, evaluated, input_matrix, interpreted, mass_matrix, random_state, values_of

import kane
from kane.formulation.witnesses.lagrange import lagrange
from kane.library import n_link_pendulum, random_tree, stanford_arm

# Derivatives on the graph are exact; some thousand products of numbers of order one on Lagrange's side.
ROUNDING = 1e-11
MODELS = {
    "stanford arm": stanford_arm,
    "pendulum with parameters": lambda: n_link_pendulum(3),
    **{f"tree {seed}": lambda seed=seed: random_tree(seed, 4) for seed in range(4)},
    **{f"loaded tree {seed}": lambda seed=seed: loaded_tree(seed, 2) for seed in range(4)},
    **{f"joint {k}": lambda k=k: random_tree(k, 2, joints=EVERY_JOINT[k : k + 1]) for k in range(len(EVERY_JOINT))},
    **{f"every joint {k}": lambda k=k: loaded_tree(k, 5, joints=EVERY_JOINT) for k in range(3)},
}


@pytest.mark.parametrize("name", MODELS)
def test_lagranges_equations_with_all_loads_are_those_of_the_recursive_route(name):
    model = MODELS[name]()
    e, found = kane.formulate(model), lagrange(model)
    assert (found.q, found.u, found.udot) == (e.q, e.u, e.udot)
    s = random_state(e, np.random.default_rng(7))
    values, n = values_of(e, s), len(e.u)
    M = interpreted(e, [x for row in found.mass_matrix for x in row], values).reshape(n, n)
    close(M, mass_matrix(e, s), ROUNDING)
    for what in ("inverse", "bias"):
        close(interpreted(e, getattr(found, what), values), evaluated(e, what, s), ROUNDING)
    if e.inputs:
        close(interpreted(e, found.input_forces, values), input_matrix(e, s) @ s.inputs, ROUNDING)


@pytest.mark.parametrize("name", ["stanford arm", "tree 1", "loaded tree 1"])
def test_lagranges_kinetic_energy_is_that_of_the_recursive_route(name):
    model = MODELS[name]()
    e, found = kane.formulate(model), lagrange(model)
    s = random_state(e, np.random.default_rng(2))
    close(interpreted(e, found.energy[:1], values_of(e, s)), evaluated(e, "energy", s)[:1], ROUNDING)


def test_a_body_that_hangs_on_nothing_is_named():
    m = kane.Model("loose")
    a, b = m.body("a", mass=1.0), m.body("b", mass=1.0)
    m.connect(a, b, kane.Revolute("q1"))
    with pytest.raises(kane.ModelError, match="'a' hangs on nothing"):
        lagrange(m)
