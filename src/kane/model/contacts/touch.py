"""Nearest points of two surfaces, and the rows of a contact there."""

from __future__ import annotations

from typing import cast

from kane.deferred import dataclass
from kane.expression.functions import absolute, select, sqrt
from kane.expression.node import Expr, Scalar
from kane.geometry.scalars import Triple, add_vectors, cross, dot, is_zero
from kane.model.body import Body, Direction, Point
from kane.model.constraints import Row
from kane.model.constraints.relative import angular_velocity_in, measure_numbers, velocity_in
from kane.model.vector_arguments import at_defaults, normals

# Largest cosine of the angle between the normal and the axis from which tangents are computed.
STEEP = 0.9


@dataclass(frozen=True)
class Touch:
    """Nearest points of a feature of a body A and a surface of a body B; vectors are along the axes of a body E.

    Attributes:
        name: of the part of the feature, if it has several.
        A: the body that carries the feature.
        C: a point that moves like a point of A.
        O: a point of B.
        E: the body along whose axes vectors are given.
        gap: distance of the surfaces, negative if they penetrate each other [m].
        normal: n, unit vector from the surface to the feature.
        arm: p_CP, from C to the nearest point P of the feature [m].
        flat: the normal as a direction fixed in B; None if it moves in B.
        first: first tangent t1, if the features determine it; otherwise None.
        beyond: overshoot beyond the ends of the features [m], which do not touch if it is positive; None without ends.
    """

    name: str
    A: Body
    C: Point
    O: Point
    E: Body
    gap: Scalar
    normal: Triple
    arm: Triple
    flat: Direction | None = None
    first: Triple | None = None
    beyond: Scalar | None = None

    def rows(self, *, tangents: bool) -> tuple[Row, tuple[Row, ...]]:
        """Return the normal row, and two rows of the slip velocity if ``tangents``.

        With v the velocity in B of the material point of A at P,

            normal     gap = 0, with the rate v . n
            tangent    v . t1, v . t2

        The nearest points move along the surfaces, perpendicular to n, which does not change the gap. If the gap is
        closed, v . t is the slip velocity.
        """
        slip = velocity_in(self.O.body, self.O, self.C, self.E)
        turning = cross(angular_velocity_in(self.O.body, self.A, self.E), self.arm)
        slip = add_vectors(slip, turning)
        normal = Row("normal", configuration=cast(Expr, self.gap), motion=cast(Expr, dot(slip, self.normal)))
        along = self._tangents() if tangents else ()
        named = enumerate((dot(slip, t) for t in along), start=1)
        return normal, tuple(Row(f"tangent {k}", motion=cast(Expr, x)) for k, x in named)

    def _tangents(self) -> tuple[Triple, Triple]:
        """Return t1 and t2 = n x t1, unit vectors along the surface.

        Edges determine their own t1. On a plane both are fixed in B. Otherwise t1 is from ``level_tangent``.
        """
        if self.first is not None:
            return self.first, cross(self.normal, self.first)
        if self.flat is not None:
            first, second = normals(self.flat)
            if self.flat.body is self.E:
                return first, second
            return measure_numbers(Direction(self.flat.body, first), self.E), measure_numbers(
                Direction(self.flat.body, second), self.E
            )
        first = level_tangent(self.O.body, self.E, self.normal)
        return first, cross(self.normal, first)


def level_tangent(B: Body, E: Body, n: Triple) -> Triple:
    """Return the unit vector along e x n, where e is an axis of B.

    The letter of e is the letter of the axis of N with the smallest component of gravity; z comes before y before x. If
    n is within 26 degrees of e, the next axis in this order is used.
    """
    e, other = level_axes(B, E)
    ratio = dot(e, n)
    if not is_zero(ratio):
        steep = absolute(ratio) > STEEP
        e = tuple(select(steep, q, p) for p, q in zip(e, other, strict=True))
    across = cross(e, n)
    size = sqrt(dot(across, across))
    return tuple(0.0 if is_zero(x) else x / size for x in across)


def level_axes(B: Body, E: Body) -> tuple[Triple, Triple]:
    """Return two axes of B, named like the axes of N with the smallest gravity, smallest first, z before y before x."""
    heavy = [abs(at_defaults(B.model, g)) for g in B.model.gravity]
    order = sorted(range(3), key=lambda k: (heavy[k], -k))
    first, second = (measure_numbers((B.x, B.y, B.z)[k], E) for k in order[:2])
    return first, second
