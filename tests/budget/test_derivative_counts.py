"""Operations of derivatives of inverse dynamics: of the UR5, and of the ways to have each column.

What they cost is counted by ``cost`` here, by sets of operations in ``cheapest_alternatives``. That the derivatives
are right is for tests/agreement/test_derivatives.py.
"""

from __future__ import annotations

from itertools import product

from oracles.robots import ur5

import kane
from kane.expression.arena import Arena
from kane.expression.derivative import jacobian
from kane.expression.operations import SPEED
from kane.formulation.derivatives.program_derivative import derivative, derivative_program
from kane.formulation.tree.cost import cheapest_alternatives, cost

# Of the function itself 152 and 118.
UR5 = {"mul": 658, "add": 530}


def test_the_full_derivative_of_the_inverse_dynamics_of_a_ur5_takes_no_more_operations_than_it_did():
    equations = kane.formulate(ur5())
    found = derivative_program(equations, derivative(equations, "inverse", ("q", "u", "udot"))).count()
    assert all(found[word] <= most for word, most in UR5.items()), found


def test_columns_by_the_graph_and_by_the_recursion_together_cost_less_than_by_either_alone():
    equations = kane.formulate(ur5())
    found = derivative(equations, "inverse", ("q", "u", "udot"))
    directions = [d for variable in found.variables for d in variable.directions]
    graph = jacobian(found.values, directions)
    masses = [x for (_, j), x in found.entries.items() if j >= 12]
    together = cost([*found.values, *found.entries.values()])
    assert together < cost([*found.values, *masses, *(x for (_, j), x in graph.items() if j < 12)])
    by_graph = [graph[place] is x for place, x in found.entries.items() if place in graph and place[1] < 12]
    assert any(by_graph)
    assert not all(by_graph)


def test_what_ways_have_in_common_is_paid_for_once():
    x, y, z = _leaves()
    shared = (x + y) * (x + z) * (y + z)
    first = [[shared * x], [x * y * z]]
    second = [[shared * y], [y * y * z * z]]
    assert cheapest_alternatives((), [first, second], [(0, 0), (1, 1)]) == [1, 1]
    assert cheapest_alternatives((shared,), [first, second], [(0, 0), (1, 1)]) == [0, 0]


def test_no_exchange_of_one_way_costs_less():
    x, y, z = _leaves()
    choices = [[[x * y + z], [x * (y + z)]], [[(x + z) * y], [x * y + z * y]], [[x * y * (z + x)], [x * (y + z) * y]]]
    starts = [(0, 0, 0), (1, 1, 1)]

    def total(chosen):
        return cost([x for ways, k in zip(choices, chosen, strict=True) for x in ways[k]])

    found = cheapest_alternatives((), choices, starts)
    assert total(found) <= min(map(total, starts))
    near = [k for k in product((0, 1), repeat=3) if sum(a != b for a, b in zip(k, found, strict=True)) == 1]
    assert total(found) <= min(map(total, near))


def _leaves():
    arena = Arena()
    return [arena.leaf(SPEED, name) for name in "xyz"]
