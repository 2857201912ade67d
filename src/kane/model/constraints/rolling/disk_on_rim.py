"""Rolling of a thin disk on another disk, or inside a ring."""

from __future__ import annotations

from collections.abc import Sequence

from kane.errors import ModelError
from kane.expression.node import Scalar
from kane.geometry.scalars import cross
from kane.model.constraints.constraint import Row
from kane.model.constraints.relative import position, scalar_product, velocity
from kane.model.constraints.rolling.carrier import carried
from kane.model.requirements import POSITIVE, require_of_parameters
from kane.model.shapes import Disk
from kane.model.shapes.rim import Rim
from kane.model.vector_arguments import at_defaults


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
