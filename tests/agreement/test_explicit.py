"""The explicit route gives the equations of the recursive one, on trees with every joint and load."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.loaded_tree import EVERY_JOINT, loaded_tree
from oracles.numbers import close, evaluated, input_matrix, mass_matrix, random_state

import kane
from kane.codegen.programs.program import Program
from kane.formulation.formulate import explicit
from kane.formulation.quantities.programs import program
from kane.library import chain, n_link_pendulum, random_tree, stanford_arm

# Both routes multiply the same numbers of order one, in some hundred products for each entry; neither differentiates.
ROUNDING = 1e-12
MODELS = {
    "stanford arm": stanford_arm,
    "pendulum with parameters": lambda: n_link_pendulum(3),
    "chain of crossing axes": lambda: chain(5),
    **{f"tree {seed}": lambda seed=seed: random_tree(seed, 4) for seed in range(4)},
    **{f"loaded tree {seed}": lambda seed=seed: loaded_tree(seed, 2) for seed in range(4)},
    **{f"joint {k}": lambda k=k: random_tree(k, 2, joints=EVERY_JOINT[k : k + 1]) for k in range(len(EVERY_JOINT))},
    **{f"every joint {k}": lambda k=k: loaded_tree(k, 5, joints=EVERY_JOINT) for k in range(3)},
}


@pytest.mark.parametrize("name", MODELS)
def test_the_explicit_route_gives_the_equations_of_the_recursive_one(name):
    e = kane.formulate(MODELS[name]())
    x, s = explicit(e), random_state(e, np.random.default_rng(7))
    M = mass_matrix(e, s)
    close(mass_matrix(x, s), M, ROUNDING)
    for what in ("inverse", "bias"):
        close(evaluated(x, what, s), evaluated(e, what, s), ROUNDING)
    close(evaluated(x, "forward", s), evaluated(e, "forward", s), ROUNDING * np.linalg.cond(M))


@pytest.mark.parametrize("name", ["stanford arm", "tree 3"])
def test_the_input_matrix_of_the_explicit_route_is_that_of_the_recursive_one(name):
    e = kane.formulate(MODELS[name]())
    s = random_state(e, np.random.default_rng(8))
    close(input_matrix(explicit(e), s), input_matrix(e, s), ROUNDING)


def test_a_large_tree_keeps_each_body_in_its_own_axes_and_agrees():
    e = kane.formulate(random_tree(5, 8, joints=(lambda name, axis: kane.Free(name),)))
    x, s = explicit(e), random_state(e, np.random.default_rng(9))
    assert [b[1] for b in x.route.velocities.bases] == list(range(9))
    close(evaluated(x, "bias", s), evaluated(e, "bias", s), ROUNDING)
    close(mass_matrix(x, s), mass_matrix(e, s), ROUNDING)


def test_inputs_replaced_by_controllers_act_on_the_explicit_route_too():
    model = n_link_pendulum(2)
    joint = model.connections[0]
    tau = model.input("control")
    model.load(kane.Motor(joint, tau))
    e = kane.substitute(kane.formulate(model), control=-2.0 * joint.q - 0.3 * joint.qdot)
    s = random_state(e, np.random.default_rng(1))
    close(evaluated(explicit(e), "bias", s), evaluated(e, "bias", s), ROUNDING)
    free = kane.formulate(model)
    assert not np.allclose(
        evaluated(e, "bias", s), evaluated(free, "bias", random_state(free, np.random.default_rng(1)))
    )


def test_parameters_substituted_for_good_are_so_on_the_explicit_route():
    e = kane.formulate(n_link_pendulum(3))
    baked = explicit(kane.substitute(e, **dict(e.defaults)))
    s = random_state(baked, np.random.default_rng(2))
    assert (baked.parameters, baked.inputs) == ((), ())
    close(evaluated(baked, "inverse", s), evaluated(kane.substitute(e, **dict(e.defaults)), "inverse", s), ROUNDING)


def test_explicit_equations_are_built_like_any_others():
    e = kane.formulate(stanford_arm())
    x = explicit(stanford_arm())
    s = random_state(e, np.random.default_rng(3))
    ours, theirs = kane.build(x), kane.build(e)
    close(ours.inverse(s.q, s.u, s.udot), theirs.inverse(s.q, s.u, s.udot), ROUNDING)
    close(ours.forward(s.q, s.u, s.inputs), theirs.forward(s.q, s.u, s.inputs), ROUNDING * 1e3)
    assert x.system is not e.system


def test_what_is_substituted_in_explicit_equations_leaves_them_explicit():
    x = kane.substitute(explicit(n_link_pendulum(2)), m=3.0)
    assert x.route.name == "explicit"
    assert "explicit route" in repr(x)
    e = kane.substitute(kane.formulate(n_link_pendulum(2)), m=3.0)
    s = random_state(e, np.random.default_rng(4))
    close(evaluated(x, "bias", s), evaluated(e, "bias", s), ROUNDING)


def test_the_mass_matrix_of_the_explicit_route_is_symmetric_node_by_node():
    M = explicit(stanford_arm()).mass_matrix
    assert all(M[i][j] is M[j][i] for i in range(6) for j in range(6))


def test_a_load_that_is_not_linear_in_the_inputs_is_refused_an_input_matrix():
    model = n_link_pendulum(2)
    tau = model.input("tau")
    model.load(kane.Motor(model.connections[0], tau * tau))
    with pytest.raises(kane.ModelError, match="not linear"):
        _ = explicit(model).input_matrix


def operations(equations):
    """Of mass matrix and bias together: mul, add."""
    n, e = len(equations.u), equations
    entries = [e.mass_matrix[i][j] for i in range(n) for j in range(i + 1)]
    found = Program("both", [*entries, *e.bias], state=(e.t, *e.q, *e.u), rest=(), parameters=e.parameters).count()
    return found["mul"], found["add"]


def test_the_stanford_arm_takes_fewer_operations_than_published():
    """SymPy's KanesMethod with cse: 953/484 for M and f. Kane & Levinson, with other speeds: 646/394 for torques."""
    x = explicit(stanford_arm())
    mul, add = operations(x)
    assert (mul <= 331, add <= 208) == (True, True)  # measured; it may only become less
    inverse = program(x, "inverse").count()
    assert (inverse["mul"] <= 196, inverse["add"] <= 140) == (True, True)


def test_the_mass_centres_of_the_stanford_arms_hand_are_written_in_the_papers_basis():
    """Kane & Levinson 1983, Eqs. 34, 40, 42: D* along c, E* and F* along e."""
    x = explicit(stanford_arm())
    names = [m.body.name for m in x.tree.members]
    basis = {names[k]: names[X] for k, (_, X) in enumerate(x.route.velocities.bases)}
    assert [basis[name] for name in "DEF"] == ["C", "E", "E"]
