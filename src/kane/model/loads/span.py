"""The line between two points, along which a load pulls."""

from __future__ import annotations

from kane.errors import ModelError
from kane.expression.functions import sqrt
from kane.expression.node import Expr, Scalar
from kane.model.arguments import require_one_model, require_points
from kane.model.body import Point
from kane.model.constraints.relative import dot, position, velocity
from kane.model.loads.load import Wrench


def require_ends(who: str, P: Point, Q: Point) -> None:
    """Refuse what are no points of two bodies of one model."""
    require_points(who, P, Q)
    require_one_model(who, P.body, Q.body)
    if P.body is Q.body:
        raise ModelError(f"{who} does nothing: both of its points are fixed in body {P.body.name!r}; give two bodies")


def length(P: Point, Q: Point) -> Expr:
    """L = |p_PQ| [m]."""
    p = position(P, Q, P.body.model.ground)
    return sqrt(dot(p, p))


def length_rate(P: Point, Q: Point) -> Expr:
    """dL/dt = p_PQ . v_PQ / L [m/s]."""
    N = P.body.model.ground
    return dot(position(P, Q, N), velocity(P, Q, N)) / length(P, Q)


def pull(P: Point, Q: Point, tension: Scalar) -> tuple[Wrench, Wrench]:
    """What a tension [N] along the line does to the bodies of its ends."""
    N, none = P.body.model.ground, (0.0, 0.0, 0.0)
    per_metre = tension / length(P, Q)
    f = tuple(per_metre * x for x in position(P, Q, N))
    return Wrench(P, f, none, N), Wrench(Q, tuple(-x for x in f), none, N)
