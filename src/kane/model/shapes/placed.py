"""Shapes that are placed in a body by a centre and axes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from kane.errors import ModelError, shown
from kane.expression.node import Expr, Scalar
from kane.geometry.rotation import Rotation
from kane.model.arguments import require_points, require_positive
from kane.model.body import Body, Point
from kane.model.checks import require_fixed
from kane.model.shapes.shape import Shape


class Placed(Shape):
    """A shape that may have a place yet or not.

    Attributes:
        centre: C, of a body A; None where it has no place yet.
        orientation: R_AE of its axes; those of A unless given. A kane.Rotation, a matrix 3 x 3 or a quaternion.
    """

    centre: Point | None
    orientation: Any

    def settle_orientation(self) -> None:
        """Make a rotation of what was given; for ``__post_init__``."""
        whose = f"the orientation of a {type(self).__name__}"
        rotation = Rotation.identity() if self.orientation is None else Rotation.of(self.orientation, whose)
        object.__setattr__(self, "orientation", rotation)
        require_fixed([x for row in rotation.entries for x in row if isinstance(x, Expr)], whose)

    @property
    def origin(self) -> Point:
        """The centre.

        Raises:
            ModelError: it has none.
        """
        if self.centre is None:
            raise ModelError(f"{shown(self)} has no place; give its centre, such as body.point()")
        return self.centre

    @property
    def rotation(self) -> Rotation:
        """R_AE."""
        return self.orientation

    def placed(self, body: Body, at: Any, orientation: Any) -> Shape:
        """This shape with its centre, where it has none, at a place of the body."""
        if self.centre is not None:
            return super().placed(body, at, orientation)
        axes = self.orientation if orientation is None else orientation
        centre = body.point((0.0, 0.0, 0.0) if at is None else at)
        return replace(cast(Any, self), centre=centre, orientation=axes)


@dataclass(frozen=True)
class Lengths(Placed):
    """Three lengths along three axes at right angles to each other.

    Attributes:
        x, y, z: lengths [m], positive: numbers or expressions of parameters.
        centre, orientation: see ``Placed``.
    """

    x: Scalar
    y: Scalar
    z: Scalar
    centre: Point | None = None
    orientation: Any = None

    def __post_init__(self) -> None:
        self.settle_orientation()
        if self.centre is None:
            return
        kind = type(self).__name__
        require_points(f"a {kind}", self.centre)
        for x in (self.x, self.y, self.z):
            require_positive(self.centre.body.model, x, f"a length of a {kind}")
