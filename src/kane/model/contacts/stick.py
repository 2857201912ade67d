"""Dry friction in a joint that sticks exactly."""

from __future__ import annotations

from collections.abc import Sequence

from kane.deferred import dataclass
from kane.expression.node import Scalar
from kane.model.connection import Connection, JointCoordinate
from kane.model.constraints import Row
from kane.model.contacts.friction import Thresholds
from kane.model.contacts.intermittent_constraint import Intermittent, IntermittentConstraint
from kane.model.vector_arguments import coordinate


@dataclass(frozen=True)
class Stick(Intermittent):
    """Sticking joint; see ``Model.stick``.

    Attributes:
        joint: a joint with one coordinate, or one coordinate of a joint.
        static: largest effort that holds the joint at rest [N m or N], of parameters and inputs.
        kinetic: effort against the motion, likewise; ``static`` by default.
    """

    joint: Connection | JointCoordinate
    static: Scalar
    kinetic: Scalar | None = None

    def __post_init__(self) -> None:
        along = coordinate("stick", self.joint)
        along.require_rate("friction that sticks")
        object.__setattr__(self, "joint", along)

    @property
    def title(self) -> str:
        return f"friction of {self.joint.name}"

    def intermittents(self, name: str) -> Sequence[IntermittentConstraint]:
        row = Row("rate", motion=coordinate("stick", self.joint).qdot)
        kinetic = self.static if self.kinetic is None else self.kinetic
        return [IntermittentConstraint(name, tangents=(row,), friction=Thresholds(self.static, kinetic))]
