"""Impacts of a run: of one contact, of several that are always simultaneous, and of several that are so by chance.

Simultaneous impacts of independent contacts can be applied in any order. With a small change S, each occurs at its own
time t + dt_i, and their saltation matrices X_i are applied in the order of these times. If the X_i commute, the order
has no effect, and X_m ... X_1 is the derivative. Otherwise each order has its own derivative, and the motion has none
at this state.

Simultaneous impulses are separated by

    M (v - u) = sum_i A_i^T L_i + C^T L_C,   v_i = u + w_i,   M w_i = A_i^T L_i + C^T m,   C w_i = 0,

with C the rows of constraints and contacts that stay closed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from kane.analysis.sensitivities.saltation import Saltation
from kane.analysis.sensitivities.sliding import SlidingSlopes
from kane.analysis.sensitivities.variations import Affine, Array, ModeSlopes
from kane.dynamics.least_solution import least_of_motion, solve_minimum_norm
from kane.engine.memory.contact_codes import STICKING
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.constraints.rows import Equation

# Relative difference below which derivatives of two orders are equal; rounding is 1e-12.
COMMUTES = 1e-8
# Kinds of events that close contacts.
STRIKES = ("imposed", "bounces", "halts")


@dataclass(frozen=True, eq=False)
class Strike:
    """One event of an impact: its kind is one of ``STRIKES``, or the constraint is deleted."""

    c: IntermittentEquations
    kind: str

    @property
    def guard(self) -> Expr | None:
        """Expression that vanishes at the event; None if a reaction vanishes: accelerations do not jump there."""
        if self.kind == "deleted":
            return None if self.c.constraint.off is None else self.c.numbers.off
        return self.c.numbers.on if self.c.normal is None else self.c.numbers.gap

    def rows(self, closed: Sequence[Equation], tangents: Sequence[Equation]) -> list[tuple[Equation, Expr | float]]:
        """Rows with impulses, and the restitution of each: closed rows, tangents and normal of the contact."""
        if self.kind == "deleted":
            return []
        found: list[tuple[Equation, Expr | float]] = [(row, 0.0) for row in (*closed, *tangents)]
        if self.c.normal is not None:
            found.append((self.c.normal, self.c.numbers.restitution if self.kind == "bounces" else 0.0))
        return found

    def change(
        self,
        motions: tuple[ModeSlopes, ModeSlopes],
        at: tuple[float, Array, Array],
        closed: Sequence[Equation],
        together: Sequence[Expr] = (),
    ) -> Saltation:
        """Return the transition with the law of the run: sticking, frictionless, or slip in one direction."""
        c, rows = self.c, self.rows(closed, self.c.tangents)
        before, after = motions
        t, x, x_after = at
        jump = Saltation(before, after, t, x, x_after, self.guard, rows, c.name, together=together)
        if self.kind == "deleted" or jump.lawful or c.normal is None or len(c.tangents) != 1:
            return jump
        rows = self.rows(closed, ())
        bounds = [c.numbers.kinetic]
        if self.kind == "imposed":  # the last bounce of a series has its usual friction, and no rebound
            bounds.append(c.numbers.kinetic * (1.0 + c.numbers.restitution))
        laws = [(c.tangents[0], sign * bound, len(rows) - 1) for bound in bounds for sign in (-1.0, 1.0)]
        slipping = (replace(jump, rows=rows, drags=[law]) for law in laws)
        return next((other for other in slipping if other.lawful), jump)


@dataclass(frozen=True, eq=False)
class Meeting:
    """Simultaneous impacts.

    Attributes:
        strikes: events of the impacts.
        intermittents, constraints: all intermittent and permanent constraints of the model.
        before, after: statuses of all intermittent constraints.
        mode: function that returns the motion with these statuses.
        at: time, and the states before and after.
    """

    strikes: Sequence[Strike]
    intermittents: Sequence[IntermittentEquations]
    constraints: Sequence[Equation]
    before: Array
    after: Array
    mode: Callable[[Array], ModeSlopes]
    at: tuple[float, Array, Array]

    @property
    def t(self) -> float:
        """Time of the impacts [s]."""
        return self.at[0]

    def derived(self) -> Affine:
        """Return S+ as an affine function of S.

        Raises:
            ModelError: two of the impacts act on each other.
        """
        for pair in combinations(range(len(self.strikes)), 2):
            first, second = (self._one_after_the_other(order) for order in (pair, pair[::-1]))
            if first is None or second is None or not self._same(first, second):
                raise self._acting(pair)
        whole = self._one_after_the_other(range(len(self.strikes)))
        if whole is None:
            raise self._acting(range(len(self.strikes)))
        return whole

    def _same(self, a: Affine, b: Affine) -> bool:
        """Whether two derivatives are one, column by column: rounding is a share of each, and of the jump as a whole.

        The jump is of the size of a column by a state times that state, and of one by a parameter times its value.
        """
        motion = self._motion(self.before, self.at[1])
        values = np.array([0.0] * (a.by_p.shape[1] - len(motion.direct)) + [motion.values[p] for p in motion.direct])
        jump = np.abs(self.at[2] - self.at[1]).max()
        least_of = np.ones(a.by_x.shape[1]), jump / np.where(values == 0.0, 1.0, np.abs(values))
        return all(
            bool((np.abs(x - y).max(axis=0) <= COMMUTES * np.maximum(np.abs(x).max(axis=0), least_of_x)).all())
            for x, y, least_of_x in zip(a, b, least_of, strict=True)
        )

    def _acting(self, those: Sequence[int]) -> ModelError:
        """What to say of impacts that act on each other."""
        names = " and ".join(repr(self.strikes[i].c.name) for i in those)
        return ModelError(
            f"{names} strike at once at t = {self.t:.9g} s and act on each other, so that what follows depends on "
            "which of them comes first, and the motion has no derivative; begin a little apart"
        )

    def _one_after_the_other(self, order: Sequence[int]) -> Affine | None:
        """The derivative of the impacts in this order; None where one of them is not that of its contact alone."""
        t, x, _ = self.at
        statuses, found = np.array(self.before), list[Affine]()
        for i in order:
            strike, then = self.strikes[i], statuses.copy()
            place = self.intermittents.index(strike.c)
            then[place] = self.after[place]
            x_then = x.copy()
            x_then[-len(self._moved[i]) :] += self._moved[i]
            motions = self._motion(statuses, x), self._motion(then, x_then)
            jump = strike.change(motions, (t, x, x_then), self._closed(then, strike.c))
            if not jump.lawful:
                return None
            found.append(jump.derived())
            statuses, x = then, x_then
        whole = found[0]
        for step in found[1:]:
            whole = Affine(step.by_x @ whole.by_x, step.by_x @ whole.by_p + step.by_p)
        return whole

    def _motion(self, statuses: Array, x: Array) -> ModeSlopes:
        motion = self.mode(statuses)
        return motion.directed(np.array([self.t]), x[None]) if isinstance(motion, SlidingSlopes) else motion

    def _closed(self, statuses: Array, beside: IntermittentEquations | None = None) -> list[Equation]:
        """Rows that are in force whatever strikes."""
        pairs = zip(self.intermittents, statuses, strict=True)
        return [
            *self.constraints,
            *(row for c, status in pairs if status == STICKING and c is not beside for row in c.rows),
        ]

    @cached_property
    def _moved(self) -> list[Array]:
        """What each impact alone changes of the speeds."""
        t, x, x_after = self.at
        closed = self._closed(np.where(np.array(self.before) == STICKING, self.after, 0))
        rows = [
            [*strike.c.tangents, *([] if strike.c.normal is None else [strike.c.normal])] for strike in self.strikes
        ]
        acting = [(row, 0.0) for row in (*closed, *(row for own in rows for row in own))]
        motion = self._motion(self.before, x)
        M, A = Saltation(motion, motion, t, x, x_after, None, acting, "several").momenta()
        n, k = len(M), len(closed)
        L = solve_minimum_norm(A.T, (M @ (x_after[-n:] - x[-n:]))[:, None])[:, 0]
        ends = np.cumsum([k, *map(len, rows)])
        K = np.block([[M, -A[:k].T], [A[:k], np.zeros((k, k))]])
        pushed = [np.pad(A[a:b].T @ L[a:b], (0, k))[:, None] for a, b in pairwise(ends.tolist())]
        return [least_of_motion(K, p, n)[:n, 0] for p in pushed]
