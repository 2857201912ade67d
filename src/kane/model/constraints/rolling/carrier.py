"""Points and directions of a wheel, expressed in the body that carries it, where the wheel's own angle is absent."""

from __future__ import annotations

from collections.abc import Iterable

from kane.expression.node import Expr, Scalar
from kane.expression.operations import PARAMETER
from kane.expression.traverse import leaves
from kane.geometry.scalars import Triple, add_vectors, dot, folded, subtract_vectors
from kane.model.body import Direction, Point
from kane.model.connection import Connection

# A disk or rim counts as flat if 1 - |a . n| is at most this; the sine of its tilt is then 1.4e-6.
FLAT_TILT_TOLERANCE = 1e-12


def carried(P: Point, d: Direction) -> tuple[Point, Direction]:
    """Return a point and a direction of a body, as fixed in the body nearest to the ground in which both are fixed.

    Only joints that are already declared count. Expressions of a wheel's axle in its carrier do not contain the angle
    of the wheel, and are therefore shorter.
    """
    joints = {c.child: c for c in P.body.model.connections}
    while P.body in joints:
        joint = joints[P.body]
        place, along = _in_parent(joint, P.position_in_body, d.components)
        if _moves((*place, *along)):
            break
        P, d = Point(joint.parent, place), Direction(joint.parent, along)
    return P, d


def kept_lean(a: Direction, n: Direction) -> float | None:
    """Return a . n of two unit directions if the joints declared so far keep it constant, else None."""
    a, n = _nearest_ground(a), _nearest_ground(n)
    lean = dot(a.components, n.components) if a.body is n.body else None
    return lean if isinstance(lean, float) else None


def _nearest_ground(d: Direction) -> Direction:
    """Return the same direction in the body nearest to the ground in which it is fixed."""
    joints = {c.child: c for c in d.body.model.connections}
    while d.body in joints:
        joint = joints[d.body]
        _, along = _in_parent(joint, (0.0, 0.0, 0.0), d.components)
        if _moves(along):
            break
        d = Direction(joint.parent, along)
    return d


def in_child(c: Connection, p_PP: Triple) -> Point | None:
    """Return the point of a joint's child that always coincides with a point of the parent, or None."""
    still = [c.child.model.arena.zero] * c.joint.nu
    motion = c.joint.motion(c.coordinates, still)
    p_F = c.R_PF.apply_inverse(subtract_vectors(p_PP, c.p_PF))
    p_M = motion.R_FM.apply_inverse(subtract_vectors(p_F, motion.p_FM))
    place = add_vectors(c.p_CM, c.R_CM.apply(p_M))
    return None if _moves(place) else Point(c.child, folded(place))


def _moves(given: Iterable[Scalar]) -> bool:
    return any(leaf.op != PARAMETER for leaf in leaves([x for x in given if isinstance(x, Expr)]))


def _in_parent(c: Connection, p_CP: Triple, d_C: Triple) -> tuple[Triple, Triple]:
    """Return p_PoP_P = p_PF + R_PF (p_FM + R_FM R_CM^T (p_CP - p_CM)) and d_P = R_PF R_FM R_CM^T d_C."""
    still = [c.child.model.arena.zero] * c.joint.nu
    motion = c.joint.motion(c.coordinates, still)
    p_M = c.R_CM.apply_inverse(subtract_vectors(p_CP, c.p_CM))
    p_F = add_vectors(motion.p_FM, motion.R_FM.apply(p_M))
    p_P = add_vectors(c.p_PF, c.R_PF.apply(p_F))
    d_P = c.R_PF.apply(motion.R_FM.apply(c.R_CM.apply_inverse(d_C)))
    return folded(p_P), folded(d_P)
