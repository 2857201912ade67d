"""Sphere."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.expression.node import Scalar
from kane.geometry.rotation import Rotation
from kane.model.body import Point
from kane.model.shapes.part import BALL_FORM, Part
from kane.model.shapes.shape import Shape
from kane.model.vector_arguments import require_points, require_positive


@dataclass(frozen=True)
class Sphere(Shape):
    """Sphere fixed in a body A.

    Attributes:
        centre: C, of A.
        radius: r [m], positive: a number or an expression of parameters.
    """

    centre: Point
    radius: Scalar

    def __post_init__(self) -> None:
        require_points("a Sphere", self.centre)
        require_positive(self.centre.body.model, self.radius, "the radius of a Sphere")

    @property
    def origin(self) -> Point:
        """The centre."""
        return self.centre

    def parts(self) -> tuple[Part, ...]:
        """Return a ball."""
        return (Part(BALL_FORM, (self.radius,) * 3, self.centre.position_in_body, Rotation.identity()),)
