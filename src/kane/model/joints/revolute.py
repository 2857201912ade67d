"""Revolute joint: turns about one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kane.deferred import dataclass
from kane.expression.node import Expr
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import ZERO_VECTOR
from kane.model.joints.axis_joint import AxisJoint
from kane.model.joints.joint import JointMotion, axis_components


@dataclass(frozen=True)
class Revolute(AxisJoint):
    """M turns by the angle q about an axis fixed in F and M: R_FM = rotation(axis, q), w_FM = axis u, u = dq/dt.

    Attributes:
        q: name of the coordinate [rad], or an expression of other coordinates and time (mimic, gear, prescribed).
        axis: "x", "y", "z", "-x", ... or three numbers.
    """

    coordinate_units: ClassVar[tuple[str, ...]] = ("rad",)
    speed_units: ClassVar[tuple[str, ...]] = ("rad/s",)

    def motion(self, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        axis = axis_components(self.axis)
        return JointMotion(
            Rotation.about(axis, q[0]), ZERO_VECTOR, (axis,), (ZERO_VECTOR,), ZERO_VECTOR, ZERO_VECTOR, (u[0],)
        )
