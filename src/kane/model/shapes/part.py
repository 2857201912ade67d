"""Parts of which the appearance of a shape is composed."""

from __future__ import annotations

from kane.deferred import NamedTuple
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import Triple

# Forms, centred at the origin: box with edges of length 1; ball of radius 1; cylinder, tube (a cylinder without ends)
# and thin ring of radius 1 and length 1 along z. The square in the plane z = 0 has edges of length 2 and represents a
# plane.
BOX_FORM, BALL_FORM, CYLINDER_FORM, TUBE_FORM, RING_FORM, SQUARE_FORM = (
    "box",
    "ball",
    "cylinder",
    "tube",
    "ring",
    "square",
)
# Size of a part that extends over the whole scene.
ENDLESS_SIZE = 0.0


class Solid(NamedTuple):
    """User-defined form: corners [m], and the corners of each triangle, counter-clockwise from outside."""

    corners: tuple[tuple[float, ...], ...]
    faces: tuple[tuple[int, int, int], ...]


class Part(NamedTuple):
    """Form of unit size, scaled, rotated and moved: p_B = position + R (size * r) for each point r of the form.

    Attributes:
        form: one of the forms above, the path of a mesh, or a Solid.
        size: factors along the axes of the form [m]; ENDLESS_SIZE along an axis without end.
        position: p_B of its centre [m].
        orientation: R.
    """

    form: str | Solid
    size: Triple
    position: Triple
    orientation: Rotation
