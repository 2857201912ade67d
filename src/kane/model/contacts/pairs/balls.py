"""Features that touch like balls: points, corners, spheres, and the ends of capsules."""

from __future__ import annotations

from collections.abc import Iterator

from kane.expression.node import Scalar
from kane.model.body import Point
from kane.model.shapes import Box, Capsule, Polyhedron, Sphere

Balls = Point | Sphere | Capsule | Box | Polyhedron


def balls(feature: Balls) -> Iterator[tuple[str, Point, Scalar]]:
    """Yield name, centre and radius of each ball. On a plane, other points of the feature are never lower than all."""
    if isinstance(feature, Point):
        yield "", feature, 0.0
    elif isinstance(feature, Sphere):
        yield "", feature.centre, feature.radius
    elif isinstance(feature, Capsule):
        yield from ((name, C, feature.radius) for name, C in feature.ends)
    else:
        yield from ((name, corner, 0.0) for name, corner in feature.corners)
