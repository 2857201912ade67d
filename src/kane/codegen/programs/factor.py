"""Fewer multiplications: common factors of the terms of a sum, once it is known what else uses them.

    a x + z - a b y  becomes  a (x - b y) + z

The constructors of the graph cannot do this: when they run, nobody knows whether a x and a b y will be used again. On
machines with fused multiply-add it saves operations, but hardly time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import chain

from kane.expression.construct import add, mul, neg, sub
from kane.expression.node import Expr
from kane.expression.operations import ADD, CONSTANT, MUL, PARAMETER, SUB
from kane.expression.traverse import reachable, rebuild

_Term = tuple[bool, Expr]  # whether it is subtracted, and what


def factor(outputs: Sequence[Expr]) -> list[Expr]:
    """The outputs with common factors of sums pulled out, equal to round-off.

    Products and sums are only taken apart where nothing else uses them, so every factor pulled out of k terms saves
    k - 1 multiplications. What depends on parameters alone is computed once, costs nothing at run time, and is left
    whole.
    """
    return _Factoring(outputs).outputs()


class _Factoring:
    """One pass over the graph."""

    def __init__(self, roots: Sequence[Expr]) -> None:
        self.roots = roots
        self.nodes = reachable(roots)
        self.uses = Counter(chain.from_iterable([node.args for node in self.nodes]))
        self.uses.update(roots)
        # Sums that are but terms of one other sum.
        sums = [node for node in self.nodes if node.op == ADD or node.op == SUB]
        self.inner = {a for node in sums for a in node.args if (a.op == ADD or a.op == SUB) and self.uses[a] == 1}
        self.free: set[Expr] = set()
        self.image: dict[Expr, Expr] = {}  # of the nodes that change

    def outputs(self) -> list[Expr]:
        image, free, inner = self.image, self.free, self.inner
        for node in self.nodes:
            args = node.args
            if not args:
                if node.op == PARAMETER or node.op == CONSTANT:
                    free.add(node)
                continue
            if free.issuperset(args):
                free.add(node)
                continue
            found = self._factored(node) if (node.op == ADD or node.op == SUB) and node not in inner else None
            if found is not None:
                image[node] = found
            elif not image.keys().isdisjoint(args):
                image[node] = rebuild(node, [image.get(a, a) for a in args])
        return [image.get(root, root) for root in self.roots]

    def _factored(self, node: Expr) -> Expr | None:
        """A sum with its terms grouped by common factors, the most common first; None if there are none."""
        terms = dict(enumerate(self._terms(node)))
        factors = {i: self._factors(t) for i, (_, t) in terms.items() if t.op == MUL and self.uses[t] == 1}
        if len(factors) < 2:
            return None
        groups: dict[int, Expr] = {}
        for common, holders in _shared(factors):
            members = [i for i in holders if i in factors]
            if len(members) > 1:
                inside = [(terms.pop(i)[0], self._product(factors.pop(i), without=common)) for i in members]
                groups[members[0]] = mul(_sum(inside), self.image.get(common, common))
        if not groups:
            return None
        kept = {i: (subtracted, self.image.get(term, term)) for i, (subtracted, term) in terms.items()}
        kept.update({i: (False, product) for i, product in groups.items()})
        return _sum([kept[i] for i in sorted(kept)])

    def _terms(self, node: Expr) -> list[_Term]:
        """The terms of a sum and of the sums in it, from left to right."""
        terms: list[_Term] = []
        stack: list[_Term] = [(False, node)]
        while stack:
            subtracted, term = stack.pop()
            if term is node or term in self.inner:
                left, right = term.args
                stack.append((subtracted != (term.op == SUB), right))
                stack.append((subtracted, left))
            else:
                terms.append((subtracted, term))
        return terms

    def _factors(self, term: Expr) -> list[Expr]:
        """The factors of a product and of the products in it that nothing else uses."""
        factors: list[Expr] = []
        stack = [term]
        while stack:
            product = stack.pop()
            if product.op == MUL and self.uses[product] == 1 and product not in self.free:
                stack.extend(reversed(product.args))
            else:
                factors.append(product)
        return factors

    def _product(self, factors: list[Expr], *, without: Expr) -> Expr:
        rest = list(factors)
        rest.remove(without)
        images = [self.image.get(f, f) for f in rest]
        return reduce(mul, images)


def _shared(factors: Mapping[int, Sequence[Expr]]) -> list[tuple[Expr, list[int]]]:
    """The factors that several products have, with the products that have them, the most common first."""
    holders: dict[Expr, list[int]] = {}
    for i, found in factors.items():
        for f in found:
            holders.setdefault(f, []).append(i)
    if len(holders) == sum(map(len, factors.values())):
        return []
    shared = [(f, list(dict.fromkeys(members))) for f, members in holders.items() if len(members) > 1]
    return sorted(shared, key=lambda item: -len(item[1]))


def _sum(terms: Sequence[_Term]) -> Expr:
    subtracted, total = terms[0]
    if subtracted:
        total = neg(total)
    for subtracted, term in terms[1:]:
        total = sub(total, term) if subtracted else add(total, term)
    return total
