"""A motor in a joint."""

from __future__ import annotations

from dataclasses import dataclass

from kane.expression.node import Scalar
from kane.model.connection import Connection
from kane.model.loads.load import Effect, Load, acted_on, checked


@dataclass(frozen=True)
class Motor(Load):
    """The parent acts on the child with an effort along the joint coordinate.

    Attributes:
        connection: a revolute or prismatic joint.
        effort: torque [N m] or force [N], positive along q: an input, a number, or any expression (a controller).
    """

    connection: Connection
    effort: Scalar

    def effect(self) -> Effect:
        q = acted_on(self.connection, "Motor")
        effort = checked(self.connection, self.effort, "effort of the Motor")
        return Effect(efforts=((self.connection, q.arena.lift(effort)),))
