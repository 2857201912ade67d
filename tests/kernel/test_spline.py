"""The cubic-spline lookup."""

import math

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from kane.errors import ExpressionError
from kane.expression.arena import Arena
from kane.expression.construct import build_spline as construct_spline
from kane.expression.derivative import forward, gradient
from kane.expression.functions import spline
from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE
from kane.expression.spline import PiecewiseCubic

XS, YS = [-1.0, 0.0, 0.5, 2.0, 2.5], [1.0, -2.0, 0.25, 3.0, -1.0]
# Horner in powers of (x - knot) of values of order 10: a few roundings of 1e-16 times 10.
ROUNDING = 1e-14


def test_a_spline_passes_through_its_points():
    table = PiecewiseCubic.through(XS, YS)
    np.testing.assert_allclose(table.value(np.array(XS)), YS, atol=ROUNDING)


def test_a_spline_is_the_not_a_knot_spline_of_scipy_between_its_ends():
    table, reference = PiecewiseCubic.through(XS, YS), CubicSpline(XS, YS)
    at = np.linspace(XS[0], XS[-1], 101)
    np.testing.assert_allclose(table.value(at), reference(at), atol=ROUNDING)
    np.testing.assert_allclose(table.derivative().value(at), reference(at, 1), atol=10 * ROUNDING)


def test_a_spline_is_continued_by_its_tangents():
    table = PiecewiseCubic.through(XS, YS)
    slope = table.derivative().value
    for end, beyond in ((XS[0], -7.0), (XS[-1], 9.0)):
        expected = table.value(end) + slope(end) * (beyond - end)
        assert table.value(beyond) == pytest.approx(expected, rel=ROUNDING)
        assert slope(beyond) == pytest.approx(slope(end), rel=ROUNDING)


def test_a_spline_is_twice_continuously_differentiable_at_inner_points():
    table = PiecewiseCubic.through(XS, YS)
    for knot in XS[1:-1]:
        h = 1e-9  # third derivatives of order 100 move the second by 1e-7 over this step
        for f, tolerance in ((table, 1e-7), (table.derivative(), 1e-6), (table.derivative().derivative(), 1e-6)):
            assert f.value(knot - h) == pytest.approx(f.value(knot + h), abs=tolerance)


def test_two_points_make_a_straight_line_and_three_a_parabola():
    assert PiecewiseCubic.through([0, 2], [1, 5]).value(1.0) == pytest.approx(3.0, rel=ROUNDING)
    parabola = PiecewiseCubic.through([0, 1, 3], [0, 1, 9])
    assert parabola.value(2.0) == pytest.approx(4.0, rel=ROUNDING)


def test_nan_in_is_nan_out():
    assert math.isnan(PiecewiseCubic.through(XS, YS).value(math.nan))


def test_a_spline_of_an_expression_is_one_node_with_an_exact_derivative():
    x = Arena().leaf(COORDINATE, "x")
    y = spline(x, XS, YS)
    assert y is spline(x, tuple(XS), np.array(YS))
    (slope,) = forward([y], {x: x.arena.one})
    at = np.array([-2.0, -0.3, 0.2, 1.7, 2.2, 4.0])
    table = PiecewiseCubic.through(XS, YS)
    np.testing.assert_array_equal(interpret([y], {x: at})[0], table.value(at))
    np.testing.assert_array_equal(interpret([slope], {x: at})[0], table.derivative().value(at))


def test_a_spline_of_a_number_is_a_number():
    assert spline(0.5, XS, YS) == pytest.approx(0.25, rel=ROUNDING)
    assert isinstance(spline(1, XS, YS), float)


BAD = {
    "one point": ([1.0], [2.0], r"needs two or more points .* shapes \(1,\) and \(1,\)"),
    "no point": ([], [], "needs two or more points"),
    "lengths differ": ([0.0, 1.0, 2.0], [1.0, 2.0], r"shapes \(3,\) and \(2,\)"),
    "a table": ([[0.0, 1.0]], [[1.0, 2.0]], "needs two or more points"),
    "decreasing": ([1.0, 0.0], [1.0, 2.0], "strictly increasing"),
    "repeated": ([0.0, 1.0, 1.0], [1.0, 2.0, 3.0], "strictly increasing"),
    "an infinite abscissa": ([0.0, math.inf], [1.0, 2.0], "must be finite"),
    "a missing ordinate": ([0.0, 1.0], [1.0, math.nan], "must be finite"),
    "words": (["a", "b"], [1.0, 2.0], "must be numbers"),
    "ragged": ([[0.0], [1.0, 2.0]], [1.0, 2.0], "must be numbers"),
    "complex": ([0.0, 1j], [1.0, 2.0], "must be numbers"),
    "too steep": ([0.0, 1e-320, 1.0, 2.0], [0.0, 1.0, 2.0, 5.0], "too close together"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_is_refused_saying_what_is_wrong(name):
    xs, ys, message = BAD[name]
    with pytest.raises(ExpressionError, match=message):
        spline(0.0, xs, ys)


def test_a_list_of_numbers_is_looked_up_by_a_place_in_it_and_has_no_slope():
    """What features of contacts are looked up by; a list of one number is that number."""
    arena = Arena()
    x = arena.leaf(COORDINATE, "x")
    values = [3.0, -1.0, 7.5, 7.5]
    found = construct_spline(x, PiecewiseCubic.steps(values))
    assert [interpret([found], {x: float(k)})[0] for k in range(4)] == values
    (slope,) = gradient(found, [x])
    assert slope.is_constant
    assert slope.data == 0.0
    same = construct_spline(x, PiecewiseCubic.steps([2.0, 2.0]))
    assert same.is_constant
    assert same.data == 2.0
    assert PiecewiseCubic.through([0, 1], [2, 2]).constant == 2.0
    assert PiecewiseCubic.through([0, 1], [2, 3]).constant is None
