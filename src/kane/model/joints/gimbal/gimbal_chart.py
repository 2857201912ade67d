"""An alternative Euler sequence for a gimbal, used near its singularity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kane.deferred import dataclass
from kane.expression.functions import cos, sin
from kane.expression.node import Expr
from kane.model.joints.chart import Chart
from kane.model.joints.gimbal.angles import angles_along, angles_continued, rotation_matrix
from kane.model.joints.gimbal.gimbal_speeds import angles_of, rotation_of
from kane.model.joints.measure_numbers import MeasureNumbers

if TYPE_CHECKING:
    from kane.model.joints.gimbal.gimbal import Gimbal


@dataclass(frozen=True)
class GimbalChart(Chart):
    """Tait-Bryan angles (axes i, j, k) in place of proper Euler angles (axes i, j, i), and the reverse.

    The sequence i, j, k is singular if axis i of F is parallel to axis k of M. The sequence i, j, i is singular if axis
    i of F is parallel to axis i of M, a quarter turn away.

    Attributes:
        of: the gimbal.
        joint: the same gimbal with the other axes.
    """

    of: Gimbal
    joint: Gimbal

    @property
    def title(self) -> str:
        return self.joint.sequence

    @property
    def changes_speeds(self) -> bool:
        return self.of.speeds.of_angles

    def distance(self, q: np.ndarray) -> np.ndarray:
        return self.of.distance_to_singularity(q)

    def beyond(self, q: Sequence[Expr], within: float) -> Expr:
        sine = sin(q[1]) if self.of.axes[0] == self.of.axes[2] else cos(q[1])
        return sine * sine - math.sin(within) ** 2

    def coordinates(self, q: np.ndarray, near: np.ndarray) -> np.ndarray:
        return angles_along(self.joint.axes, rotation_matrix(self.of.axes, q), near)

    def carry(self, q: Sequence[Expr], u: Sequence[Expr]) -> tuple[Sequence[Any], Sequence[Any]]:
        angles = angles_of(self.joint.axes, rotation_of(self.of.axes, q))
        if not u:
            return angles, ()
        partials = self.of.motion(q, u).w_FM_u
        w = [sum(speed * partial[k] for speed, partial in zip(u, partials, strict=True)) for k in range(3)]
        rates: list[Any] = [angles, w]
        return angles, MeasureNumbers().motion(self.joint.axes, *rates).kinematics

    def continued(self, q: np.ndarray, near: np.ndarray) -> np.ndarray:
        return angles_continued(self.of.axes, q, near)

    def continued_speeds(self, q: np.ndarray, u: np.ndarray, other: np.ndarray) -> np.ndarray:
        return self.of.speeds.carried(u, (self.of.axes, q), (self.of.axes, other))

    def speeds(self, q: np.ndarray, u: np.ndarray, other: np.ndarray) -> np.ndarray:
        return self.of.speeds.carried(u, (self.of.axes, q), (self.joint.axes, other))


def other_sequence(axes: tuple[int, ...]) -> str:
    """Return the sequence whose singularity is a quarter turn away."""
    i, j, k = axes
    return "".join("xyz"[axis] for axis in (i, j, 3 - i - j if i == k else i))
