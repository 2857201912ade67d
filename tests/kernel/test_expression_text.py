"""What an expression prints is typed again, and the interpreter vouches that it means the same."""

import itertools

import pytest

import kane
from kane.errors import ExpressionError
from kane.expression.arena import Arena
from kane.expression.functions import absolute, equal, maximum, minimum, select, sign, sin, spline
from kane.expression.interpret import evaluate, interpret
from kane.expression.operations import ACCELERATION, COORDINATE, INPUT, OPERATIONS, RATE, SPEED, SPLINE
from kane.expression.text import SHOWN_OPERATIONS
from kane.expression.traverse import CONSTRUCTORS

ARENA = Arena()
q1, q2, q3 = (ARENA.leaf(COORDINATE, f"q{i}") for i in (1, 2, 3))
VALUES = {q1: 0.3, q2: 0.45, q3: 0.8}
NAMES = {name: getattr(kane, name) for name in kane.__all__} | {"q1": q1, "q2": q2, "q3": q3}


@pytest.mark.parametrize("op", [op for op in CONSTRUCTORS if op != SPLINE], ids=lambda op: OPERATIONS[op].name)
def test_an_expression_prints_as_one_would_type_it(op):
    shapes = [q1, -q1, q1 + q2, q1 - q2, q1 * q3, q1 / q2, -(q1 * q2), q1**2, q2**1.5, sin(q3), q1 < q2, 2 * q1, 3 - q1]
    arity = OPERATIONS[op].arity
    picks = itertools.product(shapes, repeat=arity)
    if arity == 3:
        picks = itertools.product(shapes[:4], shapes[5:8], shapes[9:])
    nodes = [node for node in (CONSTRUCTORS[op](*some) for some in picks) if not node.is_constant]
    for node in [w for n in nodes for w in (n, n * q3 - n, q1 - n, 1 / (n + 3), (2 - n) ** 1.5, q3 / n, -n)]:
        typed = ARENA.lift(eval(repr(node), {}, NAMES))
        got, expected = interpret([typed, node], VALUES)
        # Parentheses that mathematics does not need are left out, which reorders a few roundings of 1e-16 each, and
        # some of these expressions cancel; a wrong parenthesis is wrong in the first digits.
        assert float(got) == pytest.approx(float(expected), rel=1e-9, abs=1e-12, nan_ok=True), repr(node)


@pytest.mark.parametrize("number", [1 / 3, 0.1, 2.0, -7.0, 1e-20, 6.02214076e23, -2.5e-7, 123456789.125])
def test_a_number_prints_with_all_its_digits_and_no_more_than_one_types(number):
    assert float(repr(ARENA.constant(number))) == number
    assert not repr(ARENA.constant(number)).endswith(".0")


@pytest.mark.parametrize(
    ("node", "text"),
    [
        ((-q1) ** 2.5, "(-q1)**2.5"),
        (select(q1 <= 0.5, 1.0, sign(q2)), "select(q1 <= 0.5, 1, sign(q2))"),
        (minimum(q1, maximum(q2, q3)), "minimum(q1, maximum(q2, q3))"),
        (absolute(q1 - q2), "abs(q1 - q2)"),
        (equal(q1, q2), "equal(q1, q2)"),
        (q1 - 2, "q1 - 2"),
        (spline(q1, [0, 1, 2], [0, 1, 4]), "spline(q1, 3 points from 0 to 2)"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_the_printed_form_has_only_the_parentheses_that_are_needed(node, text):
    assert repr(node) == text


def test_rates_and_accelerations_are_primed_and_a_joints_own_speeds_have_their_own_names():
    assert repr(ARENA.leaf(RATE, "q1")) == "q1'"
    assert repr(ARENA.leaf(RATE, "base_wx")) == "base_wx"  # no coordinate is called so: a speed of a joint
    assert repr(ARENA.leaf(ACCELERATION, "u1")) == "u1'"
    assert repr(ARENA.leaf(INPUT, " q1 Fx")) == "[q1 Fx]"


def test_values_are_given_by_the_names_that_are_printed():
    rate, speed, acceleration = ARENA.leaf(RATE, "q1"), ARENA.leaf(SPEED, "u1"), ARENA.leaf(ACCELERATION, "u1")
    values = {"q1": 2.0, "q1'": 3.0, "u1": 5.0, "u1'": 7.0}
    assert evaluate(q1 + 10 * rate + 100 * speed + 1000 * acceleration, values) == 7532.0
    with pytest.raises(ExpressionError, match="no value was given for the rate q1'"):
        evaluate(q1 + rate, {"q1": 1.0})
    ground = kane.Model().ground
    with pytest.raises(ExpressionError, match=r"measures have values in dyn\.derivatives\(expression, wrt=\(\)\)"):
        evaluate(ground.point((0, 0, 1)).position.dot(ground.z), {"q1": 1.0})


def test_a_long_expression_prints_its_outermost_operations():
    long = q1
    for _ in range(2 * SHOWN_OPERATIONS):
        long = sin(long)
    assert repr(long) == "sin(" * SHOWN_OPERATIONS + "..." + ")" * SHOWN_OPERATIONS
    doubled = q1
    for _ in range(100):  # 2^100 occurrences of q1
        doubled = sin(doubled) * (doubled + 1)
    assert repr(doubled).count("...") > 0
    assert len(repr(doubled)) < 20 * SHOWN_OPERATIONS
