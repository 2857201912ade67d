"""Check of the invariants of an arena."""

from __future__ import annotations

import math

from kane.errors import ExpressionError, shown
from kane.expression.arena import Arena
from kane.expression.operations import CONSTANT, OPERATIONS


def check_arena(arena: Arena) -> None:
    """Raise ExpressionError if an invariant of the arena is broken: ids, order, arity, uniqueness, finite constants."""
    seen, ids = set(), set()
    for node in arena.nodes:
        key = (node.op, node.args, node.data)
        if node.id in ids or node.arena is not arena:
            raise ExpressionError(f"node {shown(node)} has the id of another node, or belongs to another arena")
        if len(node.args) != OPERATIONS[node.op].arity or any(a.id >= node.id for a in node.args):
            raise ExpressionError(
                f"node {shown(node)} has arguments that are not earlier nodes, or the wrong number of them"
            )
        if key in seen:
            raise ExpressionError(f"node {shown(node)} is stored twice")
        if node.op == CONSTANT and not math.isfinite(node.data):
            raise ExpressionError(f"constant {shown(node)} is not finite")
        seen.add(key)
        ids.add(node.id)
