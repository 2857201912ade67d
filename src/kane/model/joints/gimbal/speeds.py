"""What the natural speeds of a gimbal mean: rates of its angles, or measure numbers of its angular velocity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kane.expression.functions import atan2, sqrt
from kane.expression.node import Expr, Scalar
from kane.geometry.factor import Elementary
from kane.geometry.rotation import Rotation
from kane.model.joints.gimbal.angles import PARALLEL, angular_velocity_matrix
from kane.model.joints.joint import ZERO, JointMotion, default_speed_name
from kane.model.joints.pose_motion import motion_of_pose

# The three axes and the angles (..., 3).
Angles = tuple[tuple[int, ...], np.ndarray]


class GimbalSpeeds(ABC):
    """The meaning of the natural speeds of a gimbal that turns about ``axes`` (0, 1 or 2), one after the other."""

    @abstractmethod
    def names(self, name: str, coordinates: tuple[str, ...], axes: tuple[int, ...]) -> tuple[str, ...]:
        """Names of the speeds of a joint named ``name``."""

    @abstractmethod
    def singular(self, axes: tuple[int, ...]) -> bool:
        """Whether there are angles at which the motion is not determined."""

    @abstractmethod
    def motion(self, axes: tuple[int, ...], q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        """The motion of M in F."""

    @abstractmethod
    def matrix(self, axes: tuple[int, ...], q: np.ndarray) -> np.ndarray:
        """B of u = B dq/dt at angles q (..., n): shape (..., n, n)."""

    @property
    def of_angles(self) -> bool:
        """Whether the same motion has other speeds with other angles."""
        return False

    def carried(self, u: np.ndarray, here: Angles, there: Angles) -> np.ndarray:
        """The speeds of the motion u (..., 3) with the angles ``there`` in place of those ``here``, of one rotation."""
        return u


@dataclass(frozen=True)
class AngleRates(GimbalSpeeds):
    """u = dq/dt. With three angles the mass matrix is singular where the first and the third axis are parallel."""

    def names(self, name: str, coordinates: tuple[str, ...], axes: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(map(default_speed_name, coordinates))

    def singular(self, axes: tuple[int, ...]) -> bool:
        return len(axes) == 3

    def motion(self, axes: tuple[int, ...], q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        return motion_of_pose(rotation_of(axes, q), ZERO, q, u)

    def matrix(self, axes: tuple[int, ...], q: np.ndarray) -> np.ndarray:
        return np.broadcast_to(np.eye(len(axes)), (*q.shape, len(axes)))

    @property
    def of_angles(self) -> bool:
        return True

    def carried(self, u: np.ndarray, here: Angles, there: Angles) -> np.ndarray:
        w = angular_velocity_matrix(*here) @ u[..., None]
        return (np.linalg.pinv(angular_velocity_matrix(*there), rcond=PARALLEL) @ w)[..., 0]


def angles_of(axes: Sequence[int], R: Rotation) -> tuple[Scalar, Scalar, Scalar]:
    """Three angles of a rotation that is not singular; the second from 0 to pi, or from -pi/2 to pi/2.

    The first axis as it is seen in M, row i of R, says the second and the third angle, the third as it is seen in F,
    column k of R, the first: ``angles._second_and_third`` has the formulas.
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
    """R_FM = R1(q0) R2(q1) R3(q2)."""
    return Rotation(tuple(Elementary(k, angle) for k, angle in zip(axes, q, strict=True)))
