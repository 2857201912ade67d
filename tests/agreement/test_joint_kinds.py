"""Joints of several freedoms agree with chains of single ones in Pinocchio, with Pinocchio's own, and with Lagrange.

A chain has massless bodies between a revolute or prismatic joint for every coordinate; what follows a coordinate, such
as the advance of a screw, is a joint whose coordinate is an expression. Its speeds are those of the joint.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles.lagrange import LagrangeTwin
from oracles.numbers import close, evaluated, input_matrix, mass_matrix, random_state
from oracles.pinocchio_twin import PinocchioTwin

import kane
from kane import (
    CustomJoint,
    Cylindrical,
    Gimbal,
    MeasureNumbers,
    Planar,
    Prismatic,
    Revolute,
    Rotation,
    Screw,
    Universal,
)
from kane.expression.functions import cos, sin
from kane.expression.operations import COORDINATE
from kane.formulation.formulate import explicit
from kane.formulation.witnesses.path_tables import path_tables
from kane.library import random_tree
from kane.library.random_tree import PLAIN_JOINTS

# Some hundred products of numbers of order one on each side: 1e4 roundings of 1.1e-16.
ROUNDING = 1e-12
SKEW, ACROSS = (1.0, 2.0, -0.5), (2.0, -1.0, 0.0)


def gimbal(axes):
    return (
        lambda n: Gimbal(n, axes),
        lambda n: [lambda q, k=k: Revolute(f"{n}_{k + 1}", axis=axes[k]) for k in range(len(axes))],
    )


def universal(first, second):
    return (
        lambda n: Universal(n, first, second),
        lambda n: [lambda q: Revolute(f"{n}_1", axis=first), lambda q: Revolute(f"{n}_2", axis=second)],
    )


def cylindrical(axis):
    return (
        lambda n: Cylindrical(n, axis),
        lambda n: [lambda q: Revolute(f"{n}_angle", axis=axis), lambda q: Prismatic(f"{n}_slide", axis=axis)],
    )


def planar(axis, e1, e2):
    return (
        lambda n: Planar(n, axis),
        lambda n: [
            lambda q: Prismatic(f"{n}_x", axis=e1),
            lambda q: Prismatic(f"{n}_y", axis=e2),
            lambda q: Revolute(f"{n}_angle", axis=axis),
        ],
    )


def sheave(axis, h):
    return (
        lambda n: Screw(n, axis, metres_per_radian=h),
        lambda n: [lambda q: Revolute(n, axis=axis), lambda q: Prismatic(h * q(n), axis=axis)],
    )


DOOR = (
    lambda n: CustomJoint(n, lambda q: Rotation.about("z", q), lambda q: (0.0, 0.0, 0.3 * sin(q) * q)),
    lambda n: [lambda q: Revolute(n, axis="z"), lambda q: Prismatic(0.3 * sin(q(n)) * q(n), axis="z")],
)
# Turns about an axis of M that lies elsewhere in F.
TILTED = (
    lambda n: CustomJoint(n, lambda q: Rotation.about("x", 0.3) @ Rotation.about("z", q)),
    lambda n: [lambda q: Revolute(q(n) * 0.0 + 0.3, axis="x"), lambda q: Revolute(n, axis="z")],
)
PAIRS = {
    "cylindrical": cylindrical("x"),
    "cylindrical, skew": cylindrical(SKEW),
    "universal": universal("x", "y"),
    "universal, skew": universal(SKEW, ACROSS),
    "planar": planar("z", "x", "y"),
    "planar, x": planar("x", "y", "z"),
    "planar, -y": planar("-y", "z", "-x"),
    "screw": sheave("z", 0.3),
    "screw, skew": sheave(SKEW, -0.2),
    "gimbal zxz": gimbal("zxz"),
    "gimbal xyz": gimbal("xyz"),
    "gimbal yxz": gimbal("yxz"),
    "gimbal zy": gimbal("zy"),
    "gimbal x": gimbal("x"),
    "door": DOOR,
    "tilted": TILTED,
}


def general_body(model, name, random):
    J = random.normal(size=(3, 3))
    J = J @ J.T
    inertia = (np.trace(J) * np.eye(3) - J).tolist()
    mass, com = float(random.uniform(0.5, 2.0)), random.normal(size=3).tolist()
    return model.body(name, mass=mass, inertia=inertia, com=com)


def twins(makers, seed, *, branch=False):
    """The same mechanism with joints of several freedoms, and with a chain of single ones for each."""
    compact, spread = kane.Model("compact", gravity=(1.0, -2.0, -9.0)), kane.Model("spread", gravity=(1.0, -2.0, -9.0))
    random, again = np.random.default_rng(seed), np.random.default_rng(seed)
    hooks = [(compact.ground, spread.ground)]
    for k, (whole, parts) in enumerate(makers):
        bodies = general_body(compact, f"B{k}", random), general_body(spread, f"B{k}", again)
        numbers = random.normal(size=14)
        again.normal(size=14)
        at, child_at = numbers[:3].tolist(), numbers[3:6].tolist()
        turns = dict(zip(("orientation", "child_orientation"), numbers[6:].reshape(2, 4), strict=True))
        turns = {word: Rotation.quaternion(*x) for word, x in turns.items()}
        parents = hooks[k // 2 if branch else k]
        compact.connect(parents[0], bodies[0], whole(f"j{k}"), at=at, child_at=child_at, name=f"joint{k}", **turns)
        singles = parts(f"j{k}")
        parent = parents[1]
        for i, single in enumerate(singles):
            first, last = i == 0, i + 1 == len(singles)
            body = bodies[1] if last else spread.body(f"B{k} part {i}", mass=0.0)
            pose = {"at": at, "orientation": turns["orientation"]} if first else {}
            pose |= {"child_at": child_at, "child_orientation": turns["child_orientation"]} if last else {}
            joint = single(lambda n: spread.arena.leaf(COORDINATE, n))
            spread.connect(parent, body, joint, name=f"joint{k} part {i}", **pose)
            parent = body
        hooks.append(bodies)
    return compact, spread


def check(compact, spread, seed):
    ours, theirs = kane.formulate(compact), kane.formulate(spread)
    assert [q.name for q in ours.q] == [q.name for q in theirs.q]
    state, twin = random_state(ours, np.random.default_rng(seed)), PinocchioTwin(spread, theirs)
    M = mass_matrix(ours, state)
    close(M, twin.mass_matrix(state), ROUNDING)
    close(evaluated(ours, "inverse", state), twin.inverse(state), ROUNDING)
    close(evaluated(ours, "bias", state), twin.bias(state), ROUNDING)
    expected = np.linalg.solve(twin.mass_matrix(state), -twin.bias(state))
    close(evaluated(ours, "forward", state), expected, ROUNDING * np.linalg.cond(M))
    close(evaluated(ours, "energy", state), twin.energy(state), ROUNDING)
    close(evaluated(ours, "momentum", state), twin.momentum(state), ROUNDING)
    places = dict(zip(ours.bodies[1:], evaluated(ours, "poses", state).reshape(-1, 12), strict=True))
    for name, pose in places.items():
        close(pose[9:], twin.pose(name, state).translation, ROUNDING)
        close(pose[:9].reshape(3, 3), twin.pose(name, state).rotation, ROUNDING)
    last, at = ours.bodies[-1], np.array([0.3, -0.2, 0.5])
    close(evaluated(ours, f"jacobian {last}", state, at).reshape(6, -1), twin.jacobian(last, state, at), ROUNDING)


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_a_joint_between_revolute_ones_is_a_chain_of_single_joints(pair):
    turn = (lambda n: Revolute(n, axis=SKEW), lambda n: [lambda q: Revolute(n, axis=SKEW)])
    check(*twins([turn, pair, turn], 3), 5)


def test_a_tree_of_every_joint_is_a_tree_of_single_joints():
    check(*twins(list(PAIRS.values()), 4, branch=True), 6)


THEIRS = (
    *PLAIN_JOINTS,
    lambda name, axis: Universal(name, axis, np.cross(axis, (0.3, 1.0, 0.2)).tolist()),
    lambda name, axis: Screw(name, axis, metres_per_radian=0.4),
    lambda name, axis: Gimbal(name, "zyx"),
)


@pytest.mark.parametrize("seed", range(6))
def test_pinocchios_own_universal_helical_and_zyx_joints_move_alike(seed):
    model = random_tree(seed, 5, joints=THEIRS)
    e = kane.formulate(model)
    state, twin = random_state(e, np.random.default_rng(seed)), PinocchioTwin(model, e)
    M, efforts = mass_matrix(e, state), input_matrix(e, state) @ state.inputs
    close(M, twin.mass_matrix(state), ROUNDING)
    close(evaluated(e, "inverse", state), twin.inverse(state), ROUNDING)
    close(evaluated(e, "forward", state), twin.forward(state, efforts), ROUNDING * np.linalg.cond(M))


# Of two coordinates, by a matrix, along a path: a knee.
def knee(name, axis):
    return CustomJoint(
        (f"{name}_bend", f"{name}_slip"),
        lambda a, b: Rotation.matrix([[cos(a + b), 0, sin(a + b)], [0, 1, 0], [-sin(a + b), 0, cos(a + b)]]),
        lambda a, b: (0.2 * cos(a), 0.1 * a * b, b * b + b),
        units=("rad", "m"),
    )


LAGRANGES = {
    "universal": lambda name, axis: Universal(name, "z", "-y"),
    "planar": lambda name, axis: Planar(name, axis),
    "cylindrical": lambda name, axis: Cylindrical(name, axis),
    "screw": lambda name, axis: Screw(name, axis, metres_per_radian=0.4),
    "gimbal 213": lambda name, axis: Gimbal(name, "213"),
    "knee": knee,
    **{
        f"gimbal {axes}, measure numbers": lambda name, axis, axes=axes: Gimbal(name, axes, speeds=MeasureNumbers())
        for axes in ("zxz", "213", "131", "xy", "32", "yx", "z")
    },
}


def check_with_lagrange(model, seed):
    e = kane.formulate(model)
    twin, state = LagrangeTwin(model, e), random_state(e, np.random.default_rng(seed))
    M = twin.mass_matrix(state)
    # Lagrange's side inverts what the rates are multiplied by in the speeds: the worse, the nearer a singularity.
    tolerance = 100 * ROUNDING
    close(mass_matrix(e, state), M, tolerance)
    close(evaluated(e, "inverse", state), twin.inverse(state), tolerance)
    bias = twin.inverse(replace(state, udot=0.0 * state.udot))
    close(
        evaluated(e, "forward", state),
        np.linalg.solve(M, input_matrix(e, state) @ state.inputs - bias),
        tolerance * np.linalg.cond(M),
    )
    close(evaluated(e, "energy", state), twin.energy(state), tolerance)


@pytest.mark.parametrize("joint", LAGRANGES.values(), ids=LAGRANGES.keys())
def test_a_joint_between_others_has_lagranges_equations(joint):
    check_with_lagrange(random_tree(8, 2, joints=(joint, PLAIN_JOINTS[0])), 3)
    check_with_lagrange(random_tree(1, 1, joints=(joint,)), 4)


@pytest.mark.parametrize("seed", [2, 3])
def test_the_explicit_route_and_the_path_tables_know_every_joint(seed):
    model = random_tree(seed, 8, joints=(*PLAIN_JOINTS, *LAGRANGES.values()))
    e = kane.formulate(model)
    state = random_state(e, np.random.default_rng(seed))
    M, needed, bias = mass_matrix(e, state), evaluated(e, "inverse", state), evaluated(e, "bias", state)
    other = explicit(model)
    close(mass_matrix(other, state), M, ROUNDING)
    close(evaluated(other, "inverse", state), needed, ROUNDING)
    inputs = {leaf.name: x for leaf, x in zip(e.inputs, state.inputs, strict=True)}
    tables = path_tables(model).evaluate(state.q, state.u, t=state.t, values=inputs)
    close(tables.COEF, M, ROUNDING)
    close(tables.RHS, input_matrix(e, state) @ state.inputs - bias, ROUNDING)
