"""Motion and its derivatives where contacts slip: accelerations and forces of constraints are found together.

With multipliers lambda of the rows A in force, among them the normal force N of each contact that slips along s with
the kinetic friction mu, or with a friction T that no normal force bounds,

    M udot + h - A^T lambda + sum (mu N or T) A_t^T s = 0,   A udot + remainder = 0

are linear in z = [udot, lambda], K z + c = 0, so that dz = -K^-1 (dK z + dc).

Rows that are redundant leave lambda open, and with it the motion, where friction of what slips depends on how normal
forces are shared. The motion takes the lambda of least norm, of the column space of A: with P = 1 - A A^+,

    P lambda = 0,   P dlambda = P dA y,   y = A^+ lambda,

by P A = 0, so that dP A = -P dA. These equations are solved together with K z + c = 0.

Source: Kane & Levinson 1985, Dynamics: Theory and Applications, section 4.9, for the equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.analysis.sensitivities.saltation import Saltation
from kane.analysis.sensitivities.variations import Array, ModeSlopes
from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.dynamics.least_solution import least_of_motion, outside_column_space, solve_minimum_norm
from kane.errors import ModelError
from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.formulation.constraints.rows import Equation
from kane.formulation.derivatives.constrained import constrained_forces, row_acceleration

# What friction at its bound misses it by, as a share of the bound squared: the search for the change leaves less.
AT_THE_BOUND = 1e-6
# P of rows that are redundant has entries of the order of one over the rows, of others rounding.
REDUNDANT = 1e-6


class Drag(NamedTuple):
    """Friction of a contact that slips: kinetic friction, over the normal force of a row where there is one."""

    normal: Equation | None
    tangents: tuple[Equation, ...]
    kinetic: Expr


class StaticBound(NamedTuple):
    """Static friction of a contact that sticks, over the normal force of a row where there is one."""

    normal: Equation | None
    tangents: tuple[Equation, ...]
    static: Expr


class _Terms(NamedTuple):
    """Native code of qdot, what z makes zero, slips, and the squares of friction and its bound; where the entries lie;
    values and columns; which values z makes zero.
    """

    function: CompiledFunction
    places: NDArray[np.intp]
    shape: tuple[int, int]
    solved: slice


class Found(NamedTuple):
    """At states: slips and the squares of friction and its bound; the derivatives of qdot and z, and of these, by q, u,
    t, inputs and what is varied directly.
    """

    rest: Array
    by_rates: Array
    by_rest: Array


@dataclass(frozen=True, eq=False)
class SlidingSlopes(ModeSlopes):
    """Those of a mode in which contacts slip, or of one without, where its reactions are asked for.

    Attributes:
        drags: of the contacts that slip.
        signs: of the slip of each that has one tangent, which stays along it, (drags,).
        bounds: of the contacts whose friction is asked for, which slip together if at all.
        offsets: of each slip in space what is added to its velocity v to have its direction where v vanishes [m/s],
            (drags, 2).
    """

    drags: tuple[Drag, ...]
    signs: Array
    bounds: tuple[StaticBound, ...] = ()
    offsets: Array | None = None

    def directed(self, t: Array, x: Array) -> SlidingSlopes:
        """With the signs that the slips have along states of this mode."""
        return replace(self, signs=np.sign(self.slips(t, x)[:, :, 0].sum(axis=0)))

    def slips(self, t: Array, x: Array) -> Array:
        """Slip velocities along the tangents of what slips, (times, drags, 2), zero along a second that is none."""
        found = np.zeros((len(t), len(self.drags), 2))
        places = [(i, k) for i, drag in enumerate(self.drags) for k in range(len(drag.tangents))]
        values = self._values(t, x, np.zeros((len(t), self._unknowns)))[0][:, self._terms.solved.stop :]
        for (i, k), column in zip(places, values.T, strict=False):
            found[:, i, k] = column
        return found

    def rates(self, t: Array, x: Array, inputs: Array) -> Array:
        found, z = self._solved(t, x, inputs)[:2]
        return np.concatenate([found[:, : self.widths[0]], z[:, : len(self.dyn.equations.u)]], axis=1)

    def derivatives(self, t: Array, x: Array, inputs: Array) -> tuple[Array, Array]:
        nx = self.widths[1]
        by = self.found(t, x, inputs).by_rates[:, :nx]
        return by[..., :nx], by[..., nx + 1 :]

    def found(self, t: Array, x: Array, inputs: Array) -> Found:
        """Everything at states."""
        solved, (nq, _, _) = self._terms.solved, self.widths
        _, z, K = self._solved(t, x, inputs)
        values, entries = self._values(t, x, z, inputs)
        free = entries.shape[-1] - z.shape[1]
        given = np.concatenate([entries[:, solved, :free], self._shared(t, x, inputs, z, K)], axis=1)
        dz = -least_of_motion(K, given, len(self.dyn.equations.u))
        rest = entries[:, solved.stop :]
        by_rates = np.concatenate([entries[:, :nq, :free], dz], axis=1)
        return Found(values[:, solved.stop :], by_rates, rest[..., :free] + rest[..., free:] @ dz)

    @property
    def _unknowns(self) -> int:
        return len(self.dyn.equations.u) + len(self.dyn.equations.constraints)

    def _solved(self, t: Array, x: Array, inputs: Array) -> tuple[Array, Array, Array]:
        """Values without accelerations and forces, z, and K with P below it."""
        values, entries = self._values(t, x, np.zeros((len(t), self._unknowns)), inputs)
        solved, n = self._terms.solved, len(self.dyn.equations.u)
        K = entries[:, solved, -self._unknowns :]
        A = K[:, n:, :n]
        P = outside_column_space(A)
        K = np.concatenate([K, np.concatenate([np.zeros_like(A), P], axis=2)], axis=1)
        given = np.concatenate([values[:, solved], np.zeros(P.shape[:2])], axis=1)
        return values, -least_of_motion(K, given[..., None], n)[..., 0], K

    def _shared(self, t: Array, x: Array, inputs: Array, z: Array, K: Array) -> Array:
        """-P dA y, (times, rows, varied): dA y is what accelerations y change in the slopes of those of the rows."""
        n, m = len(self.dyn.equations.u), len(self.dyn.equations.constraints)
        A, P, free = K[:, n : n + m, :n], K[:, n + m :, n:], self._terms.shape[1] - self._unknowns
        if not np.abs(P).max(initial=0.0) > REDUNDANT:
            return np.zeros((len(t), m, free))
        y = np.concatenate([solve_minimum_norm(A, z[:, n:, None])[..., 0], np.zeros((len(t), m))], axis=1)
        with_y, without = (self._values(t, x, of, inputs)[1] for of in (y, np.zeros_like(y)))
        rows = slice(self._terms.solved.start + n, self._terms.solved.stop)
        return -P @ (with_y - without)[:, rows, :free]

    def _values(self, t: Array, x: Array, z: Array, inputs: Array | None = None) -> tuple[Array, Array]:
        """The terms and their entries."""
        terms = self._terms
        given = self.inputs(t, t) if inputs is None else inputs
        offsets = np.zeros(2 * len(self.drags)) if self.offsets is None else self.offsets.ravel()
        rest = np.concatenate([given, z, np.tile([*self.signs, *offsets], (len(t), 1))], axis=1)
        found = terms.function(np.concatenate([t[:, None], x], axis=1), rest, terms.function.stage(self.parameters))
        entries = np.zeros((len(t), *terms.shape))
        entries.reshape(len(t), -1)[:, terms.places] = found[:, terms.shape[0] :]
        return found[:, : terms.shape[0]], entries

    @cached_property
    def _terms(self) -> _Terms:
        drags = tuple((d.tangents[0].name, d.normal is None) for d in self.drags)
        bounds = tuple(bound.tangents[0].name for bound in self.bounds)
        return self.dyn.derived(("sliding", drags, bounds, self.direct), self._derived)

    def _derived(self) -> _Terms:
        e = self.dyn.equations
        free, arena = e.unconstrained, e.t.arena
        with collector_paused():
            force = {row.name: arena.leaf(INPUT, f"multiplier {k + 1}") for k, row in enumerate(e.constraints)}
            signs = [arena.leaf(INPUT, f"sign of slip {k + 1}") for k in range(len(self.drags))]
            offsets = [arena.leaf(INPUT, f"offset of slip {k + 1}{e}") for k in range(len(self.drags)) for e in "yz"]
            needed = constrained_forces(e, tuple(force.values()), inputs=True)
            for k, (drag, sign) in enumerate(zip(self.drags, signs, strict=True)):
                size = drag.kinetic * (force[drag.normal.name] if drag.normal is not None else 1.0)
                directed = _direction(drag.tangents, sign, offsets[2 * k : 2 * k + 2])
                for row, along in zip(drag.tangents, directed, strict=True):
                    for j, c in row.coefficients.items():
                        needed[j] = needed[j] + size * along * c
            solved = [*needed, *(row_acceleration(e, k) for k in range(len(e.constraints)))]
            slips = [row.motion for drag in self.drags for row in drag.tangents]
            roots = [*free.kinematics, *solved, *slips, *_squares(self.bounds, force)]
            roots = list(free.baked_in([arena.lift(x) for x in roots]))
            named = {p.name: p for p in e.parameters}
            z = (*free.udot, *force.values())
            leaves = [*e.q, *e.u, e.t, *e.inputs, *(named[name] for name in self.direct), *z]
            entries = jacobian(roots, [{leaf: arena.one} for leaf in leaves])
            rest, outputs = (*e.inputs, *z, *signs, *offsets), (*roots, *entries.values())
            state = (e.t, *e.q, *e.u)
            program = Program("terms of a slip", outputs, state=state, rest=rest, parameters=e.parameters)
        places = np.array([i * len(leaves) + j for i, j in entries], dtype=np.intp)
        nq = len(e.q)
        return _Terms(self.dyn.compile(program), places, (len(roots), len(leaves)), slice(nq, nq + len(solved)))


def sliding(motion: ModeSlopes, drags: Sequence[Drag] = (), *, bounds: tuple[StaticBound, ...] = ()) -> SlidingSlopes:
    """The motion of a mode whose rows in force are the constraints of ``motion``; what slips in that one slips on."""
    if isinstance(motion, SlidingSlopes):
        return replace(motion, bounds=bounds)
    return SlidingSlopes(
        motion.dyn, motion.plan, motion.parameters, motion.direct, tuple(drags), np.zeros(len(drags)), bounds
    )


def _direction(tangents: Sequence[Equation], sign: Expr, offsets: Sequence[Expr]) -> list[Expr]:
    """Of the slip: along one tangent its sign in the mode, along two that of the velocities."""
    if len(tangents) == 1:
        return [sign]
    v = [row.motion + offset for row, offset in zip(tangents, offsets, strict=True)]
    size = (v[0] * v[0] + v[1] * v[1]) ** 0.5
    return [x / size for x in v]


def _squares(bounds: Sequence[StaticBound], force: Mapping[str, Expr]) -> list[Any]:
    """Of the friction of what sticks, and of its bound: of sums, which do not depend on how they are shared out."""
    if not bounds:
        return []
    limits = [bound.static * (force[bound.normal.name] if bound.normal is not None else 1.0) for bound in bounds]
    along = (sum(force[row.name] for row in rows) for rows in zip(*(bound.tangents for bound in bounds), strict=True))
    limit = sum(limits)
    return [sum(friction * friction for friction in along), limit * limit]


@dataclass(frozen=True, eq=False)
class BeginOfSlip(Saltation):
    """A contact that stuck begins to slip, as its friction reaches the static bound: nothing jumps but the rates.

    Attributes:
        bounds: that are reached.
    """

    bounds: tuple[StaticBound, ...] = ()

    def _map(self) -> tuple[Array, Array, Array, tuple[Array, float, Array] | None]:
        _, nx, width = self.before.widths
        t, x = np.array([self.t]), self.x[None, :]
        found = sliding(self.before, bounds=self.bounds).found(t, x, self.before.inputs(t, t))
        friction, bound = found.rest[0, -2:]
        if not abs(friction - bound) <= AT_THE_BOUND * bound:
            raise ModelError(
                f"{self.cause!r} slips at t = {self.t:.9g} s while its friction is below its bound, since "
                "redundant contacts share their forces anew there, which is not derived; end the run before that "
                "time, or take a contact out"
            )
        by, inputs = found.by_rest[0, -2] - found.by_rest[0, -1], len(self.before.dyn.equations.inputs)
        direct = by[nx + 1 :]
        rate = float(by[nx] + direct[:inputs] @ self.before.plan.slopes(self.t))
        return np.eye(nx), np.zeros(nx), np.zeros((nx, width)), (by[:nx], rate, direct)
