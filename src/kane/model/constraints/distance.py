"""Constant or prescribed distance of two points: a massless rod with ball joints at its ends."""

from __future__ import annotations

from collections.abc import Sequence

from kane.deferred import dataclass
from kane.errors import ModelError
from kane.expression.node import Scalar
from kane.model.body import Point
from kane.model.connection import coordinate_rate
from kane.model.constraints.constraint import Constraint, Row
from kane.model.constraints.relative import position, scalar_product, velocity
from kane.model.requirements import POSITIVE
from kane.model.vector_arguments import (
    at_defaults,
    require_geometric,
    require_of_parameters,
    require_points,
    require_two_bodies,
)


@dataclass(frozen=True)
class Distance(Constraint):
    """Points P and Q of two bodies have the distance L: (p . p - L^2) / (2 L) = 0 with p = p_QP.

    To first order the left side is |p| - L [m], but without a root, which fails where the points coincide. The motion
    equation is (p . v) / L - dL/dt = 0, v = dp/dt.

    Attributes:
        P, Q: the points.
        length: L [m], positive: a number, or an expression of coordinates, parameters and time.
    """

    P: Point
    Q: Point
    length: Scalar

    def __post_init__(self) -> None:
        who = "a Distance"
        require_points(who, self.P, self.Q)
        require_two_bodies(who, self.P.body, self.Q.body)
        L = require_geometric(self.P.body.model, self.length, "the length of a Distance")
        known = at_defaults(self.P.body.model, L)
        if known <= 0.0:
            raise ModelError(
                f"the length of a Distance is {known:.12g} m; give a positive number, or a kane.Coincidence for points "
                "that coincide"
            )
        require_of_parameters(self.P.body.model, "the length of a Distance", POSITIVE, L)

    @property
    def title(self) -> str:
        """Name of the constraint, with both bodies."""
        return f"distance of points of {self.P.body.name} and {self.Q.body.name}"

    def rows(self) -> Sequence[Row]:
        """Return one equation."""
        N = self.P.body.model.ground
        L = N.model.arena.lift(self.length)
        p, v = position(self.Q, self.P, N), velocity(self.Q, self.P, N)
        return [
            Row(
                "length",
                configuration=(scalar_product(p, p) - L * L) / (2 * L),
                motion=scalar_product(p, v) / L - coordinate_rate(L),
            )
        ]
