"""A sphere that rolls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kane.expression.node import Scalar
from kane.geometry.scalars import cross
from kane.model.body import Point
from kane.model.constraints.arguments import normals, require_points, require_positive
from kane.model.constraints.constraint import Row
from kane.model.constraints.contact import Roller
from kane.model.constraints.plane import Plane
from kane.model.constraints.relative import angular_velocity_in, difference, dot, position, velocity_in


@dataclass(frozen=True)
class Sphere(Roller):
    """A sphere fixed in a body A.

    Attributes:
        centre: C, of A.
        radius: r [m], positive: a number or an expression of parameters.
    """

    centre: Point
    radius: Scalar

    def __post_init__(self) -> None:
        require_points("a Sphere", self.centre)
        require_positive(self.centre.body.model, self.radius, "the radius of a Sphere")

    def on_plane(self, plane: Plane) -> Sequence[Row]:
        """(v_BC - r w_BA x n) . t = 0 for two directions t of the plane; p_PC . n = r."""
        B, n = plane.body, plane.unit_normal.components
        v, w = velocity_in(B, plane.point, self.centre, B), angular_velocity_in(B, self.centre.body, B)
        slip = difference(v, tuple(self.radius * x for x in cross(w, n)))
        height = dot(position(plane.point, self.centre, B), n) - self.radius
        rows = [Row(f"no slip {k}", motion=dot(slip, t)) for k, t in enumerate(normals(plane.normal), start=1)]
        return [*rows, Row("touch", configuration=height, motion=dot(v, n))]
