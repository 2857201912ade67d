"""Derivatives on the graph against numerical differentiation, and exact linear coefficients."""

import math

import mpmath
import pytest

from kane.errors import ExpressionError
from kane.expression.arena import Arena
from kane.expression.derivative import forward, gradient, linear_coefficients, total_time_derivative
from kane.expression.functions import cos, maximum, minimum, select, sin, sqrt, tan
from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE, INPUT, OPERATIONS, SPEED, SPLINE, TIME
from kane.expression.spline import PiecewiseCubic
from kane.expression.traverse import CONSTRUCTORS, leaves

TABLE = PiecewiseCubic.through([0.0, 0.4, 1.0, 2.0], [1.0, -1.0, 0.5, 3.0])
# Where each function is smooth; both sides of those with a kink or a step.
POINTS = {
    "pow": [(0.7, 1.3), (2.5, -0.6)],
    "log": [(0.3,), (4.0,)],
    "sqrt": [(0.3,), (4.0,)],
    "div": [(0.7, -1.3)],
    "atan2": [(0.7, -1.3), (-0.7, -1.3), (-0.2, 0.4)],
    "select": [(1.0, 0.3, 0.9), (0.0, 0.3, 0.9)],
    "spline": [(0.2,), (0.7,), (-1.0,), (3.0,)],
}
USUAL = {1: [(0.3,), (-0.8,)], 2: [(0.3, -0.8), (-0.8, 0.3)], 3: [(0.3, -0.8, 0.1)]}


class Mp:
    sin, cos, tan, asin, acos, atan2 = mpmath.sin, mpmath.cos, mpmath.tan, mpmath.asin, mpmath.acos, mpmath.atan2
    exp, log, tanh, sqrt, fabs, sign = mpmath.exp, mpmath.log, mpmath.tanh, mpmath.sqrt, mpmath.fabs, mpmath.sign
    minimum, maximum, number = staticmethod(min), staticmethod(max), mpmath.mpf
    where = staticmethod(lambda condition, a, b: a if condition else b)


def central_difference(node, values, variable):
    h = mpmath.mpf(10) ** -12
    plus, minus = (interpret([node], {**values, variable: values[variable] + k * h}, Mp)[0] for k in (1, -1))
    return (plus - minus) / (2 * h)


@pytest.mark.parametrize("op", CONSTRUCTORS, ids=lambda op: OPERATIONS[op].name)
def test_forward_and_reverse_agree_with_differences_for_every_operation(op):
    row = OPERATIONS[op]
    for point in POINTS.get(row.name, USUAL[row.arity]):
        arena = Arena()
        xs = [arena.leaf(COORDINATE, f"x{i}") for i in range(row.arity)]
        # The argument is a function itself and the value goes into another, so that the chain rule is at work.
        inner = [x + 0.25 * x * x for x in xs]
        f = CONSTRUCTORS[op](*inner, *((TABLE,) if op == SPLINE else ()))
        root = f * xs[-1] + f
        backward = gradient(root, xs)
        with mpmath.workdps(40):
            values = {x: mpmath.mpf(v) for x, v in zip(xs, point, strict=True)}
            for x, b in zip(xs, backward, strict=True):
                (f_x,) = forward([root], {x: arena.one})
                expected = central_difference(root, values, x)
                # h**2 f''' / 6 with h = 1e-12 and third derivatives of order 100, constants being exact in binary,
                # save for the coefficients of a spline's derivative, which are rounded (of order 10, to 1e-16).
                tolerance = 1e-14 if op == SPLINE else 1e-21
                assert abs(interpret([f_x], values, Mp)[0] - expected) < tolerance
                assert abs(interpret([b], values, Mp)[0] - expected) < tolerance


@pytest.fixture
def arena():
    return Arena()


def test_a_directional_derivative_adds_up_its_seeds(arena):
    x, y = arena.leaf(COORDINATE, "x"), arena.leaf(COORDINATE, "y")
    u, v = arena.leaf(SPEED, "u"), arena.leaf(SPEED, "v")
    assert forward([x * y], {x: u, y: v})[0] is x * v + y * u
    assert forward([x * y, u], {x: u}) == [y * u, arena.zero]


def test_the_gradient_with_respect_to_what_does_not_appear_is_zero(arena):
    x, y = arena.leaf(COORDINATE, "x"), arena.leaf(COORDINATE, "y")
    assert gradient(sin(x), [y, x]) == [arena.zero, cos(x)]
    assert gradient(arena.one, [x]) == [arena.zero]
    assert gradient(x, [x]) == [arena.one]


def test_the_gradient_with_respect_to_an_inner_node_holds_it_as_a_variable(arena):
    x = arena.leaf(COORDINATE, "x")
    s = sin(x)
    assert gradient(s * s * x, [s])[0] is 2 * s * x or interpret(gradient(s * s * x, [s]), {x: 0.3})[0] == (
        pytest.approx(2 * math.sin(0.3) * 0.3, rel=1e-15)
    )


def test_a_choice_has_the_slope_of_the_branch_taken_even_where_the_other_is_undefined(arena):
    x = arena.leaf(COORDINATE, "x")
    for root in (select(x > 0, sqrt(x), 3 * x), maximum(3 * x, minimum(4 * x, 9 * x))):
        (slope,) = forward([root], {x: arena.one})
        assert interpret([slope], {x: -1.0})[0] in (3.0, 9.0)
    (slope,) = forward([select(x > 0, sqrt(x), 3 * x)], {x: arena.one})
    assert interpret([slope], {x: 4.0})[0] == 0.25


