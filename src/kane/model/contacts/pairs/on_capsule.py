"""Features on a capsule, and capsules on cylinders: ends on lines, and a line across another line.

Crossing capsules touch at one place, on the common perpendicular of their axes. Parallel capsules touch along a length
and are supported at its two ends: an end of one on the other, like a capsule on a plane.
"""

from __future__ import annotations

from collections.abc import Sequence

from kane.expression.functions import absolute, maximum, minimum, sqrt
from kane.expression.node import Scalar
from kane.geometry.scalars import Triple, cross, dot, is_zero, scaled, subtract_vectors
from kane.model.body import Point
from kane.model.constraints.relative import measure_numbers, position
from kane.model.contacts.pairs.balls import balls
from kane.model.contacts.pairs.on_round import (
    FLUSH_TOLERANCE,
    NO_LENGTH,
    PARALLEL_SQUARED_SINE,
    length_and_direction,
)
from kane.model.contacts.touch import Touch
from kane.model.shapes import Capsule, Cylinder, Sphere

# Regularization of the squared sine between lines [rad^2]. Overshoot of nearly parallel lines per radian that their
# angle lacks to the least angle of a crossing [m/rad].
SQUARED_SINE_REGULARIZATION, OVERSHOOT_PER_ANGLE = 1e-30, 1e3


def ball_on_capsule(feature: Point | Sphere, surface: Capsule) -> Sequence[Touch]:
    """Return gap = |p_SC - t e| - R - r; S is the start, e the line to the end, and t in [0, 1] minimizes the gap."""
    ((name, C, r),) = balls(feature)
    S, E = surface.start, surface.start.body
    away, e = position(S, C, E), position(S, surface.end, E)
    t = _within(dot(away, e) / dot(e, e))
    distance, n = length_and_direction(subtract_vectors(away, scaled(t, e)))
    return [Touch(name, C.body, C, S, E, distance - surface.radius - r, n, scaled(-r, n))]


def capsule_on_capsule(capsule: Capsule, surface: Capsule) -> Sequence[Touch]:
    """Return the ends of the feature on the surface, the ends of the surface on the feature, and the crossing.

    An end touches like a ball. If two ends touch each other, only the end of the feature counts.
    """
    S = surface.start
    lines = _Lines(capsule, surface, S, position(S, surface.end, S.body))
    return [*lines.ends(), *lines.ends_of_surface(), *lines.across()]


def capsule_on_cylinder(capsule: Capsule, surface: Cylinder) -> Sequence[Touch]:
    """Return the ends of the capsule on the cylinder, which has no ends, and the crossing."""
    lines = _Lines(capsule, surface, surface.origin, measure_numbers(surface.unit_axle, surface.origin.body))
    return [*lines.ends(), *lines.across()]


class _Lines:
    """Lines A + s d of a capsule and O + t e of a surface, along the axes of the body of the surface.

    With c = d x e the common perpendicular is at s = -p_OA . (e x c) / c . c and t = -p_OA . (d x c) / c . c.
    """

    def __init__(self, capsule: Capsule, surface: Capsule | Cylinder, O: Point, e: Triple) -> None:
        self.A, self.O, self.e = capsule.start, O, e
        self.r, self.R = capsule.radius, surface.radius
        self.endless = isinstance(surface, Cylinder)
        self.away, self.d = position(O, self.A, O.body), position(self.A, capsule.end, O.body)
        own = position(self.A, capsule.end, self.A.body)
        self.dd, self.ee = dot(own, own), dot(e, e)
        self.crossed = self._crossed()

    def _crossed(self) -> tuple[Scalar, Scalar, Scalar] | None:
        """Return s and t of the common perpendicular and its overshoot beyond the ends; None for lines in one plane."""
        c = cross(self.d, self.e)
        if is_zero(dot(c, self.away)):
            return None
        least = PARALLEL_SQUARED_SINE * self.dd * self.ee
        square = maximum(dot(c, c), least)
        s, t = (-dot(self.away, cross(x, c)) / square for x in (self.e, self.d))
        past = distance_past_ends(s, self.dd)
        if not self.endless:
            past = maximum(past, distance_past_ends(t, self.ee))
        # As parallel lines turn apart, the gap falls steeply but continuously; event location would miss a jump.
        turned = sqrt(dot(c, c) / (self.dd * self.ee) + SQUARED_SINE_REGULARIZATION)
        return s, t, maximum(OVERSHOOT_PER_ANGLE * (sqrt(PARALLEL_SQUARED_SINE) - turned), past + 0.5 * FLUSH_TOLERANCE)

    def ends(self) -> Sequence[Touch]:
        """Return the ends of the capsule.

        An end past an end of the surface counts only if that end of the surface is not beside the capsule.
        """
        made = []
        for name, s in (("start", 0.0), ("end", 1.0)):
            tip = tuple(x + s * y for x, y in zip(self.away, self.d, strict=True))
            t = dot(tip, self.e) / self.ee
            beyond = None
            if not self.endless:
                nearest = _within(t)
                beside = distance_past_ends(self._opposite(nearest), self.dd)
                beyond = minimum(distance_past_ends(t, self.ee), -beside) - FLUSH_TOLERANCE
                t = nearest
            made.append(self._touch(name, s, t, beyond))
        return made

    def ends_of_surface(self) -> Sequence[Touch]:
        """Return the ends of the surface, which count if they are beside the capsule."""
        made = []
        for name, t in (("surface's start", 0.0), ("surface's end", 1.0)):
            s = self._opposite(t)
            made.append(self._touch(name, _within(s), t, distance_past_ends(s, self.dd) + FLUSH_TOLERANCE))
        return made

    def across(self) -> Sequence[Touch]:
        """Return the crossing, which counts if the common perpendicular is within both ends."""
        if self.crossed is None:
            return []
        s, t, past = self.crossed
        return [self._touch("across", s, t, past)]

    def _opposite(self, t: Scalar) -> Scalar:
        """Return s of the point of the capsule's line that is nearest to t."""
        return dot(subtract_vectors(scaled(t, self.e), self.away), self.d) / self.dd

    def _touch(self, name: str, s: Scalar, t: Scalar, beyond: Scalar | None) -> Touch:
        """Return a touch; twice its overshoot is added to the gap, which keeps the gap positive beyond the ends."""
        point = tuple(x + s * y for x, y in zip(self.away, self.d, strict=True))
        v = subtract_vectors(point, scaled(t, self.e))
        distance = sqrt(maximum(dot(v, v), NO_LENGTH))  # lines that intersect do so outside their ends
        n = tuple(0.0 if is_zero(x) else x / distance for x in v)
        left = 0.0 if beyond is None else 2 * maximum(beyond, 0.0)
        arm = tuple(s * x - self.r * y for x, y in zip(self.d, n, strict=True))
        return Touch(
            name, self.A.body, self.A, self.O, self.O.body, distance - self.R - self.r + left, n, arm, beyond=beyond
        )


def distance_past_ends(ratio: Scalar, square: Scalar) -> Scalar:
    """Return how far a point is past the ends of a line whose squared length is given [m]; negative inside."""
    return (absolute(ratio - 0.5) - 0.5) * sqrt(square)


def _within(ratio: Scalar) -> Scalar:
    """Return the value clipped to [0, 1]."""
    return minimum(maximum(ratio, 0.0), 1.0)
