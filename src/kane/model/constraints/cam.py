"""Cam: the coordinate of a follower is a function of the coordinate of a cam."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.node import Expr
from kane.expression.number_arguments import takes
from kane.expression.traverse import leaves
from kane.model.connection import Connection, JointCoordinate
from kane.model.constraints.constraint import Constraint, Row
from kane.model.vector_arguments import coordinate, require_geometric, require_one_model


@dataclass(frozen=True)
class Cam(Constraint):
    """The coordinate of a follower is a function of the coordinate of a cam: q_f - profile(q_c) = 0.

    Attributes:
        follower, cam: joints with one coordinate, or one coordinate of a joint: ``joint["q2"]``.
        profile: function of the expression q_c that returns an expression: ``lambda x: kane.spline(x, angles, lifts)``
            or a sum of sines. It must be twice differentiable. A cam that turns more than once needs a periodic
            profile, which a spline is not.
    """

    follower: Connection | JointCoordinate
    cam: Connection | JointCoordinate
    profile: Callable[[Expr], Expr]

    def __post_init__(self) -> None:
        follower, cam = coordinate("a Cam", self.follower), coordinate("a Cam", self.cam)
        require_one_model("a Cam", follower.connection.child, cam.connection.child)
        if follower == cam:
            raise ModelError(f"a Cam joins two coordinates, not {cam.name!r} with itself")
        if not takes(self.profile, 1):
            raise ModelError(
                f"the profile of a Cam is a function of one argument, its coordinate, not {shown(self.profile)}"
            )
        lift = require_geometric(cam.connection.child.model, self.profile(cam.q), "the value of the profile of a Cam")
        if not isinstance(lift, Expr) or not set(leaves([lift])) & set(leaves([cam.q])):
            raise ModelError(f"the profile of a Cam returns {shown(lift)}, without its coordinate {cam.name!r}")

    @property
    def title(self) -> str:
        """Name of the constraint, with cam and follower."""
        return f"cam {coordinate('a Cam', self.cam).name} of {coordinate('a Cam', self.follower).name}"

    def rows(self) -> Sequence[Row]:
        """Return one equation."""
        follower, cam = coordinate("a Cam", self.follower), coordinate("a Cam", self.cam)
        return [Row("lift", configuration=follower.q - self.profile(cam.q))]
