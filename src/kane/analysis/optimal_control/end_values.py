"""Values at the ends of a phase, and integrals over it, as expressions for objectives and boundary conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kane.analysis.optimal_control.symbols import Symbols
from kane.errors import ModelError, shown
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.operations import MEASURE, PARAMETER, TIME
from kane.expression.traverse import leaves, substitute_nodes
from kane.simulation.inputs.known_in_state import known_in_state

INITIAL, FINAL, INTEGRAL = "initial", "final", "integral"


@dataclass(frozen=True)
class EndValue:
    """Value of an expression at an end of a phase, or its integral over the phase.

    Attributes:
        kind: INITIAL, FINAL or INTEGRAL.
        of: the expression.
    """

    kind: str
    of: Expr

    def __str__(self) -> str:
        return f"{self.kind}({self.of!r})"


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
    if any(isinstance(leaf.data, EndValue) for leaf in leaves([expression])):
        raise ModelError(f"{kind}() of {shown(expression)} contains a value at an end; take {kind}() of each part")
    return expression.arena.leaf(MEASURE, EndValue(kind, expression))


@dataclass(frozen=True)
class Ends:
    """Leaves of the states and inputs at both ends of a phase."""

    symbols: Symbols

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
        """Unknown inputs at the first collocation point."""
        return self.symbols.leaves("initial", self.symbols.inputs)

    @cached_property
    def last_inputs(self) -> tuple[Expr, ...]:
        """Unknown inputs at the last collocation point."""
        return self.symbols.leaves("final", self.symbols.inputs)

    def at(self, kind: str, expression: Expr) -> Expr:
        """Return an expression of t, q, u and inputs at the first or the last time."""
        s = self.symbols
        given = (*s.q, *s.u, *s.inputs)
        own = (*self.first_state, *self.first_inputs) if kind == INITIAL else (*self.last_state, *self.last_inputs)
        found = substitute_nodes(s.timed([expression]), dict(zip(given, own, strict=True)))
        return substitute_nodes(found, {s.fraction: expression.arena.constant(0.0 if kind == INITIAL else 1.0)})[0]


@dataclass(frozen=True)
class Condition:
    """A value of a phase: a part at its ends plus the integral of an integrand.

    Attributes:
        ends: leaves of the ends.
        at_ends: expression of these leaves, the duration and parameters.
        integrand: expression of t, q, u and inputs; None without integrals.
    """

    ends: Ends
    at_ends: Expr
    integrand: Expr | None

    @classmethod
    def of(cls, expression: Any, who: str, ends: Ends) -> Condition:
        """Split an expression of end values, integrals and parameters.

        Raises:
            ModelError: it depends on a state outside of end values, or is not linear in integrals.
        """
        s = ends.symbols
        arena = s.equations.t.arena
        given = arena.lift(expression)
        found = [leaf for leaf in leaves([given]) if isinstance(leaf.data, EndValue)]
        for leaf in leaves([given]):
            if leaf.op != PARAMETER and leaf not in found:
                known = "final(m.time)" if leaf.op == TIME else f"kane.initial, kane.final or kane.integral of {leaf!r}"
                raise ModelError(f"{who} depends on {leaf!r} at no time; give {known}")
        values = known_expressions(s, {f"{leaf.data} in {who}": leaf.data.of for leaf in found})
        by_leaf = dict(zip(found, values, strict=True))
        integrals = [leaf for leaf in found if leaf.data.kind == INTEGRAL]
        replaced = {leaf: ends.at(leaf.data.kind, by_leaf[leaf]) for leaf in found if leaf not in integrals}
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
    return known_in_state(symbols.equations, named, {}, ())
