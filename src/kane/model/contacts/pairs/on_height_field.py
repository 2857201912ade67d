"""Points, spheres, capsules, rims, and corners of boxes and polyhedra on a height field.

Spheres of radius r that touch a surface z = h(x, y) have their centres on a parallel surface. The centre for (a, b) is

    (a, b, h) + r n,  n = (-h_x, -h_y, 1) / w,  w = sqrt(1 + h_x^2 + h_y^2)

Both surfaces have the same normal if r is less than the radius of curvature of each hollow. The gap is the height of
the centre above the parallel surface, divided by w; a small gap equals the distance. The rim of a disk has the centre C
and the axle k. Its lowest point along n is at -r m from C, with m = (n - (k . n) k) / |k x n|. This point must be above
the (a, b) to which n belongs. Flat rims are described in ``rims``.
"""

from __future__ import annotations

from collections.abc import Sequence

from kane.expression.functions import sqrt
from kane.expression.node import Expr, Scalar
from kane.geometry.scalars import Triple, add_vectors, cross, dot, scaled
from kane.model.body import Direction, Point
from kane.model.constraints.relative import measure_numbers, position
from kane.model.constraints.rolling.carrier import carried
from kane.model.contacts.pairs.balls import Balls, balls
from kane.model.contacts.pairs.rims import feet, lower_end, lowest, upwards
from kane.model.contacts.touch import Touch
from kane.model.shapes import Cylinder, Disk, HeightField
from kane.model.shapes.height_field import Level

# Number of Newton steps, which start below the centre.
HEIGHT_FIELD_STEPS = 5


def balls_on_height_field(feature: Balls, field: HeightField) -> Sequence[Touch]:
    """Return gap = (z - h - r / w) / w of each ball at (a, b), found by iteration.

    The curvature of the ground must be so small that nothing between the ends of a capsule, and no edge or face of a
    solid, touches it.
    """
    return [_ball(name, C, r, field) for name, C, r in balls(feature)]


def disk_on_height_field(disk: Disk, field: HeightField) -> Sequence[Touch]:
    """Return the touches of the lowest point and of the feet."""
    return [_lowest("", disk, field), *_feet(disk, field)]


def cylinder_on_height_field(cylinder: Cylinder, field: HeightField) -> Sequence[Touch]:
    """Return the touches of the rims at both ends and of the feet at the lower end.

    The ground must be so flat that nothing between the ends touches it.
    """
    return [*(_lowest(name, disk, field) for name, disk in cylinder.ends), *_feet(cylinder, field)]


def _feet(rim: Disk | Cylinder, field: HeightField) -> Sequence[Touch]:
    """Return the touches of every second foot, because each evaluates the splines."""
    A, B = rim.centre.body, field.point.body
    centre, a = position(field.point, rim.centre, B), measure_numbers(rim.unit_axle, B)
    end = scaled(lower_end(rim, a[2]), a)
    made = []
    for k, foot in enumerate(feet(rim)[::2], start=1):
        arm = add_vectors(end, measure_numbers(Direction(A, foot), B))
        x, y, z = (B.model.arena.lift(p + q) for p, q in zip(centre, arm, strict=True))
        at = field.level(x, y)
        w, n = _upwards(at)
        made.append(Touch(f"foot {k}", A, rim.centre, field.point, B, (z - at.h) / w, n, arm))
    return made


def _lowest(name: str, disk: Disk, field: HeightField) -> Touch:
    """Return gap = p_QC . n - r |k x n|; Q is below the lowest point P, whose (a, b) is found by iteration.

    A change dn of the normal turns the lowest point by -r / |k x n| t (t . dn) about the axle, t = k x m. Newton's
    method for (a, b) = P therefore has the matrix 1 plus a matrix of rank one, with a closed-form inverse.
    """
    B, r = field.point.body, disk.radius
    C, axle = carried(disk.centre, disk.unit_axle)
    k = measure_numbers(axle, B)
    x, y, z = (B.model.arena.lift(v) for v in position(field.point, C, B))
    a, b = x, y
    for _ in range(HEIGHT_FIELD_STEPS):
        at = field.level(a, b)
        w, n = _upwards(at)
        s, m = upwards(k, n)
        t = cross(k, m)
        off = (a - x + r * m[0], b - y + r * m[1])
        bent = (at.hxx * t[0] + at.hxy * t[1], at.hxy * t[0] + at.hyy * t[1])
        ratio = r / (s * w)
        turned = ratio * (bent[0] * off[0] + bent[1] * off[1]) / (1 - ratio * (bent[0] * t[0] + bent[1] * t[1]))
        a, b = a - off[0] - turned * t[0], b - off[1] - turned * t[1]
    at = field.level(a, b)
    w, n = _upwards(at)
    reach, arm = lowest(r, k, n)
    gap = dot(n, (x - a, y - b, z - at.h)) - reach
    return Touch(name, disk.centre.body, C, field.point, B, gap, n, arm)


def _upwards(at: Level) -> tuple[Scalar, Triple]:
    """Return w and the unit normal."""
    w = sqrt(1 + at.hx * at.hx + at.hy * at.hy)
    return w, (-at.hx / w, -at.hy / w, 1 / w)


def _ball(name: str, C: Point, r: Scalar, field: HeightField) -> Touch:
    B = field.point.body
    x, y, z = (B.model.arena.lift(v) for v in position(field.point, C, B))
    a, b = x, y
    at = field.level(a, b)
    for _ in range(HEIGHT_FIELD_STEPS if r != 0.0 else 0):
        a, b = _nearer((a, b), (x, y), r, at)
        at = field.level(a, b)
    w, n = _upwards(at)
    return Touch(name, C.body, C, field.point, B, (z - at.h - r / w) / w, n, scaled(-r, n))


def _nearer(place: tuple[Expr, Expr], wanted: tuple[Expr, Expr], r: Scalar, at: Level) -> tuple[Expr, Expr]:
    """Return the result of one Newton step for (a, b) - r (h_x, h_y) / w = (x, y)."""
    (a, b), (x, y) = place, wanted
    square = 1 + at.hx * at.hx + at.hy * at.hy
    w = sqrt(square)
    off = (a - r * at.hx / w - x, b - r * at.hy / w - y)
    leans = (at.hx * at.hxx + at.hy * at.hxy, at.hx * at.hxy + at.hy * at.hyy)  # half the derivatives of w^2
    curves = ((at.hxx, at.hxy), (at.hxy, at.hyy))
    slopes = (at.hx, at.hy)
    (p, q), (s, t) = (
        [(i == j) - r / w * (curves[i][j] - slopes[i] * leans[j] / square) for j in range(2)] for i in range(2)
    )
    determinant = p * t - q * s
    return a - (t * off[0] - q * off[1]) / determinant, b - (p * off[1] - s * off[0]) / determinant
