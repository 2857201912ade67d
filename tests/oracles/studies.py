"""Small models for sweeps: a pendulum with a parameter and an input, and a ball above a floor."""

import os
from functools import cache
from pathlib import Path

import kane

STARTS = "KANE_TEST_STARTS"  # environment variable with the path to which ``torque_that_counts`` writes


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


def torque_that_counts(t, q, u):
    """A sampled torque that writes a line with the initial angle of each run that starts."""
    if t == 0.0:
        with Path(os.environ[STARTS]).open("a", encoding="utf-8") as file:
            file.write(f"{float(q[0])!r}\n")
    return -0.1 * float(u[0])
