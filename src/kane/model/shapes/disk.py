"""Thin disk."""

from __future__ import annotations

from kane.model.shapes.part import CYLINDER_FORM, Part
from kane.model.shapes.rim import RIM_THICKNESS, Rim


class Disk(Rim):
    """Thin disk or wheel fixed in a body; it rolls, or another disk rolls on it.

    Attributes:
        centre: C, on the axle.
        axle: a, fixed in the body of C; its length does not matter.
        radius: r [m], positive: a number or an expression of parameters.
    """

    def parts(self) -> tuple[Part, ...]:
        """Return a thin cylinder."""
        return (self.round(CYLINDER_FORM, RIM_THICKNESS * self.radius),)
