"""Saltation matrices: derivatives through transitions between modes.

At a transition the guard g(t, x, p) vanishes, the state jumps to x+ = D(x, p), and x' changes from f to f+. A small
change S of the state before it also changes the time of the transition:

    S+ = D_x S + D_p + (D_x f + D_t - f+) dt,   dt = -(g_x S + g_p) / (g_x f + g_t).

At an impact, D follows from the row problem at velocity level (``row_problem``): u jumps to v by impulses of the rows
A, each of which satisfies A v + b = -e (A u + b). The order of the transitions is the order in the run.

Source: Aizerman & Gantmakher 1958; Kong, Payne, Zhu & Johnson 2024 for the name and its use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from kane.analysis.sensitivities.contact_motions import StaticBound, sliding
from kane.analysis.sensitivities.row_equations import Friction, RowEquations, RowEquationsAt
from kane.analysis.sensitivities.variations import Affine, Array, ModeSlopes
from kane.deferred import NamedTuple, dataclass
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.formulation.constraints.rows import Equation

# Rate of a guard, relative to the sum of the magnitudes of its terms, below which the guard is grazed.
GRAZING = 1e-9
# Relative difference below which times of transitions, or accelerations before and after one, are equal.
AT_ONCE = 1e-6
# Residual of the law of an impact, relative to momenta or speeds: 1e6 times the rounding of the impulses.
UNLAWFUL = 1e-8
# Difference of friction and its bound, both squared, relative to the bound: the search for the transition leaves less.
AT_THE_BOUND = 1e-6


class Gradient(NamedTuple):
    """Derivatives of one or more values by state, by time along the inputs, and by direct variables."""

    by_x: Array
    by_t: Array
    by_p: Array


@dataclass(frozen=True, eq=False)
class Saltation:
    """One transition between modes.

    Attributes:
        before, after: the motions before and after it.
        t: its time [s].
        x, x_after: the states before and after it.
        cause: name of the constraint, for messages.
        guard: expression that vanishes at the transition. None if f does not change, so that the time has no effect, or
            if an input jumps, whose time is that of the input.
        rows: rows with impulses, and the restitution of each; empty if the state does not jump.
        frictions: friction that slips during the whole jump, and its directions, (frictions, 2).
        together: guards of other contacts with an impact at the same time; these impacts must always be simultaneous.
    """

    before: ModeSlopes
    after: ModeSlopes
    t: float
    x: Array
    x_after: Array
    cause: str
    guard: Expr | None = None
    rows: Sequence[tuple[Equation, Expr | float]] = ()
    frictions: tuple[Sequence[Friction], Array] = ((), np.zeros((0, 2)))
    together: Sequence[Expr] = ()

    def derived(self) -> Affine:
        """Return S+ as an affine function of S.

        Raises:
            ModelError: the guard is grazed, so that its time has no derivative, or the impact follows another law.
        """
        if not self.lawful:
            raise ModelError(
                f"the impact of {self.cause!r} at t = {self.t:.9g} s is not that of this contact alone, or its slip "
                "begins, ends or turns in it; such impacts are not derived: end the run before that time"
            )
        jump, f, f_after = self._jump, self._rates(self.before, self.x), self._rates(self.after, self.x_after)
        lost = jump.by_x @ f + jump.by_t - f_after
        if not self._guards:
            if not self.before.plan.jumps(self.t):
                self._require_continuous(lost, f)
            return Affine(jump.by_x, jump.by_p)
        if not self.always_together:
            raise ModelError(
                f"{self.cause!r} and another contact strike at once at t = {self.t:.9g} s, and would not from another "
                "start; where something else changes with them, such impacts are not derived: end the run before "
                "that time"
            )
        dt_x, dt_p = self._time(self._guards[0])
        return Affine(jump.by_x + np.outer(lost, dt_x), jump.by_p + np.outer(lost, dt_p))

    @property
    def always_together(self) -> bool:
        """Check whether the impacts of the other contacts are simultaneous for all small changes of the motion."""
        if not self.together:
            return True
        own, *others = (np.concatenate(self._time(guard)) for guard in self._guards)
        return all(np.abs(own - other).max() <= AT_ONCE * np.abs(own).max() for other in others)

    @property
    def lawful(self) -> bool:
        """Check whether the speeds after the jump satisfy this law."""
        if not self.rows or not self._jumps:
            return True
        n, z, nq = self._row_problem.code.n, self._z, self.before.widths[0]
        forceless = self._row_problem.values(np.where(np.arange(z.shape[1]) < n, z, 0.0))[0][0]
        left = np.abs(self._row_problem.values(z)[0][0, : z.shape[1]])
        momenta, speeds = np.abs(forceless[:n]).max(), max(np.abs(self.x[nq:]).max(), np.abs(z[0, :n]).max())
        return bool(left[:n].max() <= UNLAWFUL * momenta and left[n:].max() <= UNLAWFUL * speeds)

    @property
    def momenta(self) -> tuple[Array, Array, Array]:
        """Mass matrix, (n, n), coefficients of the rows, (rows, n), and impulses of the rows."""
        at = self._row_problem
        return at.M[0], at.A[0], self._z[0, at.code.n :]

    def _time(self, guard: Gradient) -> tuple[Array, Array]:
        """Return the derivatives of the time of the transition by state and direct variables."""
        f = self._rates(self.before, self.x)
        rate = guard.by_x @ f + guard.by_t
        if abs(rate) <= GRAZING * (np.abs(guard.by_x) @ np.abs(f) + abs(guard.by_t)):
            raise ModelError(
                f"{self.cause!r} is grazed at t = {self.t:.9g} s: its guard vanishes there with its rate, so that the "
                "motion has no derivative; vary the start so that it is passed or missed"
            )
        return -guard.by_x / rate, -guard.by_p / rate

    def _require_continuous(self, lost: Array, f: Array) -> None:
        """Raise if accelerations jump at a transition without a guard."""
        if np.abs(lost).max() > AT_ONCE * max(1.0, np.abs(f).max()):
            raise ModelError(
                f"accelerations jump where {self.cause!r} lets go at t = {self.t:.9g} s, as something else changes in "
                "the same instant; such changes are not derived: end the run before that time"
            )

    def _rates(self, motion: ModeSlopes, x: Array) -> Array:
        t = np.array([self.t])
        return motion.rates(t, x[None, :], motion.inputs(t, t))[0]

    @property
    def _jumps(self) -> bool:
        return bool((self.x != self.x_after).any())

    @cached_property
    def _jump(self) -> Gradient:
        """Derivatives of D."""
        nq, nx, width = self.before.widths
        by_x, by_t, by_p = np.eye(nx), np.zeros(nx), np.zeros((nx, width))
        if self.rows:
            by_x[nq:], by_t[nq:], by_p[nq:] = self._gradient(self._derivatives[0][: nx - nq])
        return Gradient(by_x, by_t, by_p)

    @cached_property
    def _guards(self) -> list[Gradient]:
        """Derivatives of the guard and of those in ``together``; empty without a guard."""
        return [] if self.guard is None else [self._gradient(by) for by in self._derivatives[1]]

    def _gradient(self, by: Array) -> Gradient:
        """Split derivatives by q, u, t, inputs and direct parameters."""
        nx, inputs = self.before.widths[1], len(self.before.dyn.equations.inputs)
        direct = by[..., nx + 1 :]
        return Gradient(by[..., :nx], by[..., nx] + direct[..., :inputs] @ self.before.plan.slopes(self.t), direct)

    @cached_property
    def _derivatives(self) -> tuple[Array, Array]:
        """Derivatives of speeds after the jump and impulses, and of the guards."""
        found = self._row_problem.derivatives(self._z)
        return found.z[0], found.outputs[0]

    @cached_property
    def _z(self) -> Array:
        """Speeds after the jump, and impulses of the rows, (1, n + rows)."""
        v = self.x_after[None, self.before.widths[0] :]
        if not self._jumps:
            return np.concatenate([v, np.zeros((1, len(self.rows)))], axis=1)
        return self._row_problem.with_forces(v)

    @cached_property
    def _row_problem(self) -> RowEquationsAt:
        """The row problem of the impact at velocity level."""
        motion, (frictions, directions) = self.before, self.frictions
        guards = () if self.guard is None else (self.guard, *self.together)
        rows, ratios = [row for row, _ in self.rows], tuple(ratio for _, ratio in self.rows)
        problem = RowEquations(rows, frictions, ratios, lambda force: guards)
        kinds = tuple((friction.tangents[0].name, friction.kinetic) for friction in frictions)
        key = "impact", tuple(row.name for row in rows), ratios, kinds, guards, motion.direct
        code = motion.dyn.derived(key, lambda: problem.compiled(motion.dyn, motion.direct))
        t = np.array([self.t])
        return code.at(t, self.x[None], motion.inputs(t, t), directions, motion.parameters)


@dataclass(frozen=True, eq=False)
class BeginOfSlip(Saltation):
    """A sticking contact begins to slip because its friction reaches the static bound: only accelerations jump.

    Attributes:
        bounds: contacts that begin to slip together.
    """

    bounds: tuple[StaticBound, ...] = ()

    @cached_property
    def _guards(self) -> list[Gradient]:
        motion = replace(sliding(self.before), bounds=self.bounds)
        values, found = motion.friction_and_bound(np.array([self.t]), self.x[None])
        friction, bound = values[0]
        if not abs(friction - bound) <= AT_THE_BOUND * bound:
            raise ModelError(
                f"{self.cause!r} slips at t = {self.t:.9g} s while its friction is below its bound, since "
                "redundant contacts share their forces anew there, which is not derived; end the run before that "
                "time, or take a contact out"
            )
        return [self._gradient(found.outputs[0, -2] - found.outputs[0, -1])]
