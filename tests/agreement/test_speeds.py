"""Generalized speeds of choice describe the motion that the joints' own speeds describe, and the same forces.

Who vouches: the same model in the joints' own speeds w. The definitions u = Y w + Z and their time derivatives are read
in that model, where no equation was solved for them; Kane's equations in u are then those in w times the inverse of Y,
transposed. And the explicit route, which takes nothing as declared.
"""

from __future__ import annotations

import numpy as np
import pytest
from oracles.loaded_tree import EVERY_JOINT, loaded_tree
from oracles.numbers import (
    State,
    close,
    evaluated,
    input_matrix,
    interpreted,
    mass_matrix,
    random_state,
    values_of,
)

import kane
from kane.expression.derivative import linear_coefficients, total_time_derivative
from kane.expression.functions import cos, sin
from kane.expression.traverse import leaves, substitute_nodes
from kane.formulation.read_model import probe_of
from kane.formulation.recursive.measures import images
from kane.formulation.search.speed_candidates import candidates, own_speed_definitions
from kane.library import chain, random_tree, stanford_arm

# Some hundred products of numbers of order one on each route; what is divided by Y is so twice.
ROUNDING = 1e-12


SEEDS = [pytest.param(seed, marks=pytest.mark.slow if seed >= 4 else ()) for seed in range(8)]


def drawn(model, seed):
    """Random definitions: velocities of bodies where they can take the place of joint speeds, the rest mixed."""
    random = np.random.default_rng(seed)
    system = kane.formulate(model).system
    chosen, used = {}, set()
    offers = candidates(system)
    for k in random.permutation(len(offers)):
        offer = offers[int(k)]
        wanted = used.isdisjoint(offer.columns) and random.random() < 0.7
        if wanted and spans(model, system, {**chosen, **dict(zip(offer.columns, offer.definitions, strict=True))}):
            used.update(offer.columns)
            chosen.update(zip(offer.columns, offer.definitions, strict=True))
    own = [d.expression() for d in own_speed_definitions(system)]
    definitions = {d.name: d.expression() for d in chosen.values()}
    left = [j for j in range(len(own)) if j not in used]
    for place, j in enumerate(left):
        # A triangle of mixtures, so that they span whatever the state; the remainder Z moves with time and place.
        u = own[j] * (1.0 + 0.3 * cos(model.time))
        for i in left[:place]:
            u = u + float(random.normal()) * own[i] * cos(system.speeds.q[0])
        definitions[f"mix{j}"] = u + 0.4 * sin(model.time) + 0.2 * system.speeds.q[-1]
    order = random.permutation(len(definitions))
    return {list(definitions)[int(k)]: list(definitions.values())[int(k)] for k in order}


def spans(model, system, chosen):
    """Whether definitions, each in the place of a column, determine the joints' own speeds at some state."""
    definitions = [chosen.get(j, d).expression() for j, d in enumerate(own_speed_definitions(system))]
    resolved = substitute_nodes(definitions, images(system, definitions))
    rows, _ = linear_coefficients(resolved, system.speeds.u)
    entries = probe_of(model)([x for row in rows for x in row])
    return np.linalg.cond(entries.reshape(len(rows), -1)) < 100.0


class Pair:
    """Equations in chosen speeds, and those of the joints' own at the same state."""

    def __init__(self, make, seed, choose=drawn):
        twin, chosen = make(), make()
        definitions = choose(twin, seed)
        self.own = kane.formulate(twin)
        chosen.speeds(**choose(chosen, seed))
        self.chosen = kane.formulate(chosen)
        speeds = self.own.system.speeds
        resolved = substitute_nodes(list(definitions.values()), images(self.own.system, list(definitions.values())))
        changes = dict(zip(speeds.q, speeds.kinematics, strict=True)) | {self.own.t: self.own.t.arena.one}
        changes |= dict(zip(speeds.u, speeds.udot, strict=True))
        random = np.random.default_rng(seed)
        while True:
            self.w = random_state(self.own, random)
            values = values_of(self.own, self.w)
            rows, _ = linear_coefficients(resolved, speeds.u)
            Y = interpreted(self.own, [x for row in rows for x in row], values).reshape(len(rows), -1)
            # States near a place where the choice fails say little: there the equations are ill conditioned.
            if np.linalg.cond(Y) < 100.0:
                break
        self.values, self.defined, self.rates = values, resolved, total_time_derivative(resolved, changes)
        self.Y, self.condition = Y, np.linalg.cond(Y) ** 2

    def state(self, wdot):
        """The state in chosen speeds, for accelerations of the joints' own."""
        values = self.values | dict(zip(self.own.udot, wdot, strict=True))
        u = interpreted(self.own, self.defined, values)
        return State(self.w.q, u, interpreted(self.own, self.rates, values), self.w.inputs, self.w.t)

    def agree(self):
        own, chosen, w = self.own, self.chosen, self.w
        s, inverse = self.state(w.udot), np.linalg.inv(self.Y)
        tolerance = ROUNDING * self.condition
        M = mass_matrix(own, w)
        for e in (chosen, kane.explicit(chosen)):
            close(evaluated(e, "kinematics", s), evaluated(own, "kinematics", w), tolerance)
            close(mass_matrix(e, s), inverse.T @ M @ inverse, tolerance)
            close(evaluated(e, "inverse", s), inverse.T @ evaluated(own, "inverse", w), tolerance)
            still = inverse.T @ evaluated(own, "inverse", w) - mass_matrix(e, s) @ s.udot
            close(evaluated(e, "bias", s), still, tolerance * 10.0)
            close(input_matrix(e, s), inverse.T @ input_matrix(own, w), tolerance)
            udot = self.state(evaluated(own, "forward", w)).udot
            close(evaluated(e, "forward", s), udot, tolerance * np.linalg.cond(M))
            for name in ("energy", "momentum", "poses"):
                close(evaluated(e, name, s), evaluated(own, name, w), tolerance)


