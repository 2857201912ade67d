"""A wheel on the ground: what contact forces and margins need to know of it."""

from __future__ import annotations

from dataclasses import dataclass

from kane.errors import ModelError, shown
from kane.expression.node import Scalar
from kane.geometry.scalars import dot
from kane.model.arguments import require_positive
from kane.model.body import Direction, Point
from kane.model.connection import Connection
from kane.model.joints import Revolute
from kane.model.joints.joint import axis_components


@dataclass(frozen=True)
class Wheel:
    """A body that turns on a level axle and touches the level ground under its centre.

    The vehicle rolls forward, along h = axle x up, where the joint's coordinate grows.

    Attributes:
        turn: the joint of the axle, a ``kane.Revolute``; its child is the wheel, alike about its axle.
        radius: r [m].
    """

    turn: Connection
    radius: Scalar

    def __post_init__(self) -> None:
        if not isinstance(self.turn, Connection) or not isinstance(self.turn.joint, Revolute):
            raise ModelError(f"a Wheel turns on a kane.Revolute joint, not on {shown(self.turn)}")
        require_positive(self.turn.child.model, self.radius, f"the radius of wheel {self.name!r}")

    @property
    def name(self) -> str:
        """Of the body."""
        return self.turn.child.name

    @property
    def centre(self) -> Point:
        """Where the joint is, fixed in what carries the wheel."""
        return self.turn.parent.point(self.turn.p_PF)

    @property
    def axle(self) -> Direction:
        """Fixed in what carries the wheel."""
        axis = axis_components(self.turn.joint.axis)  # type: ignore[attr-defined]  # a Revolute
        return self.turn.parent.direction(self.turn.R_PF.apply(axis))

    @property
    def own_axle(self) -> Direction:
        """The same direction, fixed in the wheel."""
        axis = axis_components(self.turn.joint.axis)  # type: ignore[attr-defined]
        return self.turn.child.direction(self.turn.R_CM.apply(axis))

    @property
    def moment(self) -> Scalar:
        """I, moment of inertia about the axle [kg m^2]."""
        a = self.own_axle.components
        return dot(a, tuple(dot(row, a) for row in self.turn.child.inertia))
