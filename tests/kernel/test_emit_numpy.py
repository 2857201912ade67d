"""NumPy source against the interpreter: every operation, batches, hostile names."""

import itertools
import math
import re
import warnings

import numpy as np
import pytest
from oracles.programs import every_operation, hostile, interpreted, loaded, moving, nested

from kane.codegen.emit.numpy import NUMPY, ROWS
from kane.codegen.programs.program import Program
from kane.errors import ExpressionError
from kane.expression import construct
from kane.expression.arena import Arena
from kane.expression.functions import select, sin
from kane.expression.interpret import interpret
from kane.expression.operations import ACCELERATION, COORDINATE, PARAMETER, SPEED
from kane.expression.spline import PiecewiseCubic
from kane.expression.traverse import CONSTRUCTORS


def test_every_operation_has_a_row():
    assert set(ROWS) == set(CONSTRUCTORS)


def test_the_numbers_are_those_of_the_interpreter_bit_for_bit():
    program = every_operation()
    f = loaded(NUMPY.source([program], name="t"))["f"]
    states = np.array(list(itertools.product((0.37, -1.9, 2.25, 0.0, math.nan), repeat=3)))
    expected = interpret(program.outputs, dict(zip(program.state, states.T, strict=True)))
    # The same functions of NumPy on the same arrays in the same order: not one bit of tolerance.
    np.testing.assert_array_equal(f(states), np.transpose([np.broadcast_to(x, len(states)) for x in expected]))


def test_operations_inside_others_keep_their_order():
    program = nested()
    state = [1.37, 0.71, 2.9]
    found = loaded(NUMPY.source([program], name="t"))["f"](state)
    np.testing.assert_array_equal(found, interpreted(program, state))


def test_a_batch_is_its_states_one_by_one():
    program = moving()
    f = loaded(NUMPY.source([program], name="t"))["f"]
    random = np.random.default_rng(3)
    states, rest = random.normal(size=(4, 1, 7)), random.normal(size=(3, 1))
    together = f(states, rest, [3.0, 0.4])
    assert together.shape == (4, 3, len(program.outputs))
    for i, j in itertools.product(range(4), range(3)):
        expected = interpreted(program, states[i, 0], rest[j], [3.0, 0.4])
        # NumPy's sines of many numbers at once may differ from those of one by a unit in the last place; no value on
        # the way exceeds 100, and fewer than 30 operations make an output.
        np.testing.assert_allclose(together[i, j], expected, rtol=0, atol=100 * 30 * 2.0**-52)


def test_outputs_that_do_not_move_fill_the_batch():
    arena = Arena()
    x, p = arena.leaf(COORDINATE, "x"), arena.leaf(PARAMETER, "p")
    program = Program("f", [arena.constant(2.0), p * p, x], state=[x], rest=[], parameters=[p])
    f = loaded(NUMPY.source([program], name="t"))["f"]
    np.testing.assert_array_equal(f(np.ones((5, 1)), (), [3.0]), [[2.0, 9.0, 1.0]] * 5)
    empty = Program("f", [], state=[x], rest=[], parameters=[])
    assert loaded(NUMPY.source([empty], name="t"))["f"](np.ones((5, 1))).shape == (5, 0)


def test_the_piece_of_a_spline_that_holds_is_the_interpreters():
    x = Arena().leaf(COORDINATE, "x")
    table = PiecewiseCubic.through([-1.0, 0.0, 0.5, 2.0], [1.0, -2.0, 0.25, 3.0])
    twice = [construct.build_spline(x, table), construct.build_spline(x * x, table)]
    source = NUMPY.source([Program("f", twice, state=[x], rest=[], parameters=[])], name="t")
    assert source.count("np.array(") == 1
    at = np.array([*np.linspace(-2, 3.5, 56), *table.knots, *np.nextafter(table.knots, -math.inf), math.nan])
    np.testing.assert_array_equal(loaded(source)["f"](at[:, None])[:, 0], table.value(at))


def test_what_is_not_chosen_may_be_undefined_without_a_warning():
    arena = Arena()
    x = arena.leaf(COORDINATE, "x")
    program = Program("f", [select(x > 0.0, 1 / x, x)], state=[x], rest=[], parameters=[])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loaded(NUMPY.source([program], name="t"))["f"]([0.0]) == [0.0]


def test_hostile_names_stay_harmless():
    program, state, parameters = hostile()
    source = NUMPY.source([program], name='""" + exit() #\\')
    (word,) = re.findall(r"^def (\w+)\(state", source, re.MULTILINE)
    result = loaded(source)[word](state, (), parameters)
    np.testing.assert_array_equal(result, interpreted(program, state, (), parameters))


def test_known_parameters_are_defaults_and_inputs_must_be_given():
    program = moving()
    f = loaded(NUMPY.source([program], name="t", defaults={"m": 3.0, "L1": 0.4, "tau": 1.5}))["f"]
    state = np.linspace(0.1, 0.7, 7)
    np.testing.assert_array_equal(f(state, [1.5]), f(state, [1.5], [3.0, 0.4]))
    with pytest.raises(TypeError, match="rest"):
        f(state)
    without = loaded(NUMPY.source([program], name="t", defaults={"tau": 1.5}))["f"]
    with pytest.raises(TypeError, match="parameters"):
        without(state, [1.5])


def test_docstrings_say_what_the_arrays_hold():
    source = NUMPY.source([moving()], name="arm", outputs={"f": ["height", "power"]})
    assert "state: t, q1, q2, q3, u1, u2, u3" in source
    assert "returns: height, power" in source


def test_an_acceleration_and_the_speed_whose_name_it_bears_are_told_apart():
    arena = Arena()
    u, udot = arena.leaf(SPEED, "u1"), arena.leaf(ACCELERATION, "u1")
    f = loaded(NUMPY.source([Program("p", [u - udot], state=[u], rest=[udot], parameters=[])], name="t"))["p"]
    assert f([5.0], [2.0]) == [3.0]


def test_two_programs_that_would_share_a_name_are_refused():
    programs = [Program(name, [], state=[], rest=[], parameters=[]) for name in ("a b", "a-b")]
    with pytest.raises(ExpressionError, match=r"would both become the Python function a_b; rename one"):
        NUMPY.source(programs, name="t")


def test_a_chain_of_20000_operations_is_written_in_short_lines():
    arena = Arena()
    x, y = arena.leaf(COORDINATE, "x"), arena.leaf(COORDINATE, "y")
    node = x
    for i in range(20_000):
        node = sin(node) if i % 3 == 0 else node * y if i % 3 == 1 else node - x
    source = NUMPY.source([Program("p", [node], state=[x, y], rest=[], parameters=[])], name="t")
    assert max(map(len, source.splitlines())) <= 140
    assert np.isfinite(loaded(source)["p"]([0.3, 0.5])).all()
