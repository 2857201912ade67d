"""Convex polyhedra on convex polyhedra: corners of one on a face of the other, and edges across edges.

Separating axes are the normals of faces, and the cross products of two edges if they are between the face normals of
both edges. The greatest separation along one of these axes determines the nearest features. It is positive as long as
the polyhedra do not touch.

Corners, faces and edges are selected by number at each state. Corners that can touch simultaneously, because they
belong to one face, are in different classes, and so are edges. Each class, or pair of classes, is one intermittent
constraint, represented by its nearest member.

Source: Gottschalk, Lin & Manocha, OBBTree, Proc. SIGGRAPH 1996, section 5, for boxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import product

import numpy as np

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.functions import absolute, maximum, minimum, select, sqrt
from kane.expression.node import Scalar
from kane.geometry.scalars import UNIT_VECTORS, Triple, add_vectors, cross, dot, scaled, subtract_vectors
from kane.model.constraints.relative import measure_numbers, position
from kane.model.contacts.pairs.boxes import IGNORED_DISTANCE
from kane.model.contacts.pairs.choice import look_up_row, looked_up, select_least
from kane.model.contacts.pairs.on_round import FLUSH_TOLERANCE, PARALLEL_SQUARED_SINE
from kane.model.contacts.pairs.polyhedra import polyhedron_of
from kane.model.contacts.touch import Touch
from kane.model.shapes import Box, Polyhedron
from kane.model.shapes.hull import Hull

# Limit of the number of pairs of edges of two polyhedra; compilation of more takes longer than a minute.
MOST_PAIRS = 2000
# Tolerance of the test whether a direction is between the normals of the faces at an edge [rad].
NORMAL_ANGLE_TOLERANCE = 1e-10


def solid_on_solid(feature: Box | Polyhedron, surface: Box | Polyhedron) -> Sequence[Touch]:
    """Return corners of each polyhedron on the nearest face of the other, and edges across edges.

    Raises:
        ModelError: the sides of a box are not numbers, or there are too many edges.
    """
    pair = _TwoPolyhedra(polyhedron_of(feature), polyhedron_of(surface))
    return [*pair.corners_on_faces(), *pair.edges_across()]


@dataclass(frozen=True)
class _Side:
    """One of two polyhedra; it converts between its own axes and the axes of the surface.

    Attributes:
        hull: as numbers along its own axes.
        origin, axes: origin and unit vectors of its own axes, along the axes of the surface.
    """

    hull: Hull
    origin: Triple
    axes: tuple[Triple, ...]

    def direction(self, v: Triple) -> Triple:
        """Return a vector given along its own axes, along the axes of the surface."""
        return tuple(dot(v, column) for column in zip(*self.axes, strict=True))

    def point(self, v: Triple) -> Triple:
        """Return a position given along its own axes, along the axes of the surface."""
        return add_vectors(self.origin, self.direction(v))

    def seen(self, p: Triple) -> Triple:
        """Return a position given along the axes of the surface, along its own axes."""
        away = subtract_vectors(p, self.origin)
        return tuple(dot(axis, away) for axis in self.axes)

    @property
    def middle(self) -> Triple:
        """Mean of its corners, along the axes of the surface."""
        return self.point(tuple(map(float, self.hull.corners.mean(axis=0))))

    def edge(self, middle: Triple, along: Triple, half: Scalar) -> _EdgeLine:
        """Return an edge given along its own axes, along the axes of the surface."""
        return _EdgeLine(self.point(middle), self.direction(along), half)

    def facing(self, corners: Sequence[Triple]) -> tuple[Scalar, Scalar]:
        """Return the number of the face farthest from all corners of the other polyhedron, and this distance."""
        levels = _levels(self.hull)
        lowest = [reduce(minimum, [dot(n, p) for p in corners]) for n in self.hull.normals.tolist()]
        number, nearest = select_least([level - x for x, level in zip(lowest, levels, strict=True)])
        return number, -nearest


@dataclass(frozen=True)
class _EdgeLine:
    """Edge along the axes of the surface: its midpoint, its unit vector and half its length."""

    middle: Triple
    along: Triple
    half: Scalar


@dataclass(frozen=True)
class _Crossing:
    """Two crossing edges.

    Attributes:
        n: unit normal from the surface to the feature.
        gap: distance along n [m].
        place: point on the feature's edge.
        beyond: overshoot beyond an end of an edge [m].
        sine: sine of the angle between the edges.
        sign: sign by which the cross product of the edges was multiplied.
    """

    n: Triple
    gap: Scalar
    place: Triple
    beyond: Scalar
    sine: Scalar
    sign: Scalar


class _TwoPolyhedra:
    """Two polyhedra along the axes of the surface."""

    def __init__(self, feature: Polyhedron, surface: Polyhedron) -> None:
        self.feature, self.surface, E = feature, surface, surface.origin.body
        self.back = surface.rotation
        seen = self.back.apply_inverse
        away = seen(position(surface.origin, feature.origin, E))
        turned = (feature.origin.body.direction(feature.rotation.apply(unit)) for unit in UNIT_VECTORS)
        self.a = _Side(feature.hull, away, tuple(seen(measure_numbers(axis, E)) for axis in turned))
        self.b = _Side(surface.hull, (0.0, 0.0, 0.0), UNIT_VECTORS)
        count = len(self.a.hull.edges) * len(self.b.hull.edges)
        if count > MOST_PAIRS:
            raise ModelError(
                f"polyhedra with {len(self.a.hull.edges)} and {len(self.b.hull.edges)} edges have {count} pairs of "
                f"edges, more than the limit of {MOST_PAIRS}; give fewer corners, such as mesh.hull(corners=12)"
            )
        self.corners_of_a = [self.a.point(v) for v in self.a.hull.corners.tolist()]
        self.corners_of_b = [self.a.seen(v) for v in self.b.hull.corners.tolist()]
        self.middle = subtract_vectors(self.a.middle, self.b.middle)
        self.on_surface, self.on_feature = self.b.facing(self.corners_of_a), self.a.facing(self.corners_of_b)
        self.lines = [[side.edge(*edge) for edge in _edges(side.hull)] for side in (self.a, self.b)]
        self.crossings = {
            (i, j): self.crossing(e, f) for i, e in enumerate(self.lines[0]) for j, f in enumerate(self.lines[1])
        }
        apart = [self.on_surface[1], self.on_feature[1], *self._apart()]
        self.apart = reduce(maximum, apart)

    def crossing(self, e: _EdgeLine, f: _EdgeLine) -> _Crossing:
        """Return the nearest points of the lines of an edge of the feature and an edge of the surface."""
        n = cross(e.along, f.along)
        square = dot(n, n)
        sine = sqrt(maximum(square, PARALLEL_SQUARED_SINE))
        sign = select(dot(n, self.middle) < 0.0, -1.0, 1.0)
        n = scaled(sign / sine, n)
        lean, D = dot(e.along, f.along), subtract_vectors(e.middle, f.middle)
        s = (lean * dot(D, f.along) - dot(D, e.along)) / (sine * sine)
        t = dot(D, f.along) + s * lean
        beyond = maximum(absolute(s) - e.half, absolute(t) - f.half) + 0.5 * FLUSH_TOLERANCE
        beyond = select(square < PARALLEL_SQUARED_SINE, IGNORED_DISTANCE, beyond)
        return _Crossing(n, dot(D, n), add_vectors(e.middle, scaled(s, e.along)), beyond, sine, sign)

    def _apart(self) -> Iterator[Scalar]:
        """Yield the separation for each pair of edges.

        It is -IGNORED_DISTANCE unless the common normal is between the two face normals at each edge.
        """
        A, B = self.a.hull, self.b.hull
        of_a = [self.a.direction(n) for n in A.normals.tolist()]
        of_b = B.normals.tolist()
        for (i, j), x in self.crossings.items():
            e, f = self.lines[0][i].along, self.lines[1][j].along
            (left, right), (below, above) = A.edges[i].faces, B.edges[j].faces
            aside = [dot(f, of_a[left]), -dot(f, of_a[right]), dot(e, of_b[below]), -dot(e, of_b[above])]
            excess = reduce(maximum, [x.sign * y for y in aside])
            yield select(
                NORMAL_ANGLE_TOLERANCE * x.sine < excess,
                -IGNORED_DISTANCE,
                select(x.sine * x.sine <= PARALLEL_SQUARED_SINE, -IGNORED_DISTANCE, x.gap),
            )

    def counted(self, gap: Scalar, beyond: Scalar) -> Scalar:
        """Return the gap, increased for features that are beyond their ends or not the nearest."""
        return gap + 2 * maximum(maximum(beyond, self.apart - gap - FLUSH_TOLERANCE), 0.0)

    def touch(self, name: str, arm: Triple, n: Triple, first: Triple, reach: tuple[Scalar, Scalar]) -> Touch:
        """Return a touch; ``arm`` begins at the feature's centre, and ``reach`` = (gap, overshoot)."""
        gap, beyond = reach
        C, O = self.feature.origin, self.surface.origin
        n, first, arm = (self.back.apply(v) for v in (n, first, arm))
        return Touch(name, C.body, C, O, O.body, gap, n, arm, first=first, beyond=beyond)

    def corners_on_faces(self) -> Iterator[Touch]:
        """Yield corners of the feature on the surface, then corners of the surface on the feature."""
        face = _Face(self.b.hull, self.on_surface[0])
        for k, members in enumerate(self.a.hull.corner_classes, start=1):
            lowest, _ = select_least([dot(face.n, self.corners_of_a[i]) for i in members])
            corner = look_up_row(lowest, self.a.hull.corners[members].tolist())
            place = self.a.point(corner)
            arm = self.a.direction(corner)
            yield self.touch(f"corner {k}", arm, face.n, face.first, self._on(face, place))
        face = _Face(self.a.hull, self.on_feature[0])
        for k, members in enumerate(self.b.hull.corner_classes, start=1):
            lowest, _ = select_least([dot(face.n, self.corners_of_b[i]) for i in members])
            place = self.a.seen(look_up_row(lowest, self.b.hull.corners[members].tolist()))
            n, first = scaled(-1.0, self.a.direction(face.n)), self.a.direction(face.first)
            yield self.touch(f"surface's corner {k}", self.a.direction(place), n, first, self._on(face, place))

    def _on(self, face: _Face, place: Triple) -> tuple[Scalar, Scalar]:
        height, beside = face.reach(place)
        return self.counted(height, beside), beside

    def edges_across(self) -> Iterator[Touch]:
        """Yield one touch for each pair of classes of edges.

        The gap is the smallest of all pairs of both classes. The rows belong to the pair of edges that are nearest by
        distance alone, so that they do not contain the other pairs. Among edges that reach each other, this distance is
        zero for at most one pair.
        """
        classes = (self.a.hull.edge_classes, self.b.hull.edge_classes)
        for (k, mine), (m, others) in product(*(enumerate(x, start=1) for x in classes)):
            pairs = list(product(mine, others))
            near = [self.crossings[pair] for pair in pairs]
            number, _ = select_least([absolute(x.gap) + 2 * maximum(x.beyond, 0.0) for x in near])
            gap = reduce(minimum, [self.counted(x.gap, x.beyond) for x in near])
            e, f = (
                self._chosen(side, number, of)
                for side, of in zip((self.a, self.b), zip(*pairs, strict=True), strict=True)
            )
            x = self.crossing(e, f)
            arm = subtract_vectors(x.place, self.a.origin)
            yield self.touch(f"edge {k} across {m}", arm, x.n, f.along, (gap, x.beyond))

    def _chosen(self, side: _Side, number: Scalar, of: Sequence[int]) -> _EdgeLine:
        """Return the edge of[number]."""
        middles, along, halves = zip(*(_edges(side.hull)[k] for k in of), strict=True)
        return side.edge(look_up_row(number, middles), look_up_row(number, along), looked_up(number, halves))


