"""Cylindrical joint: turns about one axis and slides along it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kane.deferred import dataclass
from kane.expression.node import Expr
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import ZERO_VECTOR
from kane.model.joints.joint import JointMotion, axis_components
from kane.model.joints.rate_joint import RateJoint


@dataclass(frozen=True)
class Cylindrical(RateJoint):
    """M turns and slides along one axis, fixed in F and M: q = (angle [rad], displacement [m]), u = dq/dt.

    R_FM = rotation(axis, q0), p_FM = axis q1, w_FM = axis u0, v_FMo = axis u1.

    Attributes:
        q: name of the joint (coordinates name_angle and name_slide), or the two names.
        axis: "x", "y", "z", "-x", ... or three numbers.
    """

    axis: str | tuple[float, float, float] = "z"
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad", "m")
    endings: ClassVar[tuple[str, ...]] = ("angle", "slide")

    def __post_init__(self) -> None:
        super().__post_init__()
        axis_components(self.axis)

    def motion(self, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        axis = axis_components(self.axis)
        p_FM = (axis[0] * q[1], axis[1] * q[1], axis[2] * q[1])
        return JointMotion(
            Rotation.about(axis, q[0]),
            p_FM,
            (axis, ZERO_VECTOR),
            (ZERO_VECTOR, axis),
            ZERO_VECTOR,
            ZERO_VECTOR,
            tuple(u),
        )
