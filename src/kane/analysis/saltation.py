"""Derivatives through changes of the mode: saltation matrices.

At a change the guard g(t, x, p) vanishes, the state jumps to x+ = D(x, p), and x' = f goes on as f+. A small change S
before it moves the time of the change too:

    S+ = D_x S + D_p + (D_x f + D_t - f+) dt,   dt = -(g_x S + g_p) / (g_x f + g_t).

At an impact u jumps to v with impulses L of the rows A that act, each of which has A v + b = -e (A u + b):

    M (v - u) = A^T L.

The order in which changes follow each other is that of the run.

Source: Aizerman & Gantmakher 1958; Kong, Payne, Zhu & Johnson 2024 for the name and its use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kane.analysis.variations import Affine, Array, ModeSlopes
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.least_solution import least
from kane.errors import ModelError
from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.expression.traverse import substitute
from kane.formulation.constraints.rows import Equation

# A guard that changes slower than this over what would change it if all its parts added up is grazed.
GRAZING = 1e-9
# What is left of the law of an impact over momenta or speeds: the roundings of the engine's impulses, times 1e6.
UNLAWFUL = 1e-8


@dataclass(frozen=True, eq=False)
class Saltation:
    """One change of the mode.

    Attributes:
        before, after: the motions on both sides.
        t: when [s].
        x, x_after: the states on both sides.
        guard: what vanishes there; None where f goes on as it was, so that the time of the change is of no account.
        rows: on which impulses act, and the restitution of each; none where the state does not jump.
        cause: the name of the candidate, for messages.
    """

    before: ModeSlopes
    after: ModeSlopes
    t: float
    x: Array
    x_after: Array
    guard: Expr | None
    rows: Sequence[tuple[Equation, Expr | float]]
    cause: str

    def derived(self) -> Affine:
        """S+ from S.

        Raises:
            ModelError: the guard is grazed: when it vanishes depends on the rest without bounds.
        """
        by_x, by_t, by_p, guard = self._map()
        if self.guard is None:
            return Affine(by_x, by_p)
        g_x, g_t, g_p = guard
        f, f_after = self._rates(self.before, self.x), self._rates(self.after, self.x_after)
        rate = g_x @ f + g_t
        if abs(rate) <= GRAZING * (np.abs(g_x) @ np.abs(f) + abs(g_t)):
            raise ModelError(
                f"{self.cause!r} is grazed at t = {self.t:.9g} s: its guard vanishes there with its rate, so that the "
                "motion has no derivative; vary the start so that it is passed or missed"
            )
        lost = by_x @ f + by_t - f_after
        return Affine(by_x - np.outer(lost, g_x) / rate, by_p - np.outer(lost, g_p) / rate)

    def _rates(self, motion: ModeSlopes, x: Array) -> Array:
        t = np.array([self.t])
        return motion.rates(t, x[None, :], motion.inputs(t, t))[0]

    def _map(self) -> tuple[Array, Array, Array, tuple[Array, float, Array]]:
        """D by x, t and what is varied directly; the guard by the same."""
        motion = self.before
        e, (nq, nx, width) = motion.dyn.equations, motion.widths
        found = self._terms()
        m, n, free = len(self.rows), nx - nq, nx + 1 + len(motion.direct)
        given, unknown = found[:, :free], found[:, free:]
        by_x, by_t, by_p = np.eye(nx), np.zeros(nx), np.zeros((nx, width))
        inputs = len(e.inputs)
        if m:
            solved = least(unknown[: n + m], -given[: n + m])[:n]
            by_x[nq:], by_t[nq:], by_p[nq:, inputs:] = solved[:, :nx], solved[:, nx], solved[:, nx + 1 :]
        guard = given[-1]
        g_p = np.concatenate([np.zeros(inputs), guard[nx + 1 :]])
        return by_x, by_t, by_p, (guard[:nx], float(guard[nx]), g_p)

    def _terms(self) -> Array:
        """M (v - u) - A^T L, A v + b + e (A u + b), and the guard, by q, u, t, parameters, v and L, at the state."""
        motion, nq = self.before, self.before.widths[0]
        program, places, shape, rest = self._program()
        function = motion.dyn.compile(program)
        v = self.x_after[nq:]
        state = np.concatenate([[self.t], self.x])
        inputs = motion.inputs(np.array([self.t]), np.array([self.t]))[0]
        read = np.concatenate([inputs, v, np.zeros(len(self.rows))])
        stage = function.stage(motion.parameters)
        entries = np.zeros(shape)
        if self.rows:  # the impulses follow from v, in which the terms are linear; they stand in the derivatives
            n = len(v)
            at = function(state, read, stage)
            entries.ravel()[places] = at[shape[0] :]
            first = shape[1] - len(self.rows)
            read[rest:] = least(entries[:n, first:], -at[:n, None])[:, 0]
            self._require_law(function(state, read, stage)[: n + len(self.rows)], at[:n], state[1 + nq :])
        entries.ravel()[places] = function(state, read, stage)[shape[0] :]
        return entries

    def _require_law(self, left: Array, momenta: Array, u: Array) -> None:
        """Refuse impacts of other laws: where friction slips, or several contacts strike at once."""
        n = len(momenta)
        size = np.abs(momenta).max(), max(np.abs(u).max(), np.abs(self.x_after[-n:]).max())
        if np.abs(left[:n]).max() > UNLAWFUL * size[0] or np.abs(left[n:]).max() > UNLAWFUL * size[1]:
            raise ModelError(
                f"the impact of {self.cause!r} at t = {self.t:.9g} s is not that of this contact alone, or friction "
                "slips in it; such impacts are not derived"
            )

    def _program(self) -> tuple[Program, NDArray[np.intp], tuple[int, int], int]:
        """Terms and their entries, where these lie, the shape of all, and where L stands in what is read."""
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
            rows = [substitute([row.motion], there)[0] + ratio * row.motion for row, ratio in self.rows]
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
    """The dynamics of a mode in which rows of candidates are in force besides the constraints, nothing slipping."""
    if not rows:
        return dyn
    return dyn.derived(("held", tuple(row.name for row in rows)), lambda: _held(dyn, rows))


def _held(dyn: Dynamics, rows: Sequence[Equation]) -> Dynamics:
    whole = dyn.equations.with_candidates
    constraints = (*dyn.equations.constraints, *rows)
    return Dynamics(replace(whole, constraints=constraints, candidates=(), touching=False), dyn.compile)
