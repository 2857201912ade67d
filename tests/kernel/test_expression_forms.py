"""Canonical forms: what is equal by the rules of the constructors is one node."""

import math

import pytest

from kane.expression import construct, functions, spline
from kane.expression.arena import Arena
from kane.expression.functions import (
    absolute,
    acos,
    asin,
    atan2,
    cos,
    exp,
    maximum,
    minimum,
    select,
    sign,
    sin,
    sqrt,
    tan,
    tanh,
)
from kane.expression.operations import ADD, CONSTANT, COORDINATE, OPERATIONS, PARAMETER, SIN, SPEED, SUB
from kane.expression.traverse import CONSTRUCTORS, count_operations, has_leaf, leaves, reachable, substitute_nodes

ARENA = Arena()
x, y, z, k = (ARENA.leaf(COORDINATE, name) for name in "xyzk")
s, c = sin(x), cos(x)
quarter = math.pi / 2

SAME = {
    "sums commute": (x + y, y + x),
    "products commute": (x * y, y * x),
    "a difference and its opposite": (x - y, -(y - x)),
    "an opposite absorbed by a sum": (x + -y, x - y),
    "two opposites in a sum": (-x + -y, -(x + y)),
    "an opposite less something": (-x - y, -(x + y)),
    "opposites of opposites": (construct.neg(-x), x),
    "a sign in a product": ((-x) * y, -(x * y)),
    "two signs in a product": ((-x) * (-y), x * y),
    "a sign in a quotient": ((-x) / y, x / (-y)),
    "two signs in a quotient": ((-x) / (-y), x / y),
    "a negative constant in a product": (-2 * x, -(2 * x)),
    "a negative constant over something": (-2 / x, -(2 / x)),
    "division by a constant": (x / 4, 0.25 * x),
    "constants gathered in a sum": (1 + (2 + x), 3 + x),
    "constants gathered in a difference": (1 - (2 + x), -1 - x),
    "constants gathered through a sign": (1 - (2 - x), x - 1),
    "constants gathered in a product": (2 * (3 * x), 6 * x),
    "constants gathered from both factors": ((2 * x) * (3 * y), 6 * (x * y)),
    "an opposite of a constant less something": (-(2 - x), x - 2),
    "zero in a sum": (x + 0, x),
    "zero in a difference": (0 - x, -x),
    "zero in a product": (0 * x, ARENA.zero),
    "zero over something": (0 / x, ARENA.zero),
    "one in a product": (1 * x, x),
    "minus one in a product": (-1 * x, -x),
    "a thing less itself": (x - x, ARENA.zero),
    "a thing over itself": (x / x, ARENA.one),
    "a thing and its opposite": (x + -x, ARENA.zero),
    "a thing twice": (x + x, 2 * x),
    "like terms": (2 * x + 3 * x, 5 * x),
    "like terms, one without a factor": (2 * x + x, 3 * x),
    "like terms subtracted": (5 * x - 2 * x, 3 * x),
    "a difference undone": ((x - y) + y, x),
    "a difference from its first term": (x - (x - y), y),
    "a difference less its first term": ((x - y) - x, -y),
    "a sum from its first term": (x - (x + y), -y),
    "a sum from its second term": (y - (x + y), -x),
    "a sum undone": ((x + y) - y, x),
    "a quotient undone": ((x / y) * y, x),
    "a product undone": ((x * y) / y, x),
    "a root squared": (sqrt(x) * sqrt(x), x),
    "a root as a power": (x**0.5, sqrt(x)),
    "the root of one less a squared sine": (sqrt(1 - s * s), c * sign(c)),
    "the root of one less a squared cosine": (sqrt(1 - c * c), s * sign(s)),
    "a quotient by such a root": (c * y / sqrt(1 - s * s), sign(c) * y),
    "a quotient by a sign": (y / sign(x), y * sign(x)),
    "a size with its sign": ((x * sign(x)) * sign(x), x),
    "a square": (x**2, x * x),
    "a cube": (x**3, x * (x * x)),
    "a fourth power by squaring": (x**4, (x * x) * (x * x)),
    "the zeroth power": (x**0, ARENA.one),
    "a negative power": (x**-2, 1 / (x * x)),
    "a numpy-like integer power": (x**2.0, x * x),
    "sine and cosine squared": (s * s + c * c, ARENA.one),
    "cosine and sine squared": (c**2 + s**2, ARENA.one),
    "a number of sine and cosine squared": (3 * s**2 + 3 * c**2, ARENA.constant(3.0)),
    "something times sine and cosine squared": (k * s**2 + k * c**2, k),
    "something older times sine and cosine squared": (c**2 * x + x * s**2, x),
    "a product times sine and cosine squared": ((k * y) * s**2 + (k * y) * c**2, k * y),
    "sine is odd": (sin(-x), -s),
    "cosine is even": (cos(-x), c),
    "sine of a difference turned round": (sin(x - y), -sin(y - x)),
    "tangent is odd": (tan(-x), -tan(x)),
    "arcsine is odd": (asin(-x), -asin(x)),
    "tanh is odd": (tanh(-x), -tanh(x)),
    "sign is odd": (sign(-x), -sign(x)),
    "absolute value is even": (absolute(-x), absolute(x)),
    "absolute value of what is not negative": (absolute(sqrt(x)), sqrt(x)),
    "absolute value of an exponential": (absolute(exp(x)), exp(x)),
    "sine of arcsine": (sin(asin(x)), x),
    "cosine of arccosine": (cos(acos(x)), x),
    "a choice without a choice": (select(x < y, z, z), z),
    "a choice known beforehand": (select(ARENA.one, x, y), x),
    "the smaller of one thing": (minimum(x, x), x),
    "minimum commutes": (minimum(x, y), minimum(y, x)),
    "maximum commutes": (maximum(x, y), maximum(y, x)),
    "greater is less the other way": (x > y, y < x),
    "at least is at most the other way": (x >= y, y <= x),
    "nothing is less than itself": (x < x, ARENA.zero),
    "-0.0 is 0.0": (ARENA.constant(-0.0), ARENA.zero),
}


