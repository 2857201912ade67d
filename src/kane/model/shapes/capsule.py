"""Capsule: a cylinder with half spheres at its ends."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.functions import sqrt
from kane.expression.node import Scalar
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import dot, subtract_vectors
from kane.model.body import Point
from kane.model.shapes.part import BALL_FORM, TUBE_FORM, Part
from kane.model.shapes.shape import Shape
from kane.model.vector_arguments import require_points, require_positive, upright


@dataclass(frozen=True)
class Capsule(Shape):
    """All points within the distance r of the line segment between two points of a body.

    Attributes:
        start, end: ends of the segment, the centres of the half spheres, in one body.
        radius: r [m], positive: a number or an expression of parameters.
    """

    start: Point
    end: Point
    radius: Scalar

    def __post_init__(self) -> None:
        require_points("a Capsule", self.start, self.end)
        require_positive(self.start.body.model, self.radius, "the radius of a Capsule")
        if self.end.body is not self.start.body:
            raise ModelError(
                f"a Capsule starts in body {self.start.body.name!r} and ends in body {self.end.body.name!r}; give both "
                "points in one body"
            )
        if self.start == self.end:
            raise ModelError(f"a Capsule starts and ends in {self.start!r}; use kane.Sphere there")

    @property
    def origin(self) -> Point:
        """Start of the segment."""
        return self.start

    @property
    def ends(self) -> tuple[tuple[str, Point], ...]:
        """Centres of the half spheres, each with its name."""
        return ("start", self.start), ("end", self.end)

    def parts(self) -> tuple[Part, ...]:
        """Return a tube between two balls."""
        start, end, r = self.start.position_in_body, self.end.position_in_body, self.radius
        along = subtract_vectors(end, start)
        middle = tuple(0.5 * (a + b) for a, b in zip(start, end, strict=True))
        axes = upright(self.start.body.direction(along))
        balls = [Part(BALL_FORM, (r, r, r), place, Rotation.identity()) for place in (start, end)]
        return (Part(TUBE_FORM, (r, r, sqrt(dot(along, along))), middle, axes), *balls)
