"""Nearest points of ellipsoids, and of disks as flat ellipsoids, to spheres and cylinders, by iteration.

An ellipsoid is the set x . G^-1 x <= 1. For semi-axes a, b, c, G = R diag(a^2, b^2, c^2) R^T. For a disk with axle a,
G = r^2 (1 - a a^T). The nearest point y to a point x outside satisfies x - y = l z and y = G z, l > 0; z is along the
normal at y. Therefore

    z = (G + l 1)^-1 x,  z . G z = 1

The second equation determines l. For a contact with a cylinder, G is projected along the axis of the cylinder.

Source: Eberly, Distance from a point to an ellipse, an ellipse or a hyperellipsoid, 2013. The iteration is from More
and Sorensen, SIAM J. Sci. Stat. Comput. 4 (1983) 553: 1 / sqrt(z . G z) is nearly linear in l.
"""

from __future__ import annotations

from collections.abc import Sequence

from kane.expression.functions import maximum, sqrt
from kane.expression.node import Scalar
from kane.geometry.inertia import symmetric_rows
from kane.geometry.scalars import NumberMatrix, Triple, cross, dot, scaled
from kane.model.body import Body, Point
from kane.model.constraints.relative import measure_numbers, position
from kane.model.constraints.rolling.carrier import carried
from kane.model.contacts.pairs.on_round import Round, length_and_direction, projection
from kane.model.contacts.touch import Touch
from kane.model.shapes import Cylinder, Disk, Ellipsoid

# Newton steps from below; a test shows that they are enough for semi-axes that differ by a factor of ten.
ELLIPSOID_NEWTON_STEPS = 7


def ellipsoid_on_round(ellipsoid: Ellipsoid, surface: Round) -> Sequence[Touch]:
    """Return gap = p_OC . n - sqrt(n . G n) - R at the normal n of the nearest point."""
    C, R = ellipsoid.origin, ellipsoid.rotation
    xx, yy, zz = (a * a for a in ellipsoid.semi_axes)
    six = R.rotate_symmetric((xx, yy, zz, 0.0, 0.0, 0.0))
    return [_touch(C.body, C, surface, symmetric_rows(six))]


def disk_on_cylinder(disk: Disk, cylinder: Cylinder) -> Sequence[Touch]:
    """Return the touch of a disk as a flat ellipsoid.

    There is no unique nearest point if the disk's axle crosses the cylinder's axis at a right angle, because the face
    may then touch along a line.
    """
    C, axle = carried(disk.centre, disk.unit_axle)
    a, area = axle.components, disk.radius * disk.radius
    G = tuple(tuple(area * ((i == j) - a[i] * a[j]) for j in range(3)) for i in range(3))
    return [_touch(disk.centre.body, C, cylinder, G)]


def _touch(A: Body, C: Point, surface: Round, G: NumberMatrix) -> Touch:
    E = C.body
    project = projection(surface, E)
    away = position(surface.origin, C, E)
    shadow = G
    if isinstance(surface, Cylinder):
        columns = tuple(project(tuple(project(row)[i] for row in G)) for i in range(3))
        k = measure_numbers(surface.unit_axle, E)
        # The thickness along the axis has no effect on the result, but it must not be zero.
        shadow = tuple(
            tuple(columns[j][i] + surface.radius * surface.radius * k[i] * k[j] for j in range(3)) for i in range(3)
        )
    _, n = length_and_direction(_towards(shadow, scaled(-1.0, project(away))))
    n = scaled(-1.0, n)
    reach = tuple(dot(row, n) for row in G)
    h = sqrt(dot(n, reach))
    return Touch("", A, C, surface.origin, E, dot(away, n) - h - surface.radius, n, scaled(-1.0 / h, reach))


def _towards(G: NumberMatrix, x: Triple) -> Triple:
    """Return z, along the normal of the ellipsoid at its nearest point to x.

    f(l) = z . G z decreases with l, and 1 / sqrt(f) is concave, so that Newton's method approaches the root from below.
    """
    Gx = tuple(dot(row, x) for row in G)
    trace = G[0][0] + G[1][1] + G[2][2]
    level = maximum(sqrt(dot(x, Gx)) - trace, 0.0)
    z = _solve(G, level, x)
    for _ in range(ELLIPSOID_NEWTON_STEPS):
        f = dot(z, tuple(dot(row, z) for row in G))
        w = _solve(G, level, z)
        steepness = dot(w, tuple(dot(row, z) for row in G))  # -f' / 2
        level = maximum(level + (sqrt(f) - 1) * f / steepness, 0.0)
        z = _solve(G, level, x)
    return z


def _solve(G: NumberMatrix, level: Scalar, b: Triple) -> Triple:
    """Return (G + level 1)^-1 b by Cramer's rule; G is symmetric."""
    rows = [tuple(G[i][j] + level if i == j else G[i][j] for j in range(3)) for i in range(3)]
    minors = (cross(rows[1], rows[2]), cross(rows[2], rows[0]), cross(rows[0], rows[1]))
    determinant = dot(rows[0], minors[0])
    return tuple(sum(minors[k][i] * b[k] for k in range(3)) / determinant for i in range(3))
