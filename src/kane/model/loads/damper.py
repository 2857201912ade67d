"""Linear damper in a joint."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.expression.node import Scalar
from kane.model.connection import Connection, JointCoordinate
from kane.model.loads.load import Effect, Load, acted_on, checked


@dataclass(frozen=True)
class Damper(Load):
    """Effort -c dq/dt along a joint coordinate.

    Attributes:
        connection: a joint with one coordinate, or one coordinate of a joint: ``joint["q2"]``.
        coefficient: c [N m s/rad or N s/m].
    """

    connection: Connection | JointCoordinate
    coefficient: Scalar

    def effect(self) -> Effect:
        along = acted_on(self.connection, "Damper")
        coefficient = checked(along, self.coefficient, "coefficient of the Damper")
        return Effect(efforts=((along, -(coefficient * along.qdot)),))
