"""Round cylinder."""

from __future__ import annotations

from kane.deferred import dataclass
from kane.expression.node import Scalar
from kane.model.shapes.disk import Disk
from kane.model.shapes.part import CYLINDER_FORM, ENDLESS_SIZE, TUBE_FORM, Part
from kane.model.shapes.rim import Rim
from kane.model.vector_arguments import require_positive


@dataclass(frozen=True)
class Cylinder(Rim):
    """Solid cylinder fixed in a body, infinite or with two end disks.

    Attributes:
        centre: C, on the axle, in the middle of the length.
        axle: a, fixed in the body of C; its length does not matter.
        radius: r [m], positive: a number or an expression of parameters.
        length: length along the axle [m]; None (the default) for an infinite cylinder. In contacts, the surface must be
            infinite and the feature must have a length.
    """

    length: Scalar | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length is not None:
            require_positive(self.centre.body.model, self.length, "the length of a Cylinder")

    @property
    def ends(self) -> tuple[tuple[str, Disk], ...]:
        """Disks at the ends, each with its name; empty for an infinite cylinder."""
        if self.length is None:
            return ()
        body, a = self.centre.body, self.unit_axle.components
        made = []
        for name, side in (("start", -0.5), ("end", 0.5)):
            place = (c + side * self.length * x for c, x in zip(self.centre.position_in_body, a, strict=True))
            made.append((name, Disk(body.point(tuple(place)), self.axle, self.radius)))
        return tuple(made)

    def parts(self) -> tuple[Part, ...]:
        """Return a cylinder, or a tube as long as the scene for an infinite cylinder."""
        return (self.round(TUBE_FORM, ENDLESS_SIZE) if self.length is None else self.round(CYLINDER_FORM, self.length),)
