"""The control of steps with one thing wrong fails a test: its functions are mutated, a change at a time.

They run as the Python functions that they are; the tests are those of test_marches that call them directly.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from oracles.interpreted import interpreted
from oracles.source_mutants import mutants, survivors
from unit import test_marches

import kane

MODULES = {
    "kane.engine.step.explicit": (
        "accept_step",
        "reject_step",
        "free_step",
        "combined_error",
        "_error_norm",
        "rotation_error",
    ),
    "kane.engine.linear.vectors": ("normalise", "is_finite"),
}
TESTS = (
    test_marches.test_an_accepted_step_is_followed_by_one_of_pi_control,
    test_marches.test_a_step_cut_short_by_a_stop_does_not_shorten_those_after_it,
    test_marches.test_a_rejected_step_is_tried_again_shorter,
    test_marches.test_steps_shorter_than_four_roundings_of_the_time_are_given_up,
    test_marches.test_a_step_ends_at_the_next_stop_or_well_before_it,
    test_marches.test_two_estimates_combine_as_in_dop853,
    test_marches.test_the_error_of_a_step_is_the_largest_over_atol_and_rtol_of_the_larger_state,
    test_marches.test_the_error_of_a_quaternion_is_the_rotation_vector_that_it_stands_for,
    test_marches.test_lengths_states_and_numbers,
)
BOUND = "a number of stops that no run reaches"
EQUIVALENT = {
    "accept_step: counts.stop[0] + 1 -> counts.stop[0] - 1": BOUND,
    "accept_step: counts.stop[0] + 1 -> counts.stop[0]": BOUND,
    "accept_step: 1 -> 2": BOUND,
    "accept_step: 2 -> 3": BOUND,
    "accept_step: 62 -> 63": BOUND,
    "accept_step: clear_guard_history(clock) -> pass": "these runs have no guards: tests/unit/test_pulses.py",
    "_error_norm: z[i] += weight * slopes[j, i] -> z[i] -= weight * slopes[j, i]": "an estimate has no sign",
    "_error_norm: rotation_error(y, z, start, 1) -> rotation_error(z, y, start, 1)": "an angle has no direction",
    "is_finite: total += x[i] * 0.0 -> total -= x[i] * 0.0": "zero has no sign here",
}


def cases():
    """Every test with every set of its parameters."""
    for test in TESTS:
        sets = [{}]
        for mark in getattr(test, "pytestmark", ()):
            names = [mark.args[0]] if isinstance(mark.args[0], str) else list(mark.args[0])
            rows = [dict(zip(names, v if len(names) > 1 else (v,), strict=True)) for v in mark.args[1]]
            sets = [{**old, **new} for old in sets for new in rows]
        yield from ((test, given) for given in sets)


def noticed():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a wrong function divides by
        for test, given in cases():
            try:
                test(**given)
            except Exception:
                return True
    return False


def test_without_a_mutation_the_control_of_steps_passes():
    assert not noticed()


@pytest.mark.parametrize("module", MODULES)
def test_control_of_steps_with_one_thing_wrong_fails(module):
    assert survivors(mutants(module, only=MODULES[module]), noticed, EQUIVALENT) == []


@pytest.mark.parametrize("name", ["RK4", "Midpoint", "RK5", "RK8"])
def test_loops_run_as_python_give_what_compiled_ones_give(name):
    """What is tested as Python is what runs."""
    method = test_marches.FREE.get(name) or test_marches.FIXED[name][0]
    step = {} if name in test_marches.FREE else {"dt": 0.05}
    dyn, options = test_marches.built(test_marches.driven), {"until": 0.5, "q": [1.0], "every": 1, **step}
    compiled = kane.simulate(dyn, integrator=method, **options)
    with interpreted():
        found = kane.simulate(dyn, integrator=method, **options)
    # numba may fuse a product and a sum; nothing else rounds otherwise.
    np.testing.assert_allclose(found.q, compiled.q, rtol=1e-14, atol=1e-14)
    assert len(found) == len(compiled)


def test_loops_run_as_python_change_modes_where_compiled_ones_do():
    m = kane.Model("ball", gravity=(0, -9.81, 0))
    ball = m.body("ball", mass=1.0)
    m.connect(m.ground, ball, kane.Prismatic("y", axis="y"))
    m.contact(ball.point(), kane.Plane(m.ground.point(), m.ground.y), restitution=0.5, name="floor")
    dyn, options = kane.build(kane.formulate(m)), {"until": 1.0, "q": {"y": 1.0}, "every": 1}
    compiled = kane.simulate(dyn, **options)
    with interpreted():
        found = kane.simulate(dyn, **options)
    assert len(found.events) == len(compiled.events) > 1
    np.testing.assert_allclose(found.q, compiled.q, rtol=1e-12, atol=1e-12)
