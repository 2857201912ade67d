"""Second derivatives of weighted sums of outputs: sum of weights times Hessians, exact and sparse.

In the tangent space, second derivatives are derivatives along two of the joints' own speeds in succession, X_j X_i f.
Their symmetric part is the Hessian along motions of constant speeds. With f(x, udot(x)) = 0 the accelerations have

    w . udot_ij = -mu . (f_ij + (d f_i/d udot) udot_j + (d f_j/d udot) udot_i),   M mu = w.

Subscripts i and j are derivatives along X_i and X_j; mu and udot are constant in the derivatives of f.

Source: Singh, Russo & Wensing 2023, Sec. V, for the implicit rule; Griewank & Walther 2008 for derivatives of
gradients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.program import Program
from kane.deferred import dataclass
from kane.expression.collector import collector_paused
from kane.expression.derivative import gradient, jacobian
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.expression.traverse import substitute_nodes
from kane.formulation.constraints.embedding import NoConstraints
from kane.formulation.derivatives.constrained import ConstrainedTerms
from kane.formulation.derivatives.implicit_rule import (
    acceleration_entries,
    independent_speeds,
    mass_factor,
    needed_forces,
    solve_accelerations,
)
from kane.formulation.derivatives.program_derivative import Derivative
from kane.formulation.derivatives.variables import LeafRates
from kane.formulation.equations import Equations
from kane.formulation.tree.sparse import solved


@dataclass(frozen=True)
class Hessian:
    """Entries of X_j X_i (weights . f) that are not identically zero, by (i, j), and the leaves of the weights."""

    entries: Mapping[tuple[int, int], Expr]
    weights: tuple[Expr, ...]


def hessian(equations: Equations, found: Derivative) -> Hessian:
    """Return the second derivatives that belong to given first derivatives."""
    arena = equations.system.arena
    with collector_paused():
        weights = tuple(arena.leaf(INPUT, f"weight of {name}") for name in found.names)
        directions = [d for variable in found.variables for d in variable.directions]
        if found.name == "forward" and isinstance(equations.embedding, NoConstraints):
            return Hessian(_of_accelerations(equations, found, weights, directions), weights)
        total = _weighted(found.values, weights)
        return Hessian(_twice(total, directions), weights)


def hessian_program(equations: Equations, found: Derivative, second: Hessian) -> Program:
    """Return the straight-line program of the entries; it reads the leaves of the outputs, then the weights."""
    state, rest = (equations.t, *equations.q, *equations.u), (*found.rest, *second.weights)
    with collector_paused():
        outputs = factor(list(second.entries.values()))
        name = f"second derivatives of {found.name}"
        return Program(name, outputs, state=state, rest=rest, parameters=equations.parameters)


def _weighted(values: Sequence[Expr], weights: Sequence[Any]) -> Expr:
    terms = [w * x for w, x in zip(weights, values, strict=True)]
    return sum(terms[1:], terms[0])


def _slopes(total: Expr, directions: Sequence[LeafRates]) -> list[Expr]:
    """Return X_i of a sum for every direction, by one backward pass."""
    moving = list(dict.fromkeys(leaf for d in directions for leaf in d))
    slope = dict(zip(moving, gradient(total, moving), strict=True))
    zero = total.arena.zero
    return [sum((slope[leaf] * rate for leaf, rate in d.items()), zero) for d in directions]


def _twice(total: Expr, directions: Sequence[LeafRates]) -> dict[tuple[int, int], Expr]:
    return jacobian(_slopes(total, directions), directions)


def _of_accelerations(
    equations: Equations, found: Derivative, weights: Sequence[Expr], directions: Sequence[LeafRates]
) -> dict[tuple[int, int], Expr]:
    arena, order = equations.system.arena, independent_speeds(equations)
    udot = solve_accelerations(equations)
    held = [arena.leaf(INPUT, f"multiplier of {name}") for name in found.names]
    total = -_weighted(needed_forces(equations, equations.udot), held)
    slopes = _slopes(total, directions)
    second = jacobian(slopes, directions)
    by_udot = jacobian(slopes, [{leaf: arena.one} for leaf in equations.udot])
    first = acceleration_entries(equations, udot, found.variables)
    for (i, k), slope in by_udot.items():
        for j in range(len(directions)):
            if (k, j) in first:
                term = slope * first[k, j]
                for place in ((i, j), (j, i)):
                    second[place] = second.get(place, arena.zero) + term
    mu = solved(mass_factor(equations), list(weights), order)
    at = dict(zip(equations.udot, udot, strict=True)) | dict(zip(held, map(arena.lift, mu), strict=True))
    values = dict(zip(second, substitute_nodes(list(second.values()), at), strict=True))
    return {place: x for place, x in values.items() if x is not arena.zero}


def constrained_hessian(equations: Equations, terms: ConstrainedTerms) -> tuple[Program, list[tuple[int, int]]]:
    """Return the program of second derivatives of the weighted sum of a derivative's values, and its output places.

    Directions: the variables except u and udot, then each speed, acceleration and multiplier. The program reads the
    leaves of the terms, then the weights.
    """
    arena, free = equations.system.arena, equations.unconstrained
    found = terms.derivative
    with collector_paused():
        weights = tuple(arena.leaf(INPUT, f"weight of {name}") for name in found.names)
        kept = [d for x in found.variables if x.word not in ("u", "udot") for d in x.directions]
        multipliers = found.rest[len(equations.inputs) + len(free.u) :]
        moving = [*kept, *({leaf: arena.one} for leaf in (*free.u, *free.udot, *multipliers))]
        second = _twice(_weighted(found.values, weights), moving)
        state, rest = (equations.t, *equations.q, *equations.u), (*found.rest, *weights)
        outputs = factor(list(second.values()))
        name = f"second derivatives of {found.name}"
        return Program(name, outputs, state=state, rest=rest, parameters=equations.parameters), list(second)
