"""The ContactTable of equations with intermittent constraints, as native code reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kane.engine.memory.constants import CONTACT_TABLE
from kane.engine.memory.contact_codes import COULOMB, NEWTON, NONE, POISSON, THRESHOLDS, UNBOUNDED
from kane.engine.memory.fill import filled
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.equations import Equations
from kane.model.contacts import Coulomb, Newton


def contact_table(equations: Equations, widths: Sequence[int], programs: Mapping[str, Sequence[int]]) -> np.ndarray:
    """Return the ContactTable of equations, int64.

    Args:
        equations: with the rows of all candidates.
        widths: columns in the records of each candidate.
        programs: addresses and places of the programs of each candidate, by the names of their arrays.
    """
    rows, place, intermittents = [], len(equations.closing), equations.intermittents
    first = len(equations.constraints) - sum(len(c.rows) for c in intermittents)
    for c, own, width in zip(intermittents, equations.own.intermittents, widths[: len(intermittents)], strict=True):
        of, columns = c.constraint, [j for row in c.rows for j in row.coefficients]
        holding = sum(row.integral is not None for row in own.rows)
        rows.append(
            {
                "normal": NONE if c.normal is None else first,
                "tangent": first + (c.normal is not None),
                "tangents": len(c.tangents),
                "friction": bounds_of(c),
                "law": NEWTON if isinstance(of.restitution, Newton) else POISSON,
                "bilateral": of.bilateral,
                "timed": of.on is not None,
                "ended": of.off is not None,
                "holds": place,
                "holding": holding,
                "width": width,
                "first_column": min(columns, default=0),
                "last_column": max(columns, default=-1) + 1,
            }
        )
        first += len(c.rows)
        place += holding
    names = [array.name for array in CONTACT_TABLE.arrays if array.name not in programs]
    return filled(CONTACT_TABLE, **{name: [row[name] for row in rows] for name in names}, **programs)


def sticks(c: IntermittentEquations) -> bool:
    """Whether a candidate is closed unless friction slips."""
    return bounds_of(c) == THRESHOLDS


def bounds_of(c: IntermittentEquations) -> int:
    """What bounds the tangents, as the table numbers it."""
    friction = c.constraint.friction
    if friction is None:
        return UNBOUNDED
    return COULOMB if isinstance(friction, Coulomb) else THRESHOLDS