@pytest.mark.parametrize("name", SAME)
def test_equal_by_the_rules_is_one_node(name):
    a, b = SAME[name]
    assert a is b, f"{name}: {a} and {b}"


@pytest.mark.parametrize("turns", range(-9, 10))
@pytest.mark.parametrize("backwards", [False, True])
def test_offsets_by_quarter_turns_turn_sines_into_cosines(turns, backwards):
    angle = turns * quarter - x if backwards else turns * quarter + x
    # sin(n pi/2 + x) for n = 0, 1, 2, 3, then cos likewise.
    sines, cosines = (s, c, -s, -c), (c, -s, -c, s)
    if backwards:  # x becomes -x: sines change sign, cosines do not
        sines, cosines = (-s, c, s, -c), (c, s, -c, -s)
    assert sin(angle) is sines[turns % 4]
    assert cos(angle) is cosines[turns % 4]


@pytest.mark.parametrize("offset", [1e-13, 1e-9, quarter + 1e-9, 1.0, 1e13, 1e17])
def test_offsets_that_are_not_surely_quarter_turns_stay(offset):
    assert sin(offset + x).op == SIN
    assert sin(offset + x).args[0] is offset + x


def test_nothing_is_expanded():
    assert (x * (y + z)).args[1] is y + z
    assert ((x + y) ** 2).args == (x + y, x + y)


def test_different_things_stay_different():
    assert x - y is not y - x
    assert (x <= x).op != CONSTANT  # NaN is not at most itself
    assert sqrt(x * x) is not x
    assert asin(sin(x)) is not x
    assert atan2(x, y) is not atan2(y, x)
    assert sin(x) ** 2 + cos(y) ** 2 is not ARENA.one
    assert s**2 - c**2 is not ARENA.one
    assert ARENA.leaf(COORDINATE, "x") is x
    assert ARENA.leaf(SPEED, "x") is not x


