"""The fronts of a model as the integers that ``kane.native.fronts`` reads.

Loop by loop takes some c^2 + 16 units of 12 ns for each front of c columns, dense work n^2 of n speeds, which decides
(measured: 2 to 48 windows, Andrews' squeezer, the bicycle, the Stewart platform).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kane.expression.node import Expr
from kane.formulation.constraints.fronts import Front, fronts
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import lower_triangle

A_FRONT = 16


class FrontPlan(NamedTuple):
    """How many fronts there are, and the plan; none where dense work is less."""

    number: int
    numbers: list[int]


def front_plan(equations: Equations) -> FrontPlan:
    """The plan of equations whose constraints are embedded in numbers."""
    n, M = len(equations.u), equations.unconstrained.mass_matrix
    pairs = [(i, j) for i, j in lower_triangle(n) if not _vanishes(M[i][j])]
    rows = [[j for j, x in row.coefficients.items() if not _vanishes(x)] for row in equations.constraints]
    found = fronts(rows, pairs, n)
    if sum((len(front.own) + len(front.beyond)) ** 2 + A_FRONT for front in found) >= n * n:
        return FrontPlan(0, [])
    return plan_of(found, pairs)


def plan_of(found: Sequence[Front], pairs: Sequence[tuple[int, int]]) -> FrontPlan:
    """Fronts, and the pairs of columns that M couples, each column with itself included, as integers."""
    place = {id(front): k for k, front in enumerate(found)}
    numbers = [len(pairs), *[0] * len(found), *(x for pair in pairs for x in pair)]
    for k, front in enumerate(found):
        numbers[1 + k] = len(numbers)
        parent = -1 if front.parent is None else place[id(front.parent)]
        numbers += [parent, len(front.own), len(front.beyond), len(front.rows), *front.own, *front.beyond, *front.rows]
    return FrontPlan(len(found), numbers)


def _vanishes(x: Expr) -> bool:
    return x.is_constant and x.data == 0.0
