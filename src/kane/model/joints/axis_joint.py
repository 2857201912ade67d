"""Base class of joints with one coordinate, along or about one axis."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.expression.node import Expr
from kane.model.joints.joint import Joint, axis_components, default_speed_name


@dataclass(frozen=True)
class AxisJoint(Joint):
    """Joint with one coordinate and one axis fixed in F and M; u = dq/dt.

    Attributes:
        q: name of the coordinate, or an expression of other coordinates and time (mimic, gear, prescribed).
        axis: "x", "y", "z", "-x", ... or three numbers.
    """

    q: str | Expr
    axis: str | tuple[float, float, float] = "z"

    def __post_init__(self) -> None:
        axis_components(self.axis)

    @property
    def label(self) -> str | Expr:
        return self.q

    def coordinate_names(self, name: str) -> tuple[str, ...]:
        return (name,)

    def speed_names(self, name: str) -> tuple[str, ...]:
        return (default_speed_name(name),)
