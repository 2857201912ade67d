"""Derivatives of accelerations by the implicit rule, from derivatives of the inverse dynamics.

Forward dynamics makes f(q, u, udot) = M udot + bias - B inputs zero. Therefore, for the independent speeds,

    d udot = -M^-1 df,   df at this udot.

Derivatives of dependent accelerations follow from udot_d = D udot_i + e_t. Forward dynamics itself is never
differentiated, because its articulated inertias form a long chain of divisions.

Source: Carpentier & Mansard 2018, Eq. 3; Jain & Rodriguez 1993.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.derivatives.forces import force_entries
from kane.formulation.derivatives.variables import Variable
from kane.formulation.equations import Equations
from kane.formulation.tree.sparse import TriangularFactor, solved, triangular_factor


def independent_speeds(equations: Equations) -> list[int]:
    """Return the columns of the independent speeds, parents before children."""
    dependent = equations.embedding.D
    on_joints = dict.fromkeys(j for row in equations.system.speeds.C for j in row)
    return [j for j in on_joints if j not in dependent]


def mass_factor(equations: Equations) -> TriangularFactor:
    """Return the factors of M = L^T D L of the independent speeds."""
    order = independent_speeds(equations)
    M = {(i, j): equations.mass_matrix[i][j] for i in order for j in order if j <= i}
    return triangular_factor(M, order, [leaf.name for leaf in equations.u])


def needed_forces(equations: Equations, udot: Sequence[Any]) -> list[Expr]:
    """Return f = M udot + bias - B inputs, zero at dependent speeds."""
    embedding = equations.embedding
    needed = embedding.forces(equations.route.loaded(embedding.accelerations(udot)))
    return list(equations.baked_in(needed))


def solve_accelerations(equations: Equations) -> tuple[Expr, ...]:
    """Return udot of all speeds, by the factor of M that the derivatives use, too."""
    n, order = len(equations.u), independent_speeds(equations)
    needed = needed_forces(equations, [0.0] * n)
    udot = solved(mass_factor(equations), [-x for x in needed], order)
    return tuple(equations.baked_in(equations.embedding.accelerations(udot)))


def acceleration_entries(
    equations: Equations, udot: Sequence[Expr], varied: Sequence[Variable]
) -> dict[tuple[int, int], Expr]:
    """Return the derivatives of udot that are not identically zero, {(speed, column): derivative}."""
    directions = [d for variable in varied for d in variable.directions]
    order, embedding, lift = independent_speeds(equations), equations.embedding, equations.system.arena.lift
    at = dict(zip(equations.udot, udot, strict=True))
    needed = needed_forces(equations, equations.udot)
    M = [x for row in equations.mass_matrix for x in row]
    moved = force_entries(equations, needed, varied, inputs=True, beside=M)
    there = dict(zip(moved, substitute_nodes(list(moved.values()), at), strict=True))
    factor = mass_factor(equations)
    dependent = list(embedding.udot)
    ends = list(equations.baked_in(dependent))
    places = [equations.udot.index(leaf) for leaf in dependent]
    found: dict[tuple[int, int], Expr] = {}
    for j, direction in enumerate(directions):
        b: list[Any] = [0.0] * len(udot)
        for i in order:
            if (i, j) in there:
                b[i] = -there[i, j]
        column = [lift(x) for x in solved(factor, b, order)]
        rates = {leaf: x for leaf, x in zip(equations.udot, column, strict=True) if x is not x.arena.zero}
        tails = jacobian(ends, [{**direction, **rates}])
        for (d, _), x in tails.items():
            column[places[d]] = substitute_nodes([x], at)[0]
        found |= {(i, j): x for i, x in enumerate(column) if x is not x.arena.zero}
    return found
