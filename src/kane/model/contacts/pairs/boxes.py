"""Boxes on boxes: corners of one box on a face of the other, and edges across edges.

Contact points follow from the separating axes of two boxes: the normals of their faces and the cross products of their
edges. Along an axis n from one box to the other the separation is

    p . n - sum h |b . n| - sum H |B . n|

Here p is the vector between the centres; h and H are half the edge lengths, b and B the edge directions. The largest
separation is positive as long as the boxes do not touch. Its axis determines the nearest features.

Source: Gottschalk, Lin & Manocha, OBBTree, Proc. SIGGRAPH 1996, section 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import product

from kane.deferred import dataclass
from kane.expression.functions import absolute, maximum, select, sqrt
from kane.expression.node import Scalar
from kane.geometry.scalars import UNIT_VECTORS, Triple, cross, dot, is_zero, scaled, sum_vectors
from kane.model.constraints.relative import measure_numbers, position
from kane.model.contacts.pairs.on_round import FLUSH_TOLERANCE, PARALLEL_SQUARED_SINE
from kane.model.contacts.touch import Touch
from kane.model.shapes import Box

# Distance assigned to features that do not count [m].
IGNORED_DISTANCE = 1e3
AXIS_INDICES = range(3)
SIGNS = (1.0, -1.0)


@dataclass(frozen=True)
class _Sides:
    """Box along the axes of a body E: its centre, directions of its edges and half their lengths."""

    centre: Triple
    edges: tuple[Triple, ...]
    halves: tuple[Scalar, ...]

    def reach(self, n: Triple) -> Scalar:
        """Return the largest extent along n from its centre."""
        return sum(h * absolute(dot(b, n)) for h, b in zip(self.halves, self.edges, strict=True))

    def point(self, along: Sequence[Scalar]) -> Triple:
        """Return centre + sum of half edges, each times its factor."""
        parts = [scaled(s * h, b) for s, h, b in zip(along, self.halves, self.edges, strict=True)]
        return sum_vectors(self.centre, *parts)


def box_on_box(box: Box, surface: Box) -> Sequence[Touch]:
    """Return four corners of each box on the nearest face of the other, and edges across edges."""
    pair = _Pair(box, surface)
    return [*pair.corners_on_faces(), *pair.edges_across()]


class _Pair:
    """Two boxes along the axes of the body of the surface."""

    def __init__(self, box: Box, surface: Box) -> None:
        self.box, self.surface, self.E = box, surface, surface.origin.body
        feature = box.origin.body
        away = position(surface.origin, box.origin, self.E)
        edges = [measure_numbers(feature.direction(box.rotation.apply(unit)), self.E) for unit in UNIT_VECTORS]
        self.a = _Sides(away, tuple(edges), scaled(0.5, box.sides))
        still = tuple(surface.rotation.apply(unit) for unit in UNIT_VECTORS)
        self.b = _Sides((0.0, 0.0, 0.0), still, scaled(0.5, surface.sides))
        self.crossed = {(i, j): n for i in AXIS_INDICES for j in AXIS_INDICES if (n := self._across(i, j)) is not None}
        self.on_surface, self.on_feature = self._facing(self.b), self._facing(self.a)
        self.apart = reduce(maximum, [self.on_surface[1], self.on_feature[1], *(s for _, s in self.crossed.values())])

    def outwards(self, n: Triple) -> Triple:
        """Return n or -n: the one that points from the surface to the feature."""
        way = select(dot(n, self.a.centre) < 0.0, -1.0, 1.0)
        return scaled(way, n)

    def separation(self, n: Triple) -> Scalar:
        """Return the separation of the boxes along n."""
        return absolute(dot(n, self.a.centre)) - self.a.reach(n) - self.b.reach(n)

    def _across(self, i: int, j: int) -> tuple[Triple, Scalar] | None:
        """Return the unit normal of edges i of the feature and j of the surface, and the separation along it."""
        n = cross(self.a.edges[i], self.b.edges[j])
        if all(is_zero(x) for x in n):
            return None
        square = dot(n, n)
        size = sqrt(maximum(square, PARALLEL_SQUARED_SINE))
        unit = self.outwards(tuple(0.0 if is_zero(x) else x / size for x in n))
        return unit, select(square < PARALLEL_SQUARED_SINE, -IGNORED_DISTANCE, self.separation(unit))

    def _facing(self, sides: _Sides) -> tuple[tuple[Scalar, ...], Scalar]:
        """Return axis weights, 1 for the normal of the face nearest to the other box, and the separation along it."""
        return _greatest([self.separation(b) for b in sides.edges])

    def touch(self, name: str, place: Triple, n: Triple, first: Triple, reach: tuple[Scalar, Scalar]) -> Touch:
        """Return a touch from place, normal, first tangent, and ``reach`` = (gap, overshoot beyond the limits)."""
        gap, beyond = reach
        left = maximum(maximum(beyond, self.apart - gap - FLUSH_TOLERANCE), 0.0)
        arm = sum_vectors(place, scaled(-1.0, self.a.centre))
        C, O = self.box.origin, self.surface.origin
        return Touch(name, C.body, C, O, self.E, gap + 2 * left, n, arm, first=first, beyond=beyond)

    def corners_on_faces(self) -> Sequence[Touch]:
        """Return corners of the feature on the surface, then corners of the surface on the feature."""
        made = []
        for name, tips, sides, facing in (
            ("corner", self.a, self.b, self.on_surface[0]),
            ("surface's corner", self.b, self.a, self.on_feature[0]),
        ):
            n = self.outwards(_chosen(facing, sides.edges))
            first = _chosen(facing, (*sides.edges[1:], sides.edges[0]))
            below = scaled(-1.0 if tips is self.a else 1.0, n)
            level = dot(sum_vectors(sides.centre, scaled(_share(facing, sides.halves), scaled(-1.0, below))), n)
            for k, corner in enumerate(_corners(tips, below), start=1):
                away = sum_vectors(corner, scaled(-1.0, sides.centre))
                beside = [
                    absolute(dot(away, b)) - h - IGNORED_DISTANCE * s
                    for b, h, s in zip(sides.edges, sides.halves, facing)
                ]
                height = dot(corner, n) - level
                reach = (height if tips is self.a else -height, reduce(maximum, beside) - FLUSH_TOLERANCE)
                made.append(self.touch(f"{name} {k}", corner, n, first, reach))
        return made

    def edges_across(self) -> Sequence[Touch]:
        """Return two edges of each box for each pair of directions, one on either side of the nearest face."""
        made = []
        for (i, j), (n, _) in self.crossed.items():
            a, b = self.a.edges[i], self.b.edges[j]
            lean = dot(a, b)
            for one, other in product(SIGNS, SIGNS):
                e, f = _edge(self.a, i, scaled(-1.0, n), one), _edge(self.b, j, n, other)
                D = sum_vectors(e, scaled(-1.0, f))
                s = (lean * dot(D, b) - dot(D, a)) / maximum(1.0 - lean * lean, PARALLEL_SQUARED_SINE)
                t = dot(D, b) + s * lean
                beyond = maximum(absolute(s) - self.a.halves[i], absolute(t) - self.b.halves[j]) + 0.5 * FLUSH_TOLERANCE
                beyond = select(1.0 - lean * lean < PARALLEL_SQUARED_SINE, IGNORED_DISTANCE, beyond)
                name = f"edge {'xyz'[i]}{_SIGN[one]} across {'xyz'[j]}{_SIGN[other]}"
                made.append(self.touch(name, sum_vectors(e, scaled(s, a)), n, b, (dot(D, n), beyond)))
        return made


_SIGN = {1.0: "+", -1.0: "-"}


def _greatest(values: Sequence[Scalar]) -> tuple[tuple[Scalar, ...], Scalar]:
    """Return three weights, 1 for the greatest of three values and 0 for the others, and the greatest value."""
    x, y, z = values
    first = select(x < maximum(y, z), 0.0, 1.0)
    second = select(y < z, 0.0, 1.0 - first)
    return (first, second, 1.0 - first - second), reduce(maximum, values)


def _corners(tips: _Sides, n: Triple) -> Iterable[Triple]:
    """Yield the four corners of the face whose normal is nearest to n.

    Opposite corners of the box share a number. Each face therefore has every number once, and a corner keeps its number
    when a neighbouring face becomes the nearest.
    """
    along = [dot(b, n) for b in tips.edges]
    most, _ = _greatest([absolute(x) for x in along])
    for second, third in product(SIGNS, SIGNS):
        signs = (1.0, second, third)
        way = _share(most, [s * select(x < 0.0, -1.0, 1.0) for s, x in zip(signs, along, strict=True)])
        yield tips.point([way * s for s in signs])


def _edge(sides: _Sides, i: int, n: Triple, parity: float) -> Triple:
    """Return the midpoint of one of the edges i of the face whose normal is nearest to n.

    Among the four parallel edges, two opposite edges have the same parity (product of signs). Each face has one edge of
    either parity, and an edge keeps its parity when the neighbouring face becomes the nearest.
    """
    k, m = (i + 1) % 3, (i + 2) % 3
    along = {axis: dot(sides.edges[axis], n) for axis in (k, m)}
    way = {axis: select(x < 0.0, -1.0, 1.0) for axis, x in along.items()}
    steeper = absolute(along[k]) < absolute(along[m])
    signs: list[Scalar] = [0.0, 0.0, 0.0]
    signs[k] = select(steeper, parity * way[m], way[k])
    signs[m] = select(steeper, way[m], parity * way[k])
    return sides.point(signs)


def _share(shares: Iterable[Scalar], values: Iterable[Scalar]) -> Scalar:
    return sum(s * x for s, x in zip(shares, values, strict=True))


def _chosen(shares: Iterable[Scalar], vectors: Iterable[Triple]) -> Triple:
    return sum_vectors(*(scaled(s, v) for s, v in zip(shares, vectors, strict=True)))
