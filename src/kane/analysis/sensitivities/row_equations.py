"""The row problem of active constraint rows, at acceleration and at velocity level, and its derivatives.

The unknowns are accelerations y = udot and forces f, or speeds y = u+ after an impact and impulses f. They satisfy

    M y + c - A^T f + sum_k F_k A_k^T s_k = 0,   A y + r = 0,

with c = h and r the remainder at acceleration level, c = -M u and r = b + e (A u + b) at velocity level. A sliding
constraint has friction F_k = mu N along its tangents A_k against the direction s_k, N the force of its normal row, or a
given F_k. Elimination of y leaves a = W f + b = 0 with W = A M^-1 (A^T - sum_k F_k A_k^T s_k / f).

The equations are linear in z = [y, f], K z + k = 0, so that dz = -K^-1 (dK z + dk). If rows are redundant, f is the
solution of minimum norm, in the column space of A: with P = 1 - A A^+,

    P f = 0,   P df = P dA x,   x = A^+ f,

because P A = 0 and therefore dP A = -P dA. These equations are solved together with K z + k = 0.

Source: Kane & Levinson 1985, Dynamics: Theory and Applications, section 4.9, for the equations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.deferred import NamedTuple, dataclass
from kane.dynamics.dynamics import Dynamics
from kane.dynamics.least_solution import least_of_motion, outside_column_space, solve_minimum_norm
from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.expression.traverse import substitute_nodes
from kane.formulation.constraints.rows import Equation

# Rows are redundant if P has an entry above this size; it is of the order of one over the number of rows then, and
# rounding otherwise.
REDUNDANT = 1e-6


class Friction(NamedTuple):
    """Friction of a sliding constraint: ``kinetic`` times the force of its normal row, or ``kinetic`` without one."""

    normal: Equation | None
    tangents: tuple[Equation, ...]
    kinetic: Expr


class RowEquations(NamedTuple):
    """Rows and friction of a row problem, and further expressions whose values and derivatives are wanted.

    Attributes:
        rows: active rows.
        frictions: friction of sliding constraints; their normal rows are among the rows.
        restitutions: e of each row at velocity level; None at acceleration level.
        outputs: returns the further expressions, from the expression of each row's force by name.
    """

    rows: Sequence[Equation]
    frictions: Sequence[Friction]
    restitutions: Sequence[Expr | float] | None
    outputs: Callable[[Mapping[str, Expr]], Sequence[Any]]

    def compiled(self, dyn: Dynamics, direct: Sequence[str]) -> CompiledRowEquations:
        """Return the code of the equations and of all derivatives; ``direct`` names parameters among the variables."""
        e = dyn.equations
        free, arena = e.unconstrained, e.t.arena
        with collector_paused():
            force = {row.name: arena.leaf(INPUT, f"multiplier {k + 1}") for k, row in enumerate(self.rows)}
            directions = [
                (arena.leaf(INPUT, f"slip {k + 1} along 1"), arena.leaf(INPUT, f"slip {k + 1} along 2"))
                for k in range(len(self.frictions))
            ]
            needed = self._free_momenta(dyn)
            for row in self.rows:
                for j, c in row.coefficients.items():
                    needed[j] = needed[j] - c * force[row.name]
            for friction, pair in zip(self.frictions, directions, strict=True):
                size = friction.kinetic * (1.0 if friction.normal is None else force[friction.normal.name])
                for row, along in zip(friction.tangents, self._direction(friction, pair), strict=False):
                    for j, c in row.coefficients.items():
                        needed[j] = needed[j] + size * along * c
            equations = [*needed, *self._row_equations(dyn)]
            roots = free.baked_in([arena.lift(x) for x in (*equations, *self.outputs(force))])
            named = {p.name: p for p in e.parameters}
            z = (*free.udot, *force.values())
            leaves = [*e.q, *e.u, e.t, *e.inputs, *(named[name] for name in direct), *z]
            entries = jacobian(roots, [{leaf: arena.one} for leaf in leaves])
            rest = (*e.inputs, *z, *(leaf for pair in directions for leaf in pair))
            given: dict[str, Any] = {"state": (e.t, *e.q, *e.u), "rest": rest, "parameters": e.parameters}
            program = Program("terms of a row problem", (*roots, *entries.values()), **given)
        places = np.array([i * len(leaves) + j for i, j in entries], dtype=np.intp)
        return CompiledRowEquations(dyn.compile(program), places, (len(roots), len(leaves)), len(e.u), len(force))

    def _free_momenta(self, dyn: Dynamics) -> list[Any]:
        """Return M y + c."""
        free = dyn.equations.unconstrained
        if self.restitutions is None:
            return list(free.route.loaded(free.udot))
        change, zero = [y - u for y, u in zip(free.udot, free.u, strict=True)], free.t.arena.zero
        return [sum((c * d for c, d in zip(row, change, strict=True)), zero) for row in free.mass_matrix]

    def _row_equations(self, dyn: Dynamics) -> list[Any]:
        """Return A y + r."""
        y = dyn.equations.unconstrained.udot
        if self.restitutions is None:
            return [sum((c * y[j] for j, c in row.coefficients.items()), row.remainder) for row in self.rows]
        after = dict(zip(dyn.equations.u, y, strict=True))
        pairs = zip(self.rows, self.restitutions, strict=True)
        return [substitute_nodes([row.motion], after)[0] + ratio * row.motion for row, ratio in pairs]

    def _direction(self, friction: Friction, given: tuple[Expr, Expr]) -> Sequence[Expr]:
        """Return the slip direction: as given at velocity level, and along one tangent.

        Along two tangents it is that of the slip velocity plus the given offset.
        """
        if self.restitutions is not None or len(friction.tangents) == 1:
            return given
        v = [row.motion + offset for row, offset in zip(friction.tangents, given, strict=True)]
        size = (v[0] * v[0] + v[1] * v[1]) ** 0.5
        return [x / size for x in v]


@dataclass(frozen=True, eq=False)
class CompiledRowEquations:
    """Code of a row problem.

    Attributes:
        function: values of the equations and of the further expressions, then the nonzero derivatives.
        places: flat indices of these derivatives.
        shape: number of values, and of variables: q, u, t, inputs, direct parameters, y, f.
        n, m: sizes of y and f.
    """

    function: CompiledFunction
    places: NDArray[np.intp]
    shape: tuple[int, int]
    n: int
    m: int

    def at(self, t: Array, x: Array, inputs: Array, directions: Array, parameters: Array) -> RowEquationsAt:
        """Return the problem at states; ``directions`` of the slips, (frictions, 2), are the same at all states."""
        states = np.concatenate([t[:, None], x], axis=1)
        return RowEquationsAt(self, states, inputs, directions.ravel(), self.function.stage(parameters))


class RowDerivatives(NamedTuple):
    """RowDerivatives of z and of further expressions by q, u, t, inputs and direct parameters, (times, ..., varied)."""

    z: Array
    outputs: Array


@dataclass(frozen=True, eq=False)
class RowEquationsAt:
    """A row problem at states [t, x], (times, 1 + nx)."""

    code: CompiledRowEquations
    states: Array
    inputs: Array
    directions: Array
    stage: Array

    def values(self, z: Array) -> tuple[Array, Array]:
        """Return equations and further expressions at z, (times, values), and their derivatives."""
        code, count = self.code, len(self.states)
        rest = np.concatenate([self.inputs, z, np.tile(self.directions, (count, 1))], axis=1)
        found, entries = code.function(self.states, rest, self.stage), np.zeros((count, *code.shape))
        entries.reshape(count, -1)[:, code.places] = found[:, code.shape[0] :]
        return found[:, : code.shape[0]], entries

    @cached_property
    def _at_zero(self) -> tuple[Array, Array]:
        return self.values(np.zeros((len(self.states), self._size)))

    @property
    def _size(self) -> int:
        return self.code.n + self.code.m

    @property
    def outputs(self) -> Array:
        """Values of the further expressions at z = 0."""
        return self._at_zero[0][:, self._size :]

    @property
    def M(self) -> Array:
        """Mass matrices, (times, n, n)."""
        return self._at_zero[1][:, : self.code.n, -self._size : -self.code.m or None]

    @property
    def A(self) -> Array:
        """Coefficients of the rows, (times, m, n)."""
        return self._at_zero[1][:, self.code.n : self._size, -self._size : -self.code.m or None]

    @cached_property
    def _P(self) -> Array:
        return outside_column_space(self.A)

    @cached_property
    def _K(self) -> Array:
        """K with the equation P f = 0 below it."""
        K = self._at_zero[1][:, : self._size, -self._size :]
        return np.concatenate([K, np.concatenate([np.zeros_like(self.A), self._P], axis=2)], axis=1)

    @cached_property
    def z(self) -> Array:
        """Solution [y, f], (times, n + m)."""
        k = np.concatenate([self._at_zero[0][:, : self._size], np.zeros((len(self.states), self.code.m))], axis=1)
        return -least_of_motion(self._K, k[..., None], self.code.n)[..., 0]

    def with_forces(self, y: Array) -> Array:
        """Return z = [y, f] for known y, (times, n), with the minimum-norm f for which M y + c has least residuals."""
        n, z = self.code.n, np.concatenate([y, np.zeros((len(y), self.code.m))], axis=1)
        values, entries = self.values(z)
        z[:, n:] = solve_minimum_norm(entries[:, :n, entries.shape[2] - self.code.m :], -values[:, :n, None])[..., 0]
        return z

    def derivatives(self, z: Array) -> RowDerivatives:
        """Return the derivatives at a solution z."""
        entries, size = self.values(z)[1], self._size
        free = entries.shape[2] - size
        given = np.concatenate([entries[:, :size, :free], self._by_shared_forces(z, free)], axis=1)
        dz = -least_of_motion(self._K, given, self.code.n)
        rest = entries[:, size:]
        return RowDerivatives(dz, rest[..., :free] + rest[..., free:] @ dz)

    def _by_shared_forces(self, z: Array, free: int) -> Array:
        """Return -P dA x, (times, m, varied): the effect of dA on the minimum-norm forces of redundant rows."""
        n, m = self.code.n, self.code.m
        if not np.abs(self._P).max(initial=0.0) > REDUNDANT:
            return np.zeros((len(z), m, free))
        x = np.concatenate([solve_minimum_norm(self.A, z[:, n:, None])[..., 0], np.zeros((len(z), m))], axis=1)
        return -self._P @ (self.values(x)[1] - self._at_zero[1])[:, n : self._size, :free]
