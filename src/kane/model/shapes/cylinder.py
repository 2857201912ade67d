"""A round cylinder."""

from __future__ import annotations

from dataclasses import dataclass

from kane.expression.node import Scalar
from kane.model.arguments import require_positive
from kane.model.shapes.disk import Disk
from kane.model.shapes.part import CYLINDER, ENDLESS, TUBE, Part
from kane.model.shapes.rim import Rim


@dataclass(frozen=True)
class Cylinder(Rim):
    """A solid cylinder fixed in a body: the surface around an axle, or what lies between two disks.

    Attributes:
        centre: C, on the axle, in the middle of the length.
        axle: a, fixed in the body of C; its length does not matter.
        radius: r [m], positive: a number or an expression of parameters.
        length: along the axle [m]; without end unless given. What others touch has no ends, what touches a plane has.
    """

    length: Scalar | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length is not None:
            require_positive(self.centre.body.model, self.length, "the length of a Cylinder")

    @property
    def ends(self) -> tuple[tuple[str, Disk], ...]:
        """The two disks at its ends, where it has any, each with its name."""
        if self.length is None:
            return ()
        body, a = self.centre.body, self.unit_axle.components
        made = []
        for name, side in (("start", -0.5), ("end", 0.5)):
            place = (c + side * self.length * x for c, x in zip(self.centre.position_in_body, a, strict=True))
            made.append((name, Disk(body.point(tuple(place)), self.axle, self.radius)))
        return tuple(made)

    def parts(self) -> tuple[Part, ...]:
        """A tube as long as the scene where it has no ends."""
        return (self.round(TUBE, ENDLESS) if self.length is None else self.round(CYLINDER, self.length),)