@pytest.mark.parametrize("seed", SEEDS)
def test_loaded_trees_of_every_joint_in_random_speeds(seed):
    """With followers, prescribed motion and loads that depend on velocities."""
    Pair(lambda: loaded_tree(seed, 3, joints=EVERY_JOINT), seed).agree()


@pytest.mark.parametrize("kind", range(len(EVERY_JOINT)))
def test_two_joints_of_one_kind_in_random_speeds(kind):
    Pair(lambda: random_tree(kind, 2, joints=EVERY_JOINT[kind : kind + 1]), kind).agree()


@pytest.mark.parametrize("seed", SEEDS)
def test_arms_in_random_speeds(seed):
    """Chains about x, y, z in turn offer all kinds of declared angular velocities, one inside the other."""
    Pair(lambda: chain(5), seed).agree()
    Pair(stanford_arm, seed).agree()


def absolute(model, seed):
    """Angular velocities of all links of a planar arm about its normal: known components, one after the other."""
    return {f"w{body.name}": body.angular_velocity.dot(body.z) for body in model.bodies[1:]}


def planar(n=4):
    m = kane.Model("planar", gravity=(0.3, -9.81, 0.0))
    at = m.ground
    for k in range(n):
        body = m.body(f"B{k}", mass=1.0 + k, inertia=(0.1 + k, 0.2, 0.15 + k), com=(0.2, -0.1 * k, 0.3))
        joint = m.connect(at, body, kane.Revolute(f"q{k}", axis="z"), at=(0.0, 0.5 if k else 0.0, 0.1))
        m.load(kane.Motor(joint, m.input(f"tau{k}")))
        m.load(kane.Damper(joint, 0.3))
        at = body
    return m


def test_absolute_angular_velocities_of_a_planar_arm():
    Pair(planar, 5, absolute).agree()


def in_the_ground(model, seed):
    """w of the third body along fixed axes, and along a neighbour's for what is left."""
    third, last = model.bodies[3], model.bodies[5]
    w, N = third.angular_velocity, model.ground
    rest = last.angular_velocity
    return {
        "a": w.dot(N.x),
        "b": w.dot(N.y),
        "c": w.dot(N.direction((0.3, 0.2, 1.0))),
        "d": rest.dot(last.y),
        "e": model.bodies[4].angular_velocity.dot(third.x) - 2.0 * model.connections[4].qdot,
    }


def test_angular_velocities_along_oblique_and_fixed_axes():
    Pair(lambda: chain(5), 3, in_the_ground).agree()


def velocities(model, seed):
    """The velocity of a point of the third body in place of three rates of turning joints."""
    v, B = model.bodies[3].point((0.1, 0.2, 0.3)).velocity, model.bodies[2]
    return {
        "x": v.dot(B.x),
        "y": v.dot(B.y),
        "z": v.dot(B.z),
        "u4": model.connections[3].qdot,
        "u5": 2.0 * model.connections[4].qdot,
    }


def test_velocities_of_a_point():
    Pair(lambda: chain(5), 4, velocities).agree()


