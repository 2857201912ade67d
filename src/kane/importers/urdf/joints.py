"""Table of the joint types of URDF: the joint of kane for each, and its pose when locked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kane.expression.node import Expr
from kane.geometry.rotation import Rotation
from kane.importers.pose import POSE_ORIGIN, XYZ, FramePose, no_pose
from kane.model.joints.joint import Joint
from kane.model.joints.revolute import Revolute

Coordinate: TypeAlias = str | Expr


@dataclass(frozen=True, slots=True)
class JointKind:
    """A joint type of URDF.

    Attributes:
        freedoms: degrees of freedom.
        make: returns the joint of kane from its coordinate (name or expression) and axis; None for fixed joints.
        locked: returns the pose of the child in the joint frame from the axis and the value of the single coordinate.
    """

    freedoms: int
    make: Callable[[Coordinate, XYZ], Joint] | None
    locked: Callable[[XYZ, float], FramePose]


def _turned(axis: XYZ, angle: float) -> FramePose:
    return FramePose(Rotation.about(axis, angle), POSE_ORIGIN)


def _shifted(axis: XYZ, length: float) -> FramePose:
    x, y, z = axis
    return FramePose(Rotation.identity(), (x * length, y * length, z * length))


def _unmoved(axis: XYZ, value: float) -> FramePose:
    return no_pose()


def _revolute(q: Coordinate, axis: XYZ) -> Joint:
    return Revolute(q, axis=axis)


def _prismatic(q: Coordinate, axis: XYZ) -> Joint:
    from kane.model.joints.prismatic import Prismatic

    return Prismatic(q, axis=axis)


def _floating(name: Coordinate, axis: XYZ) -> Joint:
    from kane.model.joints.free import Free

    assert isinstance(name, str), "only joints of one freedom follow others"
    return Free(name)


def _planar(name: Coordinate, axis: XYZ) -> Joint:
    from kane.model.joints.planar import Planar

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
