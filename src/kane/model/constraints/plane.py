"""A plane to roll on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kane.errors import ModelError
from kane.expression.node import Expr
from kane.model.body import Body, Direction, Point, Triple
from kane.model.constraints.arguments import require_direction, require_points, unit
from kane.model.constraints.constraint import Row
from kane.model.constraints.contact import Roller, Surface
from kane.model.constraints.relative import angular_velocity_in, dot, position, velocity_in


@dataclass(frozen=True)
class Plane(Surface):
    """The plane through a point of a body B, normal to a direction of B.

    Attributes:
        point: of B: of the ground, or of a body that moves.
        normal: n, fixed in B; rollers are on the side to which it points. Its length does not matter.
    """

    point: Point
    normal: Direction

    def __post_init__(self) -> None:
        require_points("a Plane", self.point)
        require_direction("a Plane", self.normal)
        if self.normal.body is not self.point.body:
            raise ModelError(
                f"the normal of a Plane is fixed in body {self.normal.body.name!r}, its point in body "
                f"{self.point.body.name!r}; give both in one body"
            )

    @property
    def origin(self) -> Point:
        """The point."""
        return self.point

    @property
    def body(self) -> Body:
        """B."""
        return self.point.body

    @property
    def unit_normal(self) -> Triple:
        """n, along the axes of B."""
        return unit(self.normal)

    def under(self, roller: Roller) -> Sequence[Row]:
        """The equations of a roller on this plane."""
        return roller.on_plane(self)

    def height(self, Q: Point) -> Expr:
        """p_PQ . n [m], P the plane's point."""
        return dot(position(self.point, Q, self.body), self.unit_normal)

    def velocity(self, Q: Point) -> Triple:
        """v_BQ along the axes of B [m/s]."""
        return velocity_in(self.body, self.point, Q, self.body)

    def angular_velocity(self, A: Body) -> Triple:
        """w_BA along the axes of B [rad/s]."""
        return angular_velocity_in(self.body, A, self.body)
