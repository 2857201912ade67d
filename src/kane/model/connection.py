"""A joint between two bodies of a model, with the poses of its frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kane.errors import ModelError
from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.expression.operations import COORDINATE, RATE, TIME
from kane.expression.traverse import leaves
from kane.geometry.rotation import Rotation
from kane.model.body import Body, Triple

if TYPE_CHECKING:
    from kane.model.joints.joint import Joint


@dataclass(frozen=True, eq=False)
class Connection:
    """Joint frame F fixed in the parent, M in the child; the joint moves M relative to F.

    Attributes:
        name: unique in the model; the joint's coordinate name unless given.
        p_PF, R_PF: pose of F in the parent's frame [m].
        p_CM, R_CM: pose of M in the child's frame [m].
        coordinates: the joint's q: leaves, or for mimic, gear and prescribed joints one expression.
        coordinate_names, speed_names: names of the coordinates and speeds that this joint adds to the model.
    """

    name: str
    parent: Body
    child: Body
    joint: Joint
    p_PF: Triple
    R_PF: Rotation
    p_CM: Triple
    R_CM: Rotation
    coordinates: tuple[Expr, ...]
    coordinate_names: tuple[str, ...]
    speed_names: tuple[str, ...]

    @property
    def q(self) -> Expr | tuple[Expr, ...]:
        """The coordinate of a one-degree-of-freedom joint (leaf or expression), or the tuple of coordinates."""
        return self.coordinates[0] if self.joint.one_dof else self.coordinates

    @property
    def qdot(self) -> Expr | tuple[Expr, ...]:
        """dq/dt: rate leaves that ``formulate`` resolves; for a coordinate expression its total time derivative."""
        rates = tuple(coordinate_rate(q) for q in self.coordinates)
        return rates[0] if self.joint.one_dof else rates

    def require_one_dof(self, what: str) -> Expr:
        """The single coordinate, or an error saying that ``what`` needs a revolute or prismatic joint."""
        if not self.joint.one_dof:
            raise ModelError(
                f"{what} acts along one coordinate, but joint {self.name!r} is {type(self.joint).__name__}; "
                "use kane.Force or kane.Torque on its bodies"
            )
        return self.coordinates[0]

    def __repr__(self) -> str:
        return f"Connection({self.name!r}: {self.parent.name!r} -> {self.child.name!r}, {type(self.joint).__name__})"


def coordinate_rate(q: Expr) -> Expr:
    """dq/dt of a coordinate leaf, or of an expression of coordinates and time, in rate leaves."""
    arena = q.arena
    if q.op == COORDINATE:
        return arena.leaf(RATE, q.data)
    rates = {leaf: arena.leaf(RATE, leaf.data) for leaf in leaves([q]) if leaf.op == COORDINATE}
    rates[arena.leaf(TIME, "t")] = arena.one
    return total_time_derivative([q], rates)[0]
