"""The joint types of URDF, one row each: what they become, and where locking leaves them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kane.expression.node import Expr
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import Triple
from kane.importers.pose import ORIGIN, Pose, no_pose
from kane.model.joints.free import Free
from kane.model.joints.joint import Joint
from kane.model.joints.prismatic import Prismatic
from kane.model.joints.revolute import Revolute

Coordinate = str | Expr


@dataclass(frozen=True, slots=True)
class JointKind:
    """One type of joint.

    Attributes:
        freedoms: degrees of freedom.
        make: the joint of kane from its coordinate (name or expression) and axis; None where kane has none yet.
        locked: pose of the child in the joint frame at a value of the single coordinate, from axis and value.
    """

    freedoms: int
    make: Callable[[Coordinate, Triple], Joint] | None
    locked: Callable[[Triple, float], Pose]


def _turned(axis: Triple, angle: float) -> Pose:
    return Pose(Rotation.about(axis, angle), ORIGIN)


def _shifted(axis: Triple, length: float) -> Pose:
    x, y, z = axis
    return Pose(Rotation.identity(), (x * length, y * length, z * length))


def _unmoved(axis: Triple, value: float) -> Pose:
    return no_pose()


def _revolute(q: Coordinate, axis: Triple) -> Joint:
    return Revolute(q, axis=axis)


def _prismatic(q: Coordinate, axis: Triple) -> Joint:
    return Prismatic(q, axis=axis)


def _floating(name: Coordinate, axis: Triple) -> Joint:
    return Free(name)


JOINT_KINDS: dict[str, JointKind] = {
    "fixed": JointKind(0, None, _unmoved),
    "revolute": JointKind(1, _revolute, _turned),
    "continuous": JointKind(1, _revolute, _turned),
    "prismatic": JointKind(1, _prismatic, _shifted),
    "floating": JointKind(6, _floating, _unmoved),
    "planar": JointKind(3, None, _unmoved),
}
