"""Prescribed motion of a joint coordinate."""

from __future__ import annotations

from collections.abc import Sequence

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.node import Expr, Scalar
from kane.expression.traverse import leaves
from kane.model.connection import Connection, JointCoordinate
from kane.model.constraints.constraint import Constraint, Row
from kane.model.vector_arguments import coordinate, require_geometric


@dataclass(frozen=True)
class Prescribed(Constraint):
    """A joint coordinate follows a given motion: q - f = 0.

    A joint that is declared with the expression f as its coordinate has no speed at all, which is cheaper. A Prescribed
    motion of a joint with a speed can be deleted again, and its reaction is the effort that maintains the motion.

    Attributes:
        joint: a joint with one coordinate, or one coordinate of a joint: ``joint["q2"]``.
        value: f [rad or m]: a number, which locks the joint, or an expression of time, parameters and other
            coordinates, twice differentiable.
    """

    joint: Connection | JointCoordinate
    value: Scalar

    def __post_init__(self) -> None:
        along = coordinate("a Prescribed motion", self.joint)
        what = f"the Prescribed motion of {along.name!r}"
        value = require_geometric(along.connection.child.model, self.value, what)
        if isinstance(value, Expr) and along.q in leaves([value]):
            raise ModelError(f"{what} depends on {along.name!r} itself; give time or other coordinates")

    @property
    def title(self) -> str:
        """Name of the constraint, with its coordinate."""
        return f"prescribed motion of {coordinate('a Prescribed motion', self.joint).name}"

    def rows(self) -> Sequence[Row]:
        """Return one equation."""
        along = coordinate("a Prescribed motion", self.joint)
        return [Row("motion", configuration=along.q - self.value)]
