"""Coefficients of Runge-Kutta methods to their last digit: order conditions without rounding, and SciPy's tables.

Rational tableaus are read from their source as fractions, Gauss's with fifty digits: their order conditions, those of
the error estimates and of the interpolants then hold exactly, and a changed weight breaks one whatever its size.
DOP853 is known in decimals only; every double of it is compared with SciPy's transcription.
"""

import ast
import inspect
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from oracles.order_conditions import along, defects, dense_rows, density, estimates, exact_tableau, trees, weights
from scipy.integrate import DOP853, RK45

import kane
from kane.simulation.integrators import explicit
from kane.simulation.integrators.explicit import Adaptive, dense_weights
from kane.simulation.integrators.rk8 import TABLEAU as EIGHTH

FIFTY = mpmath.MPContext()
FIFTY.dps = 50
# Fifty digits, some of which forty products and sums take.
VANISHES = FIFTY.mpf(10) ** -45
RATIONAL = {kane.RK4: 4, kane.RK5: 5, kane.Midpoint: 2}
# Orders of the two estimates: their weights vanish on all trees up to these, and not on all of the next.
ESTIMATES = {kane.RK5: (4, None), kane.RK8: (5, 3)}
INTERPOLANT = {kane.RK4: 3, kane.RK5: 4}


def source(kind):
    return Path(inspect.getfile(kind))


def rational(kind):
    return exact_tableau(source(kind), Fraction)


def everything(table, order, estimate, interpolant):
    """All that must vanish of an exact tableau."""
    n = len(table.rows)
    a = dense_rows(table.rows, n)
    found = [sum(row) - node for row, node in zip(a, table.nodes, strict=True)]
    for m in range(1, order + 1):
        found += defects(a[table.last], a, m)
    for row, upto in zip(dense_rows(table.errors, n), estimate, strict=True):
        found += [x for m in range(1, (upto or 0) + 1) for x in estimates(row, a, m)]
    found += [x for m in range(1, interpolant + 1) for x in all_along(table, a, m)]
    return found


def all_along(table, a, order):
    """Coefficients of the powers of theta in b(theta) . weights - theta^order / density."""
    columns = exact_dense(table, a)
    found = []
    for tree in trees(order)[order]:
        w = weights(tree, a)
        for power, b in enumerate(columns, start=1):
            found.append(along(b, w) - (Fraction(1, density(tree)) if power == order else 0))
    return found


def exact_dense(table, a):
    """``dense_weights`` without rounding: x + s (F0 + (1 - s) (F1 + s (F2 + ...))), by powers of s."""
    n = len(a)
    whole = a[table.last]
    begin, end = ([Fraction(int(j == k)) for j in range(n)] for k in (0, table.last))
    first = [b - w for b, w in zip(begin, whole, strict=True)]
    second = [2 * w - b - e for w, b, e in zip(whole, begin, end, strict=True)]
    terms = [whole, first, second, *dense_rows(table.interpolant, n)]
    basis, total = [Fraction(0), Fraction(1)], [[Fraction(0)] * n for _ in terms]
    for k, term in enumerate(terms):
        for power, c in enumerate(basis[1:]):
            total[power] = [x + c * y for x, y in zip(total[power], term, strict=True)]
        shifted = [Fraction(0), *basis]
        basis = [x - y for x, y in zip([*basis, Fraction(0)], shifted, strict=True)] if k % 2 == 0 else shifted
    return total


@pytest.mark.parametrize("kind", RATIONAL)
def test_rational_tableaus_satisfy_every_order_condition_without_rounding(kind):
    left = everything(rational(kind), RATIONAL[kind], ESTIMATES.get(kind, (None, None)), INTERPOLANT.get(kind, 0))
    assert all(isinstance(x, int | Fraction) for x in left)
    assert not any(left)


@pytest.mark.parametrize("kind", RATIONAL)
def test_what_runs_is_the_exact_tableau_rounded_once(kind):
    exact, table = rational(kind), kind().tableau
    for field in ("rows", "errors", "interpolant"):
        for row, known in zip(getattr(table, field), getattr(exact, field), strict=True):
            assert row == {j: float(x) for j, x in known.items()}
    assert list(table.nodes) == [float(x) for x in exact.nodes]
    if exact.exponent:
        assert table.exponent == float(exact.exponent)
    a = dense_rows(exact.rows, len(exact.rows))
    if kind in INTERPOLANT:
        dense = np.array(exact_dense(exact, a), float).T
        # Sums of a few products of numbers of order ten.
        np.testing.assert_allclose(dense_weights(table), dense, rtol=0, atol=1e-14)


