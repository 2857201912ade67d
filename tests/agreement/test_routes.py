"""Different routes to the same equations agree: composite and articulated inertias, base parameters and plain ones."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.numbers import close, evaluated, input_matrix, interpreted, mass_matrix, random_state, values_of

import kane
from kane.expression.functions import sin
from kane.expression.operations import COORDINATE
from kane.formulation.recursive.articulated import articulated_forward
from kane.formulation.recursive.composite import mass_matrix as composite_mass_matrix
from kane.formulation.recursive.composite import natural_mass_matrix
from kane.formulation.recursive.inverse import inverse_dynamics
from kane.library import chain, n_link_pendulum, random_tree, stanford_arm

# Some hundred products of numbers of order one on each route.
ROUNDING = 1e-12
MODELS = {
    "tree 1": lambda: random_tree(1, 3),
    "tree 2": lambda: random_tree(2, 5),
    "tree 3": lambda: random_tree(3, 7),
    "stanford arm": stanford_arm,
    "chain": lambda: chain(5),
    "pendulum": lambda: n_link_pendulum(3),
}


@pytest.fixture(params=MODELS, ids=str)
def equations(request):
    return kane.formulate(MODELS[request.param]())


@pytest.fixture
def state(equations):
    return random_state(equations, np.random.default_rng(9))


def test_base_parameters_change_neither_inverse_dynamics_nor_mass_matrix(equations, state):
    values = values_of(equations, state)
    plain = equations.system
    for what in (
        lambda s: inverse_dynamics(s, s.speeds.udot, {}),
        lambda s: list(composite_mass_matrix(s, natural_mass_matrix(s)).values()),
    ):
        ours, theirs = what(plain.regrouped()), what(plain)
        assert len(ours) == len(theirs)
        close(interpreted(equations, ours, values), interpreted(equations, theirs, values), ROUNDING)


def test_base_parameters_differ_from_the_plain_ones(equations):
    assert equations.system.regrouped().masses != equations.system.masses


def test_composite_and_articulated_inertias_give_one_acceleration(equations, state):
    M = mass_matrix(equations, state)
    both = [equations.route.composite(), equations.route.articulated()]
    values = values_of(equations, state)
    first, second = (interpreted(equations, x, values) for x in both)
    close(first, second, ROUNDING * np.linalg.cond(M))
    expected = np.linalg.solve(M, input_matrix(equations, state) @ state.inputs - evaluated(equations, "bias", state))
    close(first, expected, ROUNDING * np.linalg.cond(M))


def test_articulated_inertias_do_not_care_for_base_parameters(equations, state):
    values = values_of(equations, state)
    none = [((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))] * len(equations.system.links)
    efforts = [equations.system.arena.constant(1.0 + k) for k in range(len(equations.system.speeds.C))]
    plain, regrouped = (
        interpreted(equations, articulated_forward(s, efforts, none), values)
        for s in (equations.system, equations.system.regrouped())
    )
    close(plain, regrouped, ROUNDING * np.linalg.cond(mass_matrix(equations, state)))


def test_columns_of_the_mass_matrix_are_differences_of_inverse_dynamics(equations, state):
    n = len(equations.u)
    bias = evaluated(equations, "inverse", state, np.zeros(n))
    columns = [evaluated(equations, "inverse", state, unit) - bias for unit in np.eye(n)]
    scale = np.abs(bias).max() / np.abs(columns).max()  # what the difference cancels
    close(np.transpose(columns), mass_matrix(equations, state), ROUNDING * (1.0 + scale))


def test_bias_is_inverse_dynamics_at_rest_accelerations(equations, state):
    close(
        evaluated(equations, "bias", state),
        evaluated(equations, "inverse", state, np.zeros(len(equations.u))),
        ROUNDING,
    )


def test_inverse_dynamics_after_forward_dynamics_give_back_the_inputs(equations, state):
    udot = evaluated(equations, "forward", state)
    condition = np.linalg.cond(mass_matrix(equations, state))
    efforts = input_matrix(equations, state) @ state.inputs
    # Relative to the largest term of M udot + bias, which cancel to the efforts.
    scale = np.abs(mass_matrix(equations, state)) @ np.abs(udot) + np.abs(evaluated(equations, "bias", state))
    error = np.abs(evaluated(equations, "inverse", state, udot) - efforts)
    assert (error <= ROUNDING * condition * scale.max()).all()


def test_forward_dynamics_after_inverse_dynamics_give_back_the_accelerations():
    model = chain(6)
    e = kane.formulate(model)
    s = random_state(e, np.random.default_rng(2))
    inputs = evaluated(e, "inverse", s)
    condition = np.linalg.cond(mass_matrix(e, s))
    close(evaluated(e, "forward", s, inputs), s.udot, ROUNDING * condition * np.abs(inputs).max())


def parametric(literal):
    """The same tree twice: lengths, masses and mass centres as numbers, or as parameters with these defaults."""
    m = kane.Model("tree", gravity=(0.0, -0.3, -9.81))

    def number(name, value):
        return value if literal else m.parameter(name, value)

    parent = m.ground
    joints = [
        kane.Revolute("q1", axis="z"),
        kane.Revolute("q2", axis="x"),
        kane.Prismatic("q3", axis="y"),
        kane.Revolute("q4", axis="-y"),
        kane.Spherical("ball"),
        kane.Revolute("q5", axis=(1.0, 1.0, 0.0)),
    ]
    for k, joint in enumerate(joints):
        body = m.body(
            f"b{k}",
            mass=number(f"m{k}", 1.0 + 0.1 * k),
            inertia=(0.3, 0.4, number(f"Iz{k}", 0.5)),
            com=(number(f"x{k}", 0.1), 0.0, number(f"z{k}", -0.2)),
        )
        at = (number(f"a{k}", 0.3), number(f"b{k}_", 0.0), 0.2)
        c = m.connect(parent, body, joint, at=at, child_at=(0.0, number(f"c{k}", 0.15), 0.0))
        if joint.one_dof:
            m.load(kane.Motor(c, m.input(f"tau{k}")))
        parent = m.bodies[2] if k == 3 else body
    return kane.formulate(m)


def test_parameters_with_a_value_give_what_the_value_gives():
    symbolic, literal = parametric(False), parametric(True)
    state = random_state(literal, np.random.default_rng(4))
    M = mass_matrix(literal, state)
    close(mass_matrix(symbolic, state), M, ROUNDING)
    for name in ("inverse", "bias", "energy", "momentum", "poses", "input_matrix"):
        close(evaluated(symbolic, name, state), evaluated(literal, name, state), ROUNDING)
    ours = evaluated(symbolic, "forward", state)
    close(ours, evaluated(literal, "forward", state), ROUNDING * np.linalg.cond(M))


def test_parameters_substituted_for_good_give_what_the_value_gives():
    symbolic = parametric(False)
    numbers = {p.name: symbolic.defaults[p.name] * 1.25 for p in symbolic.parameters}
    baked = kane.substitute(symbolic, **numbers)
    assert baked.parameters == ()
    state = random_state(symbolic, np.random.default_rng(4))
    dyn, other = kane.build(symbolic), kane.build(baked)
    expected = dyn.inverse(state.q, state.u, state.udot, parameters=numbers)
    close(other.inverse(state.q, state.u, state.udot), expected, ROUNDING)
    close(other.mass_matrix(state.q), dyn.mass_matrix(state.q, parameters=numbers), ROUNDING)
    close(
        other.momentum(state.q, state.u).angular, dyn.momentum(state.q, state.u, parameters=numbers).angular, ROUNDING
    )


def test_the_order_of_coordinates_permutes_the_equations_and_nothing_else():
    model, other = random_tree(8, 6), random_tree(8, 6)
    other.coordinates(*reversed([n for c in other.connections for n in c.coordinate_names[:1]]))
    e, f = kane.formulate(model), kane.formulate(other)
    assert [u.name for u in e.u] != [u.name for u in f.u]
    s = random_state(e, np.random.default_rng(6))
    names = {q.name: x for q, x in zip(e.q, s.q, strict=True)}
    place = [[u.name for u in e.u].index(u.name) for u in f.u]
    q = np.array([names[x.name] for x in f.q])
    t = type(s)(q, s.u[place], s.udot[place], s.inputs, s.t)
    close(evaluated(f, "inverse", t), evaluated(e, "inverse", s)[place], ROUNDING)
    close(mass_matrix(f, t), mass_matrix(e, s)[np.ix_(place, place)], ROUNDING)
    ours = evaluated(f, "forward", t)
    close(ours, evaluated(e, "forward", s)[place], ROUNDING * np.linalg.cond(mass_matrix(e, s)))


def welded(split):
    """A two-joint arm whose second body is one piece, or three pieces welded together, one of them first."""
    m = kane.Model("welded")
    turn = kane.Rotation.euler("xyz", 0.3, -0.4, 0.5)
    a = m.body("a", mass=1.0, inertia=(0.1, 0.2, 0.25), com=(0.1, 0.2, 0.3))
    m.connect(m.ground, a, kane.Revolute("q1", axis="y"))
    if split:
        mount = m.body("mount", mass=0.0)
        m.connect(a, mount, kane.Weld(), at=(0.1, 0.2, 0.3), orientation=turn, name="mount")
        b = m.body("b", mass=1.5, inertia=(0.3, 0.2, 0.3), com=(0.0, 0.1, 0.0))
        m.connect(mount, b, kane.Revolute("q2", axis="x"))
        c = m.body("c", mass=0.5, inertia=(0.01, 0.02, 0.02), com=(0.05, 0.0, 0.0))
        m.connect(
            b, c, kane.Weld(), at=(0.4, 0.0, 0.1), child_at=(0.1, 0.0, 0.0), child_orientation=turn.inverse(), name="w"
        )
        end = m.body("end", mass=0.7, inertia=(0.1, 0.1, 0.1))
        m.connect(c, end, kane.Revolute("q3"), at=(0.0, 0.2, 0.0))
        return m
    b = m.body("b", **lumped(turn))
    m.connect(a, b, kane.Revolute("q2", axis="x"), at=(0.1, 0.2, 0.3), orientation=turn)
    end = m.body("end", mass=0.7, inertia=(0.1, 0.1, 0.1))
    R = turn.as_numpy()
    p = np.array([0.4, 0.0, 0.1]) - R @ [0.1, 0.0, 0.0] + R @ [0.0, 0.2, 0.0]
    m.connect(b, end, kane.Revolute("q3"), at=p.tolist(), orientation=turn)
    return m


def lumped(turn):
    """Mass, mass centre and central inertia of b and c together, by the parallel-axis theorem."""
    R = turn.as_numpy()
    p = np.array([0.4, 0.0, 0.1]) + R @ (np.array([0.05, 0.0, 0.0]) - [0.1, 0.0, 0.0])
    parts = [
        (1.5, np.array([0.0, 0.1, 0.0]), np.diag([0.3, 0.2, 0.3])),
        (0.5, p, R @ np.diag([0.01, 0.02, 0.02]) @ R.T),
    ]
    com = sum(m * x for m, x, _ in parts) / 2.0
    inertia = sum(I + m * ((x - com) @ (x - com) * np.eye(3) - np.outer(x - com, x - com)) for m, x, I in parts)
    return dict(mass=2.0, com=com.tolist(), inertia=(0.5 * (inertia + inertia.T)).tolist())


def test_welded_bodies_move_as_one():
    ours, theirs = kane.formulate(welded(True)), kane.formulate(welded(False))
    s = random_state(ours, np.random.default_rng(3))
    for name in ("inverse", "momentum", "energy"):
        close(evaluated(ours, name, s), evaluated(theirs, name, s), ROUNDING)
    close(mass_matrix(ours, s), mass_matrix(theirs, s), ROUNDING)
    poses = dict(zip(ours.bodies[1:], evaluated(ours, "poses", s).reshape(-1, 12), strict=True))
    others = dict(zip(theirs.bodies[1:], evaluated(theirs, "poses", s).reshape(-1, 12), strict=True))
    close(poses["end"], others["end"], ROUNDING)


def followers(model, q2, q4):
    """A branched arm with joints q1 and q3, and two joints whose coordinates are given."""
    bodies = [
        model.body(f"b{k}", mass=1.0 + k, inertia=(0.1, 0.2, 0.25, 0.01, 0.02, 0.03), com=(0.1, 0.2 * k, 0.3))
        for k in range(4)
    ]
    model.connect(model.ground, bodies[0], kane.Revolute("q1", axis="y"))
    model.connect(bodies[0], bodies[1], kane.Revolute(q2, axis="x"), at=(0.3, 0.0, 0.1), name="second")
    model.connect(bodies[0], bodies[2], kane.Revolute("q3", axis="z"), at=(0.0, 0.3, 0.1))
    model.connect(bodies[2], bodies[3], kane.Prismatic(q4, axis=(1.0, 1.0, 0.0)), at=(0.0, 0.3, 0.1), name="fourth")
    return kane.formulate(model)


def test_mimic_joints_project_the_equations_of_the_free_ones():
    """q2 = -2 q1 + 0.3 and q4 = sin(q3) + 0.5 q1: M = C^T M C, and the remainder of q4dot enters the bias."""
    free = followers(kane.Model("free"), "q2", "q4")
    m = kane.Model("mimic")
    leaf = m.arena.leaf
    q1, q3 = leaf(COORDINATE, "q1"), leaf(COORDINATE, "q3")
    bound = followers(m, -2.0 * q1 + 0.3, sin(q3) + 0.5 * q1)
    s = random_state(bound, np.random.default_rng(1))
    (a, b), (_ua, ub) = s.q, s.u
    C = np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.5, np.cos(b)]])
    full = type(s)(
        np.array([a, -2.0 * a + 0.3, b, np.sin(b) + 0.5 * a]),
        C @ s.u,
        C @ s.udot + [0.0, 0.0, 0.0, -np.sin(b) * ub * ub],
        s.inputs,
        s.t,
    )
    close(mass_matrix(bound, s), C.T @ mass_matrix(free, full) @ C, ROUNDING)
    close(evaluated(bound, "inverse", s), C.T @ evaluated(free, "inverse", full), ROUNDING)
    for name in ("energy", "momentum"):
        close(evaluated(bound, name, s), evaluated(free, name, full), ROUNDING)
    udot = np.linalg.solve(mass_matrix(bound, s), -evaluated(bound, "bias", s))
    close(evaluated(bound, "forward", s), udot, ROUNDING * np.linalg.cond(mass_matrix(bound, s)))


def test_prescribed_motion_is_inverse_dynamics_of_the_free_model_along_it():
    """q2 = 0.4 sin(2 t), q4 = 0.1 t^2: they leave the equations, their accelerations stay in the bias."""
    free = followers(kane.Model("free"), "q2", "q4")
    m = kane.Model("prescribed")
    bound = followers(m, 0.4 * sin(2.0 * m.time), 0.1 * m.time * m.time)
    assert [q.name for q in bound.q] == ["q1", "q3"]
    s = random_state(bound, np.random.default_rng(1))
    t = s.t
    full = type(s)(
        np.array([s.q[0], 0.4 * np.sin(2 * t), s.q[1], 0.1 * t * t]),
        np.array([s.u[0], 0.8 * np.cos(2 * t), s.u[1], 0.2 * t]),
        np.array([s.udot[0], -1.6 * np.sin(2 * t), s.udot[1], 0.2]),
        s.inputs,
    )
    close(evaluated(bound, "inverse", s), evaluated(free, "inverse", full)[[0, 2]], ROUNDING)
    close(mass_matrix(bound, s), mass_matrix(free, full)[np.ix_([0, 2], [0, 2])], ROUNDING)
    for name in ("energy", "momentum"):
        close(evaluated(bound, name, s), evaluated(free, name, full), ROUNDING)
    udot = np.linalg.solve(mass_matrix(bound, s), -evaluated(bound, "bias", s))
    close(evaluated(bound, "forward", s), udot, ROUNDING * np.linalg.cond(mass_matrix(bound, s)))
