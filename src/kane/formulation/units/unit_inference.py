"""Unification of units over the expression graph: a reader with one row per operation.

The unit of a node is a product of powers of base units and of unknown units, one for each parameter, input and chosen
speed. Sums and comparisons equate units, products add exponents, and transcendental functions ask for none. A literal
may have any unit at each of its occurrences, so that a product with a literal has any unit too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from kane.expression import operations as ops
from kane.expression.node import Expr
from kane.expression.traverse import reachable
from kane.model.body import ACCELERATION_KINDS, ANGULAR_VELOCITY, DIRECTION, POSITION, VELOCITY
from kane.model.unit_text import Dimension, multiplied, unit_text

# Unit of a node; None if it may have any unit.
Form: TypeAlias = "Dimension | None"
OF_MEASURE_KINDS: Mapping[str, Dimension] = {
    POSITION: {"m": 1},
    VELOCITY: {"m": 1, "s": -1},
    ANGULAR_VELOCITY: {"s": -1},
    ACCELERATION_KINDS[0]: {"m": 1, "s": -2},
    ACCELERATION_KINDS[1]: {"s": -2},
    DIRECTION: {},
}
LARGEST_ROOT = 64  # largest denominator of an exponent


class UnitSlot(NamedTuple):
    """Quantity of a declaration whose unit is known or constrained.

    Attributes:
        title: the quantity in words: "the stiffness of Spring on q1".
        where: line of the user that declares it, as "arm.py:12"; empty if unknown.
        unit: its unit; None if only its terms must agree.
        value: a number or an expression.
        binding: whether a contradiction is an error. Rows that kane derives from geometry may contain factors of 1 that
            were lengths, so that their contradictions prove nothing.
    """

    title: str
    where: str
    unit: Form
    value: Any
    binding: bool = True


class Contradiction(NamedTuple):
    """Two quantities of a slot whose units differ.

    Attributes:
        slot: the slot.
        terms: the two terms in words.
        difference: quotient of their units.
    """

    slot: UnitSlot
    terms: str
    difference: Dimension

    def __str__(self) -> str:
        at = f" ({self.slot.where})" if self.slot.where else ""
        return f"{self.slot.title}{at}: {self.terms} differ by {unit_text(_upright(self.difference))}"


class Inference:
    """Unification over slots, one after the other.

    Attributes:
        plain: whether literal factors are pure numbers.
        solved: unit of each solved unknown, by its leaf.
        sources: slot that solved an unknown.
        contradictions: all that were found in binding slots.
    """

    def __init__(self, leaf_units: Callable[[Expr], Form], *, plain: bool = False) -> None:
        """Set up an inference; with ``plain``, literal factors are pure numbers and contradictions are ignored."""
        self.solved: dict[Expr, Dimension] = {}
        self.plain = plain
        self.sources: dict[Expr, UnitSlot] = {}
        self.contradictions: list[Contradiction] = []
        self._leaf_units = leaf_units
        self._forms: dict[Expr, Form] = {}
        self._parametric: set[Expr] = set()
        self._slot = UnitSlot("", "", None, 0.0)

    def add(self, slot: UnitSlot) -> None:
        """Equate the units that a slot equates."""
        if not isinstance(slot.value, Expr):
            return
        self._slot = slot
        found = self.unit(slot.value)
        if found is not None and slot.unit is not None:
            words = f"{slot.value} in {unit_text(self.resolved(found))} and the unit {unit_text(slot.unit)}"
            self.equate(found, slot.unit, slot.value, words)

    def unit(self, root: Expr) -> Form:
        """Return the unit of an expression."""
        for node in reachable([root], self._forms):
            if node.op in (ops.PARAMETER, ops.INPUT) or not self._parametric.isdisjoint(node.args):
                self._parametric.add(node)
            if node.args:
                args = (self._forms[a] for a in node.args)
                self._forms[node] = UNIT_RULES[node.op](self, node, *args)
            else:
                self._forms[node] = self._leaf_units(node)
        return self._forms[root]

    def resolved(self, unit: Dimension) -> Dimension:
        """Return a unit with solved unknowns replaced."""
        while (symbol := next((s for s in unit if s in self.solved), None)) is not None:
            others = {s: power for s, power in unit.items() if s is not symbol}
            unit = multiplied(others, self.solved[symbol], unit[symbol])
        return unit

    def equate(self, a: Form, b: Form, node: Expr, terms: str = "") -> None:
        """Equate two units of a node, or note the contradiction."""
        if a is None or b is None:
            return
        difference = self.resolved(multiplied(a, b, -1))
        unknown = next((s for s in reversed(difference) if isinstance(s, Expr)), None)
        if unknown is not None:
            power = difference.pop(unknown)
            self.solved[unknown] = multiplied({}, difference, Fraction(-1) / power)
            self.sources[unknown] = self._slot
        elif difference and not self.plain and self._slot.binding and node in self._parametric:
            words = terms or f"the terms {' and '.join(map(str, node.args[-2:]))}"
            self.contradictions.append(Contradiction(self._slot, words, difference))


def _equal(found: Inference, node: Expr, a: Form, b: Form) -> Form:
    found.equate(a, b, node)
    return b if a is None else a


def _product(found: Inference, node: Expr, a: Form, b: Form) -> Form:
    a, b = _factors(found, node, a, b)
    return None if a is None or b is None else multiplied(a, b)


def _quotient(found: Inference, node: Expr, a: Form, b: Form) -> Form:
    a, b = _factors(found, node, a, b)
    return None if a is None or b is None else multiplied(a, b, -1)


def _factors(found: Inference, node: Expr, *units: Form) -> Iterator[Form]:
    """Return the units of factors; with ``plain``, literals are pure numbers."""
    for a, unit in zip(node.args, units, strict=True):
        yield {} if found.plain and a.op == ops.CONSTANT else unit


def _same(found: Inference, node: Expr, a: Form) -> Form:
    return a


def _root(found: Inference, node: Expr, a: Form) -> Form:
    return None if a is None else multiplied({}, a, Fraction(1, 2))


def _power(found: Inference, node: Expr, a: Form, b: Form) -> Form:
    exponent = node.args[1]
    if exponent.op == ops.CONSTANT:
        return None if a is None else multiplied({}, a, Fraction(exponent.data).limit_denominator(LARGEST_ROOT))
    _number(found, node, a)
    return _number(found, node, b)


def _number(found: Inference, node: Expr, a: Form) -> Form:
    found.equate(a, {}, node, f"the argument of {node.name}, {node.args[0]}, and a number")
    return {}


def _ratio(found: Inference, node: Expr, a: Form, b: Form) -> Form:
    found.equate(a, b, node)
    return {}


def _sign(found: Inference, node: Expr, a: Form) -> Form:
    return {}


def _choice(found: Inference, node: Expr, condition: Form, a: Form, b: Form) -> Form:
    return _equal(found, node, a, b)


def _table(found: Inference, node: Expr, a: Form) -> Form:
    return None


UNIT_RULES: Mapping[int, Callable[..., Form]] = {
    ops.ADD: _equal,
    ops.SUB: _equal,
    ops.MUL: _product,
    ops.DIV: _quotient,
    ops.NEG: _same,
    ops.POW: _power,
    ops.SQRT: _root,
    ops.SIN: _number,
    ops.COS: _number,
    ops.TAN: _number,
    ops.ASIN: _number,
    ops.ACOS: _number,
    ops.ATAN2: _ratio,
    ops.EXP: _number,
    ops.LOG: _number,
    ops.TANH: _number,
    ops.ABS: _same,
    ops.SIGN: _sign,
    ops.MIN: _equal,
    ops.MAX: _equal,
    ops.LESS: _ratio,
    ops.LESS_EQUAL: _ratio,
    ops.EQUAL: _ratio,
    ops.SELECT: _choice,
    ops.SPLINE: _table,
}


def _upright(difference: Dimension) -> Dimension:
    """Return the difference, or its inverse if that has more positive exponents."""
    total = sum(difference.values())
    first = next(iter(difference.values()), 1)
    return multiplied({}, difference, -1) if total < 0 or (total == 0 and first < 0) else difference
