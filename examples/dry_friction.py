"""Dry friction with exact sticking: a crate on a slope, a mass on a belt, a pendulum in its bearing.

Prints results and closed forms, and draws out/dry_friction.png.
"""

from math import cos, sin, tan
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
G = 9.81  # m/s^2
STIFFNESS, STATIC, KINETIC, BELT = 50.0, 0.5, 0.3, 0.2  # spring of 1 kg on a belt [N/m], friction, belt speed [m/s]
BEARING = (1.5, 1.2)  # static and kinetic friction torque of a pendulum of 1 kg and 1 m [N m]


def crate(slope: float, friction: kane.Coulomb) -> kane.Model:
    """Return a crate of 2 kg whose two lower corners touch a slope [rad]; it slides along x, downhill."""
    m = kane.Model("crate on a slope", gravity=(G * sin(slope), -G * cos(slope), 0))
    body = m.body("crate", mass=2.0, inertia=(0.02,) * 3)
    m.connect(m.ground, body, kane.Planar(("x", "y", "th")))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for side, x in (("left", -0.1), ("right", 0.1)):
        m.contact(body.point((x, -0.1, 0)), floor, friction=friction, name=side)
    push = m.input("push")
    m.load(kane.Force(body.point(), (push, 0, 0), m.ground))
    return m


def mass_on_belt() -> kane.Model:
    """Return a mass of 1 kg on a belt, attached to a spring."""
    m = kane.Model("mass on a belt", gravity=(0, -G, 0))
    belt, rider, body = m.body("belt", mass=0.0), m.body("rider", mass=0.0), m.body("mass", mass=1.0)
    m.connect(m.ground, belt, kane.Prismatic(BELT * m.time, axis="x"), name="drive")
    along = m.connect(m.ground, rider, kane.Prismatic("x", axis="x"))
    m.connect(rider, body, kane.Prismatic("y", axis="y"))
    m.load(kane.Spring(along, STIFFNESS))
    m.contact(body.point(), kane.Plane(belt.point(), belt.y), friction=kane.Coulomb(STATIC, KINETIC), name="belt")
    return m


def pendulum() -> kane.Model:
    """Return a pendulum with m g l = 9.81 N m in a bearing with dry friction."""
    m = kane.Model("pendulum", gravity=(0, -G, 0))
    bob = m.body("bob", mass=1.0, com=(0, -1, 0))
    hinge = m.connect(m.ground, bob, kane.Revolute("angle", axis="z"))
    m.stick(hinge, static=BEARING[0], kinetic=BEARING[1], name="bearing")
    return m


def main() -> None:
    """Simulate the three motions."""
    for slope in (0.4, 0.5):
        run = kane.simulate(kane.build(kane.formulate(crate(slope, kane.Coulomb(0.5, 0.4)))), until=4.0, q={"y": 0.1})
        a = 0.0 if tan(slope) < 0.5 else G * (sin(slope) - 0.4 * cos(slope))
        print(f"slope {slope}: x = {run['x'][-1]:.15g} m after 4 s, closed form {a * 8.0:.15g} m")
    carried = {"x_dot": BELT}
    belt = kane.simulate(kane.build(kane.formulate(mass_on_belt())), until=6.0, u=carried, times=np.arange(0, 6, 1e-3))
    swing = kane.simulate(kane.build(kane.formulate(pendulum())), until=8.0, q={"angle": 1.5})
    print(f"the pendulum stops at {swing['angle'][-1]:.9f} rad; there |sin| <= {BEARING[0] / G:.9f}")

    figure = Figure(figsize=(8, 5), layout="constrained")
    upper, lower = figure.subplots(2, 1)
    upper.plot(belt.time, belt["x"], "k")
    upper.set_ylabel("mass on the belt, x [m]")
    lower.plot(swing.time, swing["angle"], "k")
    lower.set_ylabel("pendulum, angle [rad]")
    lower.set_xlabel("time [s]")
    figure.savefig(OUT / "dry_friction.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
