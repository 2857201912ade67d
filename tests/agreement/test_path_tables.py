"""Stoneking's path tables: the tables of the paper, and COEF udot = RHS in agreement with the recursive route."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.loaded_tree import EVERY_JOINT, loaded_tree
from oracles.numbers import State, close, evaluated, interpreted, mass_matrix, random_state, values_of

import kane
from kane.expression.derivative import total_time_derivative
from kane.formulation.witnesses.path_tables import path_tables
from kane.library import n_link_pendulum, random_tree, stanford_arm
from kane.library.spacecraft_tree import spacecraft_tree

# Both routes multiply the same numbers of order one, in some hundred products for each entry.
ROUNDING = 1e-12
MODELS = {
    "stanford arm": stanford_arm,
    "pendulum with parameters": lambda: n_link_pendulum(3),
    **{f"tree {seed}": lambda seed=seed: random_tree(seed, 4) for seed in range(4)},
    **{f"loaded tree {seed}": lambda seed=seed: loaded_tree(seed, 2) for seed in range(4)},
    **{f"joint {k}": lambda k=k: random_tree(k, 2, joints=EVERY_JOINT[k : k + 1]) for k in range(len(EVERY_JOINT))},
    **{f"every joint {k}": lambda k=k: loaded_tree(k, 5, joints=EVERY_JOINT) for k in range(3)},
}


def numbers(tables, equations, state):
    inputs = {leaf.name: x for leaf, x in zip(equations.inputs, state.inputs, strict=True)}
    return tables.evaluate(state.q, state.u, t=state.t, values=inputs)


@pytest.mark.parametrize("name", MODELS)
def test_path_tables_give_the_equations_of_the_recursive_route(name):
    model = MODELS[name]()
    e = kane.formulate(model)
    s = random_state(e, np.random.default_rng(7))
    found = numbers(path_tables(model), e, s)
    M = mass_matrix(e, s)
    close(found.COEF, M, ROUNDING)
    forward = evaluated(e, "forward", s)
    # RHS = M udot, whose largest term may exceed the sum.
    scale = np.abs(M).max() * np.abs(forward).sum() / np.abs(found.RHS).max()
    close(found.RHS, M @ forward, ROUNDING * (1.0 + scale) * np.linalg.cond(M))


def spacecraft(order=("G1", "G2", "G3", "G4")):
    """The tree of the paper, with a ball, a hinge and a slide for its gimbals: every kind of column."""
    m = kane.Model("craft", gravity=(0.0, 0.0, 0.0))
    B = [
        m.body(
            f"B{i + 1}", mass=1.0 + i, inertia=(0.3 + i, 0.4 + i, 0.5 + i, 0.01, 0.02, 0.03), com=(0.1, 0.2, 0.3 * i)
        )
        for i in range(5)
    ]
    turn = kane.Rotation.euler("xyz", 0.1, 0.2, 0.3)
    m.connect(m.ground, B[0], kane.Free("root"), child_at=(0.3, 0.1, 0.2), child_orientation=turn)
    joints = {
        "G1": (B[0], B[1], kane.Spherical("G1")),
        "G2": (B[0], B[2], kane.Spherical("G2")),
        "G3": (B[2], B[3], kane.Revolute("G3", axis="y")),
        "G4": (B[2], B[4], kane.Prismatic("G4", axis="x")),
    }
    for k, name in enumerate(order):
        parent, child, joint = joints[name]
        m.connect(parent, child, joint, at=(0.5, 0.1 * k, 1.0), child_at=(0.0, 0.2, 0.1))
    return m


def test_the_path_tables_are_those_of_the_paper():
    """Stoneking 2008: B1 to B5 down, B1 to B5 and (B1), G1 to G4 across."""
    expected = np.array(
        [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 0, 1, 1, 0], [1, 0, 1, 0, 1]], dtype=bool
    )
    tables = path_tables(spacecraft())
    assert tables.bodies == ("B1", "B2", "B3", "B4", "B5")
    assert tables.joints == ("root", "G1", "G2", "G3", "G4")
    np.testing.assert_array_equal(tables.body_path, expected)
    np.testing.assert_array_equal(tables.joint_path, expected)
    lines = str(tables).splitlines()
    assert lines[0] == "Is this body in the path of that body?"
    assert lines[5].split() == ["B4", "x", "x", "x"]


def test_the_tables_differ_when_joints_are_declared_in_another_order():
    """Stoneking 2008: "they differ in general. (To see this, swap the labels for G3 and G4.)" """
    tables = path_tables(spacecraft(("G1", "G2", "G4", "G3")))
    assert tables.joints == ("root", "G1", "G2", "G4", "G3")
    row = tables.bodies.index("B4")
    assert dict(zip(tables.joints, tables.joint_path[row], strict=True)) == {
        "root": True, "G1": False, "G2": True, "G3": True, "G4": False
    }  # fmt: skip
    # Bodies are listed as the walk meets them, joints as they were declared.
    assert tables.bodies[3:] == ("B5", "B4")


def test_the_papers_speeds_stand_in_the_papers_order_with_its_unit_blocks():
    m = spacecraft()
    tables = path_tables(m, speeds="paper")
    names = tables.speed_names
    assert names[:3] == ("w_NB1_x", "w_NB1_y", "w_NB1_z")
    assert names[-3:] == ("v_NB1cm_x", "v_NB1cm_y", "v_NB1cm_z")
    e = kane.formulate(m)
    s = random_state(e, np.random.default_rng(3))
    n = tables.evaluate(s.q, s.u)
    np.testing.assert_array_equal(n.Omega[:3], np.eye(3, len(names)))
    for body in range(5):
        np.testing.assert_array_equal(n.V[3 * body : 3 * body + 3, -3:], np.eye(3))
        np.testing.assert_array_equal(n.Omega[3 * body : 3 * body + 3, -3:], np.zeros((3, 3)))
    # Omega u = w holds to the round-off of a few products.
    values = interpreted(e, tables.speeds, values_of(e, s))
    close(n.Omega @ values, n.w, 1e-14)


def test_the_papers_speeds_and_the_models_describe_one_motion():
    m = spacecraft()
    e = kane.formulate(m)
    s = random_state(e, np.random.default_rng(3))
    own, paper = path_tables(m), path_tables(m, speeds="paper")
    a, b = own.evaluate(s.q, s.u), paper.evaluate(s.q, s.u)
    udot = np.linalg.solve(a.COEF, a.RHS)
    along = dict(zip((*e.q, *e.u), (*e.kinematics, *e.udot), strict=True))
    derivatives = total_time_derivative(paper.speeds, along)
    expected = interpreted(e, derivatives, values_of(e, State(s.q, s.u, udot, s.inputs, s.t)))
    close(np.linalg.solve(b.COEF, b.RHS), expected, ROUNDING * np.linalg.cond(b.COEF))


def test_a_tree_without_a_free_root_has_no_papers_speeds():
    with pytest.raises(kane.ModelError, match=r"on a kane\.Free joint"):
        path_tables(stanford_arm(), speeds="paper")


def test_a_joint_that_follows_the_root_is_refused_the_papers_speeds():
    m = spacecraft()
    tail = m.body("tail", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.bodies[1], tail, kane.Revolute(2.0 * m.connections[0].q[4]), name="tail")
    with pytest.raises(kane.ModelError, match="follows"):
        path_tables(m, speeds="paper")


def test_wrong_arguments_are_named():
    tables = path_tables(n_link_pendulum(2))
    with pytest.raises(kane.ModelError, match="3 q and 3 u"):
        tables.evaluate([0.0], [0.0])
    with pytest.raises(kane.ModelError, match="no input or parameter 'nothing'"):
        tables.evaluate([0.0] * 3, [0.0] * 3, values={"nothing": 1.0})
    with pytest.raises(kane.ModelError, match="papers"):
        path_tables(n_link_pendulum(2), speeds="papers")


def test_a_root_carried_by_bodies_without_mass_has_the_papers_tables_and_speeds():
    """The library's spacecraft slides along N and turns on a ball: its own speeds are the paper's already."""
    m = spacecraft_tree(gravity=(0.1, -0.2, 0.3))
    own, paper = path_tables(m), path_tables(m, speeds="paper")
    assert paper.bodies == ("B1", "B2", "B3", "B4", "B5")
    assert paper.joints == ("root", "G1", "G2", "G3", "G4")
    assert len(own.bodies) == 8
    e = kane.formulate(m)
    s = random_state(e, np.random.default_rng(5))
    a, b = own.evaluate(s.q, s.u), paper.evaluate(s.q, s.u)
    close(b.COEF, a.COEF, ROUNDING)
    close(b.RHS, a.RHS, ROUNDING)
    close(interpreted(e, paper.speeds, values_of(e, s)), s.u, ROUNDING)
    np.testing.assert_array_equal(b.V[:3, -3:], np.eye(3))


def test_loads_on_what_carries_the_root_are_refused_the_papers_speeds():
    m = spacecraft_tree()
    m.load(kane.Force(m.bodies[1].point(), (1.0, 0.0, 0.0)))
    with pytest.raises(kane.ModelError, match="only carries the root"):
        path_tables(m, speeds="paper")
    n = spacecraft_tree()
    n.load(kane.Motor(n.connections[0], 1.0))
    with pytest.raises(kane.ModelError, match="along a coordinate of the root"):
        path_tables(n, speeds="paper")
