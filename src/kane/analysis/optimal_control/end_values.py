"""Values at the ends of a phase, and integrals over it, as expressions for objectives and boundary conditions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """Leaves of the states and inputs at both ends of a phase, for a collocation method."""

    symbols: Symbols
    method: CollocationMethod

    @cached_property
    def first_state(self) -> tuple[Expr, ...]:
        """State [q, u] at the first node."""
        return self.symbols.leaves("initial", (*self.symbols.q, *self.symbols.u))

    @cached_property
    def last_state(self) -> tuple[Expr, ...]:
        """State [q, u] at the last node."""
        return self.symbols.leaves("final", (*self.symbols.q, *self.symbols.u))

    @cached_property
    def first_inputs(self) -> tuple[Expr, ...]:
        """Unknown inputs at the points of the first interval."""
        return self._inputs(INITIAL)

    @cached_property
    def last_inputs(self) -> tuple[Expr, ...]:
        """Unknown inputs at the points of the last interval."""
        return self._inputs(FINAL)

    def _inputs(self, kind: str) -> tuple[Expr, ...]:
        points = range(len(self.method.points))
        return tuple(leaf for i in points for leaf in self.symbols.leaves(f"{kind} {i}", self.symbols.inputs))

    def at(self, kind: str, expression: Expr) -> Expr:
        """Return an expression of t, q, u and inputs at the first or the last time.

        Inputs there follow from the polynomials through the points of the interval.
        """
        s, first = self.symbols, kind == INITIAL
        weights = self.method.interpolated(np.array([0.0 if first else 1.0]))[0].tolist()
        points, m = self.first_inputs if first else self.last_inputs, len(s.inputs)
        inputs = [sum((w * points[i * m + k] for i, w in enumerate(weights)), s.duration.arena.zero) for k in range(m)]
        given = (*s.q, *s.u, *s.inputs)
        own = (*(self.first_state if first else self.last_state), *inputs)
        found = substitute_nodes(s.timed([expression]), dict(zip(given, own, strict=True)))
        return substitute_nodes(found, {s.fraction: expression.arena.constant(0.0 if first else 1.0)})[0]


@dataclass(frozen=True)
class Condition:
    """A value of a phase: a part at its ends plus the integral of an integrand.

    Attributes:
        ends: leaves of the ends.
        at_ends: expression of these leaves, the duration and parameters.
        integrand: expression of t, q, u and inputs; None without integrals.
    """

    ends: EndLeaves
    at_ends: Expr
    integrand: Expr | None

    @classmethod
    def of(cls, expression: Any, who: str, ends: EndLeaves) -> Condition:
        """Split an expression of end values, integrals and parameters.

        Raises:
            ModelError: it depends on a state outside of end values, or is not linear in integrals.
        """
        s = ends.symbols
        if isinstance(expression, (str, bool)) or not isinstance(expression, (Expr, Real)):
            raise ModelError(f"{who} is {shown(expression)}; give an expression, such as kane.integral(force**2)")
        given = s.equations.t.arena.lift(expression)
        found = {leaf: value for leaf in leaves([given]) if (value := EndValue.read(leaf))}
        for leaf in leaves([given]):
            if leaf.op != PARAMETER and leaf not in found:
                known = "final(m.time)" if leaf.op == TIME else f"kane.initial, kane.final or kane.integral of {leaf!r}"
                raise ModelError(f"{who} depends on {leaf!r} at no time; give {known}")
        words = {leaf: f"{kind}() {k} in {who}" for k, (leaf, (kind, _)) in enumerate(found.items(), 1)}
        values = known_expressions(s, {words[leaf]: value.of for leaf, value in found.items()})
        by_leaf = dict(zip(found, values, strict=True))
        integrals = [leaf for leaf, value in found.items() if value.kind == INTEGRAL]
        replaced = {leaf: ends.at(found[leaf].kind, by_leaf[leaf]) for leaf in found if leaf not in integrals}
        (given,) = substitute_nodes([given], {**replaced, **s.equations.baked})
        try:
            (factors,), (rest,) = linear_coefficients([given], integrals)
        except ModelError:
            raise ModelError(f"{who} is not linear in its integrals; split it") from None
        terms = [factor * by_leaf[leaf] for factor, leaf in zip(factors, integrals, strict=True)]
        return cls(ends, rest, sum(terms[1:], terms[0]) if terms else None)


def known_expressions(symbols: Symbols, named: Mapping[str, Expr]) -> Sequence[Expr]:
    """Return expressions of the user in t, q, u, inputs and parameters.

    Raises:
        ModelError: one belongs to another model, or depends on a quantity that the state does not determine.
    """
    for who, expression in named.items():
        if any(map(EndValue.read, leaves([expression]))):
            raise ModelError(
                f"{who} contains a value at an end or an integral; use them in objective and boundary only"
            )
    return known_in_state(symbols.equations, named, {}, ())
