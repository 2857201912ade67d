"""Line between two points, along which a load pulls."""

from __future__ import annotations

from kane.errors import ModelError
from kane.expression.functions import select, sqrt
from kane.expression.node import Expr, Scalar
from kane.geometry.scalars import Triple, scaled
from kane.model.body import Point
from kane.model.constraints.relative import position, scalar_product, velocity
from kane.model.loads.load import Wrench
from kane.model.vector_arguments import require_one_model, require_points


def require_ends(who: str, P: Point, Q: Point) -> None:
    """Raise ModelError unless P and Q are points of two bodies of one model."""
    require_points(who, P, Q)
    require_one_model(who, P.body, Q.body)
    if P.body is Q.body:
        raise ModelError(f"{who} does nothing: both of its points are fixed in body {P.body.name!r}; give two bodies")


def length(P: Point, Q: Point) -> Expr:
    """Return L = |p_PQ| [m]."""
    p = position(P, Q, P.body.model.ground)
    return sqrt(scalar_product(p, p))


def pull(P: Point, Q: Point, tension: Scalar) -> tuple[Wrench, Wrench]:
    """Return the wrenches of a tension [N] along the line on the bodies of its ends."""
    per_metre = tension / length(P, Q)
    return _opposite(P, Q, scaled(per_metre, position(P, Q, P.body.model.ground)))


def damp(P: Point, Q: Point, coefficient: Scalar) -> tuple[Wrench, Wrench]:
    """Return the wrenches of a tension c dL/dt along the line; the force is c v_PQ where the points coincide.

    Near that configuration p_PQ = v t. The force c (e . v) e, with e along p_PQ, therefore tends to c v from both
    sides.
    """
    N = P.body.model.ground
    p, v = position(P, Q, N), velocity(P, Q, N)
    square = scalar_product(p, p)
    along = scalar_product(p, v) / square
    return _opposite(P, Q, tuple(coefficient * select(square > 0.0, along * x, y) for x, y in zip(p, v, strict=True)))


def _opposite(P: Point, Q: Point, force: Triple) -> tuple[Wrench, Wrench]:
    """Return the wrenches of a force at P and of the opposite force at Q."""
    N, none = P.body.model.ground, (0.0, 0.0, 0.0)
    return Wrench(P, force, none, N), Wrench(Q, tuple(-x for x in force), none, N)
