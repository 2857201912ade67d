"""Features on a sphere or a cylinder: the nearest point to its centre, or to its axis.

What touches a cylinder is looked at along its axis: everything is projected onto a plane normal to it, in which the
axis is a point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kane.expression.functions import maximum, minimum, sqrt
from kane.expression.node import Scalar
from kane.geometry.scalars import Triple, dot, is_zero
from kane.model.body import Body, Point
from kane.model.constraints.relative import numbers, position
from kane.model.constraints.rolling.carrier import carried
from kane.model.contacts.touch import Touch
from kane.model.shapes import Box, Capsule, Cylinder, Disk, Sphere

Round = Sphere | Cylinder
Projection = Callable[[Triple], Triple]


def point_on_round(point: Point, surface: Round) -> Sequence[Touch]:
    """gap = |p_OP| - R."""
    return [_ball(point, 0.0, surface)]


def sphere_on_round(sphere: Sphere, surface: Round) -> Sequence[Touch]:
    """gap = |p_OC| - R - r."""
    return [_ball(sphere.centre, sphere.radius, surface)]


def _ball(C: Point, r: Scalar, surface: Round) -> Touch:
    E = surface.origin.body
    away = projection(surface, E)(position(surface.origin, C, E))
    distance, n = length_and_direction(away)
    return Touch("", C.body, C, surface.origin, E, distance - surface.radius - r, n, scaled(-r, n))


def capsule_on_round(capsule: Capsule, surface: Round) -> Sequence[Touch]:
    """gap = |p_OS + s d| - R - r, S the start and d the line to the end, s in [0, 1] where that is least.

    A capsule that is parallel to a cylinder touches it along its length; its start is then taken.
    """
    S, r, E = capsule.start, capsule.radius, surface.origin.body
    project = projection(surface, E)
    line = position(S, capsule.end, E)
    start, d = project(position(surface.origin, S, E)), project(line)
    s = minimum(maximum(-dot(start, d) / maximum(dot(d, d), NO_LENGTH), 0.0), 1.0)
    distance, n = length_and_direction(tuple(x + s * y for x, y in zip(start, d, strict=True)))
    arm = tuple(s * x - r * y for x, y in zip(line, n, strict=True))
    return [Touch("", S.body, S, surface.origin, E, distance - surface.radius - r, n, arm)]


NO_LENGTH = 1e-30  # m^2, of a line that is seen along itself


def disk_on_sphere(disk: Disk, sphere: Sphere) -> Sequence[Touch]:
    """The nearest point of the disk, on its rim or on its face: y = x' min(1, r / |x'|), x' the centre of the sphere
    seen from that of the disk, projected onto the disk.
    """
    C, axle = carried(disk.centre, disk.unit_axle)
    E, a, r = C.body, axle.components, disk.radius
    x = position(C, sphere.centre, E)
    share = dot(x, a)
    along = tuple(p - share * q for p, q in zip(x, a, strict=True))
    y = scaled(r / sqrt(maximum(dot(along, along), r * r)), along)
    return [_nearest(disk.centre.body, C, sphere, (x, y))]


def box_on_sphere(box: Box, sphere: Sphere) -> Sequence[Touch]:
    """The nearest point of the box, at a corner, on an edge or on a face: the centre of the sphere, each measure number
    along the edges cut to half their length.
    """
    C, R = box.origin, box.rotation
    x = R.apply_inverse(position(C, sphere.centre, C.body))
    y = tuple(minimum(maximum(p, -0.5 * side), 0.5 * side) for p, side in zip(x, box.sides, strict=True))
    return [_nearest(C.body, C, sphere, (R.apply(x), R.apply(y)))]


def _nearest(A: Body, C: Point, sphere: Sphere, seen: tuple[Triple, Triple]) -> Touch:
    """The touch of a shape whose nearest point to the centre of a sphere at x from C is at y."""
    x, y = seen
    distance, n = length_and_direction(tuple(p - q for p, q in zip(y, x, strict=True)))
    return Touch("", A, C, sphere.centre, C.body, distance - sphere.radius, n, y)


def projection(surface: Round, E: Body) -> Projection:
    """What takes away the part of a vector, along the axes of E, that is along the axle of a cylinder."""
    if not isinstance(surface, Cylinder):
        return lambda v: v
    k = numbers(surface.unit_axle, E)

    def project(v: Triple) -> Triple:
        along = dot(v, k)
        return tuple(x - along * y for x, y in zip(v, k, strict=True))

    return project


def length_and_direction(v: Triple) -> tuple[Scalar, Triple]:
    """|v| and v / |v|."""
    size = sqrt(dot(v, v))
    return size, tuple(0.0 if is_zero(x) else x / size for x in v)


def scaled(factor: Scalar, v: Triple) -> Triple:
    """factor v."""
    return tuple(factor * x for x in v)
