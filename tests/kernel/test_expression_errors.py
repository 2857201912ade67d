"""Every misuse of expressions ends in an error that names the thing and the cure."""

import math
from fractions import Fraction

import numpy as np
import pytest
from oracles.arena_invariants import check_arena

from kane.errors import ExpressionError
from kane.expression import construct
from kane.expression.arena import Arena
from kane.expression.functions import acos, asin, atan2, exp, log, select, sqrt
from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE, OPERATIONS, PARAMETER
from kane.expression.traverse import CONSTRUCTORS


@pytest.fixture
def x():
    return Arena().leaf(COORDINATE, "x")


BINARY = [op for op in CONSTRUCTORS if OPERATIONS[op].arity == 2]


@pytest.mark.parametrize("op", BINARY, ids=lambda op: OPERATIONS[op].name)
def test_two_models_do_not_mix(x, op):
    stranger = Arena().leaf(COORDINATE, "stranger")
    with pytest.raises(ExpressionError, match="belong to different models; build every expression from"):
        CONSTRUCTORS[op](x, stranger)
    with pytest.raises(ExpressionError, match="stranger"):
        CONSTRUCTORS[op](stranger * 2, x)
    check_arena(x.arena)


@pytest.mark.parametrize("function", [construct.add, construct.sub, construct.mul, construct.div])
def test_a_constant_of_another_model_does_not_mix_either(x, function):
    with pytest.raises(ExpressionError, match="belong to different models"):
        function(x, Arena().constant(3.0))
    with pytest.raises(ExpressionError, match="belong to different models"):
        function(Arena().constant(3.0), x)


def test_three_arguments_of_two_models_do_not_mix(x):
    with pytest.raises(ExpressionError, match="belong to different models"):
        select(x, x + 1, Arena().leaf(COORDINATE, "y"))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, np.float64("nan"), 1e400])
def test_constants_that_are_not_finite_are_refused(x, value):
    with pytest.raises(ExpressionError, match=r"the constant .* is not finite; give a finite number"):
        x.arena.constant(value)
    with pytest.raises(ExpressionError, match="not finite"):
        x + value


def test_an_integer_beyond_double_precision_is_refused(x):
    with pytest.raises(ExpressionError, match="not finite"):
        x + 10**400


def test_constants_whose_sum_or_product_overflows_are_refused(x):
    with pytest.raises(ExpressionError, match="not finite"):
        1e308 * (1e308 * x)
    with pytest.raises(ExpressionError, match="not finite"):
        x.arena.constant(1e200) ** 2


@pytest.mark.parametrize("thing", ["1.0", None, [1.0, 2.0], 1j, np.complex128(1j), object()])
def test_what_is_neither_number_nor_expression_is_refused(x, thing):
    with pytest.raises((ExpressionError, TypeError), match=r"neither a number nor an expression|unsupported operand"):
        x + thing


@pytest.mark.parametrize("number", [2, 2.0, True, np.float32(2), np.int64(2), np.array(2.0), Fraction(1, 2)])
def test_every_real_number_is_lifted(x, number):
    assert (x * number) is x * float(number)
    assert (number * x) is x * float(number)


@pytest.mark.parametrize("zero", [0, 0.0, -0.0, np.float64(0)])
def test_division_by_the_constant_zero_is_named(x, zero):
    with pytest.raises(ExpressionError, match=r"division of sin\(x\) by the constant zero"):
        construct.build_sin(x) / zero


def test_division_by_a_constant_too_small_to_invert_stays_a_division(x):
    assert interpret([x / 1e-309], {x: 1e-309})[0] == 1.0


def test_a_negative_power_of_zero_is_a_division_by_zero(x):
    with pytest.raises(ExpressionError, match="by the constant zero"):
        x.arena.zero**-1
    with pytest.raises(ExpressionError, match=r"the power -1\.5 of the constant 0"):
        x.arena.zero**-1.5


def test_an_expression_has_no_truth_value(x):
    with pytest.raises(ExpressionError, match=r"x < 1 has no truth value .* use kane.select"):
        bool(x < 1)
    with pytest.raises(ExpressionError, match="has no truth value"):
        max(x, 1.0)


def test_only_constants_are_floats(x):
    assert float(x.arena.constant(2.5)) == 2.5
    with pytest.raises(
        ExpressionError,
        match=r"the expression x is not a number; for expressions use kane.sin .* kane.evaluate to compute the value",
    ):
        float(x)
    with pytest.raises(ExpressionError, match="is not a number"):
        math.sin(x)


OUTSIDE = {
    "log of the constant -1 is not": lambda c: log(c(-1.0)),
    "log of the constant 0 is not": lambda c: log(c(0.0)),
    "sqrt of the constant -4 is not": lambda c: sqrt(c(-4.0)),
    "asin of the constant 2 is not": lambda c: asin(c(2.0)),
    "acos of the constant -1.5 is not": lambda c: acos(c(-1.5)),
    "exp of the constant 1000 is not": lambda c: exp(c(1000.0)),
    "the power 1.5 of the constant -2 is not": lambda c: c(-2.0) ** 1.5,
    "the power 400.0 of the constant 10 is not": lambda c: c(10.0) ** 400,
}


@pytest.mark.parametrize("message", OUTSIDE)
def test_functions_of_constants_outside_their_domain_are_refused(x, message):
    with pytest.raises(ExpressionError, match=message):
        OUTSIDE[message](x.arena.constant)


def test_an_odd_integer_power_of_a_negative_constant_is_real_however_large(x):
    assert float(x.arena.constant(-1.0) ** 65) == -1.0


def test_a_leaf_without_a_value_is_named(x):
    p = x.arena.leaf(PARAMETER, "mass")
    with pytest.raises(ExpressionError, match="no value was given for the parameter mass"):
        interpret([x * p], {x: 1.0})


def test_what_the_interpreter_cannot_compute_is_nan_or_infinite_as_in_ieee_754(x):
    values = {x: 0.0}
    assert interpret([1 / x], values)[0] == math.inf
    assert math.isnan(interpret([(x - 1) ** 1.5], values)[0])
    assert math.isnan(interpret([sqrt(x - 1)], values)[0])
    assert interpret([(x + 10) ** 400], values)[0] == math.inf
    assert interpret([atan2(x, x)], values)[0] == 0.0


def test_the_arena_check_finds_broken_invariants(x):
    check_arena(x.arena)
    node = construct.build_sin(x)
    node.args = (construct.build_cos(x),)
    with pytest.raises(ExpressionError, match="not earlier nodes"):
        check_arena(x.arena)
    node.args = (x, x)
    with pytest.raises(ExpressionError, match="wrong number"):
        check_arena(x.arena)
    node.args, node.id = (x,), x.id
    with pytest.raises(ExpressionError, match="has the id of another"):
        check_arena(x.arena)


def test_a_vector_times_an_expression_is_left_to_the_vector(x):
    class Vector:
        def __rmul__(self, factor):
            return ("scaled by", factor)

    assert x * Vector() == ("scaled by", x)
    with pytest.raises(ExpressionError, match="neither a number nor an expression"):
        x + Vector()
