"""Pieces: forms and lines in bodies, in numbers."""

from __future__ import annotations

from typing import NamedTuple

from kane.array_types import Array
from kane.model.shapes.part import Solid


class DrawnPiece(NamedTuple):
    """A form in a body.

    Attributes:
        body: its index; the ground is 0.
        form: name of a unit form, path of a mesh, or a solid.
        stretch: 3 x 3: R times the sizes.
        position: p_B [m].
        look: "shape" for what the model says, "guess" for what was made up, "ground" for what stands still.
    """

    body: int
    form: str | Solid
    stretch: Array
    position: Array
    look: str


class Tie(NamedTuple):
    """A line between points of two bodies: a joint that slides, a spring."""

    bodies: tuple[int, int]
    points: tuple[Array, Array]
