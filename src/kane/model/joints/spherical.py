"""Spherical joint: turns freely about a point."""

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
class Spherical(Joint):
    """M turns freely about Mo = Fo: q = unit quaternion (w, x, y, z) of M in F, u = w_FM measured in M [rad/s]."""

    name: str
    coordinate_units: ClassVar[tuple[str, ...]] = ("1",) * 4
    speed_units: ClassVar[tuple[str, ...]] = ("rad/s",) * 3

    @property
    def label(self) -> str:
        return self.name

    @property
    def neutral(self) -> tuple[float, ...]:
        return (1.0, 0.0, 0.0, 0.0)

    @property
    def quaternion_at(self) -> int:
        return 0

    def coordinate_names(self, name: str) -> tuple[str, ...]:
        return tuple(f"{name}_q{c}" for c in "wxyz")

    def speed_names(self, name: str) -> tuple[str, ...]:
        return tuple(f"{name}_w{c}" for c in "xyz")

    def motion(self, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        rates = tuple(quaternion.kinematics(tuple(q), tuple(u)))
        return JointMotion(
            Rotation.quaternion(*q), ZERO_VECTOR, UNIT_VECTORS, (ZERO_VECTOR,) * 3, ZERO_VECTOR, ZERO_VECTOR, rates
        )

    def integrate(self, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        return quaternion.integrate(q, du, 1.0)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return quaternion.rotation_vector_between(q0, q1)
