"""Rope through points of bodies: pulleys and tackles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.functions import sqrt
from kane.expression.node import Expr, Scalar
from kane.geometry.scalars import dot, subtract_vectors
from kane.model.body import Point
from kane.model.connection import coordinate_rate
from kane.model.constraints.constraint import Constraint, Row
from kane.model.constraints.relative import position, velocity
from kane.model.requirements import POSITIVE
from kane.model.vector_arguments import at_defaults, require_geometric, require_of_parameters, require_points


@dataclass(frozen=True)
class Rope(Constraint):
    """Taut rope of length L from the first point over the others to the last: sum of |p_i| - L = 0.

    The vectors p_i lead from point to point. The motion equation is sum of (p_i . v_i) / |p_i| - dL/dt = 0, which is
    undetermined where two neighbouring points coincide. The rope is massless and slides over its points freely. Pulleys
    are small, and a point may occur more than once, as in a tackle. A rope wound on a drum of radius r is a
    ``Gear`` of a sliding joint and a turning joint, with ratio r.

    Attributes:
        points: two or more, in the order of the rope.
        length: L [m], positive: a number, or an expression of coordinates, parameters and time.
    """

    points: Sequence[Point]
    length: Scalar

    def __post_init__(self) -> None:
        if not isinstance(self.points, Sequence) or len(self.points) < 2:
            raise ModelError(f"a Rope runs through a list of two or more points, not {shown(self.points)}")
        require_points("a Rope", *self.points)
        model = self.points[0].body.model
        length = require_geometric(model, self.length, "the length of a Rope")
        known = at_defaults(model, length)
        if known <= 0.0:
            raise ModelError(f"the length of a Rope is {known:.12g} m; give a positive number")
        require_of_parameters(model, "the length of a Rope", POSITIVE, length)
        for P, Q in pairwise(self.points):
            if P == Q:
                raise ModelError(f"a Rope passes a point of body {P.body.name!r} twice in a row; name it once")
        if all(P.body is Q.body for P, Q in pairwise(self.points)):
            raise ModelError(
                f"a Rope restricts nothing: all its points are fixed in body {self.points[0].body.name!r}; give points "
                "of two bodies or more"
            )

    @property
    def title(self) -> str:
        """Name of the constraint, with the bodies that the rope passes."""
        return f"rope through {', '.join(dict.fromkeys(P.body.name for P in self.points))}"

    def rows(self) -> Sequence[Row]:
        """Return one equation."""
        N = self.points[0].body.model.ground
        L = N.model.arena.lift(self.length)
        excess, growth = -L, -coordinate_rate(L)
        for Q, P in pairwise(self.points):
            length, speed = _part(Q, P)
            excess, growth = excess + length, growth + speed
        return [Row("length", configuration=excess, motion=growth)]


def _part(Q: Point, P: Point) -> tuple[Expr | float, Expr | float]:
    """Return |p_QP| and its rate."""
    if Q.body is P.body:
        p = subtract_vectors(P.position_in_body, Q.position_in_body)
        return sqrt(dot(p, p)), 0.0
    N = P.body.model.ground
    p = position(Q, P, N)
    length = sqrt(dot(p, p))
    return length, dot(p, velocity(Q, P, N)) / length
