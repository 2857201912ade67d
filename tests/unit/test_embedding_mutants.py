"""The native embedding with one thing wrong fails a test: its files are mutated, a change at a time.

The kernels run as the Python functions that they are, and so do loops and programs, each mutant of these in a child of
its own (see ``interpreted``); the tests are those of test_embedding_native.
"""

from __future__ import annotations

from functools import partial

import pytest
from oracles.forked import cases, fail, passes_apart, runnable, survivors_apart
from oracles.interpreted import interpreted
from oracles.source_mutants import mutants, survivors
from unit import test_embedding_native as tests

MODULE = "kane.engine.linear.factorizations"
# Files of programs, and one of how many of their mutants `make test` tries.
PROGRAMS = {"kane.engine.rows.embedding": 150, "kane.engine.project.projection": 150, "kane.engine.project.newton": 10}
LONG = (
    tests.test_the_choice_is_made_anew_when_it_is_twice_as_bad_as_the_best_and_not_before,
    tests.test_threads_give_the_same_bits,
)
PATIENCE = 20  # seconds of work: the tests together take five
SHAPES = [(3, 5, 3), (5, 3, 3), (6, 6, 5), (4, 7, 2), (1, 1, 1), (3, 4, 0)]
TESTS = (
    *(partial(tests.test_the_rank_is_found_and_least_squares_are_those_of_numpy, *shape) for shape in SHAPES),
    *(partial(tests.test_the_least_solution_of_equations_is_that_of_the_pseudoinverse, rank) for rank in (3, 4)),
    *(
        partial(
            tests.test_the_least_solution_by_normal_equations_is_that_of_the_pseudoinverse_whatever_rows_repeat_others,
            *shape,
        )
        for shape in ((4, 4), (4, 3), (9, 7), (3, 0))
    ),
    tests.test_the_longest_column_is_that_of_numpy_whatever_stands_in_scratch_and_behind,
    tests.test_a_row_that_repeats_others_but_for_rounding_counts_as_none_and_one_that_is_shorter_does_not,
    tests.test_whole_numbers_are_no_special_case,
    tests.test_a_vector_is_reflected_whatever_its_share,
    tests.test_a_pivot_is_judged_by_what_is_left_and_not_by_what_was,
    tests.test_pivots_fall_and_are_within_a_small_factor_of_the_singular_values,
    *(
        partial(tests.test_the_matrix_of_dependent_speeds_is_minus_the_pseudoinverse_times_the_rest, size)
        for size in (1e-12, 1.0, 1e7)
    ),
    tests.test_a_dependent_speed_whose_pivot_is_zero_depends_on_nothing,
    tests.test_columns_that_nearly_cancel_are_summed_anew,
    tests.test_a_pivot_that_has_lost_half_the_digits_counts_as_zero,
    tests.test_columns_in_a_given_order_are_not_exchanged_and_a_zero_pivot_gives_zero,
    tests.test_cholesky_solves_and_a_singular_matrix_gives_nan,
    *(
        partial(tests.test_cholesky_gives_the_factor_of_numpy_and_touches_nothing_above_the_diagonal_or_beyond, n)
        for n in (1, 2, 3, 6)
    ),
    tests.test_a_pivot_of_cholesky_counts_down_to_the_tolerance_times_n_and_its_diagonal_entry,
    partial(tests.test_the_arrays_of_a_call_lie_one_after_the_other_in_their_work, 2, 3, 4, 1),
)


def noticed():
    for test in TESTS:
        try:
            test()
        except Exception:
            return True
    return False


DONE = "columns that are done are not looked at again"
EQUIVALENT = {
    "factor: k + 1 -> k": "one more entry of scratch is zeroed",
    "factor: k + 1 -> k - 1": "two more entries of scratch are zeroed",
    "factor: k + 1 -> k (2)": "one more entry of scratch is summed, and not used",
    "factor: k + 1 -> k (4)": DONE,
    "factor: k + 1 -> k - 1 (4)": DONE,
    "_bring_longest: k + 1 -> k": "a column is not longer than itself",
    "factor_triangle: 0 -> 1": "the factor is square",
    "_make_reflector: 0.0 -> 1.0 (2)": "the reflector of a column of zeros is zero whatever its beta",
}
UNREAD = "programs are given where an array starts, and not its length"
ONE_FRONT = "loops that make one front are not taken apart"
SPEEDS = "coordinates do not depend on the speeds that are given"
NOT_HELD = "no residual is held where all rows are in force"
EQUIVALENT_PROGRAMS = {
    "kane.engine.rows.embedding": {},
    "kane.engine.project.newton": {},
    "kane.engine.project.projection": {
        "_find_direction: 0 -> 1": ONE_FRONT,
        "project_onto_rows: 0 -> 1 (7)": ONE_FRONT,
        "_take_damped_step: residual <= ROUNDED_RESIDUAL -> residual > ROUNDED_RESIDUAL": "rounding, by measurement",
        "_correct_by_own_speeds: 1 + nq + n -> 1 + nq": SPEEDS,
        "_correct_by_own_speeds: 0.0 -> 1.0": SPEEDS,
        "_correct_by_own_speeds: 0 -> 1": UNREAD,
        "_correct_by_own_speeds: vector_at(inputs, 0, 0) -> vector_at(0, inputs, 0)": "no constraint depends on inputs",
        "_correct_by_own_speeds: 0 -> 1 (2)": "no constraint depends on inputs",
        "_correct_by_own_speeds: 0 -> 1 (3)": UNREAD,
        "_correct_by_own_speeds: 0 -> 1 (4)": "the end of its scratch is for a call that it does not make",
        "_correct_by_own_speeds: 0 -> 1 (5)": UNREAD,
        "is_good_selection: 0.0 -> 1.0 (2)": "entries up to two serve, and so does one",
        "select_speeds: 0 -> 1 (2)": "there are speeds; without rows the way through the factors ends at the same",
        "project: vector_at(work, 0, 0) -> vector_at(0, work, 0)": NOT_HELD,
        "project: 0 -> 1": NOT_HELD,
        "project: 0 -> 1 (2)": NOT_HELD,
    },
}


def test_without_a_mutation_the_algebra_passes():
    assert not noticed()


def test_algebra_with_one_thing_wrong_fails():
    assert survivors(mutants(MODULE)[::8], noticed, EQUIVALENT) == []


@pytest.mark.slow
def test_of_all_mutants_of_the_algebra_none_passes():
    assert survivors(mutants(MODULE), noticed, EQUIVALENT) == []


@pytest.fixture
def fails():
    """Whether a program fails a test, or raises: native code would go on."""
    known = list(cases(sorted(runnable(tests, ()), key=lambda test: test in LONG)))
    with interpreted() as raised:
        yield lambda: any(fail([case]) or raised for case in known)


@pytest.mark.parametrize("module", PROGRAMS)
def test_programs_of_constraints_with_one_thing_wrong_fail(module, fails):
    tried = mutants(module)[:: PROGRAMS[module]]
    assert survivors_apart(tried, fails, EQUIVALENT_PROGRAMS[module], seconds=PATIENCE) == []


@pytest.mark.slow
def test_of_all_mutants_of_projection_none_passes(fails):
    module = "kane.engine.project.projection"
    assert survivors_apart(mutants(module), fails, EQUIVALENT_PROGRAMS[module], seconds=PATIENCE) == []


@pytest.mark.slow
def test_programs_of_constraints_run_as_python_pass(fails):
    assert passes_apart(fails, seconds=PATIENCE)
