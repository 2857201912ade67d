"""The certificate of a collocation: each line sees the fault that it is for, and refinement mends it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import kane

MASS, DISTANCE, FORCE = 2.0, 1.5, 3.0
LEAST = 2.0 * math.sqrt(MASS * DISTANCE / FORCE)  # full force forwards, then backwards


@pytest.fixture(scope="module")
def fastest() -> kane.Collocation:
    """A block that moves from rest to rest in the least time; the force jumps within an interval."""
    m = kane.Model("block")
    slide = m.connect(m.ground, m.body("block", mass=MASS), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(slide, m.input("F")))
    return kane.collocate(
        kane.build(kane.formulate(m)),
        duration=(0.1, 5.0),
        nodes=12,
        objective=kane.final(m.time),
        start={"x": 0.0, "x_dot": 0.0},
        end={"x": DISTANCE, "x_dot": 0.0},
        bounds={"F": (-FORCE, FORCE)},
        method="radau",
    )


def test_refinement_mends_inputs_that_exceed_their_bounds_between_points(fastest):
    before = kane.verify(fastest)
    fine = kane.refine(fastest, 1e-4)
    after = kane.verify(fine)
    assert before.bounds > 0.1  # a parabola through a jump of the force
    assert abs(fastest.duration - LEAST) > 1e-4
    assert fine.solved
    assert after.bounds < 1e-3
    assert fine.duration == pytest.approx(LEAST, abs=1e-5)
    assert len(fine.time) < 2 * len(fastest.time)  # only the interval of the jump was divided


def test_optimality_is_the_gradient_of_the_lagrangian(fastest):
    assert kane.verify(fastest).optimality < 1e-7
    for changes in (
        {"multipliers": 1.01 * fastest.solution.multipliers},
        {"at_bounds": 0.0 * fastest.solution.at_bounds},
        {"multipliers": -fastest.solution.multipliers, "at_bounds": -fastest.solution.at_bounds},
    ):
        other = replace(fastest, solution=replace(fastest.solution, **changes))
        assert kane.verify(other).optimality > 1e-3


def test_each_error_lowers_the_digits_of_its_line(fastest):
    right = kane.verify(fastest)
    z = fastest.solution.z.copy()
    z[fastest.mesh.node_states[5, 0]] += 0.1
    wrong = kane.verify(replace(fastest, solution=replace(fastest.solution, z=z)))
    assert right.simulated < 1e-2 < wrong.simulated
    z = fastest.solution.z.copy()
    z[fastest.mesh.point_inputs] += 0.5
    strong = kane.verify(replace(fastest, solution=replace(fastest.solution, z=z)))
    assert strong.energy > 0.01 > right.energy
    assert strong.between > 10.0 * right.between
    assert np.isfinite([strong.simulated, strong.bounds]).all()
