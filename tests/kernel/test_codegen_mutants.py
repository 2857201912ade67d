"""What writes code with one thing wrong fails a test: its files are mutated, a change at a time.

The tests are those of the emitters: random programs and special values against the interpreter and mpmath, lanes
against single states. Every mutant is compiled and run in a child of its own: wrong code may do anything.
"""

from __future__ import annotations

import pytest
from kernel import (
    test_alike_programs,
    test_emit_c,
    test_emit_numpy,
    test_fused,
    test_lanes,
    test_llvm,
    test_repeats,
    test_trig,
)
from oracles.forked import cases, fail, runnable, survivors_apart
from oracles.text_mutants import text_mutants, unchanged

EMIT = "kane.codegen.emit"
# Tests that are long, or about something else: threads, caches, refusals of what is built on these modules.
ELSEWHERE = (
    "test_threads_run_one_function_at_the_same_time",
    "test_a_chain_of_a_hundred_thousand_additions_compiles_and_adds_up",
    "test_threads_change_no_bit",
    "test_an_error_in_a_thread_is_raised",
    "test_chunks_cover_every_state_once_and_hold_enough_for_lanes",
    "test_parameters_of_the_wrong_shape_are_refused",
    "test_wrong_shapes_are_named_with_what_was_expected",
    "test_a_chain_of_30000_operations_is_written_in_short_lines",
    "test_the_text_is_the_same_in_every_process",
)
ANGLES = runnable(test_trig, ())
LANES = runnable(test_lanes, ELSEWHERE)
NATIVE = runnable(test_llvm, ELSEWHERE)
ALIKE = runnable(
    test_alike_programs,
    (
        "test_a_parameter_may_be_called_like_a_number",
        "test_a_target_of_the_user_compiles_alike_programs_one_by_one",
    ),
)
REPEATS = (
    test_repeats.test_sines_and_cosines_of_other_angles_are_not_alike,
    test_repeats.test_no_two_parts_that_are_not_alike_are_one_body,
    test_repeats.test_parts_that_are_alike_are_step_for_step_alike,
    test_repeats.test_what_hardly_repeats_itself_stays_straight,
    test_repeats.test_an_output_that_is_wanted_twice_is_stored_twice,
    test_repeats.test_parts_read_at_one_place_at_two_and_after_what_is_like_nothing,
    test_repeats.test_numbers_that_differ_between_parts_stand_in_the_table,
    test_repeats.test_a_chain_is_written_once_and_not_for_every_joint,
    test_repeats.test_programs_of_all_operations_give_the_same_bits_as_straight_code,
)

# By file: those that import from it, its tests, and one of how many mutants `make test` tries.
AFTER_TABLE = ("llvm_parts", "llvm_routines", "llvm")
AFTER_FUNCTION = ("llvm_table", *AFTER_TABLE)
AFTER_TRIG = ("llvm_function", *AFTER_FUNCTION)
AFTER_LANES = ("trig", "llvm_operations", "lane_rows", *AFTER_TRIG)
MODULES = {
    "lanes": (AFTER_LANES, [*LANES, *ANGLES], 120),
    "trig": (AFTER_TRIG, [*ANGLES, test_lanes.test_a_huge_angle_leaves_the_sines_beside_it_as_they_are], 120),
    "llvm_operations": (AFTER_TRIG, [*NATIVE, *LANES], 120),
    "lane_rows": (("llvm",), LANES, 120),
    "llvm_function": (AFTER_FUNCTION, [*NATIVE, *LANES, *ANGLES], 120),
    "llvm_table": (AFTER_TABLE, REPEATS, 60),
    "repeats": (AFTER_FUNCTION, REPEATS, 60),
    "llvm_alike": (("kane.codegen.jit.compiler",), ALIKE, 12),
    "fused": (AFTER_TABLE, runnable(test_fused, ()), 60),
    "llvm": ((), [*NATIVE, *LANES, *ANGLES], 120),
    "c": ((), runnable(test_emit_c, ELSEWHERE), 120),
    "array_source": (("numpy", "jax"), runnable(test_emit_numpy, ()), 120),
}
# The quick test tries a third (half) of the mutants that the slow test of these files tries.
FEWER = {"llvm_function": 3, "repeats": 3, "llvm_alike": 2}
# Files of which all mutants are known to be caught, or to be right too.
WHOLE = ("trig", "array_source", "llvm_alike")
PATIENCE = 40  # seconds of work: the tests take a fifth of it

