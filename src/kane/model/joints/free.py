"""Free joint: six degrees of freedom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from kane.deferred import dataclass
from kane.expression.node import Expr
from kane.geometry import quaternion
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import UNIT_VECTORS, ZERO_VECTOR
from kane.model.joints.joint import Joint, JointMotion


@dataclass(frozen=True)
class Free(Joint):
    """M moves freely in F.

    q = (unit quaternion w, x, y, z of M in F; p_FM in F [m]), u = (w_FM; v_FMo), both measured in M [rad/s, m/s].
    """

    name: str = "base"
    coordinate_units: ClassVar[tuple[str, ...]] = ("1",) * 4 + ("m",) * 3
    speed_units: ClassVar[tuple[str, ...]] = ("rad/s",) * 3 + ("m/s",) * 3

    @property
    def label(self) -> str:
        return self.name

    @property
    def neutral(self) -> tuple[float, ...]:
        return (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    @property
    def quaternion_at(self) -> int:
        return 0

    def coordinate_names(self, name: str) -> tuple[str, ...]:
        return (*(f"{name}_q{c}" for c in "wxyz"), *(f"{name}_{c}" for c in "xyz"))

    def speed_names(self, name: str) -> tuple[str, ...]:
        return (*(f"{name}_w{c}" for c in "xyz"), *(f"{name}_v{c}" for c in "xyz"))

    def motion(self, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        R_FM = Rotation.quaternion(*q[:4])
        wx, wy, wz, vx, vy, vz = u
        # a_FMo = dv/dt in F = dv/dt in M + w x v.
        a_t = (wy * vz - wz * vy, wz * vx - wx * vz, wx * vy - wy * vx)
        rates = (*quaternion.kinematics(tuple(q[:4]), (wx, wy, wz)), *R_FM.apply((vx, vy, vz)))
        return JointMotion(
            R_FM,
            tuple(q[4:]),
            UNIT_VECTORS + (ZERO_VECTOR,) * 3,
            (ZERO_VECTOR,) * 3 + UNIT_VECTORS,
            ZERO_VECTOR,
            a_t,
            rates,
        )

    def integrate(self, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        turned = quaternion.integrate(q[..., :4], du[..., :3], 1.0)
        return np.concatenate([turned, q[..., 4:] + quaternion.rotate(q[..., :4], du[..., 3:])], axis=-1)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        moved = quaternion.rotate(quaternion.conjugate(q0[..., :4]), q1[..., 4:] - q0[..., 4:])
        return np.concatenate([quaternion.rotation_vector_between(q0[..., :4], q1[..., :4]), moved], axis=-1)
