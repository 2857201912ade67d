"""An ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass

from kane.expression.node import Scalar
from kane.model.shapes.part import BALL, Part
from kane.model.shapes.placed import Lengths


@dataclass(frozen=True)
class Ellipsoid(Lengths):
    """An ellipsoid fixed in a body A.

    Attributes:
        x, y, z: semi-axes [m], positive: numbers or expressions of parameters.
        centre: C, of A; None where it has no place yet.
        orientation: R_AE, whose columns are the directions of the semi-axes; the axes of A unless given. A
            kane.Rotation, a matrix 3 x 3 or a quaternion.
    """

    @property
    def semi_axes(self) -> tuple[Scalar, Scalar, Scalar]:
        """Half of its length along each of its axes [m]."""
        return self.x, self.y, self.z

    def parts(self) -> tuple[Part, ...]:
        """It is one form."""
        return (Part(BALL, self.semi_axes, self.origin.position_in_body, self.rotation),)
