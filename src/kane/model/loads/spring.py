"""A linear spring in a joint."""

from __future__ import annotations

from dataclasses import dataclass

from kane.expression.node import Scalar
from kane.model.connection import Connection
from kane.model.loads.load import Effect, Load, acted_on, checked


@dataclass(frozen=True)
class Spring(Load):
    """Effort -k (q - rest) along a joint coordinate, with potential energy k (q - rest)^2 / 2.

    Attributes:
        connection: a revolute or prismatic joint.
        stiffness: k [N m/rad or N/m].
        rest: coordinate at which the effort vanishes [rad or m].
    """

    connection: Connection
    stiffness: Scalar
    rest: Scalar = 0.0

    def effect(self) -> Effect:
        q = acted_on(self.connection, "Spring")
        stretch = q - checked(self.connection, self.rest, "rest of the Spring")
        stiffness = checked(self.connection, self.stiffness, "stiffness of the Spring")
        return Effect(
            efforts=((self.connection, -(stiffness * stretch)),),
            potential=0.5 * stiffness * stretch * stretch,
        )
