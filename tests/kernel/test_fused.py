"""Which products are fused with their sums: judged by when outputs are there, found here by trying every way."""

import itertools

import numpy as np
import pytest

import kane
from kane.codegen.emit import fused
from kane.codegen.emit.fused import contracted
from kane.codegen.emit.steps import group_steps
from kane.codegen.programs.program import Program
from kane.expression.arena import Arena
from kane.expression.operations import ADD, COORDINATE, MUL, SUB
from kane.formulation.quantities.programs import program
from kane.library import chain, stanford_arm

CYCLES = {ADD: 2, SUB: 2, MUL: 3}
FUSED = 4


def coordinates(n):
    arena = Arena()
    return [arena.leaf(COORDINATE, f"q{i}") for i in range(n)]


def of(x, *outputs):
    return Program("sums", outputs, state=x, rest=[], parameters=[])


def end(given, chosen):
    """The cycle in which the last output is there, if nothing waits for anything but what it is made of."""
    ready = {}
    for step in group_steps(given.instructions, (), chosen):
        (node,) = step.nodes
        took = CYCLES[node.op] if step.product is None else FUSED
        ready[node] = max(ready.get(a, 0) for a in step.reads) + took
    return max(ready[node] for node in given.outputs)


def ways(given):
    """Every way of fusing products that nothing else uses."""
    nodes, outputs = given.instructions, given.outputs
    used = [a for node in nodes for a in node.args] + list(outputs)
    single = {node for node in nodes if node.op == MUL and used.count(node) == 1}
    sums = [node for node in nodes if node.op in (ADD, SUB) and not single.isdisjoint(node.args)]
    of_each = [[None, *(k for k in (0, 1) if node.args[k] in single)] for node in sums]
    for way in itertools.product(*of_each):
        yield {node: k for node, k in zip(sums, way, strict=True) if k is not None}


def random_sums(seed):
    """A program of a few sums and products."""
    source = np.random.default_rng(seed)
    x = coordinates(4)
    known = list(x)
    while sum(1 for node in known[4:] if node.op != MUL) < 7:
        a, b = (known[max(0, len(known) - 1 - int(k))] for k in source.integers(0, 4, 2))
        new = (a * b, a + b, a - b)[source.integers(0, 3)]
        if new.args and new.op in (ADD, SUB, MUL) and new not in known:
            known.append(new)
    return of(x, known[-1], known[-2])


@pytest.mark.parametrize("seed", range(25))
def test_no_way_of_fusing_has_the_outputs_sooner_and_what_is_not_fused_would_make_them_late(seed):
    given = random_sums(seed)
    every = list(ways(given))
    soonest = min(end(given, way) for way in every)
    operations = len(given.instructions) - max(len(way) for way in every)
    chosen = contracted(given.instructions, given.outputs)
    assert chosen in every
    assert end(given, chosen) <= max(soonest, operations / fused.A_CYCLE)
    late = max(soonest, operations / fused.A_CYCLE)
    for node in {node for way in every for node in way} - chosen.keys():
        more = [{**chosen, node: k} for k in (0, 1) if {node: k} in every]
        assert all(end(given, way) > late for way in more)


@pytest.mark.parametrize("first", [False, True])
def test_the_product_that_comes_last_is_fused(first):
    """Whichever of the two is older, and so on the left of the sum."""
    x = coordinates(7)
    late = x[0] * x[1] * x[2] * x[3]
    products = (late * x[6], x[4] * x[5]) if first else (x[4] * x[5], late * x[6])
    given = of(x, products[0] + products[1])
    assert contracted(given.instructions, given.outputs) == {given.outputs[0]: 0 if first else 1}


def test_a_sum_that_waits_for_its_other_term_is_not_fused():
    x = coordinates(4)
    given = of(x, x[0] / x[1] + x[2] * x[3])
    assert contracted(given.instructions, given.outputs) == {}


def test_where_operations_take_longer_than_waiting_all_products_are_fused():
    """The sum of the test before, of 13 + 4 cycles, beside so many products that they alone take 17, or nearly so."""
    for beside, expected in ((31, 0), (32, 1)):
        x = coordinates(13)
        products = [a * b for a, b in itertools.combinations(x[4:], 2)][:beside]
        given = of(x, x[0] / x[1] + x[2] * x[3], *products)
        assert len(contracted(given.instructions, given.outputs)) == expected


@pytest.mark.parametrize("sign", [1, -1])
def test_a_cycle_decides(sign):
    """The sum takes 4 + 2 cycles, fused 4 + 4; it is fused where another output takes 8, and not where that takes 7."""
    for more in (False, True):
        x = coordinates(10)
        plus = (lambda a, b: a + b) if sign > 0 else (lambda a, b: a - b)
        waits = plus(x[0], x[1] * x[2])
        total = plus(waits, x[3] * x[4])
        other = x[5] * x[6] * x[7] + x[8] if more else plus(x[7], plus(x[5], x[6])) * x[8]
        given = of(x, total, other, *([x[5] * x[6] * x[7]] if more else ()))
        assert contracted(given.instructions, given.outputs) == ({waits: 1, total: 1} if more else {waits: 1})


def test_a_product_that_is_used_twice_or_wanted_is_not_fused():
    x = coordinates(4)
    both, wanted = x[0] * x[1], x[2] * x[3]
    given = of(x, both + x[2], both - x[3], wanted, wanted + x[0])
    assert contracted(given.instructions, given.outputs) == {}


def test_an_arm_waits_for_less_and_a_long_chain_has_all_its_products_fused():
    """The arm of the benchmarks is bound by waiting, a chain by the number of its operations."""
    for model, name, waits in ((stanford_arm(), "inverse", True), (chain(60), "forward", False)):
        given = program(kane.formulate(model), name)
        all_fused = len(fused._choices(given.instructions, given.outputs))
        chosen = len(contracted(given.instructions, given.outputs))
        assert chosen < all_fused if waits else chosen == all_fused
