"""Sums of parameters: never longer, of the same value, and nothing else is touched."""

from __future__ import annotations

import numpy as np
import pytest

from kane.codegen.programs.parameter_sums import MANY_TERMS, shortened
from kane.expression.arena import Arena
from kane.expression.functions import sin
from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE, PARAMETER
from kane.expression.traverse import count_operations, leaves

# A dozen additions and products of numbers of order one; sums that cancel are not asked for.
ROUNDING = 1e-13


@pytest.fixture
def arena():
    return Arena()


def parameters(arena, names):
    return [arena.leaf(PARAMETER, name) for name in names]


def operations(roots):
    return sum(count_operations(roots).values())


def test_what_cancels_between_second_moments_goes(arena):
    """J_y + J_z of principal moments is I1: the sum is found where it is used, and where it is divided by."""
    I1, I2, I3, m, x = parameters(arena, ["I1", "I2", "I3", "m", "x"])
    q = arena.leaf(COORDINATE, "q")
    half = 0.5 * (I1 + I2 + I3)
    moment = (half - I2) + (half - I3) + m * x * x
    for found, expected in zip(shortened([q / moment, sin(q) * moment]), [2, 2], strict=True):
        assert operations([found]) < operations([q / moment])
        assert count_operations([found])["mul"] + count_operations([found])["div"] == expected + 1
        assert count_operations([found])["add"] == 1


def test_a_product_of_sums_that_is_shorter_as_it_stands_stays(arena):
    a, b, c, d = parameters(arena, "abcd")
    q = arena.leaf(COORDINATE, "q")
    written = [q * ((a + b) * (c + d)), q * (a * (b + c))]
    assert shortened(written) == written


def test_only_sums_of_many_terms_are_not_multiplied_out(arena):
    """The same sum forwards and backwards cancels, which is found up to a length."""
    q = arena.leaf(COORDINATE, "q")
    for n in (3, MANY_TERMS, MANY_TERMS + 1):
        terms = parameters(arena, [f"p{k}" for k in range(n)])
        difference = sum(terms, start=arena.zero) - sum(reversed(terms), start=arena.zero)
        assert shortened([q + difference]) == [q + difference if n > MANY_TERMS else q]


def test_without_parameters_nothing_changes(arena):
    q = arena.leaf(COORDINATE, "q")
    written = [sin(q) + q * q, arena.one]
    assert shortened(written) == written


@pytest.mark.parametrize("seed", range(20))
def test_random_sums_keep_their_value_and_get_no_longer(seed):
    arena, random = Arena(), np.random.default_rng(seed)
    known = [*parameters(arena, "abcde"), arena.constant(0.5), arena.constant(2.0)]
    for _ in range(12):
        left, right = (known[int(k)] for k in random.integers(len(known), size=2))
        kind = int(random.integers(5))
        known.append((left + right, left - right, left * right, left - 2.0 * right, left / (right * right + 1.0))[kind])
    q = arena.leaf(COORDINATE, "q")
    outputs = [q * x + x * sin(q) for x in known[-4:]] + known[-2:]
    found = shortened(outputs)
    assert operations(found) <= operations(outputs)
    values = {leaf: float(random.uniform(0.5, 1.5)) for leaf in leaves([*known, *outputs])}
    ours, theirs = (np.array([float(x) for x in interpret(roots, values)]) for roots in (found, outputs))
    # Terms that cancel in the sums may be this much larger than what is left of them.
    scale = max(abs(float(x)) for x in interpret(known, values))
    np.testing.assert_allclose(ours, theirs, rtol=ROUNDING, atol=ROUNDING * scale)
