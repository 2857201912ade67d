"""Parts: of what a shape looks like."""

from __future__ import annotations

from typing import NamedTuple

from kane.geometry.rotation import Rotation
from kane.geometry.scalars import Triple

# Forms: edges of length 1 about the centre; radius 1 about the centre; radius 1 and length 1 along z about the centre,
# with ends, without, and as a thin ring; the square of edge 2 in the plane z = 0, which stands for a plane.
BOX, BALL, CYLINDER, TUBE, RING, SQUARE = "box", "ball", "cylinder", "tube", "ring", "square"
# A size that says: as large as the scene.
ENDLESS = 0.0


class Solid(NamedTuple):
    """A form of one's own: corners [m], and the corners of each triangle, counter-clockwise from outside."""

    corners: tuple[tuple[float, ...], ...]
    faces: tuple[tuple[int, int, int], ...]


class Part(NamedTuple):
    """A form of unit size, stretched, turned and put into a body: p_B = position + R (size * r), r a point of the form.

    Attributes:
        form: one of the forms above, the path of a mesh, or a Solid.
        size: factors along the axes of the form [m]; ENDLESS where it has no end.
        position: p_B of its centre [m].
        orientation: R.
    """

    form: str | Solid
    size: Triple
    position: Triple
    orientation: Rotation
