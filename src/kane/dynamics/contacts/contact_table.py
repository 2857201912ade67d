"""The ContactTable of equations with intermittent constraints, as native code reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kane.engine.memory.constants import CONTACT_TABLE
from kane.engine.memory.contact_codes import COULOMB, NEWTON, NONE, POISSON, STRONGE, THRESHOLDS, UNBOUNDED
from kane.engine.memory.fill import filled
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.equations import Equations
from kane.model.contacts import Coulomb, Newton, Stronge
from kane.model.contacts.restitution import Restitution


def contact_table(equations: Equations, widths: Sequence[int], programs: Mapping[str, Sequence[int]]) -> np.ndarray:
    """Return the ContactTable of equations, int64.

    Args:
        equations: equations with the rows of all intermittent constraints.
        widths: number of columns in the records of each constraint.
        programs: addresses and places of the programs of each constraint, by the names of their arrays.
    """
    rows, place, intermittents = [], len(equations.closing), equations.intermittents
    given = intermittents, equations.own.intermittents, widths[: len(intermittents)], equations.intermittent_places
    for c, own, width, at in zip(*given, strict=True):
        of, columns = c.constraint, [j for row in c.rows for j in row.coefficients]
        holding = sum(row.integral is not None for row in own.rows)
        rows.append(
            {
                "normal": NONE if c.normal is None else at.start,
                "tangent": at.start + (c.normal is not None),
                "tangents": len(c.tangents),
                "friction": bounds_of(c),
                "law": _law_code(of.restitution),
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
        place += holding
    names = [array.name for array in CONTACT_TABLE.arrays if array.name not in programs]
    return filled(CONTACT_TABLE, **{name: [row[name] for row in rows] for name in names}, **programs)


def _law_code(law: Restitution) -> int:
    """Return the code of a law of restitution, as in the ContactTable."""
    if isinstance(law, Newton):
        return NEWTON
    return STRONGE if isinstance(law, Stronge) else POISSON


def sticks(c: IntermittentEquations) -> bool:
    """Check whether a constraint is active unless its friction slips, as in a sticking joint."""
    return bounds_of(c) == THRESHOLDS


def bounds_of(c: IntermittentEquations) -> int:
    """Return the kind of bound on the tangential forces, as in the ContactTable."""
    friction = c.constraint.friction
    if friction is None:
        return UNBOUNDED
    return COULOMB if isinstance(friction, Coulomb) else THRESHOLDS