def spoiled(text):
    """The source with the last digit of one number of the tableau changed, for every number."""
    tree = ast.parse(text)
    (table,) = [s for s in tree.body if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == "TABLEAU"]
    keys = {id(key) for node in ast.walk(table) if isinstance(node, ast.Dict) for key in node.keys}
    for keyword in table.value.keywords:
        if keyword.arg not in ("nodes", "rows", "errors", "interpolant"):
            continue
        for node in ast.walk(keyword.value):
            if isinstance(node, ast.Constant) and id(node) not in keys:
                right, node.value = node.value, node.value + (1 if isinstance(node.value, int) else 0.1)
                yield f"{keyword.arg}: {right} -> {node.value}", ast.unparse(tree)
                node.value = right


@pytest.mark.parametrize("kind", RATIONAL)
def test_a_number_changed_in_its_last_digit_breaks_a_condition(kind):
    survivors = []
    for name, text in spoiled(source(kind).read_text("utf-8")):
        try:
            table = exact_tableau(text, Fraction)
            right = (RATIONAL[kind], ESTIMATES.get(kind, (None, None)), INTERPOLANT.get(kind, 0))
            if not any(everything(table, *right)):
                survivors.append(name)
        except ZeroDivisionError:
            continue
    assert survivors == []


def test_gauss_satisfies_its_order_conditions_to_fifty_digits():
    exact = exact_tableau(source(kane.Gauss4), FIFTY.mpf, FIFTY.sqrt)
    left = everything(exact, 4, (None, None), 0)
    assert max(map(abs, left)) < VANISHES
    for row, known in zip(kane.Gauss4().tableau.rows, exact.rows, strict=True):
        for j, x in row.items():
            # A difference of two doubles, each rounded once.
            assert abs(x - known[j]) < math.ulp(0.5)


def test_every_number_of_rk8_is_that_of_dop853():
    """SciPy took its table from Hairer's program by itself."""
    arrays = explicit.scheme(kane.RK8())
    n = len(EIGHTH.rows)
    np.testing.assert_array_equal(arrays.coefficients[:12, :12], DOP853.A)
    np.testing.assert_array_equal(arrays.coefficients[12, :12], DOP853.B)
    np.testing.assert_array_equal(arrays.coefficients[13:], DOP853.A_EXTRA)
    np.testing.assert_array_equal(arrays.nodes, [*DOP853.C, 1.0, *DOP853.C_EXTRA])
    np.testing.assert_array_equal(arrays.errors[:, :13], [DOP853.E5, DOP853.E3])
    np.testing.assert_array_equal(np.array(dense_rows(EIGHTH.interpolant, n)), DOP853.D)
    for rest in (arrays.coefficients[:, 13:][:13], arrays.errors[:, 13:]):
        assert not rest.any()


def test_the_estimate_of_rk5_is_that_of_dormand_and_prince_with_its_sign():
    """Conditions of an estimate hold for any multiple of it: its size is compared with SciPy's."""
    np.testing.assert_array_equal(explicit.scheme(kane.RK5()).errors[0], -RK45.E)
    assert not explicit.scheme(kane.RK5()).errors[1].any()


@pytest.mark.parametrize("kind", ESTIMATES)
@pytest.mark.parametrize("which", [0, 1])
def test_an_error_estimate_has_its_order_and_no_more(kind, which):
    arrays = explicit.scheme(kind())
    e, order = arrays.errors[which].tolist(), ESTIMATES[kind][which]
    if order is None:
        assert not any(e)
        return
    a = arrays.coefficients.tolist()
    for m in range(1, order + 1):
        # Sums of up to 13 terms of size 6 with coefficients of 16 digits.
        assert max(map(abs, estimates(e, a, m))) < 1e-14
    assert max(map(abs, estimates(e, a, order + 1))) > 1e-6


def test_every_method_that_chooses_its_steps_has_its_estimate_tested():
    assert set(ESTIMATES) == set(Adaptive.__subclasses__())


@pytest.mark.parametrize("kind", ESTIMATES)
def test_the_step_goes_with_the_order_of_the_combined_estimate(kind):
    """E5^2 / sqrt(E5^2 + E3^2 / 100) goes as h to twice the one less the other, where there are two."""
    fine, coarse = ESTIMATES[kind]
    power = fine + 1 if coarse is None else 2 * (fine + 1) - (coarse + 1)
    assert kind().tableau.exponent == 1 / power