def test_the_derivative_of_absolute_value_minimum_and_maximum_is_that_of_the_branch_taken(arena):
    x, y = arena.leaf(COORDINATE, "x"), arena.leaf(COORDINATE, "y")
    values = {x: -2.0, y: 3.0}
    for root, expected in ((abs(x), (-1, 0)), (minimum(x, y), (1, 0)), (maximum(x, y), (0, 1))):
        assert interpret(gradient(root, [x, y]), values) == list(expected)


def test_total_time_derivative_carries_rates_and_lets_time_run(arena):
    q, u, t = arena.leaf(COORDINATE, "q"), arena.leaf(SPEED, "u"), arena.leaf(TIME, "t")
    tau = arena.leaf(INPUT, "tau")
    assert total_time_derivative([sin(q)], {q: u})[0] is cos(q) * u
    assert total_time_derivative([t * t], {})[0] is 2 * t
    assert total_time_derivative([tau * q], {q: u})[0] is tau * u
    assert total_time_derivative([tau, t], {q: u}) == [arena.zero, arena.one]
    # A rate given for time itself, as for a scaled clock, is obeyed.
    assert total_time_derivative([t], {t: u})[0] is u


def test_second_time_derivative_is_the_acceleration(arena):
    q, u, t = arena.leaf(COORDINATE, "q"), arena.leaf(SPEED, "u"), arena.leaf(TIME, "t")
    a = arena.leaf(INPUT, "a")
    position = sin(q) * t + tan(q)
    rates = {q: u, u: a}
    (velocity,) = total_time_derivative([position], rates)
    (acceleration,) = total_time_derivative([velocity], rates)
    with mpmath.workdps(40):

        def along(time):  # q = 0.3 + 0.7 tau + 0.2 tau**2 with tau = t - 1
            tau = time - 1
            return interpret([position], {q: mpmath.mpf("0.3") + tau * (mpmath.mpf("0.7") + tau / 5), t: time}, Mp)[0]

        values = {q: mpmath.mpf("0.3"), u: mpmath.mpf("0.7"), a: mpmath.mpf("0.4"), t: mpmath.mpf(1)}
        # mpmath's differences at 40 digits are good to some 1e-13 for the second order; an error of formula is O(1).
        assert abs(interpret([velocity], values, Mp)[0] - mpmath.diff(along, 1)) < 1e-12
        assert abs(interpret([acceleration], values, Mp)[0] - mpmath.diff(along, 1, 2)) < 1e-12


def test_linear_coefficients_are_exact_and_free_of_the_variables(arena):
    a, b = arena.leaf(INPUT, "a"), arena.leaf(INPUT, "b")
    x, y = arena.leaf(COORDINATE, "x"), arena.leaf(COORDINATE, "y")
    roots = [
        3 * a - sin(x) * b + y,
        -(a + b) / cos(y),
        select(x < y, a, 2 * b + 1),
        (a * x + b) * y - b * y,
        x * y,
    ]
    matrix, rest = linear_coefficients(roots, [a, b])
    assert matrix[0] == [arena.constant(3), -sin(x)]
    assert rest[0] is y
    assert matrix[2] == [select(x < y, arena.one, arena.zero), select(x < y, arena.zero, arena.constant(2))]
    assert rest[2] is select(x < y, arena.zero, arena.one)
    assert matrix[3] == [x * y, arena.zero]
    assert matrix[4] == [arena.zero, arena.zero]
    assert rest[4] is x * y
    assert not {a, b} & set(leaves([c for row in matrix for c in row] + rest))
    values = {x: 0.3, y: 0.8, a: 1.7, b: -0.4}
    for root, row, remainder in zip(roots, matrix, rest, strict=True):
        put_together = row[0] * a + row[1] * b + remainder
        # Two orders of the same few operations on numbers of order 1.
        assert interpret([put_together], values)[0] == pytest.approx(interpret([root], values)[0], rel=1e-14)


def test_variables_that_cancel_leave_an_expression_free_of_them(arena):
    a, x, y = arena.leaf(INPUT, "a"), arena.leaf(COORDINATE, "x"), arena.leaf(COORDINATE, "y")
    cancelled = (a + x) - (a + y)
    matrix, rest = linear_coefficients([a * cancelled, sin(cancelled), y / cancelled], [a])
    assert matrix == [[x - y], [arena.zero], [arena.zero]]
    assert rest == [arena.zero, sin(x - y), y / (x - y)]


NONLINEAR = {
    "a product": (lambda a, b, x: a * b, r"^a\*b"),
    "a square": (lambda a, b, x: x + (a + 1) ** 2, r"^\(1 \+ a\)\*\*2"),
    "a function": (lambda a, b, x: x * sin(a), r"^sin\(a\)"),
    "a divisor": (lambda a, b, x: x / a, r"^x/a"),
    "a condition": (lambda a, b, x: select(a < 1, x, b), r"^a < 1"),
    "a power": (lambda a, b, x: x**a, r"^x\*\*a"),
}


@pytest.mark.parametrize("name", NONLINEAR)
def test_what_is_not_linear_is_refused_naming_the_operation(arena, name):
    a, b, x = arena.leaf(INPUT, "a"), arena.leaf(INPUT, "b"), arena.leaf(COORDINATE, "x")
    build, culprit = NONLINEAR[name]
    with pytest.raises(ExpressionError, match=culprit + " is not linear in the variables"):
        linear_coefficients([build(a, b, x)], [a, b])


def test_linear_coefficients_of_nothing_are_nothing():
    assert linear_coefficients([], []) == ([], [])
