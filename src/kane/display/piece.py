"""Pieces: forms and lines of bodies, numerically."""

from __future__ import annotations

from kane.array_types import Array
from kane.deferred import NamedTuple
from kane.model.shapes.part import Solid


class DrawnPiece(NamedTuple):
    """Form of a body.

    Attributes:
        body: index of the body; the ground is 0.
        form: name of a unit form, path of a mesh, or a solid.
        stretch: 3 x 3 matrix, R times the sizes.
        position: p_B [m].
        look: "shape" for declared shapes, "guess" for default shapes, "ground" for shapes of the ground.
    """

    body: int
    form: str | Solid
    stretch: Array
    position: Array
    look: str


class Tie(NamedTuple):
    """Line between points of two bodies, such as a sliding joint or a spring."""

    bodies: tuple[int, int]
    points: tuple[Array, Array]
