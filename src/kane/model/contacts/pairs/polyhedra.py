"""Convex polyhedra on planes, and their nearest points to given points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product

from kane.errors import ModelError
from kane.expression.functions import maximum, minimum, select
from kane.expression.node import Expr, Scalar
from kane.geometry.scalars import Triple, cross, dot, subtract_vectors
from kane.model.constraints.relative import measure_numbers, position
from kane.model.contacts.pairs.choice import look_up_row, select_least
from kane.model.contacts.touch import Touch
from kane.model.shapes import Box, Plane, Polyhedron

LARGE_SQUARED_DISTANCE = 1e30  # m^2, more than the square of any distance


def polyhedron_of(solid: Box | Polyhedron) -> Polyhedron:
    """Return a box as a polyhedron.

    Raises:
        ModelError: its sides are not numbers.
    """
    if isinstance(solid, Polyhedron):
        return solid
    if any(isinstance(x, Expr) for x in solid.sides):
        raise ModelError(
            f"the sides of the Box of body {solid.origin.body.name!r} depend on parameters; contacts at its "
            "corners and edges need numbers"
        )
    ends = ((-0.5 * x, 0.5 * x) for x in solid.sides)
    return Polyhedron(list(product(*ends)), solid.centre, solid.orientation)


def polyhedron_on_plane(polyhedron: Polyhedron, plane: Plane) -> Sequence[Touch]:
    """Return the lowest corner of each class of corners that share no face.

    A plane touches a corner, an edge or a face. A class for each corner of the largest face is therefore enough for all
    corners that can touch simultaneously.
    """
    C, R, hull = polyhedron.origin, polyhedron.rotation, polyhedron.hull
    E = C.body
    n = measure_numbers(plane.unit_normal, E)
    along = R.apply_inverse(n)
    away = dot(position(plane.point, C, E), n)
    made = []
    for k, members in enumerate(hull.corner_classes, start=1):
        corners = hull.corners[members].tolist()
        lowest, _ = select_least([dot(corner, along) for corner in corners])
        arm = look_up_row(lowest, corners)
        gap = away + dot(arm, along)
        made.append(Touch(f"corner {k}", E, C, plane.point, E, gap, n, R.apply(arm), plane.normal))
    return made


def nearest_point(polyhedron: Polyhedron, x: Triple) -> Triple:
    """Return the point of a polyhedron nearest to x, both along its axes; x itself if it is inside."""
    hull = polyhedron.hull
    corners = hull.corners.tolist()
    triangles = [[corners[k] for k in triangle] for triangle in hull.triangles]
    off = [subtract_vectors(_on_triangle(x, triangle), x) for triangle in triangles]
    number, _ = select_least([dot(v, v) for v in off])
    chosen = [look_up_row(number, places) for places in zip(*triangles, strict=True)]
    depths = [
        dot(n, subtract_vectors(corners[face[0]], x)) for n, face in zip(hull.normals.tolist(), hull.faces, strict=True)
    ]
    outside = reduce(minimum, depths) < 0.0
    return tuple(select(outside, y, p) for y, p in zip(_on_triangle(x, chosen), x, strict=True))


def _on_triangle(x: Triple, corners: Sequence[Triple]) -> Triple:
    """Return the point of a triangle nearest to x: the foot of the perpendicular, or a point on one of the sides."""
    a, b, c = corners
    n = cross(subtract_vectors(b, a), subtract_vectors(c, a))
    size = dot(n, n)
    within: Scalar = LARGE_SQUARED_DISTANCE
    nearest, shortest = x, LARGE_SQUARED_DISTANCE
    for p, q in ((a, b), (b, c), (c, a)):
        side, away = subtract_vectors(q, p), subtract_vectors(x, p)
        within = minimum(within, dot(away, cross(n, side)))
        ratio = minimum(maximum(dot(away, side) / dot(side, side), 0.0), 1.0)
        y = tuple(u + ratio * v for u, v in zip(p, side, strict=True))
        square = dot(subtract_vectors(y, x), subtract_vectors(y, x))
        nearest = tuple(select(square < shortest, u, v) for u, v in zip(y, nearest, strict=True))
        shortest = minimum(square, shortest)
    height = dot(subtract_vectors(x, a), n) / size
    return tuple(select(within < 0.0, u, v - height * w) for u, v, w in zip(nearest, x, n, strict=True))
