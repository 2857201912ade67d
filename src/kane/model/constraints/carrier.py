"""What carries a point: the centre of a wheel does not feel the wheel turn."""

from __future__ import annotations

from kane.expression.node import Expr
from kane.expression.operations import PARAMETER
from kane.expression.traverse import leaves
from kane.geometry.scalars import Triple, settled
from kane.model.body import Point
from kane.model.connection import Connection


def carried_point(P: Point) -> Point:
    """The same point in the body nearest to the ground in which it is fixed, by the joints declared so far.

    Its velocity is shorter there: that of a wheel's centre is free of the angle through which the wheel has turned.
    """
    joints = {c.child: c for c in P.body.model.connections}
    while P.body in joints:
        joint = joints[P.body]
        place = settled(_in_parent(joint, P.position_in_body))
        if any(leaf.op != PARAMETER for leaf in leaves([x for x in place if isinstance(x, Expr)])):
            break
        P = Point(joint.parent, place)
    return P


def _in_parent(c: Connection, p_CP: Triple) -> Triple:
    """p_PoP_P of a point at p_CoP_C in the child: p_PF + R_PF (p_FM + R_FM R_CM^T (p_CP - p_CM))."""
    still = [c.child.model.arena.zero] * c.joint.nu
    motion = c.joint.motion(c.coordinates, still)
    p_M = c.R_CM.apply_inverse(tuple(x - y for x, y in zip(p_CP, c.p_CM, strict=True)))
    p_F = tuple(x + y for x, y in zip(motion.p_FM, motion.R_FM.apply(p_M), strict=True))
    return tuple(x + y for x, y in zip(c.p_PF, c.R_PF.apply(p_F), strict=True))
