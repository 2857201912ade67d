"""Gimbal joint: turns about one, two or three coordinate axes in sequence, with any Euler sequence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace
from itertools import pairwise

import numpy as np

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import numbers
from kane.geometry.rotation import AXIS_NUMBERS
from kane.model.joints.chart import Chart
from kane.model.joints.gimbal.gimbal_chart import GimbalChart, other_sequence
from kane.model.joints.gimbal.gimbal_speeds import AngleRates, GimbalSpeeds
from kane.model.joints.joint import Joint, JointMotion
from kane.model.joints.rate_joint import RateJoint


@dataclass(frozen=True)
class Gimbal(RateJoint):
    """M turns about its own axes, one after the other: R_FM = R1(q0) R2(q1) R3(q2).

    For turns about axes fixed in F, give the sequence and the angles in reverse order.

    Attributes:
        q: name of the joint (coordinates name_1, name_2, ...), or a name for each angle [rad].
        sequence: one to three letters of "xyz" or digits of "123", such as "zxz" or "213"; no axis twice in a row.
        speeds: ``AngleRates()``, u = dq/dt, or ``MeasureNumbers()``, u = measure numbers of w_FM in M.
    """

    sequence: str = "xyz"
    speeds: GimbalSpeeds = field(default_factory=AngleRates)

    def __post_init__(self) -> None:
        axes = self.axes
        if any(a == b for a, b in pairwise(axes)):
            raise ModelError(
                f"the sequence {self.sequence!r} of a gimbal repeats an axis in a row: two turns that are one turn; "
                'omit one of them or give another sequence, such as "zxz" or "xyz"'
            )
        if not isinstance(self.speeds, GimbalSpeeds):
            raise ModelError(
                f"the speeds of a gimbal are {shown(self.speeds)}; give kane.AngleRates() or MeasureNumbers()"
            )
        super().__post_init__()

    @property
    def axes(self) -> tuple[int, ...]:
        """Axes of the sequence: 0, 1 or 2 for x, y or z.

        Raises:
            ModelError: the sequence is not valid.
        """
        axes = tuple(AXIS_NUMBERS.get(letter, -1) for letter in self.sequence) if isinstance(self.sequence, str) else ()
        if not 1 <= len(axes) <= 3 or -1 in axes or not (self.sequence.isdigit() or self.sequence.isalpha()):
            raise ModelError(
                f"{shown(self.sequence)} is not a sequence of axes of a gimbal; "
                'give one to three letters of "xyz" or digits of "123", such as "zxz"'
            )
        return axes

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        return ("rad",) * len(self.axes)

    def speed_names(self, name: str) -> tuple[str, ...]:
        return self.speeds.names(name, self.coordinate_names(name), self.axes)

    @classmethod
    def examples(cls, name: str, axis: tuple[float, float, float]) -> Sequence[Joint]:
        """Return gimbals that are regular at their neutral coordinates: all axes of a sequence differ."""
        from kane.model.joints.measure_numbers import MeasureNumbers  # avoids an import cycle

        own = [cls(name, sequence, speeds=MeasureNumbers()) for sequence in ("213", "xy")]
        return (cls(name, "zyx"), *own)

    def motion(self, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        return self.speeds.motion(self.axes, q, u)

    def distance_to_singularity(self, q: np.ndarray) -> np.ndarray:
        """Return the distance of the second angle in q (..., n) from a singular one [rad]; infinity if none exists."""
        angles = numbers(q, "q must be numbers")
        if not self.speeds.singular(self.axes):
            return np.full(angles.shape[:-1], np.inf)
        past = angles[..., 1] - self._singular_angle
        return np.abs(past - math.pi * np.round(past / math.pi))

    @property
    def _singular_angle(self) -> float:
        """Second angle at which axes 1 and 3 are parallel: 90 deg (Tait-Bryan) or 0 (proper Euler angles)."""
        return 0.0 if len(self.axes) == 3 and self.axes[0] == self.axes[2] else math.pi / 2

    def singular_at(self, q: np.ndarray, *, within: float = 1e-6) -> str | None:
        if self.distance_to_singularity(q) > within:
            return None
        where = "0 or 180 deg" if self._singular_angle == 0.0 else "90 or -90 deg"
        return (
            f"the angles {self.sequence!r} of a gimbal are singular where the second is {where}, "
            f"here {float(q[1]):.9g} rad; start elsewhere, use a sequence that is singular elsewhere, or Spherical, "
            "which is never singular; kane.simulate(charts=kane.Charts()) passes such places"
        )

    @property
    def other_chart(self) -> Chart | None:
        if len(self.axes) < 3:
            return None
        return GimbalChart(self, replace(self, sequence=other_sequence(self.axes)))

    def integrate(self, q: np.ndarray, du: np.ndarray) -> np.ndarray:
        return q + np.linalg.solve(self.speeds.matrix(self.axes, q), du[..., None])[..., 0]

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return (self.speeds.matrix(self.axes, q0) @ (q1 - q0)[..., None])[..., 0]
