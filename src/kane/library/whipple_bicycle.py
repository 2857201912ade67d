"""The bicycle of Whipple and Carvallo, with the benchmark parameters of Meijaard et al."""

from __future__ import annotations

import math

from kane.geometry.scalars import scaled, subtract_vectors
from kane.model.constraints import Rolling
from kane.model.joints import Planar, Prismatic, Revolute
from kane.model.model import Model
from kane.model.shapes import Capsule, Disk, Ellipsoid, Plane


def whipple_bicycle() -> Model:
    """Return a bicycle of a rear frame with a rigid rider, a front frame, and two wheels that roll without slip.

    N has x forwards, y to the right and z downwards; the ground is z = 0. The nine coordinates are heave (z of the rear
    wheel's centre), x, y, yaw, roll, pitch of the rear frame, wheel angles rear and front, and steer. There are three
    degrees of freedom. The bicycle is upright at yaw = roll = pitch = steer = 0 and heave = -0.3 m. At the speed v the
    wheels turn at -v / 0.3 and -v / 0.35 rad/s. Wheel base 1.02 m, trail 0.08 m, steer axis tilted by 18 degrees.

    Source: Meijaard, Papadopoulos, Ruina & Schwab 2007, Linearized dynamics equations for the balance and steer of a
    bicycle, Table 1.
    """
    model = Model("whipple_bicycle", gravity=(0.0, 0.0, 9.81))
    rear, front, base, trail, tilt = 0.3, 0.35, 1.02, 0.08, math.pi / 10
    carriage, heading, leaning = (model.body(name, mass=0.0) for name in ("carriage", "heading", "leaning"))
    frame = model.body("frame", mass=85.0, inertia=(9.2, 11.0, 2.8, 0.0, 2.4, 0.0), com=(0.3, 0.0, -0.9 + rear))
    model.connect(model.ground, carriage, Prismatic("heave", axis="z"))
    model.connect(carriage, heading, Planar(("x", "y", "yaw"), axis="z"), name="plane")
    model.connect(heading, leaning, Revolute("roll", axis="x"))
    model.connect(leaning, frame, Revolute("pitch", axis="y"))
    # The fork's origin is the point of the steer axis nearest to its mass centre. Positions are from the rear hub.
    axis, on_axis, centre = (math.sin(tilt), 0.0, math.cos(tilt)), (base + trail, 0.0, rear), (0.9, 0.0, -0.7 + rear)
    along = sum(a * (c - p) for a, c, p in zip(axis, centre, on_axis, strict=True))
    foot = tuple(p + along * a for p, a in zip(on_axis, axis, strict=True))
    fork = model.body(
        "fork",
        mass=4.0,
        inertia=(0.05892, 0.06, 0.00708, 0.0, -0.00756, 0.0),
        com=subtract_vectors(centre, foot),
    )
    model.connect(frame, fork, Revolute("steer", axis=axis), at=foot)
    rear_wheel = model.body("rear wheel", mass=2.0, inertia=(0.0603, 0.12, 0.0603))
    front_wheel = model.body("front wheel", mass=3.0, inertia=(0.1405, 0.28, 0.1405))
    hub = subtract_vectors((base, 0.0, rear - front), foot)
    model.connect(frame, rear_wheel, Revolute("rear", axis="y"))
    model.connect(fork, front_wheel, Revolute("front", axis="y"), at=hub)
    road = Plane(model.ground.point(), model.ground.direction((0.0, 0.0, -1.0)))
    for wheel, radius in ((rear_wheel, rear), (front_wheel, front)):
        rim = wheel.shape(Disk(wheel.point(), wheel.y, radius))
        model.constrain(Rolling(rim, road), name=f"{wheel.name} on the road")
    seat, head = frame.point((0.2, 0.0, -0.55)), frame.point((0.78, 0.0, -0.6))
    for start, end in ((frame.point(), seat), (seat, head), (frame.point((0.45, 0.0, 0.0)), head)):
        frame.shape(Capsule(start, end, 0.02))
    frame.shape(Ellipsoid(0.15, 0.2, 0.4), at=(0.25, 0.0, -0.95))
    fork.shape(Capsule(fork.point(hub), fork.point(scaled(-0.3, axis)), 0.02))
    return model
