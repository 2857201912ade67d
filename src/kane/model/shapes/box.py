"""Box."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from kane.deferred import dataclass
from kane.expression.node import Scalar
from kane.geometry.scalars import add_vectors
from kane.model.body import Point
from kane.model.shapes.part import BOX_FORM, Part
from kane.model.shapes.placed import Lengths


@dataclass(frozen=True)
class Box(Lengths):
    """Box fixed in a body A.

    Attributes:
        x, y, z: lengths of the edges [m], positive: numbers or expressions of parameters.
        centre: C, of A; None for a box without a place.
        orientation: R_AE, whose columns are the directions of the edges; the axes of A by default. A kane.Rotation, a
            3 x 3 matrix or a quaternion.
    """

    @property
    def sides(self) -> tuple[Scalar, Scalar, Scalar]:
        """Lengths of the edges [m]."""
        return self.x, self.y, self.z

    @property
    def corners(self) -> Iterator[tuple[str, Point]]:
        """The eight corners, each with its name, such as "+-+": the signs along the three edges."""
        C = self.origin
        for signs in product((-0.5, 0.5), repeat=3):
            away = self.rotation.apply(tuple(s * side for s, side in zip(signs, self.sides, strict=True)))
            place = add_vectors(C.position_in_body, away)
            yield "".join("-+"[s > 0] for s in signs), C.body.point(place)

    def parts(self) -> tuple[Part, ...]:
        """Return the box as one part."""
        return (Part(BOX_FORM, self.sides, self.origin.position_in_body, self.rotation),)
