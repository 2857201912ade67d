"""The table of candidates, as native code reads it: ``kane.native.contacts.header`` has its columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.equations import Equations
from kane.model.contacts import Coulomb, Newton
from kane.native.contacts.header import COULOMB, NEWTON, NONE, POISSON, TABLE, THRESHOLDS, UNBOUNDED


def contact_table(equations: Equations, widths: Sequence[int]) -> np.ndarray:
    """A row for each candidate of equations, whose records have these widths; programs have no addresses yet."""
    rows, place, intermittents = [], len(equations.closing), equations.intermittents
    first = len(equations.constraints) - sum(len(c.rows) for c in intermittents)
    for c, own, width in zip(intermittents, equations.own.intermittents, widths[: len(intermittents)], strict=True):
        holding = sum(row.integral is not None for row in own.rows)
        of, tangent = c.constraint, first + (c.normal is not None)
        law = NEWTON if isinstance(of.restitution, Newton) else POISSON
        normal = NONE if c.normal is None else first
        own_laws = [bounds_of(c), law, of.bilateral, of.on is not None, of.off is not None]
        columns = [j for row in c.rows for j in row.coefficients]
        ends = min(columns, default=0), max(columns, default=-1) + 1
        rows.append([normal, tangent, len(c.tangents), *own_laws, 0, 0, place, holding, 0, 0, width, 0, 0, *ends])
        first += len(c.rows)
        place += holding
    return np.array(rows, np.int64).reshape(-1, TABLE)


def sticks(c: IntermittentEquations) -> bool:
    """Whether a candidate is closed unless friction slips."""
    return bounds_of(c) == THRESHOLDS


def bounds_of(c: IntermittentEquations) -> int:
    """What bounds the tangents, as the table numbers it."""
    friction = c.constraint.friction
    if friction is None:
        return UNBOUNDED
    return COULOMB if isinstance(friction, Coulomb) else THRESHOLDS
