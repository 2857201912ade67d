"""Random trees for tests: every kind of joint, arbitrary poses, general inertia."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kane.errors import ModelError, shown
from kane.expression.arguments import listed
from kane.expression.node import Expr
from kane.geometry.rotation import Rotation
from kane.model.joints import (
    CustomJoint,
    Cylindrical,
    Free,
    Gimbal,
    MeasureNumbers,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from kane.model.joints.joint import Joint
from kane.model.loads import Motor
from kane.model.model import Model

JointMaker = Callable[[str, tuple[float, float, float]], Joint]


def _universal(name: str, axis: tuple[float, float, float]) -> Joint:
    """About the axis, then about one normal to it."""
    least = int(np.argmin(np.abs(axis)))
    x, y, z = np.cross(axis, np.eye(3)[least]).tolist()
    return Universal(name, axis, (x, y, z))


def _cam(name: str, axis: tuple[float, float, float]) -> Joint:
    """A joint such as a user writes: turning about the axis raises M along it, on a slope that can be set."""

    def position(turn: Expr, lift: Expr) -> tuple[Expr, ...]:
        return tuple(a * (lift + 0.1 * turn * turn + 0.2 * turn * lift) for a in axis)

    names = (f"{name}_turn", f"{name}_lift")
    return CustomJoint(names, lambda turn, lift: Rotation.about(axis, turn), position, ("rad", "m"))


# One coordinate, or a quaternion: what every program for multibody dynamics has.
PLAIN_JOINTS: tuple[JointMaker, ...] = (
    lambda name, axis: Revolute(name, axis=axis),
    lambda name, axis: Prismatic(name, axis=axis),
    lambda name, axis: Spherical(name),
    lambda name, axis: Free(name),
)
# Every kind that moves. None is singular in its neutral position: gimbals of three turns have three different axes.
JOINTS: tuple[JointMaker, ...] = (
    *PLAIN_JOINTS,
    _universal,
    lambda name, axis: Cylindrical(name, axis),
    lambda name, axis: Planar(name, axis),
    lambda name, axis: Screw(name, axis, metres_per_radian=0.4),
    lambda name, axis: Gimbal(name, "zyx"),
    lambda name, axis: Gimbal(name, "213", speeds=MeasureNumbers()),
    lambda name, axis: Gimbal(name, "xy", speeds=MeasureNumbers()),
    _cam,
)


def random_tree(seed: int = 0, bodies: int = 6, *, joints: Sequence[JointMaker] = JOINTS) -> Model:
    """A tree of bodies, each hung on an earlier one (or the ground) by a random joint in random places.

    Args:
        seed: of the generator; the same seed gives the same tree.
        bodies: how many.
        joints: makers of joints from a name and an axis, drawn from with equal chance; every kind unless given.
    """
    if not isinstance(bodies, int) or bodies < 1:
        raise ModelError(f"the number of bodies must be a whole number of at least 1, not {shown(bodies)}")
    if not isinstance(seed, int) or seed < 0:
        raise ModelError(f"the seed must be a whole number that is not negative, not {shown(seed)}")
    joints = listed(joints, "joints", "functions that make a joint from a name and an axis")
    if not joints or not all(map(callable, joints)):
        raise ModelError(f"joints are {shown(joints)}; give functions that make a joint from a name and an axis")
    random = np.random.default_rng(seed)
    model = Model(f"tree{seed}_{bodies}", gravity=random.normal(size=3).tolist())
    for i in range(bodies):
        J = random.normal(size=(3, 3))
        J = J @ J.T  # a second-moment matrix, so that the inertia is that of some body
        inertia = (np.trace(J) * np.eye(3) - J).tolist()
        com = random.normal(size=3).tolist()
        body = model.body(f"B{i + 1}", mass=float(random.uniform(0.5, 3.0)), inertia=inertia, com=com)
        axis = tuple(random.normal(size=3).tolist())
        joint = joints[int(random.integers(len(joints)))](f"j{i + 1}", axis)
        parent = model.bodies[int(random.integers(i + 1))]
        connection = model.connect(
            parent,
            body,
            joint,
            at=random.normal(size=3).tolist(),
            orientation=Rotation.quaternion(*random.normal(size=4)),
            child_at=random.normal(size=3).tolist(),
            child_orientation=Rotation.quaternion(*random.normal(size=4)),
        )
        if joint.one_dof:
            model.load(Motor(connection, model.input(f"tau{i + 1}")))
    return model
