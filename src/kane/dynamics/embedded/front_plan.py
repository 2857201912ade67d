"""Plan of the elimination fronts of a model, as integers for ``kane.engine.linear.fronts``.

Elimination front by front costs about c^2 + 16 units of 12 ns for each front of c columns; dense elimination costs n^2
units for n speeds. The cheaper one is used. The numbers were measured on chains of 2 to 48 closed loops ("windows" of
``benchmarks/tables/loops.py``), Andrews' squeezer, the bicycle, and the Stewart platform.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from kane.errors import ModelError
from kane.expression.node import Expr
from kane.formulation.constraints.fronts import Front, fronts
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import lower_triangle

A_FRONT = 16


class FrontPlan(NamedTuple):
    """Number of fronts, and the plan as integers; (0, []) if dense elimination is cheaper."""

    number: int
    numbers: list[int]


def front_plan(equations: Equations) -> FrontPlan:
    """Return the plan for equations whose constraints are embedded numerically.

    Raises:
        ModelError: a speed appears neither in M nor in a constraint row.
    """
    n, M = len(equations.u), equations.unconstrained.mass_matrix
    pairs = [(i, j) for i, j in lower_triangle(n) if not _vanishes(M[i][j])]
    rows = [[j for j, x in row.coefficients.items() if not _vanishes(x)] for row in equations.constraints]
    _require_inertia(equations, {j for pair in pairs for j in pair} | {j for row in rows for j in row})
    found = fronts(rows, pairs, n)
    if sum((len(front.own) + len(front.beyond)) ** 2 + A_FRONT for front in found) >= n * n:
        return FrontPlan(0, [])
    return plan_of(found, pairs)


def _require_inertia(equations: Equations, columns: Collection[int]) -> None:
    """Raise if a speed is in none of the columns of M and of the constraint rows, so that it has no acceleration."""
    for j, leaf in enumerate(equations.u):
        if j not in columns:
            raise ModelError(
                f"the mass matrix of {equations.name!r} is singular in every state: the speed {leaf.name!r} can change "
                "without moving any inertia, and no constraint row contains it; give inertia to the bodies beyond its "
                "joint, or remove a redundant joint"
            )


def plan_of(found: Sequence[Front], pairs: Sequence[tuple[int, int]]) -> FrontPlan:
    """Encode fronts as integers, with the pairs of columns that M couples (each column with itself included)."""
    place = {id(front): k for k, front in enumerate(found)}
    numbers = [len(pairs), *[0] * len(found), *(x for pair in pairs for x in pair)]
    for k, front in enumerate(found):
        numbers[1 + k] = len(numbers)
        parent = -1 if front.parent is None else place[id(front.parent)]
        numbers += [parent, len(front.own), len(front.beyond), len(front.rows), *front.own, *front.beyond, *front.rows]
    return FrontPlan(len(found), numbers)


def _vanishes(x: Expr) -> bool:
    return x.is_constant and x.data == 0.0
