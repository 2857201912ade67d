"""Forms of unit size as triangles; parts of shapes are stretched unit forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from kane.array_types import Array
from kane.deferred import NamedTuple
from kane.model.shapes.part import BALL_FORM, BOX_FORM, CYLINDER_FORM, RING_FORM, SQUARE_FORM, TUBE_FORM

ROUND = 40  # corners of a circle
GLOBE = 34  # corners of a ball's equator; fewer than ROUND, because balls are frequent and shading hides corners
INNER = 0.86  # inner radius of a ring


class Triangles(NamedTuple):
    """Triangulated surface.

    Attributes:
        points: corners, (n, 3).
        normals: outward normals at the corners, (n, 3); zero if each triangle has its own.
        faces: indices of the three corners, counter-clockwise from outside, (m, 3).
    """

    points: Array
    normals: Array
    faces: NDArray[np.int64]


def join_surfaces(*surfaces: Triangles) -> Triangles:
    """Return several surfaces as one."""
    starts = np.cumsum([0, *(len(s.points) for s in surfaces)])
    faces = [s.faces + start for s, start in zip(surfaces, starts, strict=False)]
    points, normals = (np.concatenate([getattr(s, word) for s in surfaces]) for word in ("points", "normals"))
    return Triangles(points, normals, np.concatenate(faces))


def _grid(rows: int, columns: int) -> NDArray[np.int64]:
    """Return the faces of a grid of (rows + 1, columns + 1) corners in row order."""
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    a = (i * (columns + 1) + j).ravel()
    b, c, d = a + 1, a + columns + 2, a + columns + 1
    return np.stack([np.stack([a, b, c], 1), np.stack([a, c, d], 1)], 1).reshape(-1, 3)


def _circle(corners: int = ROUND) -> tuple[Array, Array]:
    angle = np.linspace(0.0, 2 * np.pi, corners + 1)
    return np.cos(angle), np.sin(angle)


def _ball() -> Triangles:
    c, s = _circle(GLOBE)
    height = np.linspace(-np.pi / 2, np.pi / 2, GLOBE // 2 + 1)[:, None]
    points = np.stack([np.cos(height) * c, np.cos(height) * s, np.sin(height) + 0 * c], -1).reshape(-1, 3)
    return Triangles(points, points, _grid(GLOBE // 2, GLOBE))


def _tube(radius: float = 1.0, side: float = 1.0) -> Triangles:
    c, s = _circle()
    around = np.stack([c, s, 0 * c], -1)
    half = np.array([0.0, 0.0, 0.5])
    points = np.concatenate([radius * around - half, radius * around + half])
    faces = _grid(1, ROUND)
    return Triangles(points, side * np.tile(around, (2, 1)), faces if side > 0 else faces[:, ::-1])


def _end(inner: float, height: float) -> Triangles:
    """Return a flat ring, or a disk, at z = height."""
    c, s = _circle()
    around = np.stack([c, s, 0 * c], -1)
    points = np.concatenate([inner * around, around]) + np.array([0.0, 0.0, height])
    faces = _grid(1, ROUND)
    up = np.sign(height)
    normals = np.tile([0.0, 0.0, up], (len(points), 1))
    return Triangles(points, normals, faces[:, ::-1] if up > 0 else faces)


def _cylinder() -> Triangles:
    return join_surfaces(_tube(), _end(0.0, 0.5), _end(0.0, -0.5))


def _ring() -> Triangles:
    return join_surfaces(_tube(), _tube(INNER, -1.0), _end(INNER, 0.5), _end(INNER, -0.5))


def _box() -> Triangles:
    corners = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [(a, b, c) for a, b, c, _ in sides] + [(a, c, d) for a, _, c, d in sides]
    return Triangles(corners, np.zeros((8, 3)), np.array(faces))


def _square() -> Triangles:
    corners = np.array([(-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 0.0)])
    return Triangles(corners, np.tile([0.0, 0.0, 1.0], (4, 1)), np.array([(0, 1, 2), (0, 2, 3)]))


def _cone() -> Triangles:
    """Return the head of an arrow: radius 1 at z = 0, tip at z = 1."""
    c, s = _circle()
    around, tip = np.stack([c, s, 0 * c], -1), np.tile([0.0, 0.0, 1.0], (ROUND + 1, 1))
    slope = np.stack([c, s, 0 * c + 1], -1) / np.sqrt(2)
    side = Triangles(np.concatenate([around, tip]), np.tile(slope, (2, 1)), _grid(1, ROUND))
    bottom = _end(0.0, -1.0)
    return join_surfaces(side, Triangles(bottom.points + np.array([0.0, 0.0, 1.0]), bottom.normals, bottom.faces))


CONE = "cone"
_MAKERS: dict[str, Callable[[], Triangles]] = {
    BOX_FORM: _box,
    BALL_FORM: _ball,
    CYLINDER_FORM: _cylinder,
    TUBE_FORM: _tube,
    RING_FORM: _ring,
    SQUARE_FORM: _square,
    CONE: _cone,
}
UNIT_FORM_NAMES = tuple(_MAKERS)


@cache
def unit_form(name: str) -> Triangles:
    """Return the form of this name."""
    return _MAKERS[name]()
