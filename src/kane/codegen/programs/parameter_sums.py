"""Shorten sums of parameters: multiply their products out, collect terms, and keep the result if it is shorter.

    (J_y + J_z) - M L L  with  J_y = (I1 + I2 + I3)/2 - I2, J_z = (I1 + I2 + I3)/2 - I3  becomes  I1 - M L L

Expressions of parameters alone are computed once, so this saves little time, but it reduces round-off and shortens
listings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kane.codegen.programs.terms import multiply_factors
from kane.expression.arena import Arena
from kane.expression.construct import add, sub
from kane.expression.node import Expr
from kane.expression.operations import ADD, CONSTANT, MUL, NEG, PARAMETER, SUB
from kane.expression.traverse import reachable, substitute_nodes

# Sums that expand to more products than this stay unchanged: they rarely become shorter, and expanding them is slow.
MANY_TERMS = 24
POLYNOMIAL = (ADD, SUB, MUL, NEG)

Monomial = tuple[Expr, ...]
Polynomial = dict[Monomial, float]


def shortened(outputs: Sequence[Expr]) -> list[Expr]:
    """Return the outputs with shortened sums of parameters; values agree to round-off."""
    nodes = reachable(outputs)
    if not any(node.op == PARAMETER for node in nodes):
        return list(outputs)
    found = {node: _polynomial_sum(node) for node in _widest(nodes, outputs)}
    image = {node: new for node, new in found.items() if new is not None and _size([new]) < _size([node])}
    # A rewritten sum may lose subexpressions that it shared with other sums, and so cost more in total.
    return min((list(outputs), substitute_nodes(outputs, image)), key=_size)


def _size(roots: Sequence[Expr]) -> int:
    """Count the operations below the roots, without changes of sign."""
    return sum(bool(node.args) and node.op != NEG for node in reachable(roots))


def _widest(nodes: Sequence[Expr], outputs: Sequence[Expr]) -> Iterator[Expr]:
    """Yield the sums and products of parameters that are not part of a larger one."""
    free: set[Expr] = set()
    used: set[Expr] = set(outputs)
    for node in nodes:
        if (free.issuperset(node.args)) if node.args else node.op in (PARAMETER, CONSTANT):
            free.add(node)
        if node not in free or node.op not in POLYNOMIAL:
            used.update(node.args)
    return (node for node in nodes if node in free and node in used and node.op in POLYNOMIAL)


def _polynomial_sum(root: Expr) -> Expr | None:
    """Return a node as an expanded sum of products; None if that has more than MANY_TERMS terms."""
    known: dict[Expr, Polynomial] = {}
    for node in reachable([root]):
        known[node] = _polynomial(node, known)
        if len(known[node]) > MANY_TERMS:
            return None
    return _written(known[root], root.arena)


def _polynomial(node: Expr, known: dict[Expr, Polynomial]) -> Polynomial:
    if node.op == CONSTANT:
        return {(): float(node.data)} if node.data else {}
    if node.op == NEG:
        return {m: -c for m, c in known[node.args[0]].items()}
    if node.op == MUL:
        return _product(*(known[a] for a in node.args))
    if node.op in (ADD, SUB):
        left, right = (known[a] for a in node.args)
        total = dict(left)
        for m, c in right.items():
            total[m] = total.get(m, 0.0) + (c if node.op == ADD else -c)
        return {m: c for m, c in total.items() if c}
    return {(node,): 1.0}


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for a, x in left.items():
        for b, y in right.items():
            m = tuple(sorted((*a, *b), key=lambda node: node.id))
            total[m] = total.get(m, 0.0) + x * y
    return {m: c for m, c in total.items() if c}


def _written(terms: Polynomial, arena: Arena) -> Expr:
    """Return the polynomial as an expression: positive terms first, then negative terms."""
    total = arena.zero
    for m, c in sorted(terms.items(), key=lambda item: (item[1] < 0.0, [node.id for node in item[0]])):
        value = multiply_factors(arena.constant(abs(c)), m)
        total = add(total, value) if c > 0.0 else sub(total, value)
    return total
