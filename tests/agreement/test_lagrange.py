"""The recursive equations are those of Lagrange, made from nothing but each joint's R_FM and p_FM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles.lagrange import LagrangeTwin
from oracles.numbers import close, evaluated, input_matrix, mass_matrix, random_state

import kane
from kane.expression.functions import cos, sin
from kane.library import chain, n_link_pendulum, n_link_pendulum_to_vertical, random_tree, stanford_arm
from kane.library.random_tree import PLAIN_JOINTS

# Derivatives on the graph are exact; some thousand products of numbers of order one on Lagrange's side.
ROUNDING = 1e-11
REVOLUTE, PRISMATIC, BALL, FREE = PLAIN_JOINTS


def check(model, seed):
    e = kane.formulate(model)
    twin, state = LagrangeTwin(model, e), random_state(e, np.random.default_rng(seed))
    M = twin.mass_matrix(state)
    close(mass_matrix(e, state), M, ROUNDING)
    close(evaluated(e, "inverse", state), twin.inverse(state), ROUNDING)
    bias = twin.inverse(replace(state, udot=0.0 * state.udot))
    close(evaluated(e, "bias", state), bias, ROUNDING)
    expected = np.linalg.solve(M, input_matrix(e, state) @ state.inputs - bias)
    close(evaluated(e, "forward", state), expected, ROUNDING * np.linalg.cond(M))
    ours, theirs = evaluated(e, "energy", state), twin.energy(state)
    close(ours[0], theirs[0], ROUNDING)
    # Potentials may differ by a constant: both are zero with all mass centres at the origin, so they do not.
    close(ours[1], theirs[1], ROUNDING)


@pytest.mark.parametrize(("seed", "bodies"), [(0, 1), (1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 3), (7, 4)])
def test_trees_of_revolute_and_prismatic_joints_have_lagranges_equations(seed, bodies):
    check(random_tree(seed, bodies, joints=(REVOLUTE, PRISMATIC)), seed)


@pytest.mark.parametrize("joints", [(BALL,), (FREE,)], ids=["spherical", "free"])
@pytest.mark.parametrize("bodies", [1, 2])
def test_ball_and_free_joints_have_lagranges_equations(joints, bodies):
    check(random_tree(30, bodies, joints=joints), 3)


@pytest.mark.parametrize("seed", [40, 41, 42, 43])
def test_trees_of_all_joints_have_lagranges_equations(seed):
    check(random_tree(seed, 3), seed)


def test_a_pendulum_on_a_cart_with_parameters_has_lagranges_equations():
    check(n_link_pendulum(3), 1)
    check(n_link_pendulum_to_vertical(3), 1)


def test_a_chain_with_crossing_and_parallel_axes_has_lagranges_equations():
    check(chain(4), 2)


def test_mimic_gear_and_prescribed_joints_have_lagranges_equations():
    m = kane.Model("followers", gravity=(1.0, -2.0, -9.81))
    a, b, c, d = (
        m.body(n, mass=1.0 + k, inertia=(0.3, 0.4, 0.5, 0.01, 0.02, 0.03), com=(0.1, 0.2 * k, 0.3))
        for k, n in enumerate("abcd")
    )
    moved = kane.Revolute(0.5 * sin(3.0 * m.time), axis=(1.0, 2.0, 0.5))
    m.connect(m.ground, a, moved, at=(0.1, 0.2, 0.3), name="shaker")
    j1 = m.connect(a, b, kane.Revolute("q1", axis="x"), at=(0.4, 0.0, 0.1))
    m.connect(b, c, kane.Revolute(-2.0 * j1.q + 0.3, axis=(0.0, 1.0, 1.0)), at=(0.0, 0.3, 0.1), name="gear")
    m.connect(b, d, kane.Prismatic(0.4 * cos(j1.q) + 0.1 * m.time, axis="y"), at=(0.0, 0.0, 0.1), name="cam")
    check(m, 4)


def test_time_does_not_stand_still_for_a_prescribed_slide_on_a_turntable():
    m = kane.Model("turntable", gravity=(0.0, 0.0, -9.81))
    table = m.body("table", mass=2.0, inertia=(0.1, 0.1, 0.2))
    slider = m.body("slider", mass=1.0, inertia=(0.01, 0.02, 0.02), com=(0.0, 0.05, 0.0))
    m.connect(m.ground, table, kane.Revolute("q1"))
    m.connect(table, slider, kane.Prismatic(0.3 * m.time * m.time, axis="x"), at=(0.1, 0.0, 0.0))
    check(m, 5)


@pytest.mark.slow
def test_the_stanford_arm_has_lagranges_equations():
    check(stanford_arm(), 6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50, 70))
def test_many_trees_have_lagranges_equations(seed):
    check(random_tree(seed, 3), seed)
