"""Shorten sums and products of a finished expression graph, where the uses of every subexpression are known.

    a x + z - a b y    becomes  a (x - b y) + z       common factors are pulled out
    (p x + y) - r x    becomes  (p - r) x + y         like terms are collected; p and r depend on parameters alone
    (x + y) - (z + y)  becomes  x - z                 equal terms cancel
    x p y x r          becomes  (p r) (x x) y         parameters are multiplied first, equal factors become powers

The constructors of the graph cannot do this: when they run, later uses of a x and a b y are unknown. On machines with
fused multiply-add, factoring saves operations but hardly any time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from kane.codegen.programs.terms import Term, collected, term_of
from kane.expression.construct import add, mul, neg, sub
from kane.expression.node import Expr
from kane.expression.operations import ADD, CONSTANT, MUL, PARAMETER, SUB
from kane.expression.traverse import reachable, rebuild

_PARTS = (ADD, SUB, MUL)


def factor(outputs: Sequence[Expr]) -> list[Expr]:
    """Return the outputs with shortened sums and products; values agree to round-off.

    Products and sums are split only if they have a single use. So every factor pulled out of k terms saves k - 1
    multiplications. Expressions of parameters alone stay whole, because they cost nothing at run time.
    """
    return _Factoring(outputs).outputs()


class _Factoring:
    """One pass over the graph."""

    def __init__(self, roots: Sequence[Expr]) -> None:
        self.roots = roots
        self.nodes = reachable(roots)
        uses = Counter(chain.from_iterable([node.args for node in self.nodes]))
        uses.update(roots)
        self.free: set[Expr] = set()  # nodes that depend on parameters alone
        self.parts: set[Expr] = set()  # sums and products with a single use, which may be split
        for node in self.nodes:
            if self.free.issuperset(node.args) if node.args else node.op == PARAMETER or node.op == CONSTANT:
                self.free.add(node)
            elif node.op in _PARTS and uses[node] == 1:
                self.parts.add(node)
        self.image: dict[Expr, Expr] = {}  # replacements of changed nodes

    def outputs(self) -> list[Expr]:
        image, free, parts = self.image, self.free, self.parts
        inner: set[Expr] = set()  # sums in sums, products in products
        for node in self.nodes:
            if node.op in _PARTS and not parts.isdisjoint(node.args):
                inner.update([a for a in node.args if a in parts and (a.op == MUL) == (node.op == MUL)])
        for node in self.nodes:
            args = node.args
            if not args or node in free:
                continue
            found = None
            if node.op in _PARTS and node not in inner and not parts.isdisjoint(args):
                found = self._product(node) if node.op == MUL else self._sum(node)
            if found is None:
                if image.keys().isdisjoint(args):
                    continue
                found = rebuild(node, [image.get(a, a) for a in args])
            if found is not node:
                image[node] = found
        return [image.get(root, root) for root in self.roots]

    def _product(self, node: Expr) -> Expr:
        """Return a product: first its parameters, then powers of the other factors in the order of their creation."""
        term = term_of(self._factors(node), self.free.__contains__, node.arena.one)
        return neg(term.written()) if term.subtracted else term.written()

    def _factors(self, node: Expr) -> list[Expr]:
        """Return the factors of a product, including the factors of inner products with a single use."""
        factors: list[Expr] = []
        stack = [node]
        while stack:
            part = stack.pop()
            if part is node or (part.op == MUL and part in self.parts):
                stack.extend(reversed(part.args))
            else:
                factors.append(self.image.get(part, part))
        return factors

    def _sum(self, node: Expr) -> Expr | None:
        """Return a sum with like terms collected and common factors pulled out; None if nothing changes."""
        products = self._products(node)
        flat = [part for _, _, product in products for part in product]
        distinct = len(set(flat)) == len(flat)
        if distinct and not any(part.op == MUL for part in flat):
            return None
        is_free, zero = self.free.__contains__, node.arena.zero
        terms = []
        for subtracted, shared, product in products:
            term = term_of(product, is_free, zero.arena.one)
            whole = term.factors[0] if shared and term.factors else None
            terms.append(term._replace(subtracted=subtracted != term.subtracted, whole=whole))
        alike = collected(terms, is_free)
        return None if distinct and len(alike) == len(terms) else _grouped(alike, zero)

    def _products(self, node: Expr) -> list[tuple[bool, bool, list[Expr]]]:
        """Return (is subtracted, is used elsewhere, factors) of each term, from left to right, inner sums included."""
        products = []
        stack = [(False, node)]
        while stack:
            subtracted, part = stack.pop()
            own = part is node or part in self.parts
            if own and part.op != MUL:
                left, right = part.args
                stack.append((subtracted != (part.op == SUB), right))
                stack.append((subtracted, left))
            else:
                factors = self._factors(part) if own else [self.image.get(part, part)]
                products.append((subtracted, not own, factors))
        return products


def _grouped(terms: Sequence[Term], zero: Expr) -> Expr:
    """Return the sum of the terms, grouped by common factors; the most common factor is pulled out first."""
    left = dict(enumerate(terms))
    parts: dict[int, tuple[bool, Expr]] = {}
    for common, holders in _shared({i: _factors(t) for i, t in left.items() if t.whole is None and t.factors}):
        members = [i for i in holders if i in left]
        if len(members) > 1:
            parts[members[0]] = False, mul(_grouped([_without(left.pop(i), common) for i in members], zero), common)
    parts |= {i: (t.subtracted, t.written()) for i, t in left.items()}
    total = zero
    for _, (subtracted, value) in sorted(parts.items()):
        total = sub(total, value) if subtracted else add(total, value)
    return total


def _factors(term: Term) -> tuple[Expr, ...]:
    one = term.coefficient is term.coefficient.arena.one
    return term.factors if one else (term.coefficient, *term.factors)


def _without(term: Term, common: Expr) -> Term:
    if common is term.coefficient:
        return term._replace(coefficient=common.arena.one)
    rest = list(term.factors)
    rest.remove(common)
    return term._replace(factors=tuple(rest))


def _shared(products: Mapping[int, Sequence[Expr]]) -> list[tuple[Expr, list[int]]]:
    """Return each factor that several products contain, with the keys of these products, most common first."""
    if len(products) < 2:
        return []
    holders: dict[Expr, list[int]] = {}
    for i, found in products.items():
        for f in found:
            holders.setdefault(f, []).append(i)
    if len(holders) == sum(map(len, products.values())):
        return []
    shared = [(f, list(dict.fromkeys(members))) for f, members in holders.items() if len(members) > 1]
    return sorted(shared, key=lambda item: -len(item[1]))
