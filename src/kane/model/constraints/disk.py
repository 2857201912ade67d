"""A thin disk, or wheel, that rolls on a plane or on another wheel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kane.errors import ModelError
from kane.expression.functions import sqrt
from kane.expression.node import Scalar
from kane.geometry.scalars import cross
from kane.model.constraints.arguments import at_defaults
from kane.model.constraints.carrier import carried
from kane.model.constraints.constraint import Row
from kane.model.constraints.contact import Roller
from kane.model.constraints.plane import Plane
from kane.model.constraints.relative import angular_velocity_in, dot, numbers, position, velocity, velocity_in
from kane.model.constraints.rim import Rim


@dataclass(frozen=True)
class Disk(Rim, Roller):
    """A thin disk fixed in a body A: what rolls, or what a wheel rolls on.

    On a plane it may tilt. With a the axle, n the normal, s = |a x n| the sine of the tilt (1 upright), h = a x n / s
    the heading and l = n x h the direction across, the velocity of the disk's lowest point vanishes:

        no slip   v_BC . h - r w_BA . a = 0
        no skid   v_BC . l + r s w_BA . h = 0
        touch     p_PC . n - r s = 0, and its rate v_BC . n + r (a . n) w_BA . h = 0

    A disk that lies flat, s = 0, has no lowest point: the equations are not finite there.

    On another wheel or in a ring its axle is parallel to the other, and both lie in one plane, which the joints or
    other constraints see to. With d = r_A + r_B (r_A - r_B in a ring), c from the centre of B to that of A and
    t = a x c / d:

        no slip   (v_A - v_B) . t - r_A w_NA . a - r_B w_NB . a = 0       (+ r_B in a ring)
        touch     (c . c - d^2) / (2 d) = 0, and its rate c . (v_A - v_B) / d = 0

    Attributes:
        centre: C, of A.
        axle: a, fixed in A; its length does not matter.
        radius: r [m], positive: a number or an expression of parameters.

    Source: v_C' = v_C + w x p_CC' for the point C' in contact; Gillespie 2003, Eqs. 38-42, for an upright disk.
    """

    def on_plane(self, plane: Plane) -> Sequence[Row]:
        """No slip along the heading, no skid across it, and touch."""
        A, B, r = self.centre.body, plane.body, self.radius
        C, axle = carried(self.centre, self.unit_axle)
        E, a = C.body, axle.components
        n, v = numbers(plane.unit_normal, E), velocity_in(B, plane.point, C, E)
        lean = dot(a, n)
        s = sqrt(1 - lean * lean)
        h = tuple(x / s for x in cross(a, n))
        tilting = dot(angular_velocity_in(B, E, E), h)  # w_BE . h = w_BA . h, as the wheel turns in E about a
        spin = A.angular_velocity.dot(self.unit_axle) - B.angular_velocity.dot(self.unit_axle)
        height = dot(position(plane.point, C, E), n) - r * s
        return [
            Row("no slip", motion=dot(v, h) - r * spin),
            Row("no skid", motion=dot(v, cross(n, h)) + r * s * tilting),
            Row("touch", configuration=height, motion=dot(v, n) + r * lean * tilting),
        ]

    def on_rim(self, rim: Rim) -> Sequence[Row]:
        """No slip where the rims meet, and touch."""
        C, a = carried(self.centre, self.unit_axle)
        O, _ = carried(rim.centre, rim.unit_axle)
        d = self._centres_apart(rim)
        c, v = position(O, C, C.body), velocity(O, C, C.body)
        t = tuple(x / d for x in cross(a.components, c))
        w_A, w_B = (body.angular_velocity.dot(self.unit_axle) for body in (self.centre.body, rim.centre.body))
        return [
            Row("no slip", motion=dot(v, t) - self.radius * w_A - rim.curvature_radius * w_B),
            Row("touch", configuration=(dot(c, c) - d * d) / (2 * d), motion=dot(c, v) / d),
        ]

    def _centres_apart(self, rim: Rim) -> Scalar:
        """d = r_A + r_B, or r_A - r_B in a ring, which is negative."""
        A, B, d = self.centre.body, rim.centre.body, self.radius + rim.curvature_radius
        r, bend = (at_defaults(A.model, x) for x in (self.radius, rim.curvature_radius))
        if not (r + bend) * bend > 0.0:
            raise ModelError(
                f"the disk of body {A.name!r}, radius {r:.12g} m, does not fit into the ring of body {B.name!r}, "
                f"radius {-bend:.12g} m; give the ring the larger radius"
            )
        return d
