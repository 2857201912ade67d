"""Traversals of the graph as loops over ids, without recursion, so that depth is unlimited."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from operator import attrgetter

from kane.expression import construct
from kane.expression import operations as ops
from kane.expression.node import Expr

_id = attrgetter("id")
CONSTRUCTORS: dict[int, Callable[..., Expr]] = {
    ops.ADD: construct.add,
    ops.SUB: construct.sub,
    ops.MUL: construct.mul,
    ops.DIV: construct.div,
    ops.NEG: construct.neg,
    ops.POW: construct.build_power,
    ops.SQRT: construct.build_sqrt,
    ops.SIN: construct.build_sin,
    ops.COS: construct.build_cos,
    ops.TAN: construct.build_tan,
    ops.ASIN: construct.build_asin,
    ops.ACOS: construct.build_acos,
    ops.ATAN2: construct.build_atan2,
    ops.EXP: construct.build_exp,
    ops.LOG: construct.build_log,
    ops.TANH: construct.build_tanh,
    ops.ABS: construct.build_absolute,
    ops.SIGN: construct.build_sign,
    ops.MIN: construct.build_minimum,
    ops.MAX: construct.build_maximum,
    ops.LESS: construct.build_less,
    ops.LESS_EQUAL: construct.build_less_equal,
    ops.EQUAL: construct.build_equal,
    ops.SELECT: construct.build_select,
    ops.SPLINE: construct.build_spline,
}


def reachable(roots: Iterable[Expr], known: Container[Expr] = ()) -> list[Expr]:
    """Return the nodes that the roots depend on, including the roots, arguments before their users.

    Nodes in ``known`` are left out, and those that the roots reach only through them.
    """
    seen = {root for root in roots if root not in known}
    stack = list(seen)
    while stack:
        for node in stack.pop().args:
            if node not in seen and node not in known:
                seen.add(node)
                stack.append(node)
    return sorted(seen, key=_id)


def has_leaf(root: Expr, wanted: Callable[[Expr], bool]) -> bool:
    """Check whether an expression depends on a leaf, other than a constant, that is wanted; stop at the first one."""
    seen, stack = {root}, [root]
    while stack:
        node = stack.pop()
        if not node.args and node.op != ops.CONSTANT and wanted(node):
            return True
        new = [a for a in node.args if a not in seen]
        seen.update(new)
        stack += new
    return False


def leaves(roots: Iterable[Expr], known: Container[Expr] = ()) -> list[Expr]:
    """Return the leaves among the nodes of ``reachable``, without constants, oldest first."""
    return [node for node in reachable(roots, known) if not node.args and node.op != ops.CONSTANT]


def rebuild(node: Expr, args: Sequence[Expr]) -> Expr:
    """Return the operation of ``node`` applied to other arguments, simplified."""
    constructor = CONSTRUCTORS[node.op]
    return constructor(*args, node.data) if node.data is not None else constructor(*args)


def substitute_nodes(roots: Sequence[Expr], replacements: Mapping[Expr, Expr]) -> list[Expr]:
    """Return the roots with nodes replaced, simplified; replacements are not searched for nodes to replace."""
    return substitute_further(roots, dict(replacements))


def substitute_further(roots: Sequence[Expr], image: dict[Expr, Expr]) -> list[Expr]:
    """Return the roots with nodes replaced by their images; add the images of all nodes that the roots depend on."""
    for node in reachable(roots, image):
        if not node.args:
            image[node] = node
            continue
        args = [image[a] for a in node.args]
        same = all(new is old for new, old in zip(args, node.args, strict=True))
        image[node] = node if same else rebuild(node, args)
    return [image[root] for root in roots]


def count_operations(roots: Iterable[Expr], free: Iterable[int] = ()) -> dict[str, int]:
    """Return the exact operation counts of the graph under the roots, by cost class.

    Args:
        roots: expressions whose operations are counted.
        free: kinds of leaves; functions of these leaves alone are not counted (parameters, if computed once).
    """
    hoisted: set[Expr] = set()
    uses = [0] * len(ops.OPERATIONS)
    kinds = set(free)
    hoists = bool(kinds)
    kinds.add(ops.CONSTANT)
    for node in reachable(roots):
        args = node.args
        if (hoists and hoisted.issuperset(args)) if args else node.op in kinds:
            hoisted.add(node)
        else:
            uses[node.op] += 1
    totals = dict.fromkeys(ops.COST_CLASSES, 0)
    for operation, n in zip(ops.OPERATIONS, uses, strict=True):
        if operation.cost:
            totals[operation.cost] += n
    return totals
