"""Laws of restitution, which define the coefficient of an impact."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Scalar
from kane.model.body import Mechanism
from kane.model.checks import require_fixed
from kane.model.requirements import FRACTION
from kane.model.vector_arguments import at_defaults, require_of_parameters


@dataclass(frozen=True)
class Poisson:
    """The normal impulse of expansion is e times the impulse of compression, P_e = e P_c.

    A plain number as restitution means this law. An impact of one contact never gains energy, even with friction.
    Without friction the law agrees with ``Newton``.

    Attributes:
        coefficient: e, from 0 (plastic) to 1 (elastic): a number or an expression of parameters.

    Source: Poisson, Traite de mecanique, 1838.
    """

    coefficient: Scalar


@dataclass(frozen=True)
class Newton:
    """The normal velocity of departure is e times the velocity of approach, v+ = -e v-.

    If friction stops or reverses the slip, the impact can gain energy (Kane's paradox); it then ends the run with an
    error.

    Attributes:
        coefficient: e, from 0 (plastic) to 1 (elastic): a number or an expression of parameters.

    Source: Newton, Principia, 1687; Kane & Levinson 1985, Dynamics: Theory and Applications, section 5.8.
    """

    coefficient: Scalar


@dataclass(frozen=True)
class Stronge:
    """The normal impulse regains e^2 of the energy that it takes from the normal motion, W_e = -e^2 W_c.

    W is the integral of v_n dp_n over the normal impulse p_n: W_c < 0 over compression, W_e over expansion. Slip may
    stop, reverse or turn meanwhile. An impact of one contact never gains energy: its normal impulse does the work
    (e^2 - 1) |W_c| <= 0, and friction dissipates. If the slip keeps its direction, or without friction, the law agrees
    with ``Poisson`` and ``Newton``.

    The law needs the order of the increments of impulse. Simultaneous impacts of several contacts have no order of
    increments. These contacts follow Poisson's law with the same e, unless ``Model.impacts`` is "in turn".

    Attributes:
        coefficient: e, from 0 (plastic) to 1 (elastic): a number or an expression of parameters.

    Source: Stronge, Rigid body collisions with friction, Proc. R. Soc. Lond. A 431, 1990; Stronge, Impact Mechanics,
    2000, section 3.
    """

    coefficient: Scalar


Restitution = Poisson | Newton | Stronge


def law_of(given: Scalar | Restitution) -> Restitution:
    """Return the law; a number is the coefficient of Poisson's law.

    Raises:
        ModelError: a class or a text.
    """
    if isinstance(given, (type, str)):
        raise ModelError(f"the restitution is {shown(given)}; give a number or a law, such as kane.Stronge(0.3)")
    return given if isinstance(given, Restitution) else Poisson(given)


def checked_restitution(model: Mechanism, law: Restitution, who: str) -> Restitution:
    """Check the coefficient of a law, and return the same object, which may be of a subclass.

    Raises:
        ModelError: the coefficient is not from 0 to 1 at the default parameters, or depends on anything else.
    """
    what = f"the restitution of {who}"
    e = model.scalar(law.coefficient, what)
    require_fixed([e], what, "Give a number or an expression of parameters")
    known = at_defaults(model, e)
    if not 0.0 <= known <= 1.0:
        raise ModelError(f"{what} is {known:.12g}; give a number from 0, plastic, to 1, elastic")
    require_of_parameters(model, what, FRACTION, e)
    return law
