"""Saltation matrices: derivatives through transitions between modes.

At a transition the guard g(t, x, p) vanishes, the state jumps to x+ = D(x, p), and x' changes from f to f+. A small
change S of the state before it also changes the time of the transition:

    S+ = D_x S + D_p + (D_x f + D_t - f+) dt,   dt = -(g_x S + g_p) / (g_x f + g_t).

At an impact, u jumps to v by impulses L of the rows A, each of which satisfies A v + b = -e (A u + b):

    M (v - u) = A^T L.

Redundant rows share impulses like forces, by the L of minimum norm. The shares affect the friction of sliding contacts.
The order of the transitions is the order in the run.

Source: Aizerman & Gantmakher 1958; Kong, Payne, Zhu & Johnson 2024 for the name and its use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kane.analysis.sensitivities.variations import Affine, Array, ModeSlopes
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.least_solution import least_of_motion, outside_column_space, solve_minimum_norm
from kane.errors import ModelError
from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.expression.traverse import substitute_nodes
from kane.formulation.constraints.rows import Equation

# Rate of a guard, relative to the sum of the magnitudes of its terms, below which the guard is grazed.
GRAZING = 1e-9
# Relative difference below which times of transitions, or accelerations before and after one, are equal.
AT_ONCE = 1e-6
# Residual of the law of an impact, relative to momenta or speeds: 1e6 times the rounding of the impulses.
UNLAWFUL = 1e-8


@dataclass(frozen=True, eq=False)
class Saltation:
    """One transition between modes.

    Attributes:
        before, after: the motions before and after it.
        t: its time [s].
        x, x_after: the states before and after it.
        guard: expression that vanishes at the transition. None if f does not change, so that the time has no effect, or
            if an input jumps, whose time is that of the input.
        rows: rows with impulses, and the restitution of each; empty if the state does not jump.
        drags: friction that slips during the whole jump: its row, and its impulse per unit impulse of the normal row,
            given by its number in ``rows``.
        together: guards of other contacts with an impact at the same time; these impacts must always be simultaneous.
        cause: name of the constraint, for messages.
    """

    before: ModeSlopes
    after: ModeSlopes
    t: float
    x: Array
    x_after: Array
    guard: Expr | None
    rows: Sequence[tuple[Equation, Expr | float]]
    cause: str
    drags: Sequence[tuple[Equation, Expr, int]] = ()
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
        by_x, by_t, by_p, guard = self._map()
        f, f_after = self._rates(self.before, self.x), self._rates(self.after, self.x_after)
        lost = by_x @ f + by_t - f_after
        if guard is None:
            if not self.before.plan.jumps(self.t):
                self._require_continuous(lost, f)
            return Affine(by_x, by_p)
        if not self.always_together:
            raise ModelError(
                f"{self.cause!r} and another contact strike at once at t = {self.t:.9g} s, and would not from another "
                "start; where something else changes with them, such impacts are not derived: end the run before "
                "that time"
            )
        dt_x, dt_p = self._moved(guard, f)
        return Affine(by_x + np.outer(lost, dt_x), by_p + np.outer(lost, dt_p))

    @property
    def always_together(self) -> bool:
        """Check whether the impacts of the other contacts are simultaneous for all small changes of the motion."""
        if not self.together:
            return True
        f = self._rates(self.before, self.x)
        own, *others = (
            np.concatenate(replace(self, guard=guard, together=())._dt(f)) for guard in (self.guard, *self.together)
        )
        return all(np.abs(own - other).max() <= AT_ONCE * np.abs(own).max() for other in others)

    def _dt(self, f: Array) -> tuple[Array, Array]:
        return self._moved(self._map()[3], f)

    def _moved(self, guard: tuple[Array, float, Array] | None, f: Array) -> tuple[Array, Array]:
        """Return the derivatives of the time of the transition."""
        assert guard is not None
        g_x, g_t, g_p = guard
        rate = g_x @ f + g_t
        if abs(rate) <= GRAZING * (np.abs(g_x) @ np.abs(f) + abs(g_t)):
            raise ModelError(
                f"{self.cause!r} is grazed at t = {self.t:.9g} s: its guard vanishes there with its rate, so that the "
                "motion has no derivative; vary the start so that it is passed or missed"
            )
        return -g_x / rate, -g_p / rate

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

    def _map(self) -> tuple[Array, Array, Array, tuple[Array, float, Array] | None]:
        """Return the derivatives of D by x, t and direct variables, and of the guard if there is one."""
        motion = self.before
        e, (nq, nx, width) = motion.dyn.equations, motion.widths
        found = self._terms[0]
        m, n, free = len(self.rows), nx - nq, nx + 1 + len(motion.direct)
        given, unknown = found[:, :free], found[:, free:]
        by_x, by_t, by_p = np.eye(nx), np.zeros(nx), np.zeros((nx, width))
        inputs = len(e.inputs)
        if m:
            P = outside_column_space(unknown[n : n + m, :n])
            U = np.block([[unknown[: n + m]], [np.zeros((m, n)), P]])
            solved = least_of_motion(U, -np.pad(given[: n + m], ((0, m), (0, 0))), n)[:n]
            by_x[nq:], by_t[nq:], by_p[nq:, inputs:] = solved[:, :nx], solved[:, nx], solved[:, nx + 1 :]
        if self.guard is None:
            return by_x, by_t, by_p, None
        guard = given[-1]
        g_p = np.concatenate([np.zeros(inputs), guard[nx + 1 :]])
        return by_x, by_t, by_p, (guard[:nx], float(guard[nx]), g_p)

    def momenta(self) -> tuple[Array, Array]:
        """Return M and the rows A with impulses."""
        n, m = len(self.before.dyn.equations.u), len(self.rows)
        entries = self._terms[0]
        first = entries.shape[1] - n - m
        return entries[:n, first : first + n], -entries[:n, first + n :].T

    @property
    def lawful(self) -> bool:
        """Check whether the speeds after the jump satisfy this law."""
        return self._terms[1]

    @cached_property
    def _terms(self) -> tuple[Array, bool]:
        """Return the equations of the impact, with derivatives, and whether v satisfies them.

        The equations are M (v - u) - A^T L, A v + b + e (A u + b), and the guard; the derivatives are by q, u, t,
        parameters, v and L.
        """
        motion, nq = self.before, self.before.widths[0]
        program, places, shape, rest = self._program()
        function = motion.dyn.compile(program)
        v, lawful, jumps = self.x_after[nq:], True, bool((self.x != self.x_after).any())
        state = np.concatenate([[self.t], self.x])
        inputs = motion.inputs(np.array([self.t]), np.array([self.t]))[0]
        read = np.concatenate([inputs, v, np.zeros(len(self.rows))])
        stage = function.stage(motion.parameters)
        entries = np.zeros(shape)
        if (
            self.rows and jumps
        ):  # impulses follow from v, in which the equations are linear; the derivatives contain them
            n = len(v)
            at = function(state, read, stage)
            entries.ravel()[places] = at[shape[0] :]
            first = shape[1] - len(self.rows)
            read[rest:] = solve_minimum_norm(entries[:n, first:], -at[:n, None])[:, 0]
            left = np.abs(function(state, read, stage)[: n + len(self.rows)])
            momenta, speeds = np.abs(at[:n]).max(), max(np.abs(state[1 + nq :]).max(), np.abs(v).max())
            lawful = bool(left[:n].max() <= UNLAWFUL * momenta and left[n:].max() <= UNLAWFUL * speeds)
        entries.ravel()[places] = function(state, read, stage)[shape[0] :]
        return entries, lawful

    def _program(self) -> tuple[Program, NDArray[np.intp], tuple[int, int], int]:
        """Return the program of equations and derivatives, places of the entries, their shape, and the place of L."""
        motion = self.before
        e = motion.dyn.equations
        free, arena = e.unconstrained, e.t.arena
        with collector_paused():
            v = [arena.leaf(INPUT, f"{leaf.name} after") for leaf in e.u]
            L = [arena.leaf(INPUT, f"impulse {k + 1}") for k in range(len(self.rows))]
            change = [a - b for a, b in zip(v, e.u, strict=True)]
            momenta = [sum((c * d for c, d in zip(row, change, strict=True)), arena.zero) for row in free.mass_matrix]
            for (row, _), impulse in zip(self.rows, L, strict=True):
                for j, c in row.coefficients.items():
                    momenta[j] = momenta[j] - c * impulse
            there = dict(zip(e.u, v, strict=True))
            for row, share, normal in self.drags:
                for j, c in row.coefficients.items():
                    momenta[j] = momenta[j] - share * c * L[normal]
            rows = [substitute_nodes([row.motion], there)[0] + ratio * row.motion for row, ratio in self.rows]
            roots = [arena.lift(x) for x in (*momenta, *rows, arena.zero if self.guard is None else self.guard)]
            roots = list(free.baked_in(roots))
            named = {p.name: p for p in e.parameters}
            leaves = [*e.q, *e.u, e.t, *(named[name] for name in motion.direct), *v, *L]
            entries = jacobian(roots, [{leaf: arena.one} for leaf in leaves])
            rest = (*e.inputs, *v, *L)
            state, outputs = (e.t, *e.q, *e.u), (*roots, *entries.values())
            program = Program("terms of a jump", outputs, state=state, rest=rest, parameters=e.parameters)
        places = np.array([i * len(leaves) + j for i, j in entries], dtype=np.intp)
        return program, places, (len(roots), len(leaves)), len(e.inputs) + len(v)


def held(dyn: Dynamics, rows: Sequence[Equation]) -> Dynamics:
    """Return the dynamics of a mode in which additional rows are active and no contact slides."""
    if not rows:
        return dyn
    return dyn.derived(("held", tuple(row.name for row in rows)), lambda: _held(dyn, rows))


def _held(dyn: Dynamics, rows: Sequence[Equation]) -> Dynamics:
    whole = dyn.equations.with_intermittent_rows
    constraints = (*dyn.equations.constraints, *rows)
    return Dynamics(replace(whole, constraints=constraints, intermittents=(), touching=False), dyn.compile)
