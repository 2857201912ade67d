"""Requirements on expressions of parameters: masses, lengths and coefficients that a run may not set at will.

A declaration that checks an expression at the default values of its parameters leaves a requirement with the model.
Every call that takes values of parameters checks all of them (``kane.formulation.parameter_bounds``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.errors import ModelError
from kane.expression.interpret import interpret
from kane.expression.node import Expr, Scalar
from kane.expression.operations import PARAMETER
from kane.expression.traverse import leaves
from kane.geometry.inertia import TOLERANCE

if TYPE_CHECKING:
    from kane.model.model import Model

Array = NDArray[np.float64]
POSITIVE, NOT_NEGATIVE, NOT_ZERO, FRACTION, MASS, INERTIA = (
    "positive",
    "not negative",
    "not zero",
    "fraction",
    "mass",
    "inertia",
)


class Kind(NamedTuple):
    """A kind of requirement.

    Attributes:
        words: for messages.
        fails: whether a value is refused; NaN is not, because it shows in every result.
    """

    words: str
    fails: Callable[[Array], Any]


REQUIRED: Mapping[str, Kind] = {
    POSITIVE: Kind("positive", lambda x: x <= 0.0),
    NOT_NEGATIVE: Kind("not negative", lambda x: x < 0.0),
    NOT_ZERO: Kind("not zero", lambda x: x == 0.0),
    FRACTION: Kind("from 0 to 1", lambda x: (x < 0.0) | (x > 1.0)),
    MASS: Kind("not negative", lambda x: x < 0.0),
    INERTIA: Kind("not negative", lambda x: x < 0.0),
}


@dataclass(frozen=True)
class Requirement:
    """Condition on an expression of parameters.

    Attributes:
        what: the quantity, in words: "the radius of a Sphere".
        kind: one of ``REQUIRED``.
        expressions: one, or of an inertia the six entries xx, yy, zz, xy, xz, yz.
    """

    what: str
    kind: str
    expressions: tuple[Expr, ...]

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        return [leaf.name for leaf in leaves(self.expressions)]

    def quantity(self, values: Mapping[Expr, Array | float]) -> Array:
        """The number that is required to be positive, ...: of an inertia the least principal moment [kg m^2]."""
        found = np.broadcast_arrays(*(np.asarray(x, float) for x in interpret(self.expressions, values)))
        return _least_moment(found) if self.kind == INERTIA else found[0]

    def fault(self, value: float, given: Mapping[str, float]) -> str:
        """The message for a value that is refused, with the parameters that gave it."""
        by, words = ", ".join(f"{name} = {given[name]:.12g}" for name in self.names), REQUIRED[self.kind].words
        return f"{self.what} is {value:.12g}{by and f' with {by}'}; give parameters with which it is {words}"


def _least_moment(six: Sequence[Array]) -> Array:
    """The least principal moment; zero where rounding alone has made it negative."""
    xx, yy, zz, xy, xz, yz = six
    matrix = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=-1).reshape(*xx.shape, 3, 3)
    known = np.asarray(np.isfinite(matrix).all(axis=(-1, -2)))
    moments = np.linalg.eigvalsh(np.where(known[..., None, None], matrix, 0.0))
    least = moments[..., 0]
    rounded = np.where(least < -TOLERANCE * np.abs(moments).max(axis=-1), least, np.abs(least))
    return np.where(known, rounded, np.nan)


def require_of_parameters(model: Model, what: str, kind: str, *given: Scalar) -> None:
    """Require a quantity of a model to stay of a kind, in this declaration and in every run.

    Numbers and expressions of anything but parameters are left to who declares them.

    Raises:
        ModelError: it is not of the kind at the default values of the parameters.
    """
    expressions = tuple(model.arena.lift(x) for x in given)
    found = leaves(expressions)
    if not found or any(leaf.op != PARAMETER for leaf in found):
        return
    requirement = Requirement(what, kind, expressions)
    defaults = {leaf: model.parameters[leaf.name] for leaf in found}
    value = requirement.quantity(defaults)
    if REQUIRED[kind].fails(value):
        raise ModelError(requirement.fault(float(value), model.parameters))
    if requirement not in model.requirements:
        model.requirements.append(requirement)
