"""Speeds of choice, the search for the best and those that decouple: what they promise, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.general_arm import general_arm
from oracles.numbers import close, mass_matrix, random_state

import kane
from kane.expression.functions import sin
from kane.library import chain, n_link_pendulum, random_tree, stanford_arm

# Entries of M are sums of some hundred products, which cancel where speeds decouple.
ROUNDING = 1e-12


def wrist():
    """Three turning joints at one point, two of the bodies without mass; every datum a parameter."""
    m = kane.Model("wrist", gravity=(-9.81, 0.0, 0.0))
    M, L, I1, I2, I3 = (m.parameter(*p) for p in dict(M=2.0, L=0.2, I1=0.03, I2=0.04, I3=0.02).items())
    A, B = m.body("A", mass=0.0), m.body("B", mass=0.0)
    C = m.body("C", mass=M, inertia=(I1, I2, I3), com=(0.0, 0.0, L))
    for k, (parent, child) in enumerate(((m.ground, A), (A, B), (B, C))):
        m.connect(parent, child, kane.Revolute(f"q{k + 1}", axis="zyz"[k]))
    return m


def total(equations):
    """Operations of qdot and udot by the table of counts."""
    table = equations.count()
    return sum(sum(table[name].values()) for name in ("forward", "kinematics"))


def in_choice(make, choice):
    m = make()
    m.speeds(**choice(m))
    return kane.formulate(m)


MODELS = {
    "wrist": wrist,
    "stanford arm": stanford_arm,
    "general 6R": lambda: general_arm(6),
    "chain": lambda: chain(4),
    "pendulum": lambda: n_link_pendulum(3),
    "tree of every joint": lambda: random_tree(3, 4),
    "free body": lambda: random_tree(0, 1, joints=(lambda name, axis: kane.Free(name),)),
}


# ---- the search -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [pytest.param(x, marks=pytest.mark.slow) if x == "general 6R" else x for x in MODELS])
def test_the_best_speeds_are_never_worse_than_the_joints_own(name):
    """The joints' own are declared like the others: sums are collected in the order of the nodes, which declaring alone
    may change by an operation."""
    m = MODELS[name]()
    best = kane.best_speeds(m)
    assert best.table[0].operations <= best.own.operations
    m.speeds(**best.choice)
    assert total(kane.formulate(m)) <= best.own.operations


def test_the_best_speeds_of_a_wrist_are_measure_numbers_of_its_body():
    """Gillespie 2003, Example 2: along axes of C, and sin q2 = 0 is singular."""
    best = kane.best_speeds(wrist())
    assert list(best.choice) == ["w_NC_C_x", "w_NC_C_y", "w_NC_C_z"]
    assert best.table[0].fails_where == ("sin(q2) = 0",)
    assert 1.5 * best.table[0].operations < best.own.operations
    assert best.own.names == ("u1", "u2", "u3")


def test_the_counts_of_the_table_are_those_of_the_equations():
    """Where nothing depends on parameters alone, the strict rule of the table is that of ``count_operations``."""
    for row in kane.best_speeds(stanford_arm()).table[:5]:
        m = stanford_arm()
        m.speeds(**{name: twin(m, x) for name, x in row.choice.items()})
        counted = kane.formulate(m).count()
        assert {name: dict(row.counts[name]) for name in row.counts} == {name: counted[name] for name in row.counts}


def twin(model, expression):
    """The same leaf in another model."""
    return model.arena.leaf(expression.op, expression.data)


def test_a_parameter_counts_as_a_symbol():
    m = kane.Model("slider")
    a, b = m.parameter("a", 1.0), m.parameter("b", 2.0)
    joint = m.connect(m.ground, m.body("B", mass=a * b + a), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(joint, m.input("F")))
    counts = kane.best_speeds(m).own.counts["forward"]
    assert sum(counts.values()) >= 2
    assert counts["add"] == 1


def test_the_search_leaves_the_model_as_it_was():
    m, untouched = chain(4), chain(4)
    m.speeds(**{f"v{k}": c.qdot for k, c in enumerate(m.connections)})
    untouched.speeds(**{f"v{k}": c.qdot for k, c in enumerate(untouched.connections)})
    before, nodes = m.speed_choice, len(m.arena)
    best = kane.best_speeds(m)
    assert (m.speed_choice, len(m.arena)) == (before, nodes)
    assert dict(kane.formulate(m).count()) == dict(kane.formulate(untouched).count())
    assert ("v0", "v1", "v2", "v3") in [row.names for row in best.table]


def test_speeds_that_do_not_span_stand_in_the_table_last_and_say_so():
    """Three parallel axes give one direction of angular velocity, not three."""
    table = kane.best_speeds(n_link_pendulum(3)).table
    dependent = [row for row in table if row.operations is None]
    assert dependent
    assert table[-len(dependent) :] == tuple(dependent)
    assert all(row.fails_where == ("in every state",) for row in dependent)


def test_the_table_prints_with_the_best_first():
    text = str(kane.best_speeds(wrist()))
    head, _, _, first = text.splitlines()[:4]
    assert head.startswith("speeds of 'wrist': ")
    assert "with the joints' own, u1, u2, u3" in head
    assert first.endswith("w_NC_C_x, w_NC_C_y, w_NC_C_z; fails where sin(q2) = 0")


def test_names_that_are_taken_are_not_given_to_speeds():
    m = wrist()
    m.input("w_NC_C_x")
    choice = kane.best_speeds(m).choice
    assert list(choice) == ["w_NC_C_x_", "w_NC_C_y", "w_NC_C_z"]
    m.speeds(**choice)
    kane.formulate(m)


def test_what_formulate_refuses_the_search_refuses():
    m = chain(2)
    m.body("loose", mass=1.0)
    with pytest.raises(kane.ModelError, match="are not connected to the ground: loose"):
        kane.best_speeds(m)
    with pytest.raises(kane.ModelError, match=r"takes a kane\.Model, not 3"):
        kane.best_speeds(3)


def test_constraints_are_counted_as_a_simulation_meets_them():
    """Embedded on the graph: qdot and udot. In numbers: the rows and the equations before them."""
    m = chain(3)
    a, b, c = m.connections
    m.constrain(a.qdot - 2.0 * b.qdot)
    best = kane.best_speeds(m)
    assert best.table[0].operations <= best.own.operations
    assert set(best.own.counts) == {"forward", "inverse", "kinematics"}
    m.constrain(sin(a.q) * b.qdot - sin(b.q) * c.qdot)
    assert set(kane.best_speeds(m).own.counts) == {"constraints", "unconstrained"}


# ---- decoupling -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_decoupling_speeds_make_the_mass_matrix_diagonal_everywhere(name):
    e = in_choice(MODELS[name], kane.decoupling_speeds)
    free = kane.formulate(MODELS[name]())
    random = np.random.default_rng(1)
    for _ in range(3):
        s = random_state(e, random)
        D = mass_matrix(e, s)
        np.testing.assert_array_equal(D, np.diag(np.diag(D)))
        # L has ones on its diagonal, so that D has the determinant of M; and D is positive.
        M = mass_matrix(free, s)
        assert np.log(np.diag(D)).sum() == pytest.approx(np.linalg.slogdet(M)[1], abs=ROUNDING * np.linalg.cond(M))
    assert e.system.fails_where == ()


@pytest.mark.parametrize("name", ["wrist", "stanford arm", "tree of every joint"])
def test_decoupling_speeds_of_a_state_decouple_there_and_not_elsewhere(name):
    free = kane.formulate(MODELS[name]())
    random = np.random.default_rng(2)
    s, other = random_state(free, random), random_state(free, random)
    e = in_choice(MODELS[name], lambda m: kane.decoupling_speeds(m, q=s.q, t=s.t))
    M = mass_matrix(e, s)
    close(M, np.diag(np.diag(M)), ROUNDING * np.linalg.cond(mass_matrix(free, s)))
    M = mass_matrix(e, other)
    assert np.abs(M - np.diag(np.diag(M))).max() > 1e-3 * np.abs(M).max()


def test_a_state_may_be_given_by_names():
    m = wrist()
    by_name = kane.decoupling_speeds(m, q={"q3": 0.3, "q1": 0.1, "q2": 0.2})
    assert by_name == kane.decoupling_speeds(m, q=[0.1, 0.2, 0.3])


def test_decoupling_speeds_have_the_units_of_the_joints_own_and_their_number():
    names = list(kane.decoupling_speeds(stanford_arm()))
    assert names == ["u1", *(f"u{k}_decoupled" for k in range(2, 7))]


BAD_STATES = {
    "q must be 3 finite numbers, for q1, q2, q3": [[1.0, 2.0], [1.0, 2.0, np.nan], "abc", 3.0],
    "q has no value for q2, q3": [{"q1": 1.0}],
    "there is no coordinate 'q7'; known are q1, q2, q3": [{"q7": 1.0}],
}


@pytest.mark.parametrize(("message", "q"), [(m, q) for m, given in BAD_STATES.items() for q in given], ids=str)
def test_a_bad_state_is_refused(message, q):
    with pytest.raises(kane.ModelError, match=message):
        kane.decoupling_speeds(chain(3), q=q)


def test_constraints_couple_again_and_are_refused():
    m = chain(3)
    m.constrain(m.connections[0].qdot - m.connections[1].qdot)
    with pytest.raises(kane.ModelError, match="'chain3' has constraints, which couple"):
        kane.decoupling_speeds(m)
    with pytest.raises(kane.ModelError, match="not None"):
        kane.decoupling_speeds(None)


# ---- bad input ------------------------------------------------------------------------------------------------------


def leaves_of(m):
    return (*(c.qdot for c in m.connections), m.bodies[1])


REFUSED = {
    "one rate of three": (
        lambda m, a, b, c, B: dict(x=a),
        r"the speed x does not span the motion: u2, u3 can change while it is zero; define 2 more",
    ),
    "two of three": (
        lambda m, a, b, c, B: dict(x=a, y=a + b),
        r"the speeds x, y do not span the motion: u3 can .* all of them are zero; define 1 more",
    ),
    "one twice": (lambda m, a, b, c, B: dict(x=a, y=2.0 * a, z=c), "the speeds x, y depend on each other"),
    "four of three": (lambda m, a, b, c, B: dict(x=a, y=b, z=c, w=c), "the speeds z, w depend on each other"),
    "what is always zero": (
        lambda m, a, b, c, B: dict(x=a, y=b, z=B.angular_velocity.dot(B.y)),
        "the speed 'z' does not depend on the motion",
    ),
    "a product of rates": (lambda m, a, b, c, B: dict(x=a, y=b, z=c * b), r"'z' is not linear .*u2\*u3"),
    "a sine of a rate": (lambda m, a, b, c, B: dict(x=a, y=b, z=sin(c)), r"'z' is not linear .*sin\(u3\)"),
    "a number": (lambda m, a, b, c, B: dict(x=a, y=b, z=3.0), "'z' is the number 3.0; give an expression of rates"),
    "a word": (lambda m, a, b, c, B: dict(x=a, y=b, z="c"), "'z' must be a number or an expression of this model"),
    "a vector": (lambda m, a, b, c, B: dict(x=a, y=b, z=B.angular_velocity), "'z' must be .* not B1.angular_velocity"),
    "a coordinate": (lambda m, a, b, c, B: dict(x=a, y=b, z=m.connections[2].q), "no velocity: q3 is not a speed"),
    "a position": (
        lambda m, a, b, c, B: dict(x=a, y=b, z=B.point((0, 0, 1)).position.dot(m.ground.x)),
        "the speed 'z' does not depend on the motion",
    ),
    "an input": (lambda m, a, b, c, B: dict(x=a, y=b, z=c * m.input("f")), "the speed 'z' depends on f"),
    "another model's": (lambda m, a, b, c, B: dict(x=a, y=b, z=chain(3).connections[2].qdot), "of another model"),
    "the name of a coordinate": (lambda m, a, b, c, B: dict(x=a, y=b, q1=c), "the name 'q1' of a speed is .* taken"),
    "the name of an input": (lambda m, a, b, c, B: dict(x=a, y=b, tau1=c), "the name 'tau1' of a speed is .* taken"),
    "the name of time": (lambda m, a, b, c, B: dict(x=a, y=b, t=c), "the name 't' of a speed is .* taken"),
    "an unknown dependent speed": (lambda m, a, b, c, B: dict(x=a, y=b, z=c, dependent=["v"]), "no speed 'v'"),
    "a dependent word": (lambda m, a, b, c, B: dict(x=a, y=b, z=c, dependent="z"), "give a list of names of speeds"),
    "a dependent speed twice": (lambda m, a, b, c, B: dict(x=a, y=b, z=c, dependent=["z", "z"]), "named twice"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_speeds_that_cannot_be_meant_are_refused_before_anything_is_compiled(name):
    make, message = REFUSED[name]
    m = chain(3)
    given = make(m, *leaves_of(m))
    if "dependent" in given:
        m.constrain(m.connections[0].qdot - m.connections[1].qdot)
    before = m.speed_choice
    with pytest.raises(kane.ModelError, match=message):
        declare(m, given)
    assert m.speed_choice is before or m.speed_choice.definitions.keys() == given.keys() - {"dependent"}


def declare(model, given):
    model.speeds(**given)
    kane.formulate(model)


def test_names_of_the_joints_own_speeds_may_be_given_to_others():
    m = chain(3)
    a, b, c = m.connections
    m.speeds(u3=a.qdot, u1=b.qdot, u2=c.qdot)
    e = kane.formulate(m)
    assert [u.name for u in e.u] == ["u3", "u1", "u2"]
    found = kane.build(e).kinematics(np.zeros(3), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(found, [1.0, 2.0, 3.0])


def test_no_speeds_mean_the_joints_own_again():
    m = chain(3)
    m.speeds(**{f"v{k}": 2.0 * c.qdot for k, c in enumerate(m.connections)})
    m.speeds()
    assert [u.name for u in kane.formulate(m).u] == ["u1", "u2", "u3"]
