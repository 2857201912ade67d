"""Derivatives of the forces that a motion needs: of their expressions or by recursion, the shorter for each column."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.formulation.constraints.embedding import NoConstraints
from kane.formulation.derivatives.variables import Variable
from kane.formulation.equations import Equations
from kane.formulation.recursive.coriolis import inverse_derivatives, moves_evenly
from kane.formulation.recursive.recursive_route import RecursiveRoute
from kane.formulation.tree.cost import cheapest_alternatives

# With more speeds, recursions are used without comparison: derivatives of expressions cost O(n d) passes over links.
MAX_GRAPH_DERIVATIVE_SPEEDS = 16
# Variables along which recursions differentiate.
INERTIAL = ("q", "u")
DerivativeEntries = dict[tuple[int, int], Expr]


def force_entries(
    equations: Equations,
    needed: Sequence[Expr],
    varied: Sequence[Variable],
    *,
    inputs: bool,
    beside: Sequence[Expr] = (),
) -> DerivativeEntries:
    """Return the nonzero derivatives of the forces, {(speed, column): derivative}; udot are leaves.

    Args:
        equations: equations of a model.
        needed: M udot + bias, minus B inputs if ``inputs`` is true.
        varied: variables, whose columns are adjacent in this order.
        inputs: whether the inputs act.
        beside: expressions that the same program computes; operations shared with them are free.
    """
    directions = [d for variable in varied for d in variable.directions]
    recursive = _recursive(equations, varied, inputs=inputs)
    if recursive is not None and len(equations.u) > MAX_GRAPH_DERIVATIVE_SPEEDS:
        return recursive
    graph = jacobian(needed, directions)
    return graph if recursive is None else _cheapest([*needed, *beside], graph, recursive, varied)


def _cheapest(
    given: Sequence[Expr], graph: DerivativeEntries, recursive: DerivativeEntries, varied: Sequence[Variable]
) -> DerivativeEntries:
    """Choose an alternative for each column, so that all columns add the fewest operations to given expressions."""
    lengths = [len(variable.labels) for variable in varied]
    columns: list[tuple[DerivativeEntries, DerivativeEntries]] = [({}, {}) for _ in range(sum(lengths))]
    for way, entries in enumerate((graph, recursive)):
        for place, x in entries.items():
            columns[place[1]][way][place] = x
    ways = product(*((0, 1) if variable.word in INERTIAL else (0,) for variable in varied))
    starts = [[k for k, length in zip(way, lengths, strict=True) for _ in range(length)] for way in ways]
    chosen = cheapest_alternatives(given, [[[*e.values()] for e in column] for column in columns], starts)
    return {place: x for k, column in zip(chosen, columns, strict=True) for place, x in column[k].items()}


def _recursive(equations: Equations, varied: Sequence[Variable], *, inputs: bool) -> DerivativeEntries | None:
    """Return the derivatives by recursions; None if these do not apply."""
    route, speeds = equations.route, equations.system.speeds
    if not (isinstance(route, RecursiveRoute) and isinstance(equations.embedding, NoConstraints)):
        return None
    if not (speeds.are_natural and moves_evenly(route.system)) or not {*INERTIAL} & {x.word for x in varied}:
        return None
    zero = equations.system.arena.zero
    columns = [next(iter(row)) for row in speeds.C]
    found = inverse_derivatives(route.system, [equations.udot[j] for j in columns])
    inertial = dict(zip(INERTIAL, found, strict=True))
    loads = [equations.system.arena.lift(x) for x in route.resisted(inputs=inputs)]
    entries: dict[tuple[int, int], Any] = {}
    start = 0
    for variable in varied:
        if variable.word in inertial:
            entries |= {(columns[i], start + columns[j]): x for (i, j), x in inertial[variable.word].items()}
            roots = loads
        else:
            roots = list(_needed(equations, inputs=inputs))
        for (i, j), x in jacobian(roots, variable.directions).items():
            entries[i, start + j] = entries.get((i, start + j), 0.0) + x
        start += len(variable.labels)
    baked = dict(zip(entries, equations.baked_in(entries.values()), strict=True))
    return {place: x for place, x in baked.items() if x is not zero}


def _needed(equations: Equations, *, inputs: bool) -> tuple[Expr, ...]:
    route = equations.route
    return equations.baked_in((route.loaded if inputs else route.passive)(equations.udot))
