"""Random expressions, built through the simplifying constructors and evaluated beside them as they were written.

A recipe is a list of steps, each an operation and the numbers of earlier steps. The oracle evaluates it as written,
with mpmath at 40 digits, and carries along by how much each value may move when every leaf, constant and result is
moved by one rounding of double precision: the movement of a function is its largest change over the corners of the box
of its arguments. Simplification regroups roundings and folds constants in double precision, so a simplified expression
may differ from the recipe by a few times that movement and by no more.
"""

import itertools
import math
from typing import NamedTuple

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles.arena_invariants import check_arena

from kane.errors import ExpressionError
from kane.expression import derivative
from kane.expression.arena import Arena
from kane.expression.interpret import interpret
from kane.expression.operations import (
    ABS,
    ACOS,
    ADD,
    ASIN,
    CONSTANT,
    COORDINATE,
    COS,
    DIV,
    EQUAL,
    EXP,
    LESS,
    LESS_EQUAL,
    MUL,
    NEG,
    OPERATIONS,
    POW,
    SELECT,
    SIN,
    SPLINE,
    SQRT,
    SUB,
)
from kane.expression.spline import PiecewiseCubic
from kane.expression.traverse import CONSTRUCTORS, leaves, reachable, substitute_nodes

EPS = 2.0**-53
TABLE = PiecewiseCubic.through([-2.0, -0.5, 0.25, 1.0, 3.0], [0.5, -1.0, 2.0, 1.0, 1.5])
CONSTANTS = (0.0, 1.0, -1.0, 2.0, -3.0, 0.5, 1 / 3, math.pi / 2, -math.pi, 0.25)
NAMES = ("x", "y", "z")
OPS = tuple(CONSTRUCTORS)
# Sums and products more often than the rest: most rules are about them.
WEIGHTED = OPS + 5 * (ADD, SUB, MUL) + 3 * (NEG,)


class Mp:
    """mpmath as the namespace of elementary functions."""

    sin, cos, tan, asin, acos, atan2 = mpmath.sin, mpmath.cos, mpmath.tan, mpmath.asin, mpmath.acos, mpmath.atan2
    exp, log, tanh, sqrt, fabs, sign = mpmath.exp, mpmath.log, mpmath.tanh, mpmath.sqrt, mpmath.fabs, mpmath.sign
    minimum, maximum, number = staticmethod(min), staticmethod(max), mpmath.mpf

    @staticmethod
    def where(condition, a, b):
        return a if condition else b


class Moved(NamedTuple):
    value: mpmath.mpf
    movement: mpmath.mpf


def apply(op, *args):
    """The operation as the table defines it, on mpmath numbers; None outside the reals."""
    try:
        value = TABLE.value(args[0]) if op == SPLINE else OPERATIONS[op].meaning(Mp, *args)
    except (ZeroDivisionError, ValueError, OverflowError):
        return None
    return None if isinstance(value, mpmath.mpc) or not mpmath.isfinite(value) else mpmath.mpf(value)


def oracle(op, args):
    """Value and movement of a step as written; None where it is undefined, jumps, or is beyond use."""
    if any(a is None for a in args):
        return None
    centre = apply(op, *(a.value for a in args))
    if centre is None or abs(centre) > 1e30:
        return None
    movement = EPS * abs(centre)
    for corner in itertools.product(*((a.value - a.movement, a.value + a.movement) for a in args)):
        there = apply(op, *corner)
        if there is None:
            return None
        movement = max(movement, abs(there - centre) + EPS * abs(centre))
    return Moved(centre, movement) if movement < 1e-6 * max(1, abs(centre)) else None


def constructed(op, args, truth):
    """The node that the constructor gives, or None where it refuses what is indeed undefined."""
    try:
        return None if None in args else CONSTRUCTORS[op](*args, *((TABLE,) if op == SPLINE else ()))
    except ExpressionError:
        assert truth is None, f"{OPERATIONS[op].name} of {args} is {truth}, yet it was refused"
        return None


def assert_values(pairs, values):
    """The nodes have the oracle's values, both at 40 digits and in double precision."""
    pairs = [(node, t) for node, t in pairs if node is not None and t is not None]
    exact = interpret([node for node, _ in pairs], values, Mp)
    doubles = interpret([node for node, _ in pairs], values)
    for (node, t), high, low in zip(pairs, exact, doubles, strict=True):
        # At 40 digits only folded constants were rounded. 4: a folded constant stands for up to a few roundings.
        assert abs(high - t.value) <= 4 * t.movement, f"{node}: {high} instead of {t.value}"
        # In double precision every operation rounds, and elementary functions are good to 1 ulp, not to half.
        assert abs(mpmath.mpf(float(low)) - t.value) <= 16 * t.movement, f"{node}: {low} instead of {t.value}"


