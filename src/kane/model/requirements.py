"""Conditions on expressions of parameters: masses, lengths and coefficients that must stay in their range.

A declaration that checks an expression at the default values of its parameters adds a requirement to the model. Every
call that takes values of parameters checks all requirements (``kane.formulation.parameter_bounds``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.deferred import NamedTuple, dataclass
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.traverse import leaves
from kane.geometry.inertia import INERTIA_TOLERANCE

POSITIVE, NOT_NEGATIVE, NOT_ZERO, FRACTION, NONNEGATIVE_MASS, NONNEGATIVE_INERTIA = (
    "positive",
    "not negative",
    "not zero",
    "fraction",
    "mass",
    "inertia",
)


class Kind(NamedTuple):
    """Kind of a requirement.

    Attributes:
        words: the condition in words, for messages.
        fails: returns whether a value violates it. NaN passes, because it shows in every result.
    """

    words: str
    fails: Callable[[Array], Any]


REQUIRED: Mapping[str, Kind] = {
    POSITIVE: Kind("positive", lambda x: x <= 0.0),
    NOT_NEGATIVE: Kind("not negative", lambda x: x < 0.0),
    NOT_ZERO: Kind("not zero", lambda x: x == 0.0),
    FRACTION: Kind("from 0 to 1", lambda x: (x < 0.0) | (x > 1.0)),
    NONNEGATIVE_MASS: Kind("not negative", lambda x: x < 0.0),
    NONNEGATIVE_INERTIA: Kind("not negative", lambda x: x < 0.0),
}


@dataclass(frozen=True)
class Requirement:
    """Condition on an expression of parameters.

    Attributes:
        what: the quantity in words: "the radius of a Sphere".
        kind: a key of ``REQUIRED``.
        expressions: one expression; for an inertia the six entries xx, yy, zz, xy, xz, yz.
    """

    what: str
    kind: str
    expressions: tuple[Expr, ...]

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        return [leaf.name for leaf in leaves(self.expressions)]

    def quantity(self, values: Mapping[Expr, Array | float]) -> Array:
        """Return the value that the condition restricts; for an inertia its smallest principal moment [kg m^2]."""
        found = np.broadcast_arrays(*(np.asarray(x, float) for x in interpret(self.expressions, values)))
        return _least_moment(found) if self.kind == NONNEGATIVE_INERTIA else found[0]

    def fault(self, value: float, given: Mapping[str, float]) -> str:
        """Return the error message for a refused value, with the parameters that gave it."""
        by, words = ", ".join(f"{name} = {given[name]:.12g}" for name in self.names), REQUIRED[self.kind].words
        return f"{self.what} is {value:.12g}{by and f' with {by}'}; give parameters with which it is {words}"


def _least_moment(six: Sequence[Array]) -> Array:
    """Return the smallest principal moment; its absolute value if rounding alone explains a negative sign."""
    xx, yy, zz, xy, xz, yz = six
    matrix = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=-1).reshape(*xx.shape, 3, 3)
    known = np.asarray(np.isfinite(matrix).all(axis=(-1, -2)))
    moments = np.linalg.eigvalsh(np.where(known[..., None, None], matrix, 0.0))
    least = moments[..., 0]
    rounded = np.where(least < -INERTIA_TOLERANCE * np.abs(moments).max(axis=-1), least, np.abs(least))
    return np.where(known, rounded, np.nan)
