"""Common factors of sums: values are kept, operations never become more."""

import random

import numpy as np
import pytest

from kane.codegen.programs.common_factors import factor
from kane.expression.arena import Arena
from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE, PARAMETER
from kane.expression.traverse import count_operations


@pytest.fixture
def leaves():
    arena = Arena()
    return (
        arena,
        *(arena.leaf(COORDINATE, name) for name in "abxyz"),
        arena.leaf(PARAMETER, "p"),
        arena.leaf(PARAMETER, "r"),
    )


def operations(*outputs):
    costs = count_operations(outputs, free=(PARAMETER,))
    return costs["mul"], costs["add"]


def test_a_factor_of_two_terms_is_pulled_out(leaves):
    _, a, _, x, y, z, _, _ = leaves
    assert factor([a * x + a * y]) == [a * (x + y)]
    assert factor([z - a * x - y * a]) == [z - a * (x + y)]
    assert operations(*factor([(a * x + z) - a * y])) == (1, 2)


def test_a_factor_inside_products_and_across_inner_sums_is_found(leaves):
    _, a, b, x, y, z, _, _ = leaves
    before = (a * b) * x + (z + (b * y) * z)
    assert operations(before) == (4, 2)
    assert operations(*factor([before])) == (3, 2)


def test_the_factor_of_most_terms_goes_first(leaves):
    _, a, b, x, y, z, _, _ = leaves
    before = a * x + b * x + b * y + b * z
    (after,) = factor([before])
    assert after is a * x + b * (x + y + z)
    assert operations(after) == (2, 3)


def test_constants_are_factors_too(leaves):
    _, _, _, x, y, _, _, _ = leaves
    assert factor([0.3 * x - 0.3 * y]) == [0.3 * (x - y)]


def test_sums_of_parameters_move_to_the_parameter_stage(leaves):
    _, _, _, x, _, _, p, r = leaves
    (after,) = factor([p * x + r * x])
    assert after is (p + r) * x
    assert operations(after) == (1, 0)


def test_products_and_sums_with_other_uses_are_left_alone(leaves):
    _, a, _, x, y, z, _, _ = leaves
    shared = a * x
    outputs = [shared + a * y, shared * z]
    assert factor(outputs) == outputs
    inner = a * x + z
    outputs = [inner + a * y, inner * x]
    assert factor(outputs) == outputs
    assert factor([shared + a * y, shared]) == [shared + a * y, shared]


def test_terms_that_cancel_go(leaves):
    """Z10 + 2 Z2 + Z2 - Z10 + 2 Z11 of a pendulum, and a shared term in two sums."""
    _, a, b, x, y, z, _, _ = leaves
    shared = a * x
    (after, kept) = factor([(shared + 2.0 * y) + (y - shared) + 2.0 * z, shared])
    assert after is 3.0 * y + 2.0 * z
    assert kept is shared
    assert factor([(x + y) - (z + y)]) == [x - z]
    (after,) = factor([((a * x) * b + y) - (x * b) * a])
    assert after is y


def test_like_terms_are_collected_whatever_else_uses_one_of_them(leaves):
    _, a, _, x, y, z, p, r = leaves
    shared = p * x
    (after, kept) = factor([(shared + y) - r * x, shared * z])
    assert after is (p - r) * x + y
    assert kept is shared * z
    (after, _) = factor([(2.0 * (a * x) + y) + a * x, (a * x) * z])
    assert after is 3.0 * (a * x) + y


def test_like_terms_that_both_stand_elsewhere_are_left_alone(leaves):
    """p x - r x costs one subtraction, (p - r) x one multiplication: where both stand, nothing is gained."""
    _, _, _, x, y, z, p, r = leaves
    outputs = [p * x - r * x, (p * x) * y, (r * x) * z]
    assert factor(outputs) == outputs


def test_in_products_parameters_come_together_and_equal_factors_are_powers(leaves):
    _, _, _, x, y, _, p, r = leaves
    (after,) = factor([(x * p) * (y * r)])
    assert operations(after) == (2, 0)
    first, second = factor([((p * x) * y) * x, ((r * x) * y) * x])
    assert operations(first, second) == (5, 0)  # x x once
    assert operations(((p * x) * y) * x, ((r * x) * y) * x) == (6, 0)


def test_a_sum_in_which_nothing_can_be_gained_keeps_its_shape(leaves):
    """The shape is that of the formulation, which is often balanced: a sum from left to right takes longer."""
    _, a, b, x, y, z, p, _ = leaves
    balanced = (a * x + y) + (b * z + p)
    assert factor([balanced]) == [balanced]


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_keep_their_values_and_never_cost_more(seed):
    source = random.Random(seed)
    arena = Arena()
    leaves = [arena.leaf(COORDINATE, f"q{i}") for i in range(4)] + [arena.leaf(PARAMETER, f"p{i}") for i in range(2)]
    pool = [*leaves, arena.constant(0.7)]
    for _ in range(120):
        a, b, c, d = (source.choice(pool[-14:] if source.random() < 0.6 else pool[:7]) for _ in range(4))
        pool.append(
            source.choice([a * b + a * c, (a * b) * c - d * a, a * b - c * a + d, -a * b - b * d, (a + b) * 0.3])
        )
    outputs = pool[-5:]
    after = factor(outputs)
    values = {leaf: np.longdouble(source.uniform(-0.6, 0.6)) for leaf in leaves}
    old, new = interpret(outputs, values), interpret(after, values)
    sizes = interpret([abs(x) + 1.0 for x in outputs], values)
    for x, y, size in zip(old, new, sizes, strict=True):
        # Extended precision has 2^-64; 120 steps on numbers of order 1 lose a few digits at most.
        assert abs(x - y) <= 1e-14 * size, f"seed {seed}"
    mul0, add0 = operations(*outputs)
    mul1, add1 = operations(*after)
    assert mul1 <= mul0, f"seed {seed}"
    assert add1 <= add0, f"seed {seed}"
    assert mul1 < mul0, f"seed {seed}: made of common factors, yet none was found"


def test_a_sum_of_twenty_thousand_products_is_no_obstacle(leaves):
    arena = leaves[0]
    total = arena.leaf(COORDINATE, "q")
    for i in range(10_000):
        x = arena.leaf(COORDINATE, f"x{i}")
        y = arena.leaf(COORDINATE, f"y{i}")
        total = total + x * y + x * (y + 1.0)
    (after,) = factor([total])
    assert operations(after)[0] == 10_000