steps = st.lists(
    st.tuples(st.sampled_from(WEIGHTED), *(3 * [st.integers(0, 40)])),
    min_size=1,
    max_size=18,
)
points = st.tuples(*(3 * [st.floats(-3, 3, allow_subnormal=False).filter(lambda x: abs(x) > 1e-3)]))


def build(recipe, point):
    """The nodes and the oracle's values of every step, both None where undefined; the leaves with their values."""
    arena = Arena()
    xs = [arena.leaf(COORDINATE, name) for name in NAMES]
    nodes = [*xs, *(arena.constant(c) for c in CONSTANTS)]
    truth = [Moved(mpmath.mpf(v), EPS * abs(mpmath.mpf(v))) for v in (*point, *CONSTANTS)]
    for op, *picks in recipe:
        # Recent steps, leaves and constants are all within reach of a small pick.
        chosen = [len(nodes) - 1 - pick % len(nodes) for pick in picks[: OPERATIONS[op].arity]]
        truth.append(oracle(op, [truth[i] for i in chosen]))
        nodes.append(constructed(op, [nodes[i] for i in chosen], truth[-1]))
    check_arena(arena)
    return nodes, truth, dict(zip(xs, point, strict=True))


@settings(max_examples=400, deadline=None)
@given(steps, points)
def test_what_the_constructors_build_has_the_value_of_what_was_written(recipe, point):
    with mpmath.workdps(40):
        nodes, truth, values = build(recipe, point)
        assert_values(zip(nodes, truth, strict=True), values)


class Written:
    """A node beside the oracle's value of what was written, with the operators of both."""

    def __init__(self, node, truth):
        self.node, self.truth = node, truth

    def __add__(self, other):
        return written(ADD, self, other)

    def __sub__(self, other):
        return written(SUB, self, other)

    def __mul__(self, other):
        return written(MUL, self, other)

    def __truediv__(self, other):
        return written(DIV, self, other)

    def __neg__(self):
        return written(NEG, self)


def written(op, *args):
    truth = oracle(op, [a.truth for a in args])
    return Written(constructed(op, [a.node for a in args], truth), truth)


def shapes(x, y, c):
    """One expression for every pattern that a rule looks for; ``c(v)`` is the constant v."""
    s, t = written(SIN, x), written(COS, x)
    whole = [x, y, -x, -y, c(0.0), c(1.0), c(-1.0), c(0.3), c(-2.0), x + y, x - y, y - x, c(0.3) + x, c(0.3) - x]
    products = [x * y, c(2.0) * x, c(-2.0) * x, c(0.7) * x, c(0.7) * y, x / y, c(2.0) / x, -(x / y), c(3.0) * (x * y)]
    squares = [s, t, s * s, t * t, c(3.0) * (s * s), c(3.0) * (t * t), y * (s * s), (t * t) * y, (y * y) * (s * s)]
    others = [written(op, x) for op in (SQRT, ASIN, ACOS, EXP, ABS)] + [written(SQRT, y), (y * y) * (t * t)]
    turned = [c(n * math.pi / 2) + x for n in (-3, -2, -1, 1, 2, 3, 4)] + [c(n * math.pi / 2) - x for n in (-1, 1, 2)]
    return whole + products + squares + others + turned + [c(math.pi / 2 + 1e-9) + x, c(1e-13) + x, c(1e17) + x]


@pytest.mark.parametrize("op", OPS, ids=lambda op: OPERATIONS[op].name)
def test_every_operation_on_every_pair_of_patterns_keeps_its_value(op):
    arena = Arena()
    x, y = (arena.leaf(COORDINATE, name) for name in NAMES[:2])
    values = {x: 0.6123, y: 0.3711}
    with mpmath.workdps(40):
        leaf = [Written(n, Moved(mpmath.mpf(v), EPS * v)) for n, v in values.items()]
        patterns = shapes(*leaf, lambda v: Written(arena.constant(v), Moved(mpmath.mpf(v), EPS * abs(v))))
        picks = itertools.product(patterns, repeat=min(2, OPERATIONS[op].arity))
        if op == SELECT:
            picks = itertools.product(patterns[:6], patterns[:6], patterns[:6])
        results = [written(op, *args) for args in picks]
        assert_values([(r.node, r.truth) for r in results], values)
    check_arena(arena)


