"""Nothing recurses: chains of 30,000 operations work in everything that walks the graph."""

import gc
import math
import sys

import pytest
from oracles.arena_invariants import check_arena

from kane.expression import construct
from kane.expression.arena import Arena
from kane.expression.derivative import forward, gradient, linear_coefficients, total_time_derivative
from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE
from kane.expression.traverse import count_operations, leaves, reachable, substitute_nodes

LENGTH = 30_000


def additions(arena, x, y):
    # Alternate, lest x + x + ... be gathered into a product.
    node = x
    for i in range(LENGTH):
        node = construct.add(node, y if i % 2 else x)
    return node


def multiplications(arena, x, y):
    node = y
    for _ in range(LENGTH):
        node = construct.mul(node, x)
    return node


def sines(arena, x, y):
    node = x
    for _ in range(LENGTH):
        node = construct.build_sin(node)
    return node


SLOW = [pytest.param(chain, marks=pytest.mark.slow) for chain in (multiplications, sines)]


@pytest.fixture(params=[additions, *SLOW], ids=lambda f: f.__name__)
def chain(request):
    arena = Arena()
    x, y = arena.leaf(COORDINATE, "x"), arena.leaf(COORDINATE, "y")
    root = request.param(arena, x, y)
    assert len(arena) > LENGTH > 10 * sys.getrecursionlimit()
    return request.param.__name__, root, x, y


def test_a_chain_of_30000_operations_can_be_walked_counted_and_evaluated(chain):
    name, root, x, y = chain
    check_arena(root.arena)
    assert len(reachable([root])) >= LENGTH
    assert leaves([root])[0] is x
    assert sum(count_operations([root]).values()) >= LENGTH
    value = interpret([root], {x: 1.0, y: 1.0})[0]
    # Sums and products of ones are exact; sin iterated n times goes as sqrt(3/n), with a relative error of ln(n)/n.
    expected = {"additions": LENGTH + 1.0, "multiplications": 1.0, "sines": math.sqrt(3 / LENGTH)}
    assert name not in expected or value == pytest.approx(expected[name], rel=2e-3 if name == "sines" else 0)
    assert len(repr(root)) < 200


def test_a_chain_of_30000_operations_can_be_substituted_and_differentiated(chain):
    name, root, x, y = chain
    z = root.arena.leaf(COORDINATE, "z")
    (other,) = substitute_nodes([root], {x: z})
    assert leaves([other]) == ([z] if name == "sines" else [y, z])
    one = root.arena.one
    (slope,) = forward([root], {x: one})
    assert total_time_derivative([root], {x: one}) == [slope]
    (value,) = interpret(gradient(root, [x]), {x: 1.0, y: 1.0})
    # Sums and products of ones are exact.
    expected = {"additions": LENGTH / 2 + 1, "multiplications": LENGTH, "sines": value}
    assert value == expected[name]
    assert math.isfinite(value)


def test_a_chain_of_30000_additions_has_linear_coefficients():
    arena = Arena()
    x, y = arena.leaf(COORDINATE, "x"), arena.leaf(COORDINATE, "y")
    matrix, rest = linear_coefficients([additions(arena, x, y)], [x])
    assert matrix == [[arena.constant(LENGTH / 2 + 1)]]
    assert interpret(rest, {y: 1.0}) == [LENGTH / 2]


def test_a_deep_arena_is_freed_without_recursion():
    arena = Arena()
    x = arena.leaf(COORDINATE, "x")
    root = sines(arena, x, x)
    arena.nodes.clear()
    arena.tables.clear()
    del arena, x, root
    assert gc.collect() >= 0
