"""Plane that bounds a half space."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.model.body import Body, Direction, Point
from kane.model.shapes.part import ENDLESS_SIZE, SQUARE_FORM, Part
from kane.model.shapes.shape import Shape
from kane.model.vector_arguments import require_direction, require_points, unit, upright


@dataclass(frozen=True)
class Plane(Shape):
    """Plane through a point of a body B, normal to a direction of B.

    Attributes:
        point: of B: of the ground, or of a body that moves.
        normal: n, fixed in B, towards the side on which features touch or roll. Its length does not matter.
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
        """The body B."""
        return self.point.body

    @property
    def unit_normal(self) -> Direction:
        """Unit vector along n."""
        return self.body.direction(unit(self.normal))

    def parts(self) -> tuple[Part, ...]:
        """Return a square as large as the scene."""
        return (Part(SQUARE_FORM, (ENDLESS_SIZE,) * 3, self.point.position_in_body, upright(self.normal)),)
