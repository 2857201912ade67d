"""Capsules on boxes and convex polyhedra: ends, axis across edges, and corners beside the axis.

The smallest distance of these features is the distance of the shapes. A capsule on a face is supported at its ends, or
where it crosses edges of the face. A capsule along an edge is supported at its ends or at the ends of the edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kane.deferred import NamedTuple
from kane.expression.functions import maximum, sqrt
from kane.expression.node import Scalar
from kane.geometry.scalars import Triple, cross, dot, scaled, subtract_vectors
from kane.model.constraints.relative import position
from kane.model.contacts.pairs.choice import look_up_row, select_least
from kane.model.contacts.pairs.on_capsule import OVERSHOOT_PER_ANGLE, SQUARED_SINE_REGULARIZATION, distance_past_ends
from kane.model.contacts.pairs.on_round import (
    FLUSH_TOLERANCE,
    NO_LENGTH,
    PARALLEL_SQUARED_SINE,
    sphere_on_solid,
)
from kane.model.contacts.pairs.polyhedra import polyhedron_of
from kane.model.contacts.touch import Touch
from kane.model.shapes import Box, Capsule, Polyhedron, Sphere


def capsule_on_solid(capsule: Capsule, surface: Box | Polyhedron) -> Sequence[Touch]:
    """Return the ends as spheres, then the nearest of each class of corners and edges that share no face.

    Raises:
        ModelError: the sides of a box are not numbers.
    """
    ends = []
    for name, C in capsule.ends:
        ends += [replace(x, name=name) for x in sphere_on_solid(Sphere(C, capsule.radius), surface)]
    line = _AxisOfCapsule(capsule, polyhedron_of(surface))
    return [*ends, *line.corners(), *line.edges()]


class _Near(NamedTuple):
    """Point S + s d of the axis, the vector from the surface to it, and its distance beyond the end of a feature."""

    s: Scalar
    away: Triple
    beyond: Scalar

    @property
    def distance(self) -> Scalar:
        """Distance, with a positive lower limit because its rate is infinite at zero (lines that cross past an end)."""
        return sqrt(maximum(dot(self.away, self.away), NO_LENGTH))

    @property
    def far(self) -> Scalar:
        """Distance, increased beyond the ends, so that a feature beyond its ends is not selected as the nearest."""
        return self.distance + 2 * maximum(self.beyond, 0.0)


class _AxisOfCapsule:
    """Axis S + s d of a capsule, s from 0 to 1, along the axes of the surface."""

    def __init__(self, capsule: Capsule, surface: Polyhedron) -> None:
        self.capsule, self.surface, self.hull = capsule, surface, surface.hull
        E, seen = surface.origin.body, surface.rotation.apply_inverse
        self.start = seen(position(surface.origin, capsule.start, E))
        self.d = seen(position(capsule.start, capsule.end, E))
        own = position(capsule.start, capsule.end, capsule.start.body)
        self.dd = dot(own, own)

    def corners(self) -> Iterator[Touch]:
        """Yield corners beside the axis."""
        for k, members in enumerate(self.hull.corner_classes, start=1):
            corners = self.hull.corners[members].tolist()
            number, _ = select_least([self._beside(corner).far for corner in corners])
            yield self._touch(f"surface's corner {k}", self._beside(look_up_row(number, corners)))

    def edges(self) -> Iterator[Touch]:
        """Yield edges that the axis crosses."""
        for k, members in enumerate(self.hull.edge_classes, start=1):
            ends = [[self.hull.corners[end].tolist() for end in self.hull.edges[i].corners] for i in members]
            number, _ = select_least([self._across(*edge).far for edge in ends])
            chosen = [look_up_row(number, places) for places in zip(*ends, strict=True)]
            yield self._touch(f"across {k}", self._across(*chosen))

    def _beside(self, corner: Triple) -> _Near:
        s = dot(subtract_vectors(corner, self.start), self.d) / self.dd
        return _Near(s, subtract_vectors(self._at(s), corner), distance_past_ends(s, self.dd) + FLUSH_TOLERANCE)

    def _across(self, a: Triple, b: Triple) -> _Near:
        """Return the nearest points of the axis and of the line through two corners."""
        e, away = subtract_vectors(b, a), subtract_vectors(self.start, a)
        c, ee = cross(self.d, e), dot(e, e)
        square = maximum(dot(c, c), PARALLEL_SQUARED_SINE * self.dd * ee)
        s, t = (-dot(away, cross(x, c)) / square for x in (e, self.d))
        turned = sqrt(dot(c, c) / (self.dd * ee) + SQUARED_SINE_REGULARIZATION)
        beyond = maximum(distance_past_ends(s, self.dd), distance_past_ends(t, ee)) + 0.5 * FLUSH_TOLERANCE
        place = tuple(x + t * y for x, y in zip(a, e, strict=True))
        return _Near(
            s,
            subtract_vectors(self._at(s), place),
            maximum(OVERSHOOT_PER_ANGLE * (sqrt(PARALLEL_SQUARED_SINE) - turned), beyond),
        )

    def _at(self, s: Scalar) -> Triple:
        return tuple(x + s * y for x, y in zip(self.start, self.d, strict=True))

    def _touch(self, name: str, near: _Near) -> Touch:
        S, r, O = self.capsule.start, self.capsule.radius, self.surface.origin
        n = scaled(1.0 / near.distance, near.away)
        arm = tuple(near.s * x - r * y for x, y in zip(self.d, n, strict=True))
        n, arm, first = (self.surface.rotation.apply(v) for v in (n, arm, self._along(n)))
        return Touch(name, S.body, S, O, O.body, near.far - r, n, arm, first=first, beyond=near.beyond)

    def _along(self, n: Triple) -> Triple:
        """Return the tangent along the axis; the axis is normal to n at all contacts that can close."""
        rest = subtract_vectors(self.d, scaled(dot(self.d, n), n))
        return scaled(1.0 / sqrt(maximum(dot(rest, rest), NO_LENGTH)), rest)
