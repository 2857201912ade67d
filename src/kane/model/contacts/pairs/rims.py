"""Contact points of a circular rim at every tilt.

The normal of the surface is n, the axle a, and m = n - (a . n) a. The sine of the tilt is s = |m|. A tilted rim
touches at its lowest point, -r m / s from the centre. A flat rim has no lowest point. No unit vector that is continuous
in m can replace m / s, because m / s turns once when m goes around zero. Therefore a rim has two kinds of contact
points:

    lowest point  at -r f'(s) m / s, at the depth r f(s) below the centre,
                  f(s) = sqrt(s^2 + TILT_SMOOTHING^2) - RIM_LIFT / (1 + s^2 / LIFT_TILT^2)^2
    feet          fixed in the body at the distance (1 - FOOT_INSET) r from the axle

f(s) differs from s by at most RIM_LIFT; from s = 0.1 on the difference is round-off. A flat rim rests on its feet, and
the contact of its lowest point is open. A load between the rim and the line of two feet tilts the rim by about
RIM_LIFT, until its lowest point carries load too. A load outside the rim tips it over. From s = RIM_LIFT / FOOT_INSET
on only the lowest point touches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kane.expression.functions import select, sqrt
from kane.expression.node import Scalar
from kane.geometry.scalars import Triple, dot
from kane.model.body import Direction
from kane.model.constraints.rolling.carrier import FLAT_TILT_TOLERANCE, kept_lean
from kane.model.shapes.rim import Rim
from kane.model.vector_arguments import normals

# Relative to the radius; TILT_SMOOTHING and LIFT_TILT are sines of the tilt. TILT_SMOOTHING < RIM_LIFT keeps the lowest
# point of a flat rim open, without load. The lowest point is up to RIM_LIFT / LIFT_TILT outside the rim, near
# s = LIFT_TILT / 2. FOOT_INSET keeps feet above the lowest point of a tilted rim.
TILT_SMOOTHING, RIM_LIFT, LIFT_TILT, FOOT_INSET = 1e-9, 1e-8, 1e-3, 1e-3
# The feet carry any load up to cos(180 degrees / FEET) r = 0.92 r from the axle.
FEET = 8


def feet(rim: Rim) -> Sequence[Triple]:
    """Return the positions of the feet from the centre, along the axes of the body."""
    x, y = normals(rim.axle)
    r = (1.0 - FOOT_INSET) * rim.radius
    angles = (2.0 * math.pi * k / FEET for k in range(FEET))
    return [tuple(r * (math.cos(t) * i + math.sin(t) * j) for i, j in zip(x, y, strict=True)) for t in angles]


def lower_end(rim: Rim, lean: Scalar) -> Scalar:
    """Return the coordinate along the axle of a cylinder's lower end, from its centre; lean = a . n."""
    length = getattr(rim, "length", None)
    return 0.0 if length is None else select(lean < 0.0, 0.5 * length, -0.5 * length)


def upwards(a: Triple, n: Triple) -> tuple[Scalar, Triple]:
    """Return sqrt(s^2 + TILT_SMOOTHING^2) and m divided by it, which points away from the lowest point.

    The formula s^2 = 1 - (a . n)^2 would lose half of the digits of a small s.
    """
    lean = dot(a, n)
    across = tuple(x - lean * y for x, y in zip(n, a, strict=True))
    size = sqrt(dot(across, across) + TILT_SMOOTHING * TILT_SMOOTHING)
    return size, tuple(x / size for x in across)


def lowest(r: Scalar, a: Triple, n: Triple) -> tuple[Scalar, Triple]:
    """Return r f(s) and the position of the lowest point from the centre, the gradient of -r f with respect to n."""
    size, up = upwards(a, n)
    near = 1.0 / (1.0 + size * size / (LIFT_TILT * LIFT_TILT))
    ratio = 1.0 + 4.0 * RIM_LIFT / (LIFT_TILT * LIFT_TILT) * size * near * near * near
    return r * (size - RIM_LIFT * near * near), tuple(-r * ratio * x for x in up)


def may_lean(axle: Direction, normal: Direction) -> bool:
    """Check whether a rim can have a lowest point: false if joints keep it flat."""
    lean = kept_lean(axle, normal)
    return lean is None or abs(lean) < 1.0 - FLAT_TILT_TOLERANCE


def may_lie_flat(axle: Direction, normal: Direction) -> bool:
    """Check whether a rim needs feet: false if joints keep it at another tilt."""
    lean = kept_lean(axle, normal)
    return lean is None or not abs(lean) < 1.0 - FLAT_TILT_TOLERANCE
