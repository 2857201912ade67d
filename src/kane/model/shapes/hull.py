"""Convex hull of points: corners, faces, edges, and classes of corners and edges that share no face."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kane.array_types import Array
from kane.errors import ModelError
from kane.files.scipy import load_scipy

# Adjacent triangles are one face if their corners are within this fraction of the size (largest extent along an axis)
# from a common plane. Flat sides in single-precision files are flat to about this accuracy.
COPLANARITY_TOLERANCE = 1e-6
# A depth is accurate to FOUND times itself or SHALLOW times the size. A mesh is convex up to a depth of SHALLOW times
# its size.
FOUND, SHALLOW = 1e-2, 1e-4
# Largest number of distances between triangles and faces in memory at a time.
DISTANCES_IN_MEMORY = 2_000_000
# Largest number of iterations that move corners into the planes of their faces. Each reduces the error several times.
TURNS = 60


@dataclass(frozen=True)
class Edge:
    """Edge between two faces; seen from outside, the first face is left of the edge from first to second corner."""

    corners: tuple[int, int]
    faces: tuple[int, int]


@dataclass(frozen=True)
class Hull:
    """Convex polyhedron.

    Attributes:
        corners: (n, 3), in the order in which they were given [m].
        faces: corners of each face, counter-clockwise from outside.
        normals: outward unit normals of the faces, (m, 3).
        edges: edges, each between two faces.
    """

    corners: Array
    faces: tuple[tuple[int, ...], ...]
    normals: Array
    edges: tuple[Edge, ...]

    @staticmethod
    def of(points: Array) -> Hull:
        """Return the convex hull of points; points that are not corners are left out.

        Raises:
            ModelError: the points are coplanar, to within ``COPLANARITY_TOLERANCE`` of their size.
        """
        count = len(points)
        while True:
            faces = _flat_faces(points)
            counts = np.bincount([k for face in faces for k in face], minlength=len(points))
            if len(faces) < 4 or (counts >= 3).sum() < 4:
                raise _flat(count)
            if (counts >= 3).all():
                break
            points = points[counts >= 3]  # the others are inside a face or an edge
        points, normals = _levelled(points, faces)
        ordered = tuple(_around(points, face, n) for face, n in zip(faces, normals, strict=True))
        return Hull(points, ordered, normals, tuple(_edges(ordered)))

    @property
    def triangles(self) -> tuple[tuple[int, int, int], ...]:
        """The faces, cut into triangles."""
        return tuple((f[0], a, b) for f in self.faces for a, b in pairwise(f[1:]))

    def heights(self, points: Array) -> Array:
        """Return the heights of points above the planes of the faces, (points, faces) [m]."""
        level = np.einsum("ij,ij->i", self.normals, self.corners[[face[0] for face in self.faces]])
        return points @ self.normals.T - level

    def depth(self, points: Array, triangles: Array) -> float:
        """Return the largest depth of triangles below the surface of the hull [m]; see ``FOUND`` for its accuracy.

        The depth of a point is its distance to the nearest face, min_i d_i. It is concave, so that the deepest point of
        a triangle may be anywhere in it. An upper bound is min_i max(d_i of the corners). Triangles whose bound exceeds
        the depth found so far are cut into four.

        Args:
            points: (n, 3).
            triangles: indices of three points each, (m, 3).
        """
        best, close = 0.0, SHALLOW * float(np.ptp(self.corners, axis=0).max())
        pieces = [np.asarray(points[triangles])]
        while pieces:
            piece = pieces.pop()
            if len(piece) > 1 and 3 * len(piece) * len(self.faces) > DISTANCES_IN_MEMORY:
                pieces += np.array_split(piece, 2)
                continue
            below = -self.heights(piece.reshape(-1, 3)).reshape(len(piece), 3, -1)
            best = max(best, float(below.min(axis=2).max(initial=0.0)))
            bound = below.max(axis=1).min(axis=1)
            piece = piece[bound > max(best * (1.0 + FOUND), close)]
            if len(piece):
                half = 0.5 * (piece + np.roll(piece, 1, axis=1))  # midpoints of the sides that end at each corner
                beside = np.stack([piece, half, np.roll(half, -1, axis=1)], axis=2).reshape(-1, 3, 3)
                pieces.append(np.concatenate([beside, half]))
        return best

    @property
    def corner_classes(self) -> list[list[int]]:
        """Corners in classes: corners of one class share no face, so that a plane touches at most one of them."""
        together = [set(face) for face in self.faces]
        count = len(self.corners)
        return _classes(count, [set().union(*(f for f in together if k in f)) for k in range(count)])

    @property
    def edge_classes(self) -> list[list[int]]:
        """Edges in classes: edges of one class share no face."""
        sides = [set(edge.faces) for edge in self.edges]
        return _classes(len(sides), [{j for j, other in enumerate(sides) if other & mine} for mine in sides])


def reduced(points: Array, most: int) -> tuple[Array, float]:
    """Return at most ``most`` corners of the hull of points, and the largest height of the others above them [m].

    After four corners, each step adds the corner that is farthest outside the hull of the chosen corners.
    """
    corners = points[np.sort(_qhull(points).vertices)]
    if len(corners) <= most:
        return corners, 0.0
    chosen = [int(np.argmin(corners[:, 0])), int(np.argmax(corners[:, 0]))]
    while len(chosen) < 4:  # the corner farthest from the line of two, then from the plane of three
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
    """Return SciPy's hull.

    Raises:
        ModelError: the points are coplanar.
    """
    spatial = load_scipy("spatial")
    try:
        return spatial.ConvexHull(points)
    except (spatial.QhullError, ValueError):
        raise _flat(len(points)) from None


def _flat(count: int) -> ModelError:
    return ModelError(
        f"the {count} corners of a Polyhedron lie in a plane, to a millionth of their size; give four or more that "
        "do not"
    )


def _flat_faces(points: Array) -> list[set[int]]:
    """Return the corners of each face, after merging coplanar triangles."""
    size, found = float(np.ptp(points, axis=0).max()), _qhull(points)
    face = list(range(len(found.simplices)))
    off = np.abs(points @ found.equations[:, :3].T + found.equations[:, 3]) <= COPLANARITY_TOLERANCE * size
    for k, beside in enumerate(found.neighbors):
        for j in beside:
            if off[found.simplices[k], j].all() and off[found.simplices[j], k].all():
                face = [face[k] if x == face[j] else x for x in face]
    joined: dict[int, set[int]] = {}
    for k, corners in zip(face, found.simplices, strict=True):
        joined.setdefault(k, set()).update(map(int, corners))
    return list(joined.values())


def _levelled(points: Array, faces: Sequence[Iterable[int]]) -> tuple[Array, Array]:
    """Return the corners, moved into the planes of their faces up to rounding, and the normals of the faces."""
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
    """Return the corners of a face in counter-clockwise order."""
    listed = sorted(face)
    away = points[listed] - points[listed].mean(axis=0)
    e = away[0] / np.linalg.norm(away[0])
    return tuple(listed[k] for k in np.argsort(np.arctan2(away @ np.cross(n, e), away @ e)))


def _edges(faces: Sequence[tuple[int, ...]]) -> Iterable[Edge]:
    sides = {(a, b): k for k, f in enumerate(faces) for a, b in zip(f, (*f[1:], f[0]), strict=True)}
    return (Edge((a, b), (k, sides[b, a])) for (a, b), k in sides.items() if a < b)


def _classes(count: int, together: Sequence[set[int]]) -> list[list[int]]:
    """Put each item into the first class that contains none of the items in its set ``together``."""
    classes: list[list[int]] = []
    for k in range(count):
        free = next((x for x in classes if not together[k] & set(x)), None)
        if free is None:
            classes.append([k])
        else:
            free.append(k)
    return classes
