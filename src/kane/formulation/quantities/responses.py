"""How the tree responds to forces of rows: M factored, rows solved by its factor, and the forces of so many rows.

With M = L^T D L of the equations before constraints are embedded, z = -L^-T h, and y = L^-T a of each row a of A; x is
what L^-T makes of the generalized forces of a unit force of the row, which is y but for friction,

    udot = L^-1 D^-1 (z + sum_k x_k lambda_k),   S lambda = -(remainder + Y^T D^-1 z),   S = Y^T D^-1 X.

Rows come and go, so that those of each candidate are a program of their own, which reads L; so is the solution for a
number of rows, which reads whatever rows are in force.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from kane.codegen.programs.program import Program
from kane.expression.collector import collector_paused
from kane.expression.construct import absolute, less, select
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.formulation.constraints.rows import Equation
from kane.formulation.quantities.programs import Derived, Quantity, scheduled
from kane.formulation.tree.sparse import TriangularFactor, eliminated, triangular_factor
from kane.geometry.scalars import is_zero


class Responses:
    """The programs of one system of equations.

    Attributes:
        order: of the speeds in which M is factored, parents before children, so that nothing fills in.
    """

    def __init__(self, equations: Derived) -> None:
        self._equations, self._free = equations, equations.unconstrained
        self.order = list(dict.fromkeys(j for row in equations.system.speeds.C for j in row))

    @cached_property
    def _factors(self) -> TriangularFactor:
        with collector_paused():
            return triangular_factor(self._free.route.mass, self.order, [leaf.name for leaf in self._equations.u])

    def factor(self) -> Program:
        """L below its diagonal by rows, 1 / D and z by places in the order; dq/dt."""
        (L, inverses), n = self._factors, len(self.order)
        with collector_paused():
            z = eliminated(L, [-x for x in self._free.route.loaded([0.0] * n)], self.order)
            below = [L[i].get(j, 0.0) for i in range(n) for j in range(i)]
            outputs = (*self._free.baked_in([*below, *inverses, *z]), *self._free.kinematics)
        return self._scheduled("factor", outputs, self._equations.inputs)

    def rows(self, name: str, rows: Sequence[Equation], friction: Any) -> Program:
        """Of rows A u + b = 0: y of each, by places in the order; remainders; A u + b; kinetic friction.

        It reads L as ``factor`` gives it.
        """
        n = len(self.order)
        with collector_paused():
            y = [eliminated(self._L, [row.coefficients.get(j, 0.0) for j in range(n)], self.order) for row in rows]
            found = [*(x for one in y for x in one), *(r.remainder for r in rows), *(r.motion for r in rows), friction]
            outputs = self._free.baked_in(found)
        return self._scheduled(name, outputs, self._lower)

    def solution(self, capacity: int, most: int, repeated: float, *, slides: bool) -> Program:
        """udot; the forces of at most so many rows; pivots, squares y^T D^-1 y; accelerations left; D^-1 |X| |lambda|.

        It reads what ``factor`` gives and, of the most rows, remainders, x and y; x is y unless something ``slides``.
        A row whose pivot is under the share ``repeated`` of its square is left out.
        """
        n = len(self.order)
        names = {"1/D": n, "z": n, "rate": len(self._equations.q), "remainder": most, "x": most * n, "y": most * n}
        leaves = {name: self._leaves([f"{name} {k + 1}" for k in range(count)]) for name, count in names.items()}
        with collector_paused():
            rows = [leaves["y"][r * n : (r + 1) * n] for r in range(capacity)]
            forces = [leaves["x"][r * n : (r + 1) * n] for r in range(capacity)] if slides else rows
            scaled = [[a * b for a, b in zip(row, leaves["1/D"], strict=True)] for row in rows]
            S = [[_dot(row, force) for force in forces] for row in scaled]
            squares = [_dot(row, own) for row, own in zip(scaled, rows, strict=True)]
            z = leaves["z"]
            b = [-(r + _dot(row, z)) for r, row in zip(leaves["remainder"], scaled, strict=False)]
            found, pivots, left = _solved(S, b, squares, repeated, symmetric=not slides)
            shares = [[force[i] * x for force, x in zip(forces, found, strict=True)] for i in range(n)]
            v = [(a + sum(row, 0.0)) * b for a, b, row in zip(z, leaves["1/D"], shares, strict=True)]
            pushed = [sum(map(absolute, row), 0.0) * b for b, row in zip(leaves["1/D"], shares, strict=True)]
            udot = self._substituted(v)
            outputs = [self._equations.t.arena.lift(x) for x in (*udot, *found, *pivots, *squares, *left, *pushed)]
        given = (*self._lower, *(leaf for group in leaves.values() for leaf in group))
        return self._scheduled(f"solution {capacity} {slides}", outputs, given)

    def _substituted(self, v: list[Any]) -> list[Any]:
        """udot = L^-1 v, by speeds."""
        udot = [0.0] * len(v)
        for k, unknown in enumerate(self.order):
            for i, x in self._L[k].items():
                v[k] = v[k] - x * v[i]
            udot[unknown] = v[k]
        return udot

    @cached_property
    def _lower(self) -> tuple[Expr, ...]:
        """Leaves that stand for L below its diagonal, by rows."""
        return self._leaves([f"L {i + 1} {j + 1}" for i in range(len(self.order)) for j in range(i)])

    @cached_property
    def _L(self) -> list[dict[int, Expr]]:
        """L in these leaves, without what is zero in every state."""
        rows = enumerate(self._factors[0])
        return [{j: self._lower[i * (i - 1) // 2 + j] for j, x in row.items() if not is_zero(x)} for i, row in rows]

    def _leaves(self, names: Sequence[str]) -> tuple[Expr, ...]:
        return tuple(self._equations.t.arena.leaf(INPUT, name) for name in names)

    def _scheduled(self, name: str, outputs: Sequence[Any], rest: Sequence[Expr]) -> Program:
        names = [f"{name} {k + 1}" for k in range(len(outputs))]
        return scheduled(self._equations, name, Quantity(names, outputs, rest))


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    return sum((x * y for x, y in zip(a, b, strict=True)), 0.0)


def _solved(
    S: list[list[Any]], b: list[Any], squares: Sequence[Any], repeated: float, *, symmetric: bool
) -> tuple[list[Any], list[Any], list[Any]]:
    """S x = b by elimination without exchanges, x_k zero where the pivot is under its share of the square.

    Returns:
        x, the pivots, and b as it was when each pivot was divided by.
    """
    m, inverses, x = len(b), [], [0.0] * len(b)
    for k in range(m):
        pivot = S[k][k]
        inverses.append(select(less(repeated * squares[k], pivot), 1 / pivot, pivot.arena.zero))
        for i in range(k + 1, m):
            share = S[i][k] * inverses[k]
            for j in range(k + 1, m):
                S[i][j] = S[j][i] if symmetric and j < i else S[i][j] - share * S[k][j]
            b[i] = b[i] - share * b[k]
    for k in range(m - 1, -1, -1):
        x[k] = (b[k] - _dot(S[k][k + 1 :], x[k + 1 :])) * inverses[k]
    return x, [S[k][k] for k in range(m)], b
