"""Values at the ends of a phase, and integrals over it, as expressions for objectives and boundary conditions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from kane.analysis.optimal_control.collocation_method import CollocationMethod
from kane.analysis.optimal_control.phase_symbols import Symbols
from kane.errors import ModelError, shown
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.operations import INPUT, PARAMETER, TIME
from kane.expression.traverse import leaves, substitute_nodes
from kane.simulation.inputs.known_in_state import known_in_state

INITIAL, FINAL, INTEGRAL = "initial", "final", "integral"


# Name of the leaf of an end value: its kind, its expression in words, and the place of the expression in the arena.
_NAME = re.compile(r"(initial|final|integral)\(.*\) #(\d+)", re.DOTALL)
LONGEST_WORDS = 60


class EndValue(NamedTuple):
    """Value of an expression at an end of a phase, or its integral over the phase.

    Attributes:
        kind: INITIAL, FINAL or INTEGRAL.
        of: the expression.
    """

    kind: str
    of: Expr

    @classmethod
    def read(cls, leaf: Expr) -> EndValue | None:
        """Return the end value that a leaf means; None for other leaves."""
        found = _NAME.fullmatch(leaf.data) if leaf.op == INPUT else None
        return cls(found[1], leaf.arena.nodes[int(found[2])]) if found else None


def initial(expression: Expr) -> Expr:
    """Return the value of an expression at the first time, for objectives and boundary conditions of ``collocate``.

    Raises:
        ModelError: not an expression of a model.
    """
    return _end_value(INITIAL, expression)


def final(expression: Expr) -> Expr:
    """Return the value of an expression at the last time; ``final(m.time)`` is the last time itself.

    Raises:
        ModelError: not an expression of a model.
    """
    return _end_value(FINAL, expression)


def integral(expression: Expr) -> Expr:
    """Return the integral of an expression over the duration, int e dt, for ``collocate``.

    Objectives and boundary conditions must be linear in integrals.

    Raises:
        ModelError: not an expression of a model.
    """
    return _end_value(INTEGRAL, expression)


def _end_value(kind: str, expression: Any) -> Expr:
    require(expression, Expr, f"{kind}() takes an expression of a model")
    if any(map(EndValue.read, leaves([expression]))):
        raise ModelError(
            f"{kind}() of {shown(expression)} contains a value at an end, which is no function of time; make it a "
            "boundary condition or a parameter"
        )
    words = repr(expression)
    words = words if len(words) <= LONGEST_WORDS else f"{words[:LONGEST_WORDS]}..."
    return expression.arena.leaf(INPUT, f"{kind}({words}) #{expression.arena.place(expression)}")


@dataclass(frozen=True)
class EndLeaves:
    """Leaves of the states, multipliers and inputs at the start and at the end of a motion.

    Attributes:
        first, last: symbols of the phase at the start, and of the phase at the end.
        method: collocation method.
    """

    first: Symbols
    last: Symbols
    method: CollocationMethod

    @cached_property
    def first_state(self) -> tuple[Expr, ...]:
        """State [q, u] at the first node."""
        return self.first.leaves(INITIAL, (*self.first.q, *self.first.u))

    @cached_property
    def last_state(self) -> tuple[Expr, ...]:
        """State [q, u] at the last node."""
        return self.last.leaves(FINAL, (*self.last.q, *self.last.u))

    @cached_property
    def first_unknowns(self) -> tuple[Expr, ...]:
        """First state, then multipliers and unknown inputs at the points of the first interval."""
        return (*self.first_state, *self._others(INITIAL, self.first))

    @cached_property
    def last_unknowns(self) -> tuple[Expr, ...]:
        """Last state, then multipliers and unknown inputs at the points of the last interval."""
        return (*self.last_state, *self._others(FINAL, self.last))

    @property
    def unknowns(self) -> tuple[Expr, ...]:
        """All leaves, with first time and duration of each phase."""
        clocks = dict.fromkeys((*self.first.clock, *self.last.clock))
        return (*self.first_unknowns, *self.last_unknowns, *clocks)

    def _others(self, kind: str, s: Symbols) -> tuple[Expr, ...]:
        points = range(len(self.method.points))
        return tuple(leaf for i in points for leaf in s.leaves(f"{kind} {i}", (*s.multipliers, *s.inputs)))

    def symbols_at(self, kind: str) -> Symbols:
        """Return the symbols of the phase at the start (INITIAL) or at the end (FINAL)."""
        return self.first if kind == INITIAL else self.last

    def at(self, kind: str, expressions: Sequence[Expr]) -> list[Expr]:
        """Return expressions of t, q, u, multipliers and inputs at the first or the last time.

        Multipliers and inputs there follow from the polynomials through the points of the interval.
        """
        s, first = self.symbols_at(kind), kind == INITIAL
        zero, state = s.duration.arena.zero, self.first_state if first else self.last_state
        weights = self.method.interpolated(np.array([0.0 if first else 1.0]))[0].tolist()
        points = (self.first_unknowns if first else self.last_unknowns)[len(state) :]
        m = len(s.multipliers) + len(s.inputs)
        others = [sum((w * points[i * m + k] for i, w in enumerate(weights)), zero) for k in range(m)]
        given = (*s.q, *s.u, *s.multipliers, *s.inputs)
        found = substitute_nodes(s.timed(expressions), dict(zip(given, (*state, *others), strict=True)))
        return substitute_nodes(found, {s.fraction: zero if first else zero.arena.one})


@dataclass(frozen=True)
class Condition:
    """A value of a phase: a part at its ends plus the integral of an integrand.

    Attributes:
        ends: leaves of the ends.
        at_ends: expression of these leaves and parameters.
        integrand: expression of t, q, u, multipliers and inputs; None without integrals.
    """

    ends: EndLeaves
    at_ends: Expr
    integrand: Expr | None

    @classmethod
    def of(cls, expression: Any, who: str, ends: EndLeaves, within: Symbols) -> Condition:
        """Split an expression of end values, integrals and parameters.

        Args:
            expression: the expression.
            who: its name in messages.
            ends: leaves of the ends.
            within: symbols of the phase of the integrand.

        Raises:
            ModelError: it depends on a state outside of end values, or is not linear in integrals.
        """
        s = within
        if isinstance(expression, (str, bool)) or not isinstance(expression, (Expr, Real)):
            raise ModelError(f"{who} is {shown(expression)}; give an expression, such as kane.integral(force**2)")
        given = s.equations.t.arena.lift(expression)
        found = {leaf: value for leaf in leaves([given]) if (value := EndValue.read(leaf))}
        for leaf in leaves([given]):
            if leaf.op != PARAMETER and leaf not in found:
                known = "final(m.time)" if leaf.op == TIME else f"kane.initial, kane.final or kane.integral of {leaf!r}"
                raise ModelError(f"{who} depends on {leaf!r} at no time; give {known}")
        by_leaf = {}
        for k, (leaf, (kind, of)) in enumerate(found.items(), 1):
            own = s if kind == INTEGRAL else ends.symbols_at(kind)
            (by_leaf[leaf],) = known_expressions(own, {f"{kind}() {k} in {who}": of})
        integrals = [leaf for leaf, value in found.items() if value.kind == INTEGRAL]
        replaced = {x: ends.at(found[x].kind, [by_leaf[x]])[0] for x in found if x not in integrals}
        (given,) = substitute_nodes([given], {**replaced, **s.equations.baked})
        try:
            (factors,), (rest,) = linear_coefficients([given], integrals)
        except ModelError:
            raise ModelError(f"{who} is not linear in its integrals; split it") from None
        terms = [factor * by_leaf[leaf] for factor, leaf in zip(factors, integrals, strict=True)]
        return cls(ends, rest, sum(terms[1:], terms[0]) if terms else None)


def known_expressions(symbols: Symbols, named: Mapping[str, Expr]) -> Sequence[Expr]:
    """Return expressions of the user in t, q, u, inputs, multipliers and parameters.

    Raises:
        ModelError: one belongs to another model, or depends on a quantity that the state does not determine.
    """
    for who, expression in named.items():
        if any(map(EndValue.read, leaves([expression]))):
            raise ModelError(
                f"{who} contains a value at an end or an integral; use them in objective and boundary only"
            )
    e = replace(symbols.equations, inputs=(*symbols.equations.inputs, *symbols.multipliers))
    given = {who: substitute_nodes([x], symbols.forces)[0] for who, x in named.items()}
    return known_in_state(e, given, {}, ())
