"""Terms of sums: a coefficient of numbers and parameters times factors, and the collection of like terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import NamedTuple

from kane.expression.construct import add, mul, neg
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, COS, MUL, NEG, SIN


class Term(NamedTuple):
    """A term of a sum.

    Attributes:
        subtracted: whether the sum subtracts it.
        coefficient: product of the factors that depend on parameters alone.
        factors: remaining factors, in the order of their creation.
        whole: existing expression of the term if other expressions use it too; then the term is not factored.
    """

    subtracted: bool
    coefficient: Expr
    factors: tuple[Expr, ...]
    whole: Expr | None = None

    @property
    def products(self) -> int:
        """Return the number of multiplications in the term."""
        if self.whole is not None or not self.factors:
            return 0
        return len(self.factors) - (self.coefficient is self.coefficient.arena.one)

    def written(self) -> Expr:
        """Return the term without its sign, as an expression."""
        return multiply_factors(self.coefficient, self.factors) if self.whole is None else self.whole


def multiply_factors(coefficient: Expr, factors: Iterable[Expr]) -> Expr:
    """Return the coefficient times the factors; equal factors become powers, which other products can share."""
    powers = [reduce(mul, [f] * n) for f, n in Counter(factors).items()]
    return reduce(mul, powers, coefficient)


def term_of(parts: Iterable[Expr], is_free: Callable[[Expr], bool], one: Expr) -> Term:
    """Return the product of the parts as a term."""
    subtracted, coefficient = False, one
    factors: list[Expr] = []
    for part in parts:
        if part.op == NEG:
            subtracted, part = not subtracted, part.args[0]
        if part.op == CONSTANT or is_free(part):
            coefficient = mul(coefficient, part)
        else:
            factors.append(part)
    return Term(subtracted, coefficient, tuple(sorted(factors, key=lambda node: node.id)))


def collected(terms: Sequence[Term], is_free: Callable[[Expr], bool]) -> list[Term]:
    """Return the terms with like terms joined, unless the joined term takes more operations."""
    alike: dict[tuple[Expr, ...], list[tuple[Term, Term]]] = {}
    split = _without_squares([(term, _apart(term, is_free)) for term in terms])
    for term, apart in split:
        alike.setdefault(apart.factors, []).append((term, apart))
    if len(alike) == len(split):
        return [term for term, _ in split]
    return [term for group in alike.values() for term in _joined(group)]


def _without_squares(pairs: Sequence[tuple[Term, Term]]) -> list[tuple[Term, Term]]:
    """Return terms, given as (term, term split into factors), with k x sin(a)^2 + k x cos(a)^2 joined to k x."""
    found = dict(enumerate(pairs))
    waiting: dict[object, tuple[int, int]] = {}
    for i, (term, apart) in enumerate(pairs):
        for f in _squared_functions(apart.factors):
            rest = list(apart.factors)
            rest.remove(f)
            rest.remove(f)
            key = (apart.subtracted, apart.coefficient, tuple(rest), f.args[0])
            j, op = waiting.setdefault(key, (i, f.op))
            joined = apart._replace(factors=tuple(rest))
            if op != f.op and i in found and j in found and joined.products <= term.products + found[j][0].products:
                found[j] = (joined, joined)
                del found[i]
    return list(found.values())


def _squared_functions(factors: Sequence[Expr]) -> list[Expr]:
    """Return the sines and cosines that occur at least twice."""
    functions = [f for f in factors if f.op in (SIN, COS)]
    return [f for f, n in Counter(functions).items() if n > 1] if len(functions) > 1 else []


def _apart(term: Term, is_free: Callable[[Expr], bool]) -> Term:
    """Return the term with all its products split into factors, even if other expressions use these products."""
    if all(f.op != MUL for f in term.factors):
        return term
    stack, parts = list(term.factors), [term.coefficient]
    while stack:
        part = stack.pop()
        if part.op == MUL and not is_free(part):
            stack.extend(part.args)
        else:
            parts.append(part)
    found = term_of(parts, is_free, term.coefficient.arena.one)
    return found._replace(subtracted=term.subtracted != found.subtracted)


def _joined(group: Sequence[tuple[Term, Term]]) -> list[Term]:
    """Join like terms, given as (term, term split into factors); return them unchanged if that is shorter."""
    terms = [term for term, _ in group]
    if len(group) == 1:
        return terms
    same = all(term.factors == terms[0].factors for term in terms)
    parts = terms if same else [apart for _, apart in group]
    total = reduce(add, [neg(t.coefficient) if t.subtracted else t.coefficient for t in parts])
    if total.op == CONSTANT and total.data == 0.0:
        return []
    subtracted = total.op == NEG or (total.op == CONSTANT and total.data < 0.0)
    found = Term(subtracted, neg(total) if subtracted else total, parts[0].factors)
    return [found] if found.products < sum(t.products for t in terms) + len(terms) else terms
