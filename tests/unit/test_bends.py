"""Times at which expressions of time alone bend the other way, have a kink or jump, by interval arithmetic."""

import math
import warnings

import numpy as np
import pytest

import kane
from kane.expression.interpret import interpret
from kane.expression.intervals import Interval, Intervals
from kane.simulation.schedule.bends import bends

M = kane.Model("of time")
T, P = M.time, M.parameter("p", 1.0)
SPAN = (0.0, 20.0)

EXPRESSIONS = [
    kane.sin(3 * T) * kane.exp(-T * T),
    kane.cos(T) / (2 + T * T),
    kane.tan(T),
    kane.sqrt(kane.absolute(T)),
    (T * T + 1) ** 1.7,
    kane.tanh(5 * T) - T,
    kane.minimum(T, 1 - T) * kane.maximum(T * T, 0.5),
    kane.select(T - 0.3, kane.sin(T), T),
    kane.equal(T, 0.25) + kane.sign(T),
    kane.sign(T - 1) * T,
    kane.atan2(T, 1 - T),
    kane.atan2(kane.sin(T), kane.cos(T)),
    1 / T,
    kane.log(T * T + 0.1),
    kane.asin(T / 9) + kane.acos(T / 9),
    kane.spline(T, [-2, -1, 0, 1, 2.5], [1, 0, 3, -1, 2]),
]


def times(expression, span=SPAN, **constants):
    (found,) = bends([expression], T, constants or {}, span)
    return found


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=repr)
def test_no_value_of_an_expression_lies_outside_of_its_interval(expression):
    random = np.random.default_rng(1)
    low = random.uniform(-3.0, 3.0, 2000)
    high = low + 10.0 ** random.uniform(-4.0, 0.7, 2000)
    (found,) = interpret([expression], {T: Interval(low, high)}, Intervals)
    for share in np.linspace(0.0, 1.0, 41):
        (value,) = interpret([expression], {T: low + share * (high - low)})
        slack = 1e-12 * (1.0 + np.abs(value))
        assert (value >= found.low - slack).all()
        assert (value <= found.high + slack).all()


@pytest.mark.parametrize("width", [1.0, 0.1, 1e-3, 1e-5, 1e-7])
def test_a_pulse_bends_at_its_two_inflections_however_short_it_is(width):
    found = times(0.1 * kane.exp(-(((T - 9.3) / width) ** 2)) + 1000.0 * T)
    assert found == pytest.approx(
        [9.3 - width / math.sqrt(2), 9.3 + width / math.sqrt(2)], rel=0, abs=1e-6 * width + 2e-9
    )


def test_a_sine_bends_where_it_is_zero():
    assert times(kane.sin(2 * T)) == pytest.approx(np.arange(1, 13) * math.pi / 2, rel=1e-12)


def test_an_expression_has_a_kink_or_jumps_where_what_it_compares_changes_its_order():
    assert times(kane.maximum(T - 4, 0)) == pytest.approx([4.0])
    assert times(kane.minimum(T - 9.3, 9.301 - T)) == pytest.approx([9.3005])
    assert times(kane.select((T > 9.3) * (T < 9.301), 1.0, 0.0)) == pytest.approx([9.3, 9.301])
    assert times(kane.absolute(kane.sin(T))) == pytest.approx(np.arange(1, 7) * math.pi)


def test_what_is_straight_or_bends_one_way_only_has_no_bends():
    for expression in (3 * T - 1, T * T, kane.exp(T / 5), kane.sin(3 * T) ** 2 + kane.cos(3 * T) ** 2):
        assert not times(expression).size


def test_bends_of_each_row_are_those_of_its_own_values_and_backwards_they_are_the_same():
    values = np.array([1.0, 2.0, 0.5])
    found = bends([kane.sin(P * T)], T, {P: values}, SPAN)
    for value, own in zip(values, found, strict=True):
        assert own == pytest.approx(np.arange(1, int(20 * value / math.pi) + 1) * math.pi / value, rel=1e-12)
        (alone,) = bends([kane.sin(P * T)], T, {P: np.array([value])}, SPAN)
        np.testing.assert_array_equal(own, alone)
    np.testing.assert_array_equal(times(kane.sin(T), (20.0, 0.0)), times(kane.sin(T)))


def test_an_expression_that_bends_too_often_is_given_up_with_a_warning():
    with pytest.warns(UserWarning, match=r"sin\(1000000000\*t\) has more than 65,536 bends during the run"):
        assert not times(kane.sin(1e9 * T)).size
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(times(kane.sin(1000 * T))) == int(20_000 / math.pi)


def test_looking_for_bends_leaves_the_graph_as_it_was():
    before = len(M.arena)
    times(kane.tanh(T) * T)
    made = len(M.arena) - before
    times(kane.tanh(T) * T)
    assert len(M.arena) == before + made
    assert made <= 2