COMMUTES = "the order does not count"
NAMING = "names that nobody sees, as long as they are distinct"
PARENTHESES = "parentheses that are not needed"
LAYOUT = "how a docstring or comment is set"
HINT = "a hint to the compiler"
MEASURED = "a figure of processors"
MORE_ROOM, ONE_BY_ONE = "one more place in work", "zeros are stored one by one or cleared together"
NOTHING = "what computes nothing fuses nothing"
CUTS = "it decides where parts are cut; whether they are alike is found anew"
OF_LEAVES = "a sum that waits for nothing is fused whenever it is there"
EQUIVALENT = {
    "array_source": {
        "_WIDTH: 110 -> 111": LAYOUT,
        "ArrayWriter.arguments: 0.0 -> 1.0": "the default of what has no effect",
        "ArrayWriter.statements: len(self.tables) + 1 -> len(self.tables)": NAMING,
        "ArrayWriter.statements: 1 -> 2": NAMING,
        "ArrayWriter.layout: False -> True": LAYOUT,
        "_constant: 0 -> 1": PARENTHESES,
    },
    "c": {},
    "trig": {
        "MAX_REDUCED_ANGLE: 1000000.0 -> 2000000.0": "sines are right some way beyond, too",
        "sincos_name: 1 -> 2": NAMING,
        'LIKELY: prof !{!"branch_weights", i32 [1048576 -> 1048577], i32 1}': HINT,
        'LIKELY: ch_weights", i32 1048576, i32 [1 -> 2]}': HINT,
        "_SineWriter.__init__: 0 -> 1": NAMING,
        "_SineWriter._line: self.temporaries += 1 -> self.temporaries -= 1": NAMING,
        "_SineWriter._line: 1 -> 2": NAMING,
        "_SineWriter._times: a <-> b in f'fmul {self.type} {a}, {b}'": COMMUTES,
        "_SineWriter._fma: a <-> b in f'call {t} @llvm.fma.{self.lanes.suffix}": COMMUTES,
        "_SineWriter._fma: self._times(a, b) <-> c in f'fadd {self.type} {self._times(a, b)}, ": COMMUTES,
        "_SineWriter._fma: self._times(a, b) -> self._times(b, a)": COMMUTES,
        "_SineWriter._series: self._fma(z, self._number(c[i + 1]), self._number(c[i])) "
        "-> self._fma(self._number(c[i + 1]), z, self._number(c[i]))": COMMUTES,
        "_SineWriter._series: self._fma(z2, high, middle) -> self._fma(high, z2, middle)": COMMUTES,
        "_SineWriter._series: self._fma(self._times(factor, z2), rest, self._fma(factor, low, first)) "
        "-> self._fma(rest, self._times(factor, z2), self._fma(factor, low, first))": COMMUTES,
        "_SineWriter._series: self._times(factor, z2) -> self._times(z2, factor)": COMMUTES,
        "_SineWriter._series: self._fma(factor, low, first) -> self._fma(low, factor, first)": COMMUTES,
        "_SineWriter.small: fcmp [ole -> olt]": "sines of exactly a million are right either way",
        "_SineWriter._reduce: self._fma(self.x, self._number(_TWO_OVER_PI), self._number(_ROUNDER)) "
        "-> self._fma(self._number(_TWO_OVER_PI), self.x, self._number(_ROUNDER))": COMMUTES,
        "_SineWriter._reduce: self._fma(n, self._number(-part), r) -> self._fma(self._number(-part), n, r)": COMMUTES,
        "_SineWriter.fast: self._times(near, near) -> self._times(near, near)": "the same",
        "_SineWriter.fast: self._times(z, z) -> self._times(z, z)": "the same",
        "_SineWriter.fast: self._times(z, near) -> self._times(near, z)": COMMUTES,
        "_SineWriter.fast: self._fma(z, self._number(-0.5), self._number(1.0)) "
        "-> self._fma(self._number(-0.5), z, self._number(1.0))": COMMUTES,
        "_SineWriter.fast: n <-> self._whole(1) in f'add {self.lanes.integer} {n}, {self._w": COMMUTES,
        "_SineWriter._signed: moved <-> self._whole(-2 ** 63) in f'and {self.lanes.integer} {moved}, {sel": COMMUTES,
        "_SineWriter._signed: raw <-> sign in f'xor {self.lanes.integer} {raw}, {sign}": COMMUTES,
        "_SineWriter._signed: -2 ** 63 -> 2 ** 63": "the same bits",
    },
    "repeats": {
        **dict.fromkeys((f"PART_SIZE_BOUNDS: {n} -> {n + 1}" for n in (300, 1000, 100, 350, 35, 120)), MEASURED),
        "PART: 12 -> 13": MEASURED,
        "(_GRAM, _NEAR): 16 -> 17": MEASURED,
        "(_GRAM, _NEAR): 48 -> 49": MEASURED,
        "_words: places[node] = i -> pass": CUTS,
        "_words: i - places.get(a, -_NEAR) -> i + places.get(a, -_NEAR)": CUTS,
        "_words: -_NEAR -> _NEAR": CUTS,
        "_words: what.append('constant' if a.op == CONSTANT else distance if distance < _NEAR else 'far') "
        "-> pass": CUTS,
        "_words: 'constant' if a.op == CONSTANT else distance if distance < _NEAR else 'far' "
        "-> (distance if distance < _NEAR else 'far') if a.op == CONSTANT else 'constant'": CUTS,
        "_words: a.op == CONSTANT -> a.op != CONSTANT": CUTS,
        "repeated: bodies.setdefault((words[start:end].tobytes(), form), len(bodies)) "
        "-> bodies.setdefault(len(bodies), (words[start:end].tobytes(), form))": NAMING,
    },
    "llvm_alike": {
        "emit_alike: 0 -> 1": MORE_ROOM,
        "_Group.__init__: 0 -> 1": MORE_ROOM,
        "_Group._main: 0 -> 1": "programs of a group have equally many outputs",
        "_Caller.row_of_numbers: null, i64 [0 -> 1]": "nothing is read there",
        "_Caller.store_numbers: len(set(own)) > 1 -> len(set(own)) <= 1": ONE_BY_ONE,
        "_Caller.store_numbers: 1 -> 2": ONE_BY_ONE,
        "_Caller.store_numbers: , i1 [false -> true])": HINT,
        "_Caller._read: 4 if kind == 'i32' else 8 -> 8 if kind == 'i32' else 4": HINT,
        "_Caller._read: kind == 'i32' -> kind != 'i32'": HINT,
        "_addresses: min(keys, key=lambda key: places[key][0][1]) "
        "-> max(keys, key=lambda key: places[key][0][1])": "indices from the other end",
    },
    "llvm_table": {
        "ALIKE: 3 -> 4": MEASURED,
        "PartTable.__init__: 0 -> 1": "one more place in work",
        "PartTable._column: 0 -> 1": "the rows of parts that are alike are equally long",
        "PartTable._body: 0 -> 1 (3)": "parts that are alike read from one array; a place that all have is each one's",
        "_joined: 1 -> 2 (2)": NAMING,
    },
    "fused": {
        "CYCLES: 1 -> 2": MEASURED,
        "CYCLES: 13 -> 14": MEASURED,
        "CYCLES: 20 -> 21": MEASURED,
        "CYCLES: 45 -> 46": MEASURED,
        "CYCLES: 45 -> 46 (2)": MEASURED,
        "ELSE: 60 -> 61": MEASURED,
        "contracted: 0 -> 1": NOTHING,
        "contracted: 0 -> 1 (2)": NOTHING,
        "_fused_by: 0 -> 1": OF_LEAVES,
        "_fused_by: 0 -> 1 (2)": OF_LEAVES,
        "_fused_by: 0 -> 1 (3)": OF_LEAVES,
    },
    "lane_rows": {
        "_Rows.__init__: 0 -> 1 (3)": NAMING,
        "_Rows._line: self.temporaries += 1 -> self.temporaries -= 1": NAMING,
        "_Rows._line: 1 -> 2": NAMING,
    },
    "lanes": {},
    "llvm_operations": {},
    "llvm_function": {},
    "llvm": {
        "PIECE: 1500 -> 1501": MEASURED,
        "PIECE_OF_LONG: 700 -> 701": MEASURED,
        "PIECE_OF_LANES: 8000 -> 8001": MEASURED,
    },
}


def after(module):
    return [word if word.startswith("kane.") else f"{EMIT}.{word}" for word in MODULES[module][0]]


def found(module):
    return text_mutants(f"{EMIT}.{module}", after(module), signs=module in ("c", "array_source"))


def survivors(module, tried):
    known = list(cases(MODULES[module][1]))
    return survivors_apart(tried, lambda: fail(known), EQUIVALENT[module], seconds=PATIENCE)


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_a_file_run_anew_as_it_is_passes(module):
    assert survivors(module, [unchanged(f"{EMIT}.{module}", after(module))]) == ["nothing"]


@pytest.mark.parametrize("module", MODULES)
def test_emitters_with_one_thing_wrong_fail(module):
    assert survivors(module, found(module)[:: MODULES[module][2] * FEWER.get(module, 1)]) == []


@pytest.mark.slow
@pytest.mark.parametrize("module", FEWER)
def test_more_mutants_of_the_longer_emitters_fail(module):
    assert survivors(module, found(module)[:: MODULES[module][2]]) == []


@pytest.mark.slow
@pytest.mark.parametrize("module", WHOLE)
def test_of_all_mutants_of_the_emitters_none_passes(module):
    assert survivors(module, found(module)) == []
