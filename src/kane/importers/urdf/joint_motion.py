"""Determine how each joint of a description moves: independently, following another joint, or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from kane.deferred import dataclass
from kane.errors import ImportFileError, ModelError, shown
from kane.importers.urdf.joints import JOINT_KINDS
from kane.importers.urdf.urdf_description import Description, UrdfJoint, about
from kane.importers.xml_reader import quote
from kane.model.checks import near


@dataclass(frozen=True, slots=True)
class Locked:
    """Motion of a joint that is locked at this value of its coordinate [rad or m]."""

    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Following:
    """Motion q = multiplier * q_of(joint) + offset, where ``joint`` moves independently."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


UrdfMotion: TypeAlias = Locked | Following


def joint_motions(robot: Description, lock: Mapping[str, float]) -> dict[str, UrdfMotion]:
    """Return the motion of every joint; an independent joint follows itself.

    Raises:
        ImportFileError: mimic joints follow each other in a loop, a mimic joint follows an unknown joint, or one of
            the two joints has several degrees of freedom.
    """
    known: dict[str, UrdfMotion] = {}
    for joint in robot.joints.values():
        followers: dict[str, UrdfJoint] = {}
        while joint.name not in known:
            if joint.name in followers:
                words = " -> ".join(quote(name) for name in (*list(followers)[:8], joint.name))
                raise about(joint.place, f"mimic joints follow each other in a loop: {words}; remove one <mimic>")
            motion = _own_motion(joint, lock)
            if motion is not None:
                known[joint.name] = motion
            else:
                followers[joint.name] = joint
                joint = _leader(robot, joint)
        for follower in reversed(followers.values()):
            known[follower.name] = _after(follower, known)
    return known


def _own_motion(joint: UrdfJoint, lock: Mapping[str, float]) -> UrdfMotion | None:
    """Return the motion of a joint that does not depend on another joint, else None."""
    kind = JOINT_KINDS[joint.kind]
    if joint.name in lock:
        value = lock[joint.name]
        if kind.freedoms != 1 and value != 0.0:
            raise about(
                joint.place, f"{joint.kind} joint {quote(joint.name)} can be locked at 0 only, not {shown(value)}"
            )
        return Locked(value)
    if kind.freedoms == 0:
        return Locked()
    if joint.mimic is None:
        return Following(joint.name)
    if kind.freedoms != 1:
        raise about(joint.place, f"joint {quote(joint.name)} is {joint.kind} and cannot mimic another; remove <mimic>")
    return None


def _leader(robot: Description, joint: UrdfJoint) -> UrdfJoint:
    assert joint.mimic is not None
    leader = robot.joints.get(joint.mimic.joint)
    what = f"joint {quote(joint.name)} mimics {quote(joint.mimic.joint)}"
    if leader is None:
        raise about(joint.place, f"{what}, which does not exist; {near(joint.mimic.joint, list(robot.joints))}")
    if JOINT_KINDS[leader.kind].freedoms > 1:
        raise about(joint.place, f"{what}, which is {leader.kind} and has no single coordinate; remove <mimic>")
    return leader


def _after(joint: UrdfJoint, known: Mapping[str, UrdfMotion]) -> UrdfMotion:
    """Return the motion of a mimic joint from the known motion of its leader."""
    mimic = joint.mimic
    assert mimic is not None
    leader = known[mimic.joint]
    if isinstance(leader, Locked):
        return Locked(mimic.multiplier * leader.value + mimic.offset)
    if mimic.multiplier == 0.0:
        return Locked(mimic.offset)
    offset = mimic.multiplier * leader.offset + mimic.offset
    return Following(leader.joint, mimic.multiplier * leader.multiplier, offset)


def read_lock(robot: Description, lock: Mapping[str, float] | Iterable[str] | None) -> dict[str, float]:
    """Return the values at which joints are locked, by joint name, from names alone (locked at 0) or names and values.

    Raises:
        ImportFileError: a joint is unknown.
        ModelError: ``lock`` is neither names nor a dict, or a value is not a finite number.
    """
    if lock is None:
        return {}
    if isinstance(lock, str) or not isinstance(lock, (Mapping, Iterable)):
        raise ModelError(f"lock= is {shown(lock)}; give a list of joint names, or a dict of joint names and values")
    pairs = lock.items() if isinstance(lock, Mapping) else ((name, 0.0) for name in lock)
    values = {}
    for name, value in pairs:
        if not isinstance(name, str) or name not in robot.joints:
            hint = near(name, list(robot.joints))
            raise ImportFileError(f"{robot.source}: there is no joint {shown(name)} to lock; {hint}")
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) <= 1e12:
            raise ModelError(f"joint {name!r} is to be locked at {shown(value)}; give a finite number [rad or m]")
        values[name] = float(value)
    return values
