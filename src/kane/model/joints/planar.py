"""Planar joint: moves in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from kane.deferred import dataclass
from kane.expression.node import Expr
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import ZERO_VECTOR, Triple
from kane.model.joints.joint import JointMotion, axis_components
from kane.model.joints.rate_joint import RateJoint


@dataclass(frozen=True)
class Planar(RateJoint):
    """M moves in a plane fixed in F: q = (x [m], y [m], angle [rad]), u = dq/dt.

        p_FM = e1 x + e2 y,   R_FM = rotation(axis, angle),   w_FM = axis u2,   a_FMo = e1 udot0 + e2 udot1

    The directions e1, e2, axis are right-handed and fixed in F: x, y, z for the axis z; y, z, x for x; z, x, y for y.
    For example, a vehicle that pitches in the plane of x and z is ``Planar(("z", "x", "pitch"), axis="y")``.

    Attributes:
        q: name of the joint (coordinates name_x, name_y, name_angle), or the three names.
        axis: normal of the plane, "x", "y", "z", "-x", ... or three numbers.
    """

    axis: str | tuple[float, float, float] = "z"
    coordinate_units: ClassVar[tuple[str, ...]] = ("m", "m", "rad")
    endings: ClassVar[tuple[str, ...]] = ("x", "y", "angle")

    def __post_init__(self) -> None:
        super().__post_init__()
        axis_components(self.axis)

    def directions(self) -> tuple[Triple, Triple, Triple]:
        """Return e1, e2 and the axis, in F.

        e1 is the coordinate axis that follows the one nearest to the axis, orthogonalized to the axis.
        """
        n = np.array(axis_components(self.axis))
        e1 = np.roll(np.eye(3), -1, axis=0)[int(np.argmax(np.abs(n)))]
        e1 = e1 - (e1 @ n) * n
        e1 /= np.linalg.norm(e1)
        return tuple(e1.tolist()), tuple((np.cross(n, e1) + 0.0).tolist()), tuple(n.tolist())

    def motion(self, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        e1, e2, axis = self.directions()
        R_FM = Rotation.about(axis, q[2])
        p_FM = tuple(a * q[0] + b * q[1] for a, b in zip(e1, e2, strict=True))
        v_FM_u = (R_FM.apply_inverse(e1), R_FM.apply_inverse(e2), ZERO_VECTOR)
        return JointMotion(R_FM, p_FM, (ZERO_VECTOR, ZERO_VECTOR, axis), v_FM_u, ZERO_VECTOR, ZERO_VECTOR, tuple(u))
