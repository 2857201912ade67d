"""Mass, mass centre and inertia of a body, from the arguments of ``Model.body``."""

from __future__ import annotations

from typing import Any

from kane.errors import ModelError, shown
from kane.expression.node import Scalar
from kane.geometry.inertia import checked_inertia, inertia_matrix, shift_from_mass_centre, six
from kane.geometry.scalars import NumberMatrix, Triple, is_zero
from kane.model.body import Mechanism, triple_of_model
from kane.model.checks import require_fixed
from kane.model.requirements import NONNEGATIVE_INERTIA, NONNEGATIVE_MASS
from kane.model.vector_arguments import require_of_parameters

# Default of positions and inertias. The identity of this object shows that an argument was not given.
DEFAULT_ORIGIN = (0.0, 0.0, 0.0)


def checked_mass_properties(
    model: Mechanism, who: str, mass: Scalar, central: tuple[Any, Any], moments: Any
) -> tuple[Any, Any, Any, Any]:
    """Return mass, mass centre, central inertia, and the moments (None unless the body is given by them).

    Args:
        model: the model to which expressions must belong.
        who: the body, for messages.
        mass: m [kg].
        central: inertia and mass centre as the user gave them.
        moments: first moment and inertia about Bo as the user gave them; None if ``central`` is given.

    Raises:
        ModelError: the values are not physical or not constant, or both ``central`` and ``moments`` are given.
    """
    m = model.scalar(mass, f"the mass of {who}")
    if moments is None:
        centre = triple_of_model(model, central[1], f"the mass centre of {who}")
        rows, given = _inertia(model, central[0], who), None
    else:
        if any(x is not DEFAULT_ORIGIN for x in central):
            raise ModelError(f"{who} is given by moments= and by com= or inertia=; give one or the other")
        first, about_origin = given = _moments(model, moments, who)
        centre, rows = _about_mass_centre(who, m, first, about_origin)
    rows = checked_inertia(who, m, rows)
    require_fixed([m, *centre, *(x for row in rows for x in row)], f"the mass, mass centre or inertia of {who}")
    if moments is None:  # moments from identify fit the motion as a whole; a single body may be unphysical
        require_of_parameters(model, f"the mass of {who}", NONNEGATIVE_MASS, m)
        require_of_parameters(model, f"the least principal moment of inertia of {who}", NONNEGATIVE_INERTIA, *six(rows))
    return m, centre, rows, given


def _inertia(model: Mechanism, inertia: Any, who: str) -> NumberMatrix:
    rows = inertia_matrix(inertia, f"the inertia of {who}")
    return tuple(triple_of_model(model, row, f"the inertia of {who}") for row in rows)


def _moments(model: Mechanism, moments: Any, who: str) -> tuple[Triple, NumberMatrix]:
    try:
        first, inertia = moments
    except (TypeError, ValueError):
        raise ModelError(
            f"the moments of {who} are {shown(moments)}; give the first moment and the inertia about the origin"
        ) from None
    return triple_of_model(model, first, f"the first moment of {who}"), _inertia(model, inertia, who)


def _about_mass_centre(who: str, m: Any, first: Triple, about_origin: NumberMatrix) -> tuple[Triple, NumberMatrix]:
    """Return mass centre and central inertia; a body without mass gets its origin as mass centre."""
    if is_zero(m):
        if not all(map(is_zero, first)):
            raise ModelError(f"{who} has a first moment and no mass; give it mass")
        return DEFAULT_ORIGIN, about_origin
    com = tuple(h if is_zero(h) else h / m for h in first)
    return com, shift_from_mass_centre(about_origin, -1.0 * m, com)
