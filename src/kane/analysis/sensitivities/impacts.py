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

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from kane.analysis.sensitivities.contact_motions import ContactMotions
from kane.analysis.sensitivities.row_equations import Friction
from kane.analysis.sensitivities.saltation import Saltation
from kane.analysis.sensitivities.variations import Affine, Array, ModeSlopes
from kane.deferred import dataclass
from kane.dynamics.least_solution import least_of_motion
from kane.engine.memory.contact_codes import STICKING
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.constraints.rows import Equation

# Relative difference below which derivatives of two orders are equal; rounding is 1e-12.
COMMUTES = 1e-8
# Kinds of transitions that close contacts.
STRIKES = ("imposed", "bounces", "halts")


@dataclass(frozen=True, eq=False)
class Strike:
    """Impact of one constraint: its kind is one of ``STRIKES``, or the constraint is deleted."""

    c: IntermittentEquations
    kind: str

    @property
    def guard(self) -> Expr | None:
        """Expression that vanishes at the transition; None if a reaction does, because accelerations do not jump."""
        if self.kind == "deleted":
            return None if self.c.constraint.off is None else self.c.numbers.off
        return self.c.numbers.on if self.c.normal is None else self.c.numbers.gap

    def rows(self, closed: Sequence[Equation], tangents: Sequence[Equation]) -> list[tuple[Equation, Expr | float]]:
        """Return the rows with impulses, and the restitution of each: closed rows, tangents and normal."""
        if self.kind == "deleted":
            return []
        found: list[tuple[Equation, Expr | float]] = [(row, 0.0) for row in (*closed, *tangents)]
        if self.c.normal is not None:
            found.append((self.c.normal, self.c.numbers.restitution if self.kind == "bounces" else 0.0))
        return found

    def saltation(
        self,
        motions: tuple[ModeSlopes, ModeSlopes],
        at: tuple[float, Array, Array],
        closed: Sequence[Equation],
        together: Sequence[Expr] = (),
    ) -> Saltation:
        """Return the transition with the law of the run: sticking, frictionless, or slip in one direction."""
        c, (t, x, x_after) = self.c, at
        jump = Saltation(*motions, t, x, x_after, c.name, self.guard, self.rows(closed, c.tangents), together=together)
        if self.kind == "deleted" or jump.lawful or c.normal is None or len(c.tangents) != 1:
            return jump
        bounds = [c.numbers.kinetic]
        if self.kind == "imposed":  # the last bounce of a series has its usual friction, and no rebound
            bounds.append(c.numbers.kinetic * (1.0 + c.numbers.restitution))
        laws = [
            ([Friction(c.normal, c.tangents, bound)], np.array([[direction, 0.0]]))
            for bound in bounds
            for direction in (1.0, -1.0)
        ]
        slipping = (replace(jump, rows=self.rows(closed, ()), frictions=law) for law in laws)
        return next((other for other in slipping if other.lawful), jump)


@dataclass(frozen=True, eq=False)
class SimultaneousImpacts:
    """Impacts at one time that are independent of each other.

    Attributes:
        strikes: the impacts.
        motions: motions of the model.
        before, after: statuses of all intermittent constraints.
        t, x, x_after: time [s], and the states before and after.
    """

    strikes: Sequence[Strike]
    motions: ContactMotions
    before: NDArray[np.int8]
    after: NDArray[np.int8]
    t: float
    x: Array
    x_after: Array

    def derived(self) -> Affine:
        """Return S+ as an affine function of S.

        Raises:
            ModelError: two of the impacts act on each other.
        """
        for pair in combinations(range(len(self.strikes)), 2):
            first, second = (self._in_order(order) for order in (pair, pair[::-1]))
            if first is None or second is None or not self._same(first, second):
                raise self._dependent(pair)
        whole = self._in_order(range(len(self.strikes)))
        if whole is None:
            raise self._dependent(range(len(self.strikes)))
        return whole

    def _same(self, a: Affine, b: Affine) -> bool:
        """Check whether two derivatives are equal in each column, up to rounding of the column and of the jump.

        A column by a state times the state, and one by a parameter times its value, have the size of the jump.
        """
        motion = self.motions.motion_at(self.before, self.t, self.x)
        values = np.array([0.0] * (a.by_p.shape[1] - len(motion.direct)) + [motion.values[p] for p in motion.direct])
        jump = np.abs(self.x_after - self.x).max()
        least = np.ones(a.by_x.shape[1]), jump / np.where(values == 0.0, 1.0, np.abs(values))
        return all(
            bool((np.abs(x - y).max(axis=0) <= COMMUTES * np.maximum(np.abs(x).max(axis=0), size)).all())
            for x, y, size in zip(a, b, least, strict=True)
        )

    def _dependent(self, impacts: Sequence[int]) -> ModelError:
        """Return the error for impacts that act on each other."""
        names = " and ".join(repr(self.strikes[i].c.name) for i in impacts)
        return ModelError(
            f"{names} strike at once at t = {self.t:.9g} s and act on each other, so that what follows depends on "
            "which of them comes first, and the motion has no derivative; begin a little apart"
        )

    def _in_order(self, order: Sequence[int]) -> Affine | None:
        """Return the derivative of impacts in this order; None if one is not the impact of its contact alone."""
        statuses, x, whole = np.array(self.before), self.x, None
        for i in order:
            strike, then, x_then = self.strikes[i], statuses.copy(), x.copy()
            place = self.motions.intermittents.index(strike.c)
            then[place] = self.after[place]
            x_then[-len(self._jumps[i]) :] += self._jumps[i]
            motions = (self.motions.motion_at(*given) for given in ((statuses, self.t, x), (then, self.t, x_then)))
            before, after = motions
            jump = strike.saltation((before, after), (self.t, x, x_then), self.motions.closed(then, strike.c))
            if not jump.lawful:
                return None
            step = jump.derived()
            whole = step if whole is None else Affine(step.by_x @ whole.by_x, step.by_x @ whole.by_p + step.by_p)
            statuses, x = then, x_then
        return whole

    @cached_property
    def _jumps(self) -> list[Array]:
        """The change of the speeds due to each impact alone."""
        closed = self.motions.closed(np.where(np.array(self.before) == STICKING, self.after, 0))
        own = [strike.rows((), strike.c.tangents) for strike in self.strikes]
        acting = [(row, 0.0) for row in (*closed, *(row for rows in own for row, _ in rows))]
        motion = self.motions.motion_at(self.before, self.t, self.x)
        M, A, L = Saltation(motion, motion, self.t, self.x, self.x_after, "several", rows=acting).momenta
        n, k = len(M), len(closed)
        ends = np.cumsum([k, *map(len, own)])
        K = np.block([[M, -A[:k].T], [A[:k], np.zeros((k, k))]])
        pushed = [np.pad(A[a:b].T @ L[a:b], (0, k))[:, None] for a, b in pairwise(ends.tolist())]
        return [least_of_motion(K, p, n)[:n, 0] for p in pushed]
