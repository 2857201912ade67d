"""Linear spring in a joint."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.expression.node import Scalar
from kane.model.connection import Connection, JointCoordinate
from kane.model.loads.load import Effect, Load, acted_on, checked


@dataclass(frozen=True)
class Spring(Load):
    """Effort -k (q - rest) along a joint coordinate, with potential energy k (q - rest)^2 / 2.

    Attributes:
        connection: a joint with one coordinate, or one coordinate of a joint: ``joint["q2"]``.
        stiffness: k [N m/rad or N/m].
        rest: coordinate at which the effort vanishes [rad or m].
    """

    connection: Connection | JointCoordinate
    stiffness: Scalar
    rest: Scalar = 0.0

    def effect(self) -> Effect:
        along = acted_on(self.connection, "Spring")
        stretch = along.q - checked(along, self.rest, "rest of the Spring")
        stiffness = checked(along, self.stiffness, "stiffness of the Spring")
        return Effect(
            efforts=((along, -(stiffness * stretch)),),
            potential=0.5 * stiffness * stretch * stretch,
        )