def test_constants_are_folded_by_every_constructor():
    arguments = {1: (0.4,), 2: (0.4, 0.7), 3: (1.0, 0.4, 0.7)}
    table = spline.PiecewiseCubic.through([0.0, 1.0, 2.0], [1.0, 0.0, 4.0])
    for op, constructor in CONSTRUCTORS.items():
        values = arguments[OPERATIONS[op].arity]
        data = (table,) if OPERATIONS[op].name == "spline" else ()
        folded = constructor(*map(ARENA.constant, values), *data)
        meaning = OPERATIONS[op].meaning
        expected = table.value(*values) if meaning is None else meaning(functions._NumPy, *values)
        assert folded.is_constant
        assert float(folded) == pytest.approx(float(expected), rel=4e-16)  # two libraries, an ulp each


def test_numbers_in_give_numbers_out():
    assert functions.sin(0.5) == math.sin(0.5)
    assert functions.atan2(1, -1) == math.atan2(1, -1)
    assert functions.select(1, 2.0, 3.0) == 2.0
    assert math.isnan(functions.maximum(math.nan, 1.0))
    assert isinstance(functions.sqrt(2), float)
    assert functions.maximum(1, x) is functions.maximum(x, 1)


def test_shared_parts_are_counted_once_and_signs_are_free():
    shared = sin(x) * y
    totals = count_operations([shared + z, -(shared - z), cos(x), sqrt(shared) / z])
    assert totals == {"mul": 1, "add": 2, "div": 1, "trig": 2, "other": 1}


def test_what_depends_on_free_leaves_alone_is_not_counted():
    p = ARENA.leaf(PARAMETER, "p")
    assert count_operations([(p * p + 1) * x], free=[PARAMETER])["mul"] == 1
    assert count_operations([(p * p + 1) * x], free=[PARAMETER])["add"] == 0
    assert count_operations([(p * p + 1) * x]) == {"mul": 2, "add": 1, "div": 0, "trig": 0, "other": 0}


def test_reachable_gives_arguments_before_users_and_leaves_in_order():
    root = sin(x * y) + z
    order = reachable([root, root])
    assert order.index(x * y) < order.index(sin(x * y)) < order.index(root)
    assert len(order) == len(set(order)) == 6
    assert leaves([root + 2]) == [x, y, z]


def test_a_search_for_a_leaf_looks_at_every_leaf_but_constants_until_one_is_wanted():
    root, seen = sin(x * y) + (z + 2) * x, []
    assert all(has_leaf(root, lambda leaf, one=one: leaf is one) for one in (x, y, z))
    assert not has_leaf(root, lambda leaf: seen.append(leaf))
    assert sorted(seen, key=lambda leaf: leaf.id) == [x, y, z]
    assert has_leaf(x, lambda leaf: True)
    assert not has_leaf(ARENA.one, lambda leaf: True)


def test_substitution_simplifies_on_the_way_and_replaces_all_at_once():
    assert substitute_nodes([x * y + z], {x: ARENA.zero}) == [z]
    assert substitute_nodes([x - y], {x: y, y: x}) == [y - x]  # a swap: replacements are not searched again
    assert substitute_nodes([sin(x * y) + z], {x * y: k}) == [sin(k) + z]
    untouched = sin(x * y)
    assert substitute_nodes([untouched, z], {z: k}) == [untouched, k]


def test_sums_and_differences_keep_the_constant_first_and_the_older_node_first():
    assert (x + 1).args[0].op == CONSTANT
    assert (y + x).op == ADD
    assert (y + x).args == (x, y)
    assert (z - x).args[0].op == SUB
    assert construct.neg(z - x).args == (x, z)
