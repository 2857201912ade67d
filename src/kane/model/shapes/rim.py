"""Rims: circles about an axle. A disk rolls on a rim from outside, or in a ring from inside."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.node import Scalar
from kane.model.body import Direction, Point
from kane.model.shapes.part import RING_FORM, Part
from kane.model.shapes.shape import Shape
from kane.model.vector_arguments import require_direction, require_points, require_positive, unit, upright

# Drawn thickness of a rim along its axle, in radii.
RIM_THICKNESS = 0.08


@dataclass(frozen=True)
class Rim(Shape):
    """Circle about an axle, fixed in a body.

    Attributes:
        centre: C, on the axle.
        axle: a, fixed in the body of C; its length does not matter.
        radius: r [m], positive: a number or an expression of parameters.
    """

    centre: Point
    axle: Direction
    radius: Scalar

    def __post_init__(self) -> None:
        kind = type(self).__name__
        require_points(f"a {kind}", self.centre)
        require_direction(f"a {kind}", self.axle)
        require_positive(self.centre.body.model, self.radius, f"the radius of a {kind}")
        if self.axle.body is not self.centre.body:
            raise ModelError(
                f"the axle of a {kind} is fixed in body {self.axle.body.name!r}, its centre in body "
                f"{self.centre.body.name!r}; give both in one body"
            )

    @property
    def origin(self) -> Point:
        """The centre."""
        return self.centre

    @property
    def unit_axle(self) -> Direction:
        """Unit vector along a."""
        return self.axle.body.direction(unit(self.axle))

    def parts(self) -> tuple[Part, ...]:
        """Return the circle."""
        return (self.round(RING_FORM, RIM_THICKNESS * self.radius),)

    def round(self, form: str, length: Scalar) -> Part:
        """Return a round part about the axle."""
        return Part(form, (self.radius, self.radius, length), self.centre.position_in_body, upright(self.axle))

    @property
    def curvature_radius(self) -> Scalar:
        """Radius of curvature; negative for a rim on whose inside disks roll."""
        return self.radius


class Ring(Rim):
    """Inside of a ring, such as the ring gear of a planetary gear; a wheel rolls in it.

    Attributes:
        centre: C, on the axle.
        axle: a, fixed in the body of C; its length does not matter.
        radius: r [m] of the inner circle, positive: a number or an expression of parameters.
    """

    @property
    def curvature_radius(self) -> Scalar:
        """Radius of curvature, -r."""
        return -self.radius
