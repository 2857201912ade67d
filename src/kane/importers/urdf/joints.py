"""The joint types of URDF, one row each: what they become, and where locking leaves them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kane.expression.node import Expr
from kane.geometry.rotation import Rotation
from kane.importers.pose import ORIGIN, XYZ, FramePose, no_pose
from kane.model.joints.free import Free
from kane.model.joints.joint import Joint
from kane.model.joints.planar import Planar
from kane.model.joints.prismatic import Prismatic
from kane.model.joints.revolute import Revolute

Coordinate: TypeAlias = str | Expr


@dataclass(frozen=True, slots=True)
class JointKind:
    """One type of joint.

    Attributes:
        freedoms: degrees of freedom.
        make: the joint of kane from its coordinate (name or expression) and axis; None for joints that do not move.
        locked: pose of the child in the joint frame at a value of the single coordinate, from axis and value.
    """

    freedoms: int
    make: Callable[[Coordinate, XYZ], Joint] | None
    locked: Callable[[XYZ, float], FramePose]


def _turned(axis: XYZ, angle: float) -> FramePose:
    return FramePose(Rotation.about(axis, angle), ORIGIN)


def _shifted(axis: XYZ, length: float) -> FramePose:
    x, y, z = axis
    return FramePose(Rotation.identity(), (x * length, y * length, z * length))


def _unmoved(axis: XYZ, value: float) -> FramePose:
    return no_pose()


def _revolute(q: Coordinate, axis: XYZ) -> Joint:
    return Revolute(q, axis=axis)


def _prismatic(q: Coordinate, axis: XYZ) -> Joint:
    return Prismatic(q, axis=axis)


def _floating(name: Coordinate, axis: XYZ) -> Joint:
    assert isinstance(name, str), "only joints of one freedom follow others"
    return Free(name)


def _planar(name: Coordinate, axis: XYZ) -> Joint:
    assert isinstance(name, str), "only joints of one freedom follow others"
    return Planar(name, axis)


JOINT_KINDS: dict[str, JointKind] = {
    "fixed": JointKind(0, None, _unmoved),
    "revolute": JointKind(1, _revolute, _turned),
    "continuous": JointKind(1, _revolute, _turned),
    "prismatic": JointKind(1, _prismatic, _shifted),
    "floating": JointKind(6, _floating, _unmoved),
    "planar": JointKind(3, _planar, _unmoved),
}
