"""Outputs that have the values 0 and 1 only, such as ``height < limit``: their means are probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, EQUAL, LESS, LESS_EQUAL, SELECT, SIGN
from kane.expression.traverse import reachable, rebuild

# Values of operations whose arguments may have any value.
FEW_VALUES: Mapping[int, frozenset[float]] = {
    **dict.fromkeys((LESS, LESS_EQUAL, EQUAL), frozenset((0.0, 1.0))),
    SIGN: frozenset((-1.0, 0.0, 1.0)),
}
MOST_VALUES = 16  # of a node, and of the combinations of its arguments


def is_indicator(x: Expr) -> bool:
    """Check whether an expression can only have the values 0 and 1, by the operations of which it consists."""
    values: dict[Expr, frozenset[float] | None] = {}
    for node in reachable([x]):
        values[node] = _values(node, values)
    found = values[x]
    return found is not None and found <= {0.0, 1.0}


def _values(node: Expr, values: Mapping[Expr, frozenset[float] | None]) -> frozenset[float] | None:
    """Return the possible values of a node; None if they are many or unknown."""
    if node.op == CONSTANT:
        return frozenset((node.data,))
    if node.op in FEW_VALUES:
        return FEW_VALUES[node.op]
    parts = [values[a] for a in (node.args[1:] if node.op == SELECT else node.args)]
    sets = [part for part in parts if part is not None]
    if not node.args or len(sets) < len(parts):
        return None
    if node.op == SELECT:
        return frozenset().union(*sets)
    combinations = list(product(*sets))
    if len(combinations) > MOST_VALUES:
        return None
    constant = node.arena.constant
    with node.arena.scratch():
        made = [rebuild(node, [constant(value) for value in each]) for each in combinations]
        return frozenset(float(value) for value in interpret(made, {}))
