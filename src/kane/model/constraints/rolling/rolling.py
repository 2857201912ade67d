"""Contact of a round shape with a surface: rolling, and sliding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kane.errors import ModelError, shown
from kane.model.arguments import require_two_bodies
from kane.model.constraints.constraint import Constraint, Row
from kane.model.constraints.rolling.pairs import ROLLERS, SURFACES, rolling_rows
from kane.model.shapes import Shape


@dataclass(frozen=True)
class Touching(Constraint):
    """A disk or sphere in contact with a plane, or a disk with another disk or a ring.

    That they touch when the motion starts is not checked here: ``assemble`` moves them together. Where no coordinate
    can do so, as with an axle held at another height than the radius, ``formulate`` or ``assemble`` says that the
    constraint cannot hold; where they touch whatever the motion, the equation is found redundant.

    Attributes:
        roller: ``kane.Disk(centre, axle, radius)`` or ``kane.Sphere(centre, radius)``.
        surface: ``kane.Plane(point, normal)``, or for a disk ``kane.Disk`` or ``kane.Ring``.
    """

    roller: Shape
    surface: Shape

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if not isinstance(self.roller, ROLLERS):
            raise ModelError(f"a {kind} is of a kane.Disk or kane.Sphere, not of {shown(self.roller)}")
        if not isinstance(self.surface, SURFACES):
            raise ModelError(f"a {kind} is on a kane.Plane, kane.Disk or kane.Ring, not on {shown(self.surface)}")
        require_two_bodies(f"a {kind}", self.roller.origin.body, self.surface.origin.body)
        self.rows()  # refuses a pair that cannot be in contact

    @property
    def title(self) -> str:
        """What is on what."""
        return f"{type(self).__name__.lower()} of {self.roller.origin.body.name} on {self.surface.origin.body.name}"


class Rolling(Touching):
    """Rolling without slip: the material points in contact have one velocity. Nonholonomic in general.

    The rows of a sphere on a plane are "no slip 1", "no slip 2" and "touch"; of a disk on a plane "no slip" along its
    heading, "no skid" across it, and "touch"; of a disk on a disk or in a ring "no slip" and "touch". Their equations
    are in docs/notation.md, and in a file for each pair beside this one. A disk that lies flat has no lowest point:
    its equations are singular there.

    Attributes:
        roller: ``kane.Disk(centre, axle, radius)`` or ``kane.Sphere(centre, radius)``.
        surface: ``kane.Plane(point, normal)``, or for a disk ``kane.Disk`` or ``kane.Ring``.
    """

    def rows(self) -> Sequence[Row]:
        """Equations along the surface, and "touch"."""
        return rolling_rows(self.roller, self.surface)


class Sliding(Touching):
    """Contact that leaves slip free: of the equations of ``kane.Rolling`` the one called "touch".

    Attributes:
        roller: ``kane.Disk(centre, axle, radius)`` or ``kane.Sphere(centre, radius)``.
        surface: ``kane.Plane(point, normal)``, or for a disk ``kane.Disk`` or ``kane.Ring``.
    """

    def rows(self) -> Sequence[Row]:
        """One equation, which has to say all by itself."""
        rows = rolling_rows(self.roller, self.surface)
        return [replace(row, instead=None) for row in rows if row.configuration is not None]
