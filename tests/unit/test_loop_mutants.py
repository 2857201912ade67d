"""The native loops with one thing wrong fail a test: their files are mutated, a change at a time, and run as Python.

The tests are those of test_marches. Each mutant runs in a child of its own: one that does not end is stopped, and
counts as found. Functions that test_march_mutants tries are left to it.
"""

from __future__ import annotations

import pytest
from oracles.forked import cases, fail, passes_apart, runnable, survivors_apart
from oracles.interpreted import interpreted
from oracles.source_mutants import mutants
from unit import test_march_mutants, test_marches

# Where the loops stand, and one of how many of their mutants `make test` tries.
MODULES = {
    "kane.engine.step.explicit": 240,
    "kane.engine.step.step_ends": 120,
    "kane.engine.step.state_equation": 240,
    "kane.engine.step.event_location": 200,
    "kane.engine.step.implicit": 160,
}
ELSEWHERE = test_march_mutants.MODULES
# Tests that take long as Python come last.
LONG = (
    test_marches.test_sign_changes_are_found_where_they_are_and_the_way_they_go,
    test_marches.test_the_error_of_a_quaternion_counts_as_angles,
    test_marches.test_a_run_that_cannot_go_on_says_so,
)
TESTS = sorted(runnable(test_marches, ()), key=lambda test: test in LONG)
PATIENCE = 15  # seconds of work: the tests together take four


@pytest.fixture(scope="module")
def fails():
    """Whether a loop fails a test; models are built once, and by right code."""
    known = list(cases(TESTS))
    assert not fail(known)
    with interpreted():
        yield lambda: fail(known)


def found(module):
    return mutants(module, without=ELSEWHERE.get(module, ()))


@pytest.mark.parametrize("module", MODULES)
def test_loops_with_one_thing_wrong_fail(module, fails):
    assert survivors_apart(found(module)[:: MODULES[module]], fails, seconds=PATIENCE) == []


@pytest.mark.slow
def test_loops_run_as_python_pass(fails):
    assert passes_apart(fails, seconds=PATIENCE)
