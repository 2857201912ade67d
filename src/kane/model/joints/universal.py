"""Universal joint (Hooke's joint): turns about two perpendicular axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import ZERO_VECTOR, cross
from kane.model.joints.joint import Joint, JointMotion, axis_components
from kane.model.joints.rate_joint import RateJoint

# Largest cosine of the angle between axes that count as perpendicular; axes typed as decimals are not exact.
PERPENDICULAR = 1e-6


@dataclass(frozen=True)
class Universal(RateJoint):
    """M turns about an axis fixed in F, then about an axis fixed in M: q = two angles [rad], u = dq/dt.

    R_FM = R1 R2 = rotation(axis1, q0) rotation(axis2, q1), w_FM = R2^T axis1 u0 + axis2 u1 in M.

    Attributes:
        q: name of the joint (coordinates name_1 and name_2), or the two names.
        axis1: axis of the first angle, fixed in F: "x", "y", "z", "-x", ... or three numbers.
        axis2: axis of the second angle, fixed in M; perpendicular to axis1.
    """

    axis1: str | tuple[float, float, float] = "x"
    axis2: str | tuple[float, float, float] = "y"
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad", "rad")

    def __post_init__(self) -> None:
        super().__post_init__()
        if abs(np.dot(axis_components(self.axis1), axis_components(self.axis2))) > PERPENDICULAR:
            raise ModelError(
                f"the axes {shown(self.axis1)} and {shown(self.axis2)} of a universal joint are not perpendicular; "
                "give perpendicular ones, or two Revolute joints with a massless body between them"
            )

    @classmethod
    def examples(cls, name: str, axis: tuple[float, float, float]) -> Sequence[Joint]:
        x, y, z = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))]).tolist()
        return (cls(name, axis, (x, y, z)),)

    def motion(self, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        first, second = axis_components(self.axis1), axis_components(self.axis2)
        R1, R2 = Rotation.about(first, q[0]), Rotation.about(second, q[1])
        carried = R2.apply_inverse(first)
        # In M the first axis has the derivative -axis2 u1 x carried.
        alpha_t = cross(tuple(x * u[0] for x in carried), tuple(x * u[1] for x in second))
        return JointMotion(
            R1 @ R2, ZERO_VECTOR, (carried, second), (ZERO_VECTOR, ZERO_VECTOR), alpha_t, ZERO_VECTOR, tuple(u)
        )
