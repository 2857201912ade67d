"""Trees with all features: every joint, a weld, a follower, prescribed motion, and every load with measures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import kane
from kane.expression.functions import cos, sin
from kane.library import random_tree
from kane.library.random_tree import PLAIN_JOINTS


def knee(name, axis):
    """Return a user-defined joint with two coordinates, given by a rotation matrix and a position."""
    return kane.CustomJoint(
        (f"{name}_bend", f"{name}_slip"),
        lambda a, b: kane.Rotation.matrix([[cos(a + b), 0, sin(a + b)], [0, 1, 0], [-sin(a + b), 0, cos(a + b)]]),
        lambda a, b: (0.2 * cos(a), 0.1 * a * b, b * b + b),
        units=("rad", "m"),
    )


EVERY_JOINT = (
    *PLAIN_JOINTS,
    lambda name, axis: kane.Universal(name, "z", "-y"),
    lambda name, axis: kane.Planar(name, axis),
    lambda name, axis: kane.Cylindrical(name, axis),
    lambda name, axis: kane.Screw(name, axis, metres_per_radian=0.4),
    lambda name, axis: kane.Gimbal(name, "213"),
    lambda name, axis: kane.Gimbal(name, "zxz", speeds=kane.MeasureNumbers()),
    lambda name, axis: kane.Gimbal(name, "xy", speeds=kane.MeasureNumbers()),
    knee,
)


def loaded_tree(seed: int, bodies: int, *, joints: Sequence = PLAIN_JOINTS) -> kane.Model:
    """Return a random tree with a driven, a following and a welded body added, under loads of every kind."""
    model = random_tree(seed, bodies, joints=joints)
    random = np.random.default_rng(1000 + seed)
    first = model.body("first", mass=1.2, inertia=(0.3, 0.4, 0.5, 0.01, 0.02, 0.03), com=(0.1, 0.2, 0.3))
    q = model.connect(model.bodies[1], first, kane.Revolute("p", axis="y"), at=(0.1, 0.0, 0.2))
    moved = kane.Prismatic(0.3 * sin(2.0 * model.time), axis=(1.0, 2.0, 0.5))
    shaker = model.body("shaker", mass=0.7, inertia=(0.1, 0.1, 0.1), com=(0.0, 0.1, 0.0))
    model.connect(first, shaker, moved, at=(0.2, 0.1, 0.0), name="moved")
    follower = model.body("follower", mass=0.4, inertia=(0.1, 0.2, 0.15))
    gear = kane.Revolute(-2.0 * q.q + 0.2 * cos(q.q), axis="x")
    geared = model.connect(shaker, follower, gear, at=(0.3, 0.0, 0.1), name="gear")
    tool = model.body("tool", mass=0.3, inertia=(0.02, 0.03, 0.04), com=(0.0, 0.0, 0.1))
    turn = kane.Rotation.euler("xyz", 0.3, 0.4, 0.5)
    model.connect(
        follower, tool, kane.Weld(), at=(0.0, 0.2, 0.0), orientation=turn, child_at=(0.1, 0.0, 0.0), name="weld"
    )
    model.load(kane.Spring(q, 3.0, rest=0.2))
    model.load(kane.Damper(q, 0.5))
    model.load(kane.Motor(geared, model.input("geared", 0.4)))
    P = tool.point((0.1, -0.2, 0.3))
    push = model.input("push", 0.7)
    drag = -0.3 * P.velocity.dot(first.x)
    height = P.position.dot(model.ground.z)
    model.load(kane.Force(P, (push, drag, 0.5 * height), first, reaction=model.bodies[1].point((0.3, 0.1, 0.0))))
    spin = tool.angular_velocity.dot(shaker.y)
    model.load(kane.Torque(follower, (random.normal(), -0.2 * spin, push * q.qdot), tool, reaction=shaker))
    return model
