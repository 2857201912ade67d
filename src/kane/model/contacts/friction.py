"""Bounds of dry friction: proportional to a normal force, or given forces and torques."""

from __future__ import annotations

from dataclasses import dataclass

from kane.errors import ModelError
from kane.expression.node import Scalar
from kane.model.body import Mechanism
from kane.model.checks import require_fixed
from kane.model.requirements import NOT_NEGATIVE
from kane.model.vector_arguments import at_defaults, require_of_parameters


@dataclass(frozen=True)
class Coulomb:
    """Dry friction of a contact with the normal force N: |f| <= static N sticking, |f| = kinetic N slipping.

    Kinetic friction acts against the slip velocity. Slip begins when sticking would need more than the static bound.

    Attributes:
        static: mu_s, not negative: a number or an expression of parameters.
        kinetic: mu_k, at most mu_s; mu_s by default.
    """

    static: Scalar
    kinetic: Scalar | None = None

    def __post_init__(self) -> None:
        if self.kinetic is None:
            object.__setattr__(self, "kinetic", self.static)


@dataclass(frozen=True)
class Thresholds:
    """Dry friction in a joint: |f| <= static sticking, |f| = kinetic moving, against the motion.

    Attributes:
        static: not negative [N m or N]: a number or an expression of parameters.
        kinetic: at most ``static``.
    """

    static: Scalar
    kinetic: Scalar


def checked_friction(model: Mechanism, friction: Coulomb | Thresholds, who: str) -> Coulomb | Thresholds:
    """Check the bounds of a friction law, and return the same object, which may be of a subclass.

    Raises:
        ModelError: a bound is negative at the default parameters or depends on anything else, or static < kinetic.
    """
    static, kinetic = (
        checked_coefficient(model, getattr(friction, word), f"the {word} friction of {who}")
        for word in ("static", "kinetic")
    )
    low, high = at_defaults(model, kinetic), at_defaults(model, static)
    if low > high:
        raise ModelError(
            f"the kinetic friction {low:.12g} of {who} is more than the static one, {high:.12g}; sticking would "
            "alternate with slip without end; give static >= kinetic"
        )
    require_of_parameters(model, f"the static friction of {who} less the kinetic one", NOT_NEGATIVE, static - kinetic)
    return friction


def checked_coefficient(model: Mechanism, value: Scalar | None, what: str) -> Scalar:
    """Return a number or an expression of parameters that is not negative at their defaults.

    Raises:
        ModelError: the value is negative, or depends on anything else.
    """
    x = model.scalar(value, what)
    require_fixed([x], what)
    known = at_defaults(model, x)
    if not known >= 0.0:
        raise ModelError(f"{what} is {known:.12g}; give a number that is not negative")
    require_of_parameters(model, what, NOT_NEGATIVE, x)
    return x
