"""Convex polyhedron."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.number_arguments import numbers
from kane.geometry.scalars import add_vectors
from kane.model.body import Point
from kane.model.shapes.hull import Hull
from kane.model.shapes.part import Part, Solid
from kane.model.shapes.placed import Placed
from kane.model.vector_arguments import require_points


@dataclass(frozen=True)
class Polyhedron(Placed):
    """Convex hull of points fixed in a body A.

    Attributes:
        points: numbers, one row (x, y, z) per point [m]; points inside the hull of the others have no effect.
        centre: of A, origin of the points; None for a polyhedron without a place.
        orientation: R_AE of the axes of the points; the axes of A by default. A kane.Rotation, a 3 x 3 matrix or a
            quaternion.
    """

    points: Any
    centre: Point | None = None
    orientation: Any = None

    def __post_init__(self) -> None:
        self.project_orientation()
        if self.centre is not None:
            require_points("a Polyhedron", self.centre)
        rows = numbers(self.points, "the points of a Polyhedron are numbers")
        if rows.ndim != 2 or rows.shape[1] != 3 or len(rows) < 4 or not np.isfinite(rows).all():
            raise ModelError(
                f"the points of a Polyhedron are four or more rows of three finite numbers, not {shown(self.points)}"
            )
        object.__setattr__(self, "points", tuple(tuple(map(float, row)) for row in rows))
        _ = self.hull  # raises if the points lie in a plane

    @cached_property
    def hull(self) -> Hull:
        """Corners, faces and edges, as numbers along the axes of the polyhedron."""
        return Hull.of(np.array(self.points))

    @property
    def corners(self) -> Iterator[tuple[str, Point]]:
        """The corners in order, each with its name: "corner 1" and so on."""
        C = self.origin
        for k, corner in enumerate(self.hull.corners.tolist(), start=1):
            away = self.rotation.apply(tuple(corner))
            yield f"corner {k}", C.body.point(add_vectors(C.position_in_body, away))

    def parts(self) -> tuple[Part, ...]:
        """Return the polyhedron as one part."""
        corners = tuple(tuple(map(float, corner)) for corner in self.hull.corners)
        form = Solid(corners, self.hull.triangles)
        return (Part(form, (1.0, 1.0, 1.0), self.origin.position_in_body, self.rotation),)
