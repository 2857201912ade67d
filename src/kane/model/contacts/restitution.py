"""Laws of restitution: what the coefficient of an impact means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kane.errors import ModelError
from kane.expression.node import Scalar
from kane.model.arguments import at_defaults
from kane.model.checks import require_fixed
from kane.model.requirements import FRACTION, require_of_parameters

if TYPE_CHECKING:
    from kane.model.model import Model


@dataclass(frozen=True)
class Poisson:
    """The normal impulse of expansion is e times that of compression, P_e = e P_c.

    What a plain number means where a restitution is asked for. With friction it makes no energy in an impact of one
    contact, and without friction it says what ``Newton`` says.

    Attributes:
        coefficient: e, from 0 (plastic) to 1 (elastic): a number or an expression of parameters.

    Source: Poisson, Traite de mecanique, 1838.
    """

    coefficient: Scalar


@dataclass(frozen=True)
class Newton:
    """The normal velocity of departure is e times that of approach, v+ = -e v-.

    Where friction stops or reverses the slip it can make energy, which is Kane's paradox: such an impact ends a run
    with an error.

    Attributes:
        coefficient: e, from 0 (plastic) to 1 (elastic): a number or an expression of parameters.

    Source: Newton, Principia, 1687; Kane & Levinson 1985, Dynamics: Theory and Applications, section 5.8.
    """

    coefficient: Scalar


def law_of(given: Scalar | Poisson | Newton) -> Poisson | Newton:
    """The law, Poisson's where a number is given."""
    return given if isinstance(given, Poisson | Newton) else Poisson(given)


def checked_restitution(model: Model, law: Poisson | Newton, who: str) -> Poisson | Newton:
    """The law itself, whatever fields it has besides, with a coefficient of this model.

    Raises:
        ModelError: the coefficient is not from 0 to 1 at the defaults of the parameters, or depends on anything else.
    """
    what = f"the restitution of {who}"
    e = model.scalar(law.coefficient, what)
    require_fixed([e], what)
    known = at_defaults(model, e)
    if not 0.0 <= known <= 1.0:
        raise ModelError(f"{what} is {known:.12g}; give a number from 0, plastic, to 1, elastic")
    require_of_parameters(model, what, FRACTION, e)
    return law
