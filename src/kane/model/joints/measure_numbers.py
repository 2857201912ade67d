"""Measure numbers of the angular velocity as natural speeds of a gimbal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kane.deferred import dataclass
from kane.expression.node import Expr
from kane.geometry.rotation import Rotation
from kane.geometry.rotation_factor import Elementary
from kane.geometry.scalars import UNIT_VECTORS, ZERO_VECTOR
from kane.model.joints.gimbal.angles import angular_velocity_matrix
from kane.model.joints.gimbal.gimbal_speeds import GimbalSpeeds, rotation_of
from kane.model.joints.joint import JointMotion, default_speed_name


@dataclass(frozen=True)
class MeasureNumbers(GimbalSpeeds):
    """Measure numbers of w_FM in M as speeds: along x, y, z for three angles, along the axes of the sequence for fewer.

    The equations of motion are as simple as for a ball joint, but dq/dt is infinite at the singularity.
    """

    def names(self, name: str, coordinates: tuple[str, ...], axes: tuple[int, ...]) -> tuple[str, ...]:
        if all(c[:1] == "q" and c[1:].isdigit() for c in coordinates):
            return tuple(map(default_speed_name, coordinates))
        return tuple(f"{name}_w{'xyz'[k]}" for k in _measured(axes))

    def singular(self, axes: tuple[int, ...]) -> bool:
        return len(axes) > 1

    def motion(self, axes: tuple[int, ...], q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        R_FM = rotation_of(axes, q)
        if len(axes) == 1:
            return JointMotion(
                R_FM, ZERO_VECTOR, (UNIT_VECTORS[axes[0]],), (ZERO_VECTOR,), ZERO_VECTOR, ZERO_VECTOR, tuple(u)
            )
        second = Elementary(axes[1], q[1])
        first = second.apply_inverse(UNIT_VECTORS[axes[0]])  # the first axis, after the second turn
        if len(axes) == 2:
            return _of_two(R_FM, axes, first, u)
        # In the frame after the second turn, w = first q0' + (second axis) q1' + (third axis) q2'. The component along
        # the axis ``other`` contains q0' alone.
        w, other = Elementary(axes[2], q[2]).apply(tuple(u)), 3 - axes[1] - axes[2]
        rate = w[other] / first[other]
        rates = (rate, w[axes[1]], w[axes[2]] - first[axes[2]] * rate)
        return JointMotion(R_FM, ZERO_VECTOR, UNIT_VECTORS, (ZERO_VECTOR,) * 3, ZERO_VECTOR, ZERO_VECTOR, rates)

    def matrix(self, axes: tuple[int, ...], q: np.ndarray) -> np.ndarray:
        return angular_velocity_matrix(axes, q)[..., _measured(axes), :]


def _measured(axes: tuple[int, ...]) -> list[int]:
    return [0, 1, 2] if len(axes) == 3 else list(axes)


def _of_two(R_FM: Rotation, axes: tuple[int, ...], first: tuple[Expr | float, ...], u: Sequence[Expr]) -> JointMotion:
    """Return the motion for two angles: w along the third axis is t u0, t = sign tan q1, tdot = sign (1 + t^2) u1."""
    third = 3 - axes[0] - axes[1]
    sign = 1.0 if axes[0] == (axes[1] + 2) % 3 else -1.0
    t = first[third] / first[axes[0]]
    carried = tuple(t if k == third else x for k, x in enumerate(UNIT_VECTORS[axes[0]]))
    alpha_t = tuple((sign + sign * (t * t)) * u[0] * u[1] if k == third else 0.0 for k in range(3))
    rates = (u[0] / first[axes[0]], u[1])
    return JointMotion(
        R_FM, ZERO_VECTOR, (carried, UNIT_VECTORS[axes[1]]), (ZERO_VECTOR, ZERO_VECTOR), alpha_t, ZERO_VECTOR, rates
    )
