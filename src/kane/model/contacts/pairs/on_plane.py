"""Features on a plane, by their lowest points."""

from __future__ import annotations

from collections.abc import Sequence

from kane.expression.functions import sqrt
from kane.expression.node import Scalar
from kane.geometry.scalars import Triple, add_vectors, dot, scaled
from kane.model.body import Body, Point
from kane.model.constraints.relative import measure_numbers, position
from kane.model.constraints.rolling.carrier import carried
from kane.model.contacts.pairs.balls import Balls, balls
from kane.model.contacts.pairs.rims import feet, lower_end, lowest, may_lean, may_lie_flat
from kane.model.contacts.touch import Touch
from kane.model.shapes import Cylinder, Disk, Ellipsoid, Plane


def balls_on_plane(feature: Balls, plane: Plane) -> Sequence[Touch]:
    """Return gap = p_OC . n - r of each ball; the lowest point is C - r n."""
    B, n, made = plane.body, plane.unit_normal.components, []
    for name, C, r in balls(feature):
        gap = dot(position(plane.point, C, B), n) - r
        made.append(Touch(name, C.body, C, plane.point, B, gap, n, scaled(-r, n), plane.normal))
    return made


def disk_on_plane(disk: Disk, plane: Plane) -> Sequence[Touch]:
    """Return the touches of the lowest point, whose gap is p_OC . n - r |a x n|, and of the feet."""
    return [*_lowest_of_rim("", disk, plane), *_feet(disk, plane)]


def cylinder_on_plane(cylinder: Cylinder, plane: Plane) -> Sequence[Touch]:
    """Return the touches of the disks at both ends and of the feet at the lower end."""
    ends = [touch for name, disk in cylinder.ends for touch in _lowest_of_rim(name, disk, plane)]
    return [*ends, *_feet(cylinder, plane)]


def _lowest_of_rim(name: str, disk: Disk, plane: Plane) -> Sequence[Touch]:
    if not may_lean(disk.unit_axle, plane.unit_normal):
        return []
    C, axle = carried(disk.centre, disk.unit_axle)
    reach, arm = lowest(disk.radius, axle.components, measure_numbers(plane.unit_normal, C.body))
    return [_lowest(name, disk.centre.body, (C, reach, arm), plane)]


def _feet(rim: Disk | Cylinder, plane: Plane) -> Sequence[Touch]:
    if not may_lie_flat(rim.unit_axle, plane.unit_normal):
        return []
    C = rim.centre
    n, a, made = measure_numbers(plane.unit_normal, C.body), rim.unit_axle.components, []
    end = scaled(lower_end(rim, dot(a, n)), a)
    for k, foot in enumerate(feet(rim), start=1):
        arm = add_vectors(end, foot)
        made.append(_lowest(f"foot {k}", C.body, (C, -dot(arm, n), arm), plane))
    return made


def ellipsoid_on_plane(ellipsoid: Ellipsoid, plane: Plane) -> Sequence[Touch]:
    """Return gap = p_OC . n - h, h = sqrt(a^2 n1^2 + b^2 n2^2 + c^2 n3^2) with n along the semi-axes.

    The lowest point is at -(a^2 n1, b^2 n2, c^2 n3) / h from C.
    """
    C, R = ellipsoid.origin, ellipsoid.rotation
    n = R.apply_inverse(measure_numbers(plane.unit_normal, C.body))
    squares = [a * a for a in ellipsoid.semi_axes]
    h = sqrt(sum(e * x * x for e, x in zip(squares, n, strict=True)))
    arm = R.apply(tuple(-e * x / h for e, x in zip(squares, n, strict=True)))
    return [_lowest("", C.body, (C, h, arm), plane)]


def _lowest(name: str, A: Body, reach: tuple[Point, Scalar, Triple], plane: Plane) -> Touch:
    """Return the touch of a shape of A; ``reach`` is a point, the depth h below it, the vector to the lowest point."""
    C, h, arm = reach
    n = measure_numbers(plane.unit_normal, C.body)
    gap = dot(position(plane.point, C, C.body), n) - h
    return Touch(name, A, C, plane.point, C.body, gap, n, arm, plane.normal)