def test_a_speed_declared_of_the_first_body_is_the_joints_own():
    """Nothing is gained and nothing lost: the same operations as without a choice."""
    m = chain(4)
    before = kane.formulate(m).count()
    A = m.bodies[1]
    m.speeds(u1=A.angular_velocity.dot(A.x), **{f"u{k}": m.connections[k - 1].qdot for k in (2, 3, 4)})
    assert dict(kane.formulate(m).count()) == dict(before)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_simulations_in_both_kinds_of_speeds_run_together_and_keep_energy(seed):
    """Half a second at 1e-11 a step: what is left grows with the motion, to some 1e-8 at most."""
    pair = Pair(lambda: random_tree(seed, 3), seed)
    start, options = (
        pair.state(pair.w.udot),
        {
            "start": pair.w.t,
            "until": pair.w.t + 0.3,
            "integrator": kane.RK8(rtol=1e-11, atol=1e-12),
        },
    )
    runs = [
        kane.simulate(kane.build(e), q=s.q, u=s.u, **options) for e, s in ((pair.own, pair.w), (pair.chosen, start))
    ]
    assert np.abs(runs[0].final.q - runs[0].q[0]).max() > 0.05
    np.testing.assert_allclose(runs[1].final.q, runs[0].final.q, rtol=0.0, atol=1e-7)
    energy = kane.build(pair.chosen).energy(runs[1].q, runs[1].u, runs[1].time).total
    np.testing.assert_allclose(energy, energy[0], rtol=0.0, atol=1e-8 * np.abs(energy).max())


@pytest.mark.parametrize("choose", [drawn, absolute], ids=["drawn", "absolute"])
def test_accelerations_by_composite_inertias_and_through_the_joints_own_are_one(choose):
    pair = Pair(planar, 2, choose)
    e, s = pair.chosen, pair.state(pair.w.udot)
    values = values_of(e, s)
    both = [interpreted(e, x(), values) for x in (e.route.composite, e.route.through_own_speeds)]
    close(*both, ROUNDING * pair.condition * np.linalg.cond(mass_matrix(e, s)))


def test_a_long_chain_in_absolute_angular_velocities_costs_little_more_than_in_rates():
    """Composite inertias alone take 8 times as much at this length, and O(n^3)."""

    def operations(declare):
        m = planar(32)
        declare(m)
        found = kane.formulate(m).count()["forward"]
        return found["mul"] + found["add"] + found["div"]

    assert operations(lambda m: m.speeds(**absolute(m, 0))) < 1.4 * operations(lambda m: None)


@pytest.mark.parametrize("sequence", ["zxz", "xyz", "yxz"])
@pytest.mark.parametrize("on_a_hinge", [False, True])
def test_measure_numbers_of_a_gimballed_body_are_singular_where_its_axes_are_and_nowhere_else(sequence, on_a_hinge):
    """First and third axis are parallel where the second angle makes them so; the gimbal's own MeasureNumbers agree."""

    def model(speeds):
        m = kane.Model("gimballed", gravity=(1.0, 2.0, -9.0))
        carrier = m.ground
        if on_a_hinge:
            carrier = m.body("carrier", mass=1.0, inertia=(1.0, 1.0, 1.0), com=(0.1, 0.0, 0.2))
            m.connect(m.ground, carrier, kane.Revolute("q0", axis=(0.0, 0.6, 0.8)))
        body = m.body("body", mass=1.0, inertia=(1.0, 2.0, 2.5), com=(0.1, 0.2, 0.3))
        joint = kane.Gimbal(("g1", "g2", "g3"), sequence=sequence, speeds=speeds)
        m.connect(carrier, body, joint, name="ring", at=(0.3, 0.0, 0.0))
        return m, body

    declared, body = model(kane.AngleRates())
    w = body.angular_velocity
    first = {"u0": declared.rate("q0")} if on_a_hinge else {}
    declared.speeds(**first, u1=w.dot(body.x), u2=w.dot(body.y), u3=w.dot(body.z))
    equations = kane.formulate(declared)
    (divisor,) = equations.fails_where
    assert {leaf.name for leaf in leaves([divisor])} == {"g2"}
    assert kane.certify(declared).holds
    if not on_a_hinge:
        built_in = kane.build(kane.formulate(model(kane.MeasureNumbers())[0]))
        q, u = [0.3, 0.7, -1.1], [0.5, -0.4, 0.9]
        ours = kane.build(equations)
        np.testing.assert_allclose(ours.kinematics(q, u), built_in.kinematics(q, u), rtol=1e-13)
        np.testing.assert_allclose(ours.forward(q, u), built_in.forward(q, u), rtol=1e-12)
        assert equations.count()["kinematics"]["mul"] <= built_in.equations.count()["kinematics"]["mul"]
