"""Small models for sweeps: a pendulum with a parameter and an input, and a ball above a floor."""

from functools import cache

import kane


@cache
def pendulum():
    """Dynamics of a pendulum of mass "mass" [kg] with its mass centre 1 m below a motor with torque "tau" [N m]."""
    m = kane.Model("swept pendulum", gravity=(0.0, 0.0, -9.81))
    bob = m.body("bob", mass=m.parameter("mass", 2.0), inertia=(0.1, 0.1, 0.1), com=(0.0, 0.0, -1.0))
    joint = m.connect(m.ground, bob, kane.Revolute("q1", axis="y"))
    m.load(kane.Motor(joint, m.input("tau")))
    return kane.build(kane.formulate(m))


@cache
def ball():
    """Dynamics of a ball that falls onto a floor with restitution "e"; "z" is the height of its lowest point [m]."""
    m = kane.Model("swept ball", gravity=(0.0, 0.0, -9.81))
    body = m.body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, body, kane.Prismatic("z", axis="z"))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(body.point(), floor, restitution=m.parameter("e", 0.5), name="floor")
    return kane.build(kane.formulate(m))