@settings(max_examples=150, deadline=None)
@given(steps, points, st.sampled_from(NAMES))
def test_a_nan_that_enters_comes_out_where_its_variable_still_appears(recipe, point, name):
    with mpmath.workdps(40):
        nodes, _, values = build(recipe, point)
    poisoned = {leaf: math.nan if leaf.name == name else value for leaf, value in values.items()}
    stops_nan = {SELECT, LESS, LESS_EQUAL, EQUAL, POW}
    for node in nodes:
        if node is None or any(n.op in stops_nan for n in reachable([node])):
            continue
        if any(leaf.name == name for leaf in leaves([node])):
            assert math.isnan(interpret([node], poisoned)[0]), node


@settings(max_examples=150, deadline=None)
@given(steps, points)
def test_substituting_numbers_folds_to_the_value_of_the_interpreter(recipe, point):
    with mpmath.workdps(40):
        nodes, truth, values = build(recipe, point)
        node, t = next((n, t) for n, t in zip(reversed(nodes), reversed(truth)) if n is not None and t is not None)
    try:
        (folded,) = substitute_nodes([node], {leaf: node.arena.constant(value) for leaf, value in values.items()})
    except ExpressionError:  # an inner branch that the value does not depend on is undefined at this point
        assert any(n.op == SELECT for n in reachable([node]))
        return
    assert folded.is_constant
    assert abs(float(folded) - t.value) <= 16 * t.movement  # as in the first test


def differences(node, values, variable):
    """One-sided and central differences of a node at 40 digits: error h**2 f'''/6 + 1e-40 |f| / h, about 1e-24."""
    h = mpmath.mpf(10) ** -12
    shifted = [interpret([node], {**values, variable: mpmath.mpf(values[variable]) + k * h}, Mp)[0] for k in (-1, 0, 1)]
    minus, centre, plus = shifted
    return (centre - minus) / h, (plus - minus) / (2 * h), (plus - centre) / h


@settings(max_examples=250, deadline=None)
@given(steps, points)
def test_forward_and_reverse_derivatives_of_random_expressions_match_differences(recipe, point):
    with mpmath.workdps(40):
        nodes, truth, values = build(recipe, point)
        node = next(n for n, t in zip(reversed(nodes), reversed(truth)) if n is not None and t is not None)
        try:
            forward = [derivative.forward([node], {x: node.arena.one})[0] for x in values]
            backward = derivative.gradient(node, list(values))
            everything = interpret(reachable([*forward, *backward, node]), values, Mp)
            slopes = [differences(node, values, x) for x in values]
        except (ExpressionError, ZeroDivisionError, ValueError, TypeError):
            assume(False)  # the derivative does not exist here, or an untaken branch is undefined
        assume(all(not isinstance(v, mpmath.mpc) and mpmath.isfinite(v) and abs(v) < 1e3 for v in everything))
        check_arena(node.arena)
        for x, f, b, (left, central, right) in zip(values, forward, backward, slopes, strict=True):
            assume(abs(left - right) < 1e-6)  # else a kink or a jump: there is no derivative to compare
            # Constants of the derivative are folded in double precision: 1e-16, times values and slopes of at most 1e3
            # each (assumed above), times the ten or so terms that can add up.
            for word, expression in (("forward", f), ("reverse", b)):
                value = interpret([expression], values, Mp)[0]
                assert abs(value - central) <= 1e-9, f"{word} d({node})/d{x.name}: {value} instead of {central}"


def test_the_recipes_reach_every_operation():
    assert set(OPS) == {op for op, row in enumerate(OPERATIONS) if row.arity}
    assert len(OPERATIONS) == SPLINE + 1
    assert OPERATIONS[CONSTANT].arity == 0


def test_the_oracle_can_tell_a_wrong_value():
    with mpmath.workdps(40):
        x = Moved(mpmath.mpf("0.3"), EPS * mpmath.mpf("0.3"))
        t = oracle(ADD, [x, x])
        assert t.value == mpmath.mpf("0.6")
        assert 4 * t.movement < 1e-14


@pytest.mark.parametrize("op", OPS, ids=lambda op: OPERATIONS[op].name)
def test_the_interpreter_works_on_arrays_and_never_raises_on_bad_numbers(op):
    arena = Arena()
    args = [arena.leaf(COORDINATE, name) for name in NAMES[: OPERATIONS[op].arity]]
    node = CONSTRUCTORS[op](*args, *((TABLE,) if op == SPLINE else ()))
    values = (0.0, -0.5, 2, -1e308, math.inf, math.nan)
    grid = np.array(list(itertools.product(values, repeat=len(args))), float).T
    together = interpret([node], dict(zip(args, grid, strict=True)))[0]
    one_by_one = [interpret([node], dict(zip(args, map(float, column), strict=True)))[0] for column in grid.T]
    # Vectorised elementary functions of NumPy differ from the scalar ones by an ulp at most.
    np.testing.assert_allclose(together, np.array(one_by_one, float), rtol=4 * EPS)
