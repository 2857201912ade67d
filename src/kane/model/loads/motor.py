"""Motor in a joint."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.expression.node import Scalar
from kane.model.connection import Connection, JointCoordinate
from kane.model.loads.load import Effect, Load, acted_on, checked


@dataclass(frozen=True)
class Motor(Load):
    """Effort of the parent on the child along a joint coordinate.

    Attributes:
        connection: a joint with one coordinate, or one coordinate of a joint: ``joint["q2"]``.
        effort: torque [N m] or force [N], positive along q: an input, a number, or any expression (a controller).
    """

    connection: Connection | JointCoordinate
    effort: Scalar

    def effect(self) -> Effect:
        along = acted_on(self.connection, "Motor")
        effort = checked(along, self.effort, "effort of the Motor")
        return Effect(efforts=((along, along.q.arena.lift(effort)),))
