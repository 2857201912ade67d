"""Turning about one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kane.expression.node import Expr
from kane.geometry.rotation import Rotation
from kane.model.joints.joint import ZERO, Joint, JointMotion, axis_components, default_speed_name


@dataclass(frozen=True)
class Revolute(Joint):
    """M turns by the angle q about an axis fixed in F and M: R_FM = rotation(axis, q), w_FM = axis u, u = dq/dt.

    Attributes:
        q: name of the coordinate [rad], or an expression of other coordinates and time (mimic, gear, prescribed).
        axis: "x", "y", "z", "-x", ... or three numbers.
    """

    q: str | Expr
    axis: str | tuple[float, float, float] = "z"
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad",)
    speed_units: ClassVar[tuple[str, ...]] = ("rad/s",)

    def __post_init__(self) -> None:
        axis_components(self.axis)

    @property
    def label(self) -> str | Expr:
        return self.q

    def coordinate_names(self, name: str) -> tuple[str, ...]:
        return (name,)

    def speed_names(self, name: str) -> tuple[str, ...]:
        return (default_speed_name(name),)

    def motion(self, q: Sequence[Expr], u: Sequence[Expr]) -> JointMotion:
        axis = axis_components(self.axis)
        return JointMotion(Rotation.about(axis, q[0]), ZERO, (axis,), (ZERO,), ZERO, ZERO, (u[0],))
