"""A wheel on the ground, for contact forces and tip-over margins."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Scalar
from kane.geometry.scalars import dot
from kane.model.body import Direction, Point
from kane.model.connection import Connection
from kane.model.joints import Revolute
from kane.model.joints.joint import axis_components
from kane.model.vector_arguments import require_positive


@dataclass(frozen=True)
class Wheel:
    """Wheel that turns on a level axle and touches the level ground under its centre.

    The vehicle rolls forward, along h = axle x up, when the joint's coordinate grows.

    Attributes:
        turn: the joint of the axle, a ``kane.Revolute``. Its child is the wheel, symmetric about its axle.
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
        """Name of the wheel's body."""
        return self.turn.child.name

    @property
    def centre(self) -> Point:
        """Origin of the joint, as a point fixed in the body that carries the wheel."""
        return self.turn.parent.point(self.turn.p_PF)

    @property
    def axle(self) -> Direction:
        """Direction of the axle, fixed in the body that carries the wheel."""
        axis = axis_components(self.turn.joint.axis)  # type: ignore[attr-defined]  # a Revolute
        return self.turn.parent.direction(self.turn.R_PF.apply(axis))

    @property
    def own_axle(self) -> Direction:
        """Direction of the axle, fixed in the wheel."""
        axis = axis_components(self.turn.joint.axis)  # type: ignore[attr-defined]
        return self.turn.child.direction(self.turn.R_CM.apply(axis))

    @property
    def moment(self) -> Scalar:
        """I, moment of inertia about the axle [kg m^2]."""
        a = self.own_axle.components
        return dot(a, tuple(dot(row, a) for row in self.turn.child.inertia))
