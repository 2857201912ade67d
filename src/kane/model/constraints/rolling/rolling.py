"""Permanent contact of a round shape with a surface: rolling and sliding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.number_arguments import require
from kane.model.constraints.constraint import Constraint, Row
from kane.model.constraints.rolling.rolling_pairs import ROLLERS, SURFACES, rolling_rows
from kane.model.shapes import Shape
from kane.model.vector_arguments import require_two_bodies


@dataclass(frozen=True)
class Touching(Constraint):
    """A disk or sphere in contact with a plane, or a disk with another disk or a ring.

    Contact at the start is not checked here; ``assemble`` closes the gap. If no coordinate can close it, for example
    because the axle has another height than the radius, ``formulate`` or ``assemble`` raises an error. If the shapes
    touch in every configuration, the equation is redundant.

    Attributes:
        roller: ``kane.Disk(centre, axle, radius)`` or ``kane.Sphere(centre, radius)``.
        surface: ``kane.Plane(point, normal)``, or for a disk ``kane.Disk`` or ``kane.Ring``.
    """

    roller: Shape
    surface: Shape

    def __post_init__(self) -> None:
        kind = type(self).__name__
        require(self.roller, ROLLERS, f"the roller of a {kind} is a kane.Disk or kane.Sphere")
        if not isinstance(self.surface, SURFACES):
            raise ModelError(f"a {kind} is on a kane.Plane, kane.Disk or kane.Ring, not on {shown(self.surface)}")
        require_two_bodies(f"a {kind}", self.roller.origin.body, self.surface.origin.body)
        self.rows()  # raises if the pair cannot be in contact

    @property
    def title(self) -> str:
        """Name of the constraint, with both bodies."""
        return f"{type(self).__name__.lower()} of {self.roller.origin.body.name} on {self.surface.origin.body.name}"


class Rolling(Touching):
    """Rolling without slip: the material points in contact have equal velocities. Nonholonomic in general.

    The rows depend on the pair; docs/notation.md has their equations:

    * sphere on a plane: "no slip 1", "no slip 2" and "touch";
    * disk on a plane: "no slip" along its heading, "no skid" across it, and "touch";
    * disk on a disk or in a ring: "no slip" and "touch".

    The equations of a disk that lies flat are singular, because it has no lowest point.

    Attributes:
        roller: ``kane.Disk(centre, axle, radius)`` or ``kane.Sphere(centre, radius)``.
        surface: ``kane.Plane(point, normal)``, or for a disk ``kane.Disk`` or ``kane.Ring``.
    """

    def rows(self) -> Sequence[Row]:
        """Return the equations along the surface, and "touch"."""
        return rolling_rows(self.roller, self.surface)


class Sliding(Touching):
    """Contact with free slip: only the equation "touch" of ``kane.Rolling``.

    Attributes:
        roller: ``kane.Disk(centre, axle, radius)`` or ``kane.Sphere(centre, radius)``.
        surface: ``kane.Plane(point, normal)``, or for a disk ``kane.Disk`` or ``kane.Ring``.
    """

    def rows(self) -> Sequence[Row]:
        """Return "touch" without its alternative, which is equivalent only together with the other rows."""
        rows = rolling_rows(self.roller, self.surface)
        return [replace(row, instead=None) for row in rows if row.configuration is not None]
