"""Bounds of dry friction: proportional to a normal force, or given forces and torques."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.node import Scalar
from kane.expression.operations import INPUT, PARAMETER
from kane.expression.traverse import leaves
from kane.model.body import Mechanism
from kane.model.checks import require_fixed
from kane.model.reaction import reaction_leaves
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

    If a bound depends on inputs, kinetic = max(kinetic, 0) and static = max(static, kinetic) at each instant.

    Attributes:
        static: not negative [N m or N]: a number or an expression of parameters and inputs.
        kinetic: at most ``static``.
    """

    static: Scalar
    kinetic: Scalar


def checked_friction(model: Mechanism, friction: Coulomb | Thresholds, who: str) -> Coulomb | Thresholds:
    """Check the bounds of a friction law, and return the same object, which may be of a subclass.

    Raises:
        ModelError: a bound is negative at the default parameters or depends on anything else, or static < kinetic.
    """
    if isinstance(friction, Thresholds) and _is_commanded(model, friction, who):
        for word in ("static", "kinetic"):
            _require_commanded(model, getattr(friction, word), f"the {word} friction of {who}")
        return friction
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


def _is_commanded(model: Mechanism, friction: Thresholds, who: str) -> bool:
    """Return whether a bound of dry friction depends on anything but parameters."""
    bounds = [model.scalar(x, f"the friction of {who}") for x in (friction.static, friction.kinetic)]
    return any(leaf.op != PARAMETER for leaf in leaves(map(model.arena.lift, bounds)))


def _require_commanded(model: Mechanism, value: Scalar, what: str) -> None:
    """Raise ModelError unless a bound depends on parameters and inputs only; without inputs it must not be negative."""
    found = leaves([model.arena.lift(value)])
    if all(leaf.op == PARAMETER for leaf in found):
        checked_coefficient(model, value, what)
    if reactions := reaction_leaves(found):
        raise ModelError(
            f"{what} depends on the reaction {reactions[0]!r}, which this friction changes; let it depend on "
            "parameters and inputs"
        )
    wrong = [leaf for leaf in found if leaf.op not in (PARAMETER, INPUT)]
    if wrong:
        raise ModelError(
            f"{what} depends on {', '.join(map(repr, wrong))}; it may depend on parameters and inputs only. Let it be "
            "an input, Model.input, and give a run the expression as the value of this input"
        )


def checked_coefficient(model: Mechanism, value: Scalar | None, what: str) -> Scalar:
    """Return a number or an expression of parameters that is not negative at their defaults.

    Raises:
        ModelError: the value is negative, or depends on anything else.
    """
    x = model.scalar(value, what)
    require_fixed([x], what, "Give a number or an expression of parameters")
    known = at_defaults(model, x)
    if not known >= 0.0:
        raise ModelError(f"{what} is {known:.12g}; give a number that is not negative")
    require_of_parameters(model, what, NOT_NEGATIVE, x)
    return x
