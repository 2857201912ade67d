"""Pairs of shapes that roll on each other: a sphere or disk on a plane, a disk on a disk or in a ring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kane.errors import ModelError
from kane.expression.functions import sqrt
from kane.expression.node import Scalar
from kane.geometry.scalars import cross, folded, scaled, subtract_vectors
from kane.model.constraints.constraint import Row
from kane.model.constraints.relative import (
    angular_velocity_in,
    measure_numbers,
    position,
    scalar_product,
    velocity,
    velocity_in,
)
from kane.model.constraints.rolling.carrier import FLAT_TILT_TOLERANCE, carried, kept_lean
from kane.model.requirements import POSITIVE
from kane.model.shapes import Disk, Plane, Shape, Sphere
from kane.model.shapes.rim import Rim
from kane.model.vector_arguments import at_defaults, normals, require_of_parameters


def sphere_rolling_on_plane(sphere: Sphere, plane: Plane) -> Sequence[Row]:
    """Return (v_BC - r w_BA x n) . t = 0 for two directions t of the plane, and p_PC . n = r."""
    B, C, n = plane.body, sphere.centre, plane.unit_normal.components
    v, w = velocity_in(B, plane.point, C, B), angular_velocity_in(B, C.body, B)
    slip = subtract_vectors(v, scaled(sphere.radius, cross(w, n)))
    height = scalar_product(position(plane.point, C, B), n) - sphere.radius
    rows = [Row(f"no slip {k}", motion=scalar_product(slip, t)) for k, t in enumerate(normals(plane.normal), start=1)]
    return [*rows, Row("touch", configuration=height, motion=scalar_product(v, n))]


def disk_rolling_on_plane(disk: Disk, plane: Plane) -> Sequence[Row]:
    """Return the equations of a disk of body A with centre C on a plane of body B; the disk may tilt.

    Let a be the axle, n the normal, and s = |a x n| the sine of the tilt (1 for an upright disk). The heading is
    h = a x n / s, the direction across it l = n x h. The velocity of the disk's lowest point vanishes:

        no slip   v_BC . h - r w_BA . a = 0
        no skid   v_BC . l + r s w_BA . h = 0
        touch     p_PC . n - r s = 0, and its rate v_BC . n + r (a . n) w_BA . h = 0

    The elimination of speeds uses two combinations of "no skid" and the rate of "touch". Along the axle
    a = s l + (a . n) n, whose measure numbers are constant, v_BC . a + r w_BA . h = 0. Along n - (a . n) a, in the
    plane of the disk, v_BC . (n - (a . n) a) = 0.

    A flat disk, s = 0, has no lowest point, and its equations are singular.

    Source: v_C' = v_C + w x p_CC' for the point C' in contact; Gillespie 2003, Eqs. 38-42, for an upright disk.
    """
    A, B, r = disk.centre.body, plane.body, disk.radius
    kept = kept_lean(disk.unit_axle, plane.unit_normal)
    if kept is not None and abs(kept) > 1.0 - FLAT_TILT_TOLERANCE:
        raise ModelError(
            f"the disk of body {A.name!r} is always parallel to its plane and has no lowest point to roll or "
            "slide on; use m.contact(disk, plane) instead"
        )
    C, axle = carried(disk.centre, disk.unit_axle)
    E, a = C.body, axle.components
    n, v = measure_numbers(plane.unit_normal, E), velocity_in(B, plane.point, C, E)
    lean = scalar_product(a, n)
    s = sqrt(1 - lean * lean)
    h = tuple(x / s for x in cross(a, n))
    tilting = scalar_product(angular_velocity_in(B, E, E), h)  # w_BE . h = w_BA . h, as the wheel turns in E about a
    spin = A.angular_velocity.dot(disk.unit_axle) - B.angular_velocity.dot(disk.unit_axle)
    height = scalar_product(position(plane.point, C, E), n) - r * s
    upright = spin.arena.lift(scalar_product(v, folded(x - lean * y for x, y in zip(n, a, strict=True))))
    return [
        Row("no slip", motion=scalar_product(v, h) - r * spin),
        Row(
            "no skid",
            motion=scalar_product(v, cross(n, h)) + r * s * tilting,
            instead=scalar_product(v, a) + r * tilting,
        ),
        Row("touch", configuration=height, motion=scalar_product(v, n) + r * lean * tilting, instead=upright),
    ]


def disk_rolling_on_rim(disk: Disk, rim: Rim) -> Sequence[Row]:
    """Return the equations of a disk of body A on a rim of body B.

    Its axle a must be parallel to the axle of the rim, and both must be in one plane; joints or other constraints
    ensure this. With d = r_A + r_B (r_A - r_B in a ring), c from the centre of B to the centre of A and t = a x c / d:

        no slip   (v_A - v_B) . t - r_A w_NA . a - r_B w_NB . a = 0       (+ r_B in a ring)
        touch     (c . c - d^2) / (2 d) = 0, and its rate c . (v_A - v_B) / d = 0
    """
    C, a = carried(disk.centre, disk.unit_axle)
    O, _ = carried(rim.centre, rim.unit_axle)
    d = _centres_apart(disk, rim)
    c, v = position(O, C, C.body), velocity(O, C, C.body)
    t = tuple(x / d for x in cross(a.components, c))
    w_A, w_B = (body.angular_velocity.dot(disk.unit_axle) for body in (disk.centre.body, rim.centre.body))
    return [
        Row("no slip", motion=scalar_product(v, t) - disk.radius * w_A - rim.curvature_radius * w_B),
        Row("touch", configuration=(scalar_product(c, c) - d * d) / (2 * d), motion=scalar_product(c, v) / d),
    ]


def _centres_apart(disk: Disk, rim: Rim) -> Scalar:
    """Return d = r_A + r_B, or r_A - r_B in a ring, which is negative."""
    A, B, d = disk.centre.body, rim.centre.body, disk.radius + rim.curvature_radius
    r, bend = (at_defaults(A.model, x) for x in (disk.radius, rim.curvature_radius))
    if not (r + bend) * bend > 0.0:
        raise ModelError(
            f"the disk of body {A.name!r}, radius {r:.12g} m, does not fit into the ring of body {B.name!r}, "
            f"radius {-bend:.12g} m; give the ring the larger radius"
        )
    if bend < 0.0:
        room = f"the radius of the ring of body {B.name!r} less that of the disk of body {A.name!r}"
        require_of_parameters(A.model, room, POSITIVE, -1.0 * d)
    return d


# Equations by classes of roller and surface: motion constraints along the surface, and one row "touch" whose
# configuration residual is the gap [m].
ROLLING_EQUATIONS: dict[tuple[type[Shape], type[Shape]], Callable[[Any, Any], Sequence[Row]]] = {
    (Sphere, Plane): sphere_rolling_on_plane,
    (Disk, Plane): disk_rolling_on_plane,
    (Disk, Rim): disk_rolling_on_rim,
}
ROLLERS = tuple(dict.fromkeys(roller for roller, _ in ROLLING_EQUATIONS))
SURFACES = tuple(dict.fromkeys(surface for _, surface in ROLLING_EQUATIONS))


def rolling_rows(roller: Shape, surface: Shape) -> Sequence[Row]:
    """Return the equations of a shape that rolls on another.

    Raises:
        ModelError: there are no equations for this pair.
    """
    for (rolls, on), rows in ROLLING_EQUATIONS.items():
        if isinstance(roller, rolls) and isinstance(surface, on):
            return rows(roller, surface)
    raise ModelError(f"a {type(roller).__name__} does not roll on a {type(surface).__name__}; give a kane.Plane")
