"""Prismatic joint: slides along one axis."""

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
class Prismatic(AxisJoint):
    """M slides by q along an axis fixed in F: p_FM = axis q, v_FMo = axis u, u = dq/dt.

    Attributes:
        q: name of the coordinate [m], or an expression of other coordinates and time.
        axis: "x", "y", "z", "-x", ... or three numbers.
    """

    coordinate_units: ClassVar[tuple[str, ...]] = ("m",)
    speed_units: ClassVar[tuple[str, ...]] = ("m/s",)

    def motion(self, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        axis = axis_components(self.axis)
        p_FM = (axis[0] * q[0], axis[1] * q[0], axis[2] * q[0])
        return JointMotion(Rotation.identity(), p_FM, (ZERO_VECTOR,), (axis,), ZERO_VECTOR, ZERO_VECTOR, (u[0],))
