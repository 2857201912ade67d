"""Text of sums, products and quotients as a person writes them: flat sums, one fraction, powers, numbers first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import NamedTuple

from kane.expression import operations as ops

# Precedence of a written expression; an operand with a lower precedence than its place requires gets parentheses.
COMPARISON, SUM, PRODUCT, SIGNED, POWER, ATOM = range(6)
# Text before and after an operand whose precedence is too low.
PARENTHESES = ("(", ")")
# A constant with more significant digits than FEW_DIGITS is written as a fraction if a denominator up to
# LARGEST_DENOMINATOR gives it within four units in the last place.
FEW_DIGITS, LARGEST_DENOMINATOR, FOUR_ULPS = 6, 360, 8.9e-16


class Piece(NamedTuple):
    """Text of an expression, and its precedence as an operand.

    Attributes:
        text: text of the expression.
        binding: its precedence.
        condition: text as the condition of a select; empty if the expression is not a comparison.
        terms: terms of a sum, one term for a product, none for other expressions.
    """

    text: str
    binding: int = ATOM
    condition: str = ""
    terms: tuple[SignedProduct, ...] = ()

    def within(self, binding: int, parentheses: tuple[str, str] = PARENTHESES) -> str:
        """Return the text as an operand where the precedence ``binding`` is required."""
        return self.text if self.binding >= binding else self.text.join(parentheses)


class SignedProduct(NamedTuple):
    """A term of a written sum: factors with their exponents above and below a fraction bar, and a sign."""

    subtracted: bool
    above: tuple[tuple[Piece, int], ...]
    below: tuple[tuple[Piece, int], ...] = ()


Spelling = Callable[..., Piece]
Factors = Sequence[tuple[Piece, int]]


def _terms(piece: Piece) -> tuple[SignedProduct, ...]:
    return piece.terms or (SignedProduct(False, ((piece, 1),)),)


def _negated(terms: Sequence[SignedProduct]) -> tuple[SignedProduct, ...]:
    return tuple(t._replace(subtracted=not t.subtracted) for t in terms)


def _joined(a: Factors, b: Factors) -> tuple[tuple[Piece, int], ...]:
    """Return the factors of both; one piece in both becomes a power, and ones are left out."""
    found = list(a)
    for piece, exponent in b:
        for i, (known, n) in enumerate(found):
            if known is piece:
                found[i] = known, n + exponent
                break
        else:
            found.append((piece, exponent))
    return tuple(pair for pair in found if pair[0].text != "1")


def _rank(factor: Piece) -> int:
    """Return the place of a factor in a product: numbers, then names, then functions and sums."""
    if factor.binding < PRODUCT or "(" in factor.text:
        return 2
    return 0 if factor.text[:1].isdigit() else 1


@dataclass(frozen=True)
class ProductNotation:
    """Signs of a notation for products.

    Attributes:
        times: between factors.
        dot: between a factor and a number.
        raised: returns a power from the texts of base and exponent.
        over: returns a fraction from the texts of numerator and denominator, with and without parentheses.
        parentheses: text before and after an operand whose precedence is too low.
    """

    times: str
    dot: str
    raised: Callable[[str, int], str]
    over: Callable[[tuple[str, str], tuple[str, str]], str]
    parentheses: tuple[str, str] = PARENTHESES

    def product(self, factors: Factors, alone: int) -> tuple[str, str]:
        """Return the text of a product, as an operand with the precedence ``alone`` and without parentheses."""
        if not factors:
            return "1", "1"
        if len(factors) == 1 and factors[0][1] == 1:
            return factors[0][0].within(alone, self.parentheses), factors[0][0].text
        text = ""
        for piece, n in sorted(factors, key=lambda pair: _rank(pair[0])):
            factor = piece.within(PRODUCT, self.parentheses)
            if n > 1:
                factor = self.raised(piece.within(ATOM, self.parentheses), n)
            text += (self.dot if factor[0].isdigit() else self.times) * bool(text) + factor
        several = len(factors) > 1 and alone > PRODUCT
        return text.join(self.parentheses) if several else text, text

    def sum_of(self, terms: tuple[SignedProduct, ...]) -> Piece:
        """Return a sum of terms; it begins with a term that is added, if there is one."""
        first = next((i for i, t in enumerate(terms) if not t.subtracted), 0)
        terms = (terms[first], *terms[:first], *terms[first + 1 :])
        text, lead = "", terms[0]
        for t in terms:
            text += (" - " if t.subtracted else " + ") if text else "-" * t.subtracted
            text += self._unsigned(t)
        if len(terms) > 1 or lead.subtracted:
            return Piece(text, SUM, terms=terms)
        if not lead.below and len(lead.above) == 1:
            piece, exponent = lead.above[0]
            return piece if exponent == 1 else Piece(text, POWER, terms=terms)
        return Piece(text, PRODUCT, terms=terms)

    def _unsigned(self, term: SignedProduct) -> str:
        above = self.product(term.above, PRODUCT)
        return self.over(above, self.product(term.below, SIGNED)) if term.below else above[0]

    def _single(self, piece: Piece) -> SignedProduct:
        """Return a product as it is, and a sum as one factor: -(a + b) instead of (-a - b)."""
        if len(piece.terms) == 1:
            return piece.terms[0]
        if piece.terms and all(t.subtracted for t in piece.terms):
            return SignedProduct(True, ((self.sum_of(_negated(piece.terms)), 1),))
        return SignedProduct(False, ((piece, 1),))

    def rows(self) -> dict[int, Spelling]:
        """Return the spellings of sums, differences, products, quotients and signs, by operation."""

        def product(a: Piece, b: Piece) -> Piece:
            x, y = self._single(a), self._single(b)
            if any(_rank(p) == 0 for p, _ in y.above) and not any(_rank(p) == 0 for p, _ in x.above):
                x, y = y, x  # a coefficient is first
            above, below = _joined(x.above, y.above), _joined(x.below, y.below)
            return self.sum_of((SignedProduct(x.subtracted != y.subtracted, above, below),))

        def quotient(a: Piece, b: Piece) -> Piece:
            x, y = self._single(a), self._single(b)
            above, below = _joined(x.above, y.below), _joined(x.below, y.above)
            return self.sum_of((SignedProduct(x.subtracted != y.subtracted, above, below),))

        return {
            ops.ADD: lambda a, b: self.sum_of(_terms(a) + _terms(b)),
            ops.SUB: lambda a, b: self.sum_of(_terms(a) + _negated(_terms(b))),
            ops.MUL: product,
            ops.DIV: quotient,
            ops.NEG: lambda a: self.sum_of(_negated(_terms(a))),
        }

    def number(self, value: float, write: Callable[[float], Piece]) -> Piece:
        """Return a constant; a long decimal number that is a short fraction is written as one."""
        size = abs(value)
        if not isfinite(size) or abs(float(f"{size:.{FEW_DIGITS}g}") - size) <= FOUR_ULPS * size:
            return self.signed(value, write)
        ratio = Fraction(size).limit_denominator(LARGEST_DENOMINATOR)
        if abs(float(ratio) - size) > FOUR_ULPS * size:
            return self.signed(value, write)
        above, below = (Piece(str(n)) for n in ratio.as_integer_ratio())
        parts = ((above, 1),) if ratio.numerator > 1 else ()
        return self.sum_of((SignedProduct(value < 0, parts, ((below, 1),)),))

    def signed(self, value: float, write: Callable[[float], Piece]) -> Piece:
        """Return a constant as a decimal number; ``write`` returns its magnitude."""
        size = write(abs(value))
        if value >= 0:
            return size
        return Piece(f"-{size.text}", SIGNED, terms=(SignedProduct(True, ((size, 1),)),))


def _typed_fraction(above: tuple[str, str], below: tuple[str, str]) -> str:
    return f"{above[0]}/{below[0]}"


# Products in Python's syntax.
TYPED_PRODUCTS = ProductNotation("*", "*", lambda base, n: f"{base}**{n}", _typed_fraction)
