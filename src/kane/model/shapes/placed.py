"""Shapes that are placed in a body by a centre and axes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Expr, Scalar
from kane.geometry.rotation import Rotation
from kane.model.body import Body, Point
from kane.model.checks import require_fixed
from kane.model.shapes.shape import Shape
from kane.model.vector_arguments import require_points, require_positive


class Placed(Shape):
    """Shape that may be declared without a place, and placed later.

    Attributes:
        centre: C, of a body A; None for a shape without a place.
        orientation: R_AE of its axes; the axes of A by default. A kane.Rotation, a 3 x 3 matrix or a quaternion.
    """

    centre: Point | None
    orientation: Any

    def project_orientation(self) -> None:
        """Convert the given orientation to a Rotation; for ``__post_init__``."""
        whose = f"the orientation of a {type(self).__name__}"
        rotation = Rotation.identity() if self.orientation is None else Rotation.of(self.orientation, whose)
        object.__setattr__(self, "orientation", rotation)
        require_fixed([x for row in rotation.entries for x in row if isinstance(x, Expr)], whose)

    @property
    def origin(self) -> Point:
        """The centre.

        Raises:
            ModelError: the shape has no place.
        """
        if self.centre is None:
            raise ModelError(f"{shown(self)} has no place; give its centre, such as body.point()")
        return self.centre

    @property
    def rotation(self) -> Rotation:
        """Orientation R_AE."""
        return self.orientation

    def placed(self, body: Body, at: Any, orientation: Any) -> Shape:
        """Return this shape, with its centre at a point of the body if it has no place yet."""
        if self.centre is not None:
            return super().placed(body, at, orientation)
        axes = self.orientation if orientation is None else orientation
        centre = body.point((0.0, 0.0, 0.0) if at is None else at)
        return replace(cast(Any, self), centre=centre, orientation=axes)


@dataclass(frozen=True)
class Lengths(Placed):
    """Shape with three lengths along orthogonal axes.

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
        self.project_orientation()
        if self.centre is None:
            return
        kind = type(self).__name__
        require_points(f"a {kind}", self.centre)
        for x in (self.x, self.y, self.z):
            require_positive(self.centre.body.model, x, f"a length of a {kind}")
