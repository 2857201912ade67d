"""Ellipsoid."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.expression.node import Scalar
from kane.model.shapes.part import BALL_FORM, Part
from kane.model.shapes.placed import Lengths


@dataclass(frozen=True)
class Ellipsoid(Lengths):
    """Ellipsoid fixed in a body A.

    Attributes:
        x, y, z: semi-axes [m], positive: numbers or expressions of parameters.
        centre: C, of A; None for an ellipsoid without a place.
        orientation: R_AE, whose columns are the directions of the semi-axes; the axes of A by default. A kane.Rotation,
            a 3 x 3 matrix or a quaternion.
    """

    @property
    def semi_axes(self) -> tuple[Scalar, Scalar, Scalar]:
        """Lengths of the semi-axes [m]."""
        return self.x, self.y, self.z

    def parts(self) -> tuple[Part, ...]:
        """Return the ellipsoid as one part."""
        return (Part(BALL_FORM, self.semi_axes, self.origin.position_in_body, self.rotation),)
