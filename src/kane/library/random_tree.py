"""Random trees for tests, with every kind of joint, arbitrary poses and general inertia."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from inspect import isabstract

import numpy as np

from kane.deferred import exports
from kane.errors import ModelError, shown
from kane.expression.number_arguments import list_argument
from kane.geometry.rotation import Rotation
from kane.model import joints
from kane.model.joints import (
    CustomJoint,
    Cylindrical,
    Free,
    Gimbal,
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


def _makers(kind: type[Joint]) -> Iterator[JointMaker]:
    """Yield a maker for each example of a joint class that has speeds."""

    def example(k: int, name: str, axis: tuple[float, float, float]) -> Joint:
        return kind.examples(name, axis)[k]

    moving = [k for k, joint in enumerate(kind.examples("j", (0.6, 0.0, 0.8))) if joint.nu]
    yield from (partial(example, k) for k in moving)


# Order in which seeds draw joint classes; other exported classes follow. A new class changes the trees of all seeds.
_FIRST: tuple[type[Joint], ...] = (
    Revolute,
    Prismatic,
    Spherical,
    Free,
    Universal,
    Cylindrical,
    Planar,
    Screw,
    Gimbal,
    CustomJoint,
)
_EXPORTED = [x for x in exports(joints) if isinstance(x, type) and issubclass(x, Joint) and not isabstract(x)]
# Joints with one coordinate or a quaternion, which every program for multibody dynamics has.
PLAIN_JOINTS: tuple[JointMaker, ...] = tuple(maker for kind in _FIRST[:4] for maker in _makers(kind))
# All joint classes with speeds.
JOINT_MAKERS: tuple[JointMaker, ...] = tuple(
    maker for kind in dict.fromkeys((*_FIRST, *_EXPORTED)) for maker in _makers(kind)
)


def random_tree(seed: int = 0, bodies: int = 6, *, joints: Sequence[JointMaker] = JOINT_MAKERS) -> Model:
    """Return a tree of bodies, each connected to an earlier body or the ground by a random joint with random poses.

    Args:
        seed: seed of the generator; the same seed gives the same tree.
        bodies: number of bodies.
        joints: functions that make a joint from a name and an axis, drawn with equal probability; default all kinds.

    Raises:
        ModelError: an argument is invalid.
    """
    if not isinstance(bodies, int) or bodies < 1:
        raise ModelError(f"the number of bodies must be a whole number of at least 1, not {shown(bodies)}")
    if not isinstance(seed, int) or seed < 0:
        raise ModelError(f"the seed must be a whole number that is not negative, not {shown(seed)}")
    joints = list_argument(joints, "joints", "functions that make a joint from a name and an axis")
    if not joints or not all(map(callable, joints)):
        raise ModelError(f"joints are {shown(joints)}; give functions that make a joint from a name and an axis")
    random = np.random.default_rng(seed)
    model = Model(f"tree{seed}_{bodies}", gravity=random.normal(size=3).tolist())
    for i in range(bodies):
        J = random.normal(size=(3, 3))
        J = J @ J.T  # a second-moment matrix, so that the inertia is physically possible
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
