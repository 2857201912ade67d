"""A linear damper in a joint."""

from __future__ import annotations

from dataclasses import dataclass

from kane.expression.node import Scalar
from kane.model.connection import Connection, coordinate_rate
from kane.model.loads.load import Effect, Load, acted_on, checked


@dataclass(frozen=True)
class Damper(Load):
    """Effort -c dq/dt along a joint coordinate.

    Attributes:
        connection: a revolute or prismatic joint.
        coefficient: c [N m s/rad or N s/m].
    """

    connection: Connection
    coefficient: Scalar

    def effect(self) -> Effect:
        rate = coordinate_rate(acted_on(self.connection, "Damper"))
        coefficient = checked(self.connection, self.coefficient, "coefficient of the Damper")
        return Effect(efforts=((self.connection, -(coefficient * rate)),))