class _Face:
    """Face that is selected by number, along its own axes."""

    def __init__(self, hull: Hull, number: Scalar) -> None:
        self.n = look_up_row(number, hull.normals.tolist())
        self.level = looked_up(number, _levels(hull))
        most = max(map(len, hull.faces))
        # Every face gets as many sides as the largest face: faces with fewer sides repeat some of them.
        corners = [hull.corners[[face[k % len(face)] for k in range(most + 1)]] for face in hull.faces]
        along = [np.diff(x, axis=0) for x in corners]
        outwards = [np.cross(x, n) for x, n in zip(along, hull.normals, strict=True)]
        outwards = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in outwards]
        self.first = look_up_row(number, [(x[0] / np.linalg.norm(x[0])).tolist() for x in along])
        self.sides = []
        for k in range(most):
            side = look_up_row(number, [x[k].tolist() for x in outwards])
            self.sides.append(
                (side, looked_up(number, [float(x[k] @ y[k]) for x, y in zip(outwards, corners, strict=True)]))
            )

    def reach(self, place: Triple) -> tuple[Scalar, Scalar]:
        """Return the height of a point above the face, and its distance beyond the sides of the face."""
        beside = [dot(side, place) - level for side, level in self.sides]
        return dot(self.n, place) - self.level, reduce(maximum, beside) - FLUSH_TOLERANCE


def _edges(hull: Hull) -> list[tuple[Triple, Triple, float]]:
    """Return the midpoint, the unit vector and half the length of each edge."""
    a, b = (hull.corners[[edge.corners[k] for edge in hull.edges]] for k in (0, 1))
    half = 0.5 * np.linalg.norm(b - a, axis=1)
    along = 0.5 * (b - a) / half[:, None]
    middles, directions = (map(tuple, x.tolist()) for x in (0.5 * (a + b), along))
    return list(zip(middles, directions, half.tolist(), strict=True))


def _levels(hull: Hull) -> list[float]:
    """Return the distances of the planes of the faces from the origin."""
    return [float(n @ hull.corners[face[0]]) for n, face in zip(hull.normals, hull.faces, strict=True)]
