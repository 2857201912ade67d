"""Features on a sphere or a cylinder: the point nearest to its centre, or to its axis.

Contact with a cylinder is planar: all vectors are projected onto a plane normal to the axis, which becomes a point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kane.expression.functions import maximum, minimum, select, sign, sqrt
from kane.expression.node import Scalar
from kane.geometry.scalars import Triple, cross, dot, is_zero, scaled, subtract_vectors, sum_vectors
from kane.model.body import Body, Point
from kane.model.constraints.relative import measure_numbers, position
from kane.model.constraints.rolling.carrier import carried
from kane.model.contacts.pairs.balls import balls
from kane.model.contacts.pairs.polyhedra import LARGE_SQUARED_DISTANCE, nearest_point
from kane.model.contacts.touch import Touch
from kane.model.shapes import Box, Capsule, Cylinder, Disk, Polyhedron, Sphere

Round = Sphere | Cylinder
Projection = Callable[[Triple], Triple]

# Tolerance at the limits of faces, edges and lines [m]. It keeps contacts of flush features from switching by rounding.
FLUSH_TOLERANCE = 1e-9
# Squared sine below which edges and lines count as parallel [rad^2].
PARALLEL_SQUARED_SINE = 1e-10


def ball_on_round(feature: Point | Sphere, surface: Round) -> Sequence[Touch]:
    """Return gap = |p_OC| - R - r."""
    ((name, C, r),) = balls(feature)
    E = surface.origin.body
    away = projection(surface, E)(position(surface.origin, C, E))
    distance, n = length_and_direction(away)
    return [Touch(name, C.body, C, surface.origin, E, distance - surface.radius - r, n, scaled(-r, n))]


def capsule_on_sphere(capsule: Capsule, surface: Sphere) -> Sequence[Touch]:
    """Return gap = |p_OS + s d| - R - r; S is the start, d the vector to the end, and s in [0, 1] minimizes the gap."""
    S, r, E = capsule.start, capsule.radius, surface.origin.body
    start, d = position(surface.origin, S, E), position(S, capsule.end, E)
    s = minimum(maximum(-dot(start, d) / dot(d, d), 0.0), 1.0)
    distance, n = length_and_direction(tuple(x + s * y for x, y in zip(start, d, strict=True)))
    arm = tuple(s * x - r * y for x, y in zip(d, n, strict=True))
    return [Touch("", S.body, S, surface.origin, E, distance - surface.radius - r, n, arm)]


NO_LENGTH = 1e-30  # m^2, lower limit for the squared length of a line that is projected along itself


def disk_on_sphere(disk: Disk, sphere: Sphere) -> Sequence[Touch]:
    """Return the nearest point of the disk, on its rim or on its face: y = x' min(1, r / |x'|).

    Here x' is the vector from the centre of the disk to the centre of the sphere, projected onto the disk.
    """
    C, axle = carried(disk.centre, disk.unit_axle)
    E, a, r = C.body, axle.components, disk.radius
    x = position(C, sphere.centre, E)
    ratio = dot(x, a)
    along = tuple(p - ratio * q for p, q in zip(x, a, strict=True))
    y = scaled(r / sqrt(maximum(dot(along, along), r * r)), along)
    return [_nearest(disk.centre.body, C, sphere, (x, y))]


PolyhedralShape = Box | Polyhedron


def solid_on_sphere(solid: PolyhedralShape, sphere: Sphere) -> Sequence[Touch]:
    """Return the point of a box or polyhedron nearest to the centre of the sphere, at a corner, edge or face."""
    C, R = solid.origin, solid.rotation
    x = R.apply_inverse(position(C, sphere.centre, C.body))
    return [_nearest(C.body, C, sphere, (R.apply(x), R.apply(_within(solid, x))))]


def sphere_on_solid(sphere: Sphere, solid: PolyhedralShape) -> Sequence[Touch]:
    """Return the touch of a sphere on a solid: gap = |p_YC| - r, Y the nearest point of the solid."""
    O, R, C = solid.origin, solid.rotation, sphere.centre
    away = position(O, C, O.body)
    y = R.apply(_within(solid, R.apply_inverse(away)))
    distance, n = length_and_direction(subtract_vectors(away, y))
    arm = scaled(-sphere.radius, n)
    return [Touch("", C.body, C, O, O.body, distance - sphere.radius, n, arm)]


def _within(solid: PolyhedralShape, x: Triple) -> Triple:
    """Return the point of the solid nearest to x, both along its axes; for a box, x clipped to half the edges."""
    if isinstance(solid, Polyhedron):
        return nearest_point(solid, x)
    return tuple(minimum(maximum(p, -0.5 * side), 0.5 * side) for p, side in zip(x, solid.sides, strict=True))


def box_on_cylinder(box: Box, cylinder: Cylinder) -> Sequence[Touch]:
    """Return the point of the box nearest to the axis, on an edge or at a corner.

    Seen along the axis, a box is a hexagon: the sum of three segments s_i a_i with s_i in [-1, 1]. Each side of the
    hexagon is parallel to one segment, with the other two s_j at -1 or 1. The side with the nearest point is selected.
    An edge that is parallel to the axis is seen as a point; its midpoint is used.
    """
    C, R = box.origin, box.rotation
    project = projection(cylinder, C.body)
    x, k = position(C, cylinder.origin, C.body), measure_numbers(cylinder.unit_axle, C.body)
    halves = [R.apply(tuple(0.5 * side * (i == j) for j in range(3))) for i, side in enumerate(box.sides)]
    away, a = project(x), [project(half) for half in halves]
    nearest: Triple = (0.0, 0.0, 0.0)
    least: Scalar = LARGE_SQUARED_DISTANCE
    for i in range(3):
        others = [sign(dot(k, cross(a[i], a[j]))) if j != i else 0.0 for j in range(3)]
        for side in (1.0, -1.0):
            corner = sum_vectors(*(scaled(side * s, half) for s, half in zip(others, a, strict=True)))
            left = subtract_vectors(away, corner)
            ratio = minimum(maximum(dot(left, a[i]) / maximum(dot(a[i], a[i]), NO_LENGTH), -1.0), 1.0)
            ends = [side * s + ratio * (j == i) for j, s in enumerate(others)]
            off = tuple(p - ratio * q for p, q in zip(left, a[i], strict=True))
            nearer, least = dot(off, off) < least, minimum(dot(off, off), least)
            y = sum_vectors(*(scaled(end, half) for end, half in zip(ends, halves, strict=True)))
            nearest = tuple(select(nearer, *pair) for pair in zip(y, nearest, strict=True))
    return [_nearest(C.body, C, cylinder, (x, nearest))]


def _nearest(A: Body, C: Point, surface: Round, seen: tuple[Triple, Triple]) -> Touch:
    """Return the touch of a shape whose point at y from C is nearest to the centre at x, or to the axis through x."""
    x, y = seen
    away = projection(surface, C.body)(subtract_vectors(y, x))
    distance, n = length_and_direction(away)
    return Touch("", A, C, surface.origin, C.body, distance - surface.radius, n, y)


def projection(surface: Round, E: Body) -> Projection:
    """Return a function that removes the component along a cylinder's axle from a vector along the axes of E."""
    if not isinstance(surface, Cylinder):
        return lambda v: v
    k = measure_numbers(surface.unit_axle, E)

    def project(v: Triple) -> Triple:
        along = dot(v, k)
        return tuple(x - along * y for x, y in zip(v, k, strict=True))

    return project


def length_and_direction(v: Triple) -> tuple[Scalar, Triple]:
    """Return |v| and v / |v|."""
    size = sqrt(dot(v, v))
    return size, tuple(0.0 if is_zero(x) else x / size for x in v)
