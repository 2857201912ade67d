"""Features on a plane: the lowest point of each."""

from __future__ import annotations

from collections.abc import Sequence

from kane.expression.functions import sqrt
from kane.expression.node import Scalar
from kane.geometry.scalars import Triple, dot
from kane.model.body import Body, Point
from kane.model.constraints.relative import numbers, position
from kane.model.constraints.rolling.carrier import carried
from kane.model.contacts.touch import Touch
from kane.model.shapes import Box, Capsule, Cylinder, Disk, Ellipsoid, Plane, Sphere


def point_on_plane(point: Point, plane: Plane) -> Sequence[Touch]:
    """gap = p_OP . n."""
    return [_ball("", point, 0.0, plane)]


def sphere_on_plane(sphere: Sphere, plane: Plane) -> Sequence[Touch]:
    """gap = p_OC . n - r; the lowest point is C - r n."""
    return [_ball("", sphere.centre, sphere.radius, plane)]


def capsule_on_plane(capsule: Capsule, plane: Plane) -> Sequence[Touch]:
    """Each of the two half spheres; what is between them is never lower than both."""
    return [_ball(name, C, capsule.radius, plane) for name, C in capsule.ends]


def box_on_plane(box: Box, plane: Plane) -> Sequence[Touch]:
    """Each of the eight corners."""
    return [_ball(name, corner, 0.0, plane) for name, corner in box.corners]


def _ball(name: str, C: Point, r: Scalar, plane: Plane) -> Touch:
    B, n = plane.body, plane.unit_normal.components
    gap = dot(position(plane.point, C, B), n) - r
    return Touch(name, C.body, C, plane.point, B, gap, n, tuple(-r * x for x in n), plane.normal)


def disk_on_plane(disk: Disk, plane: Plane) -> Sequence[Touch]:
    """gap = p_OC . n - r s with s = |a x n|, a the axle; one that lies flat, s = 0, has no lowest point.

    The lowest point is at -r (n - (a . n) a) / s from C.
    """
    return [_rim("", disk, plane)]


def cylinder_on_plane(cylinder: Cylinder, plane: Plane) -> Sequence[Touch]:
    """Each of the disks at its ends."""
    return [_rim(name, disk, plane) for name, disk in cylinder.ends]


def _rim(name: str, disk: Disk, plane: Plane) -> Touch:
    C, axle = carried(disk.centre, disk.unit_axle)
    E, a, r = C.body, axle.components, disk.radius
    n = numbers(plane.unit_normal, E)
    lean = dot(a, n)
    s = sqrt(1 - lean * lean)
    arm = tuple(-r * (x - lean * y) / s for x, y in zip(n, a, strict=True))
    return _lowest(name, disk.centre.body, (C, r * s, arm), plane)


def ellipsoid_on_plane(ellipsoid: Ellipsoid, plane: Plane) -> Sequence[Touch]:
    """gap = p_OC . n - h, h = sqrt(a^2 n1^2 + b^2 n2^2 + c^2 n3^2) with n along the semi-axes.

    The lowest point is at -(a^2 n1, b^2 n2, c^2 n3) / h from C.
    """
    C, R = ellipsoid.origin, ellipsoid.rotation
    n = R.apply_inverse(numbers(plane.unit_normal, C.body))
    squares = [a * a for a in ellipsoid.semi_axes]
    h = sqrt(sum(e * x * x for e, x in zip(squares, n, strict=True)))
    arm = R.apply(tuple(-e * x / h for e, x in zip(squares, n, strict=True)))
    return [_lowest("", C.body, (C, h, arm), plane)]


def _lowest(name: str, A: Body, reach: tuple[Point, Scalar, Triple], plane: Plane) -> Touch:
    """The touch of a shape of A that reaches down from a point by h, to a point at an arm."""
    C, h, arm = reach
    n = numbers(plane.unit_normal, C.body)
    gap = dot(position(plane.point, C, C.body), n) - h
    return Touch(name, A, C, plane.point, C.body, gap, n, arm, plane.normal)
