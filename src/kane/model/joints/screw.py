"""Screw joint: turns about an axis and advances along it in proportion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.operations import PARAMETER
from kane.expression.traverse import leaves
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import ZERO_VECTOR, Number, scalar, scaled
from kane.model.joints.axis_joint import AxisJoint
from kane.model.joints.joint import Joint, JointMotion, axis_components


@dataclass(frozen=True)
class Screw(AxisJoint):
    """M turns by the angle q about an axis fixed in F and M, and slides h q along it; u = dq/dt.

    R_FM = rotation(axis, q), p_FM = axis h q, w_FM = axis u, v_FMo = axis h u. A right-handed thread has h > 0.

    Attributes:
        q: name of the coordinate [rad], or an expression of other coordinates and time.
        axis: "x", "y", "z", "-x", ... or three numbers.
        metres_per_radian: h, the lead of the thread divided by 2 pi [m/rad]; a number or an expression of parameters.
    """

    metres_per_radian: Number = 0.0
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad",)
    speed_units: ClassVar[tuple[str, ...]] = ("rad/s",)

    def __post_init__(self) -> None:
        super().__post_init__()
        h = scalar(self.metres_per_radian, "metres_per_radian of a screw")
        moving = [repr(leaf) for leaf in leaves([h]) if leaf.op != PARAMETER] if isinstance(h, Expr) else []
        if moving or (not isinstance(h, Expr) and h == 0.0):
            wrong = f"depends on {moving[0]}" if moving else "is zero"
            raise ModelError(
                f"metres_per_radian of the screw {shown(self.q)} {wrong}; give the lead divided by 2 pi, a number or "
                "an expression of parameters (without lead: Revolute)"
            )

    @classmethod
    def examples(cls, name: str, axis: tuple[float, float, float]) -> Sequence[Joint]:
        return (cls(name, axis, metres_per_radian=0.4),)

    def motion(self, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        axis = axis_components(self.axis)
        slide = scaled(self.metres_per_radian, axis)
        p_FM = tuple(h * q[0] for h in slide)
        return JointMotion(Rotation.about(axis, q[0]), p_FM, (axis,), (slide,), ZERO_VECTOR, ZERO_VECTOR, (u[0],))
