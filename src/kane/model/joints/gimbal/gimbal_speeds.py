"""Natural speeds of a gimbal: rates of its angles, or measure numbers of its angular velocity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from kane.deferred import dataclass
from kane.expression.functions import atan2, sqrt
from kane.expression.node import Expr, Scalar
from kane.geometry.rotation import Rotation
from kane.geometry.rotation_factor import Elementary
from kane.geometry.scalars import ZERO_VECTOR
from kane.model.joints.gimbal.angles import GIMBAL_LOCK_SINE, angular_velocity_matrix
from kane.model.joints.joint import JointMotion, default_speed_name
from kane.model.joints.pose_motion import motion_of_pose

# Three axes, and angles of shape (..., 3).
Angles = tuple[tuple[int, ...], np.ndarray]


class GimbalSpeeds(ABC):
    """Definition of the natural speeds of a gimbal that turns about ``axes`` (0, 1 or 2) in sequence."""

    @abstractmethod
    def names(self, name: str, coordinates: tuple[str, ...], axes: tuple[int, ...]) -> tuple[str, ...]:
        """Return the names of the speeds of a joint named ``name``."""

    @abstractmethod
    def singular(self, axes: tuple[int, ...]) -> bool:
        """Return whether there are angles at which the motion is not determined."""

    @abstractmethod
    def motion(self, axes: tuple[int, ...], q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        """Return the motion of M in F."""

    @abstractmethod
    def matrix(self, axes: tuple[int, ...], q: np.ndarray) -> np.ndarray:
        """Return B of u = B dq/dt at angles q (..., n): shape (..., n, n)."""

    @property
    def of_angles(self) -> bool:
        """Whether the speeds of a motion depend on the choice of angles."""
        return False

    def carried(self, u: np.ndarray, here: Angles, there: Angles) -> np.ndarray:
        """Return the speeds of the motion u (..., 3) in the angles ``there``; u belongs to the angles ``here``."""
        return u


@dataclass(frozen=True)
class AngleRates(GimbalSpeeds):
    """Angle rates, u = dq/dt. With three angles the mass matrix is singular if axes 1 and 3 are parallel."""

    def names(self, name: str, coordinates: tuple[str, ...], axes: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(map(default_speed_name, coordinates))

    def singular(self, axes: tuple[int, ...]) -> bool:
        return len(axes) == 3

    def motion(self, axes: tuple[int, ...], q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        return motion_of_pose(rotation_of(axes, q), ZERO_VECTOR, q, u)

    def matrix(self, axes: tuple[int, ...], q: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.eye(len(axes)), (*q.shape, len(axes)))

    @property
    def of_angles(self) -> bool:
        return True

    def carried(self, u: np.ndarray, here: Angles, there: Angles) -> np.ndarray:
        w = angular_velocity_matrix(*here) @ u[..., None]
        return (np.linalg.pinv(angular_velocity_matrix(*there), rcond=GIMBAL_LOCK_SINE) @ w)[..., 0]


def angles_of(axes: Sequence[int], R: Rotation) -> tuple[Scalar, Scalar, Scalar]:
    """Return three angles of a regular rotation; the second is in [0, pi] for i, j, i and in [-pi/2, pi/2] for i, j, k.

    Row i of R, the first axis as seen in M, determines the second and third angle. Column k of R, the third axis as
    seen in F, determines the first. The formulas are in ``angles._second_and_third``.
    """
    i, j, k = axes
    e, sign = R.entries, 1.0 if j == (i + 1) % 3 else -1.0
    if i == k:
        other = 3 - i - j
        b = atan2(sqrt(e[i][j] * e[i][j] + e[i][other] * e[i][other]), e[i][i])
        return atan2(e[j][i], -sign * e[other][i]), b, atan2(e[i][j], sign * e[i][other])
    b = atan2(sign * e[i][k], sqrt(e[i][i] * e[i][i] + e[i][j] * e[i][j]))
    return atan2(-sign * e[j][k], e[k][k]), b, atan2(-sign * e[i][j], e[i][i])


def rotation_of(axes: tuple[int, ...], q: Sequence[Expr]) -> Rotation:
    """Return R_FM = R1(q0) R2(q1) R3(q2)."""
    return Rotation(tuple(Elementary(k, angle) for k, angle in zip(axes, q, strict=True)))
