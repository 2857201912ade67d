"""Rolling of a thin disk on a plane."""

from __future__ import annotations

from collections.abc import Sequence

from kane.errors import ModelError
from kane.expression.functions import sqrt
from kane.geometry.scalars import cross, folded
from kane.model.constraints.constraint import Row
from kane.model.constraints.relative import angular_velocity_in, measure_numbers, position, scalar_product, velocity_in
from kane.model.constraints.rolling.carrier import FLAT_TILT_TOLERANCE, carried, kept_lean
from kane.model.shapes import Disk, Plane


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
