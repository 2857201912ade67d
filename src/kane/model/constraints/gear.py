"""Fixed ratio of two joint coordinates."""

from __future__ import annotations

from collections.abc import Sequence

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.node import Scalar
from kane.model.checks import require_fixed
from kane.model.connection import Connection, JointCoordinate
from kane.model.constraints.constraint import Constraint, Row
from kane.model.requirements import NOT_ZERO
from kane.model.vector_arguments import at_defaults, coordinate, require_of_parameters, require_one_model


@dataclass(frozen=True)
class Gear(Constraint):
    """Coordinates of two joints keep a ratio: q_a - ratio q_b - offset = 0.

    Two spur gears turn in opposite directions, with ratio -r_b / r_a. A rack and its pinion, a lead screw, a rope on a
    drum and a differential belt have a ratio in m/rad. If the coordinates are angles relative to a carrier, so is the
    ratio.

    Attributes:
        a, b: joints with one coordinate, or one coordinate of a joint: ``joint["q2"]``.
        ratio: dq_a/dq_b, not zero: a number or an expression of parameters.
        offset: q_a where q_b = 0 [rad or m].
    """

    a: Connection | JointCoordinate
    b: Connection | JointCoordinate
    ratio: Scalar
    offset: Scalar = 0.0

    def __post_init__(self) -> None:
        a, b = coordinate("a Gear", self.a), coordinate("a Gear", self.b)
        require_one_model("a Gear", a.connection.child, b.connection.child)
        if a == b:
            raise ModelError(f"a Gear joins two coordinates, not {a.name!r} with itself")
        model = a.connection.child.model
        values = [model.scalar(self.ratio, "the ratio of a Gear"), model.scalar(self.offset, "the offset of a Gear")]
        require_fixed(values, "the ratio or offset of a Gear")
        if at_defaults(model, self.ratio) == 0.0:
            raise ModelError(f"the ratio of a Gear is 0; to lock {a.name!r} use kane.Prescribed with a number")
        require_of_parameters(model, "the ratio of a Gear", NOT_ZERO, self.ratio)

    @property
    def title(self) -> str:
        """Name of the constraint, with both coordinates."""
        return f"gear of {coordinate('a Gear', self.a).name} and {coordinate('a Gear', self.b).name}"

    def rows(self) -> Sequence[Row]:
        """Return one equation."""
        a, b = coordinate("a Gear", self.a), coordinate("a Gear", self.b)
        return [Row("ratio", configuration=a.q - self.ratio * b.q - self.offset)]
