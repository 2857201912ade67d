"""The convex hull of points: its corners, faces and edges, and which of them are never together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.errors import ModelError

Array = NDArray[np.float64]
# Triangles whose corners are off a plane by less than this share of the size are one face: what files of single
# precision leave of a flat side.
FLAT = 1e-6
# A depth is found to this share of it; one of less than SHALLOW of the size is none: such a mesh is convex.
FOUND, SHALLOW = 1e-2, 1e-4
# Distances, of triangles from faces, that are held in memory at a time.
MOST = 2_000_000
# Turns in which corners are put into the planes of their faces; each lessens what is left several times.
TURNS = 60


@dataclass(frozen=True)
class Edge:
    """Where two faces meet: from one corner to another, with the first face to its left seen from outside."""

    corners: tuple[int, int]
    faces: tuple[int, int]


@dataclass(frozen=True)
class Hull:
    """A convex polyhedron.

    Attributes:
        corners: (n, 3), in the order in which they were given [m].
        faces: corners of each face, counter-clockwise from outside.
        normals: of the faces, outwards, (m, 3).
        edges: between two faces each.
    """

    corners: Array
    faces: tuple[tuple[int, ...], ...]
    normals: Array
    edges: tuple[Edge, ...]

    @staticmethod
    def of(points: Array) -> Hull:
        """That of points; those that are no corners are left out.

        Raises:
            ModelError: the points lie in a plane, to ``FLAT`` of their size.
        """
        count = len(points)
        while True:
            faces = _flat_faces(points)
            counts = np.bincount([k for face in faces for k in face], minlength=len(points))
            if len(faces) < 4 or (counts >= 3).sum() < 4:
                raise _flat(count)
            if (counts >= 3).all():
                break
            points = points[counts >= 3]  # others are within a face or an edge
        points, normals = _levelled(points, faces)
        ordered = tuple(_around(points, face, n) for face, n in zip(faces, normals, strict=True))
        return Hull(points, ordered, normals, tuple(_edges(ordered)))

    @property
    def triangles(self) -> tuple[tuple[int, int, int], ...]:
        """The faces, cut into triangles."""
        return tuple((f[0], a, b) for f in self.faces for a, b in pairwise(f[1:]))

    def heights(self, points: Array) -> Array:
        """How far points are above the planes of the faces, (points, faces) [m]."""
        level = np.einsum("ij,ij->i", self.normals, self.corners[[face[0] for face in self.faces]])
        return points @ self.normals.T - level

    def depth(self, points: Array, triangles: Array) -> float:
        """How far triangles within it are below its surface, at most, to a hundredth of that [m].

        The depth of a point is its distance to the nearest face, min_i d_i: concave, so that the deepest point of a
        triangle may be a corner, on a side or within. No point of one is deeper than min_i max(d_i of its corners);
        triangles whose bound is more than what was found are cut into four.

        Args:
            points: (n, 3).
            triangles: three of the points each, (m, 3).
        """
        best, close = 0.0, SHALLOW * float(np.ptp(self.corners, axis=0).max())
        pieces = [np.asarray(points[triangles])]
        while pieces:
            piece = pieces.pop()
            if len(piece) > 1 and 3 * len(piece) * len(self.faces) > MOST:
                pieces += np.array_split(piece, 2)
                continue
            below = -self.heights(piece.reshape(-1, 3)).reshape(len(piece), 3, -1)
            best = max(best, float(below.min(axis=2).max(initial=0.0)))
            bound = below.max(axis=1).min(axis=1)
            piece = piece[bound > max(best * (1.0 + FOUND), close)]
            if len(piece):
                half = 0.5 * (piece + np.roll(piece, 1, axis=1))  # of the sides that end at each corner
                beside = np.stack([piece, half, np.roll(half, -1, axis=1)], axis=2).reshape(-1, 3, 3)
                pieces.append(np.concatenate([beside, half]))
        return best

    @property
    def corner_classes(self) -> list[list[int]]:
        """Corners in classes of which no face has two: never does a plane touch two of one class."""
        together = [set(face) for face in self.faces]
        count = len(self.corners)
        return _classes(count, [set().union(*(f for f in together if k in f)) for k in range(count)])

    @property
    def edge_classes(self) -> list[list[int]]:
        """Edges in classes of which no face has two."""
        sides = [set(edge.faces) for edge in self.edges]
        return _classes(len(sides), [{j for j, other in enumerate(sides) if other & mine} for mine in sides])


def reduced(points: Array, most: int) -> tuple[Array, float]:
    """At most so many corners of the hull of points, and how far the others are outside of theirs [m].

    Each further corner is the one that is farthest outside.
    """
    corners = points[np.sort(_qhull(points).vertices)]
    if len(corners) <= most:
        return corners, 0.0
    chosen = [int(np.argmin(corners[:, 0])), int(np.argmax(corners[:, 0]))]
    while len(chosen) < 4:  # farthest from the line of two, then from the plane of three
        away = corners - corners[chosen[0]]
        q, _ = np.linalg.qr(away[chosen[1:]].T)
        chosen.append(int(np.argmax(np.linalg.norm(away - (away @ q) @ q.T, axis=1))))
    while True:
        outside = Hull.of(corners[chosen]).heights(corners).max(axis=1)
        if len(chosen) == most:
            return corners[sorted(chosen)], float(outside.max())
        outside[chosen] = -np.inf
        chosen.append(int(np.argmax(outside)))


def _qhull(points: Array) -> Any:
    """SciPy's hull.

    Raises:
        ModelError: the points lie in a plane.
    """
    from scipy.spatial import ConvexHull, QhullError  # here, because importing it takes a tenth of a second

    try:
        return ConvexHull(points)
    except (QhullError, ValueError):
        raise _flat(len(points)) from None


def _flat(count: int) -> ModelError:
    return ModelError(
        f"the {count} corners of a Polyhedron lie in a plane, to a millionth of their size; give four or more that do "
        "not"
    )


def _flat_faces(points: Array) -> list[set[int]]:
    """The corners of each face, triangles in one plane joined."""
    size, found = float(np.ptp(points, axis=0).max()), _qhull(points)
    face = list(range(len(found.simplices)))
    off = np.abs(points @ found.equations[:, :3].T + found.equations[:, 3]) <= FLAT * size
    for k, beside in enumerate(found.neighbors):
        for j in beside:
            if off[found.simplices[k], j].all() and off[found.simplices[j], k].all():
                face = [face[k] if x == face[j] else x for x in face]
    joined: dict[int, set[int]] = {}
    for k, corners in zip(face, found.simplices, strict=True):
        joined.setdefault(k, set()).update(map(int, corners))
    return list(joined.values())


def _levelled(points: Array, faces: Sequence[Iterable[int]]) -> tuple[Array, Array]:
    """Corners in the planes of their faces to rounding, and the normals of these."""
    points, inside = points.copy(), points.mean(axis=0)
    mine = np.zeros((len(points), len(faces)), bool)
    for k, face in enumerate(faces):
        mine[list(face), k] = True
    for _ in range(TURNS):
        normals, levels = [], []
        for face in faces:
            at = points[list(face)]
            n = np.linalg.svd(at - at.mean(axis=0))[2][2]
            n = n if n @ (at.mean(axis=0) - inside) > 0.0 else -n
            normals.append(n)
            levels.append(n @ at.mean(axis=0))
        planes, level = np.array(normals), np.array(levels)
        off = points @ planes.T - level
        if np.abs(off[mine]).max() <= 4 * np.finfo(float).eps * np.abs(points).max():
            break
        for k, of in enumerate(mine):
            points[k] -= np.linalg.lstsq(planes[of], off[k, of], rcond=1e-3)[0]
    return points, planes


def _around(points: Array, face: Iterable[int], n: Array) -> tuple[int, ...]:
    """Corners of a face in their order."""
    listed = sorted(face)
    away = points[listed] - points[listed].mean(axis=0)
    e = away[0] / np.linalg.norm(away[0])
    return tuple(listed[k] for k in np.argsort(np.arctan2(away @ np.cross(n, e), away @ e)))


def _edges(faces: Sequence[tuple[int, ...]]) -> Iterable[Edge]:
    sides = {(a, b): k for k, f in enumerate(faces) for a, b in zip(f, (*f[1:], f[0]), strict=True)}
    return (Edge((a, b), (k, sides[b, a])) for (a, b), k in sides.items() if a < b)


def _classes(count: int, together: Sequence[set[int]]) -> list[list[int]]:
    """Each into the first class in which none is that it is together with."""
    classes: list[list[int]] = []
    for k in range(count):
        free = next((x for x in classes if not together[k] & set(x)), None)
        if free is None:
            classes.append([k])
        else:
            free.append(k)
    return classes
