"""One interval of a collocation: its leaves, and the residuals of the states at its points and at its end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kane.analysis.optimal_control.collocation_method import CollocationMethod
from kane.analysis.optimal_control.phase_symbols import Symbols
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes

# Leaves of coordinates and of speeds.
State = tuple[tuple[Expr, ...], tuple[Expr, ...]]


@dataclass(frozen=True)
class CollocationInterval:
    """Interval of a method.

    Attributes:
        symbols: leaves and equations of the phase.
        method: collocation method.
    """

    symbols: Symbols
    method: CollocationMethod

    @cached_property
    def length(self) -> Expr:
        """Length of the interval as a fraction of the duration."""
        return self.symbols.leaf("length")

    @cached_property
    def first(self) -> State:
        """State at the start."""
        return self._state("first")

    @cached_property
    def last(self) -> State:
        """State at the end."""
        return self._state("last")

    @cached_property
    def points(self) -> list[State]:
        """State at each point."""
        ends = {0.0: self.first, 1.0: self.last}
        return [ends.get(c) or self._state(f"point {i}") for i, c in enumerate(self.method.points)]

    @cached_property
    def fractions(self) -> list[Expr]:
        """Elapsed fraction of the duration at each point."""
        return [self.symbols.leaf(f"fraction {i}") for i in range(len(self.method.points))]

    @cached_property
    def accelerations(self) -> list[tuple[Expr, ...]]:
        """udot at each point."""
        udot = self.symbols.equations.udot
        return [self.symbols.leaves(f"point {i} rate of", udot) for i in range(len(self.method.points))]

    @cached_property
    def corrections(self) -> list[Expr]:
        """Corrections gamma and mu: one for each residual that vanishes at nodes."""
        return [self.symbols.leaf(f"correction {k}") for k in range(len(self.symbols.residuals))]

    @property
    def unknowns(self) -> tuple[Expr, ...]:
        """Leaves of the states at the start, at the end and at inner points, of udot at points, and of corrections."""
        inner = [self.points[i] for i in self.method.inner]
        states = [x for state in (self.first, self.last, *inner) for group in state for x in group]
        return (*states, *(x for udot in self.accelerations for x in udot), *self.corrections)

    @property
    def residuals(self) -> list[Expr]:
        """x(c_i) - x - h sum_j A_ij f_j for the points after the start, and x(1) likewise with b_j and corrections."""
        ends = [(c, self.points[i], self.method.A[i]) for i, c in enumerate(self.method.points) if c > 0.0]
        if not self.method.ends:
            ends.append((1.0, self.last, self.method.b))
        h, zero = self.length * self.symbols.duration, self.length.arena.zero
        found = []
        for c, (q, u), weights in ends:
            for k, (x, x0) in enumerate(zip((*q, *u), (*self.first[0], *self.first[1]), strict=True)):
                rate = sum((float(w) * rates[k] for w, rates in zip(weights, self._rates, strict=True)), zero)
                found.append(x - x0 - h * rate - (self._moves[k] if c == 1.0 else zero))
        return found

    @cached_property
    def _rates(self) -> list[list[Expr]]:
        """Rates [qdot, udot] at each point."""
        s, found = self.symbols, []
        for (q, u), udot, fraction in zip(self.points, self.accelerations, self.fractions, strict=True):
            qdot = substitute_nodes(s.at(s.kinematics, q, u), {s.fraction: fraction})
            found.append([*qdot, *udot])
        return found

    @cached_property
    def _moves(self) -> list[Expr]:
        """Displacement of each entry of [q, u] at the end by the corrections."""
        s = self.symbols
        moves = [self.length.arena.zero] * (len(s.q) + len(s.u))
        for correction, (_, direction) in zip(self.corrections, s.residuals, strict=True):
            for i, x in direction.items():
                moves[i] = moves[i] + s.at([x], *self.last)[0] * correction
        return moves

    def _state(self, word: str) -> State:
        return self.symbols.leaves(word, self.symbols.q), self.symbols.leaves(word, self.symbols.u)
