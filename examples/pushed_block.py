"""A block on a slope is pushed along it, at 45 degrees to the line of fall: it sticks, slips sideways, and sticks.

Sticking friction balances weight and push. Sliding friction opposes the slip, whose direction turns as the push grows.
Prints the events, and draws out/pushed_block.png.
"""

from math import cos, hypot, pi, radians, sin, sqrt
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
MASS, G, SLOPE = 2.0, 9.81, radians(15.0)  # kg, m/s^2, rad
STATIC, KINETIC = 0.5, 0.4
FORCES = [(0.0, 0.0), (1.2, 7.2), (1.4, 0.0), (9.0, 0.0)]  # s, N, linearly interpolated
UNTIL = 3.0  # s


def block() -> kane.Model:
    """Return a block that does not rotate; x is downhill, y across, z normal to the slope."""
    m = kane.Model("pushed block", gravity=(G * sin(SLOPE), 0, -G * cos(SLOPE)))
    last = m.ground
    for axis in "xyz":
        body = m.body("block" if axis == "z" else f"rider {axis}", mass=MASS if axis == "z" else 0.0)
        m.connect(last, body, kane.Prismatic(axis, axis=axis))
        last = body
    push = m.input("push") / sqrt(2.0)
    m.load(kane.Force(last.point(), (push, push, 0), m.ground))
    friction = kane.Coulomb(STATIC, KINETIC)
    m.contact(last.point(), kane.Plane(m.ground.point(), m.ground.z), friction=friction, name="slope")
    return m


def slips_at() -> float:
    """Return the push at which the tangential force reaches the limit of sticking friction [N], in closed form."""
    down, bound = MASS * G * sin(SLOPE), STATIC * MASS * G * cos(SLOPE)
    return -down * cos(pi / 4) + sqrt(bound**2 - (down * sin(pi / 4)) ** 2)


def pushed() -> kane.Trajectory:
    """Simulate the push from rest."""
    times, forces = zip(*FORCES, strict=True)
    push = kane.Interpolated(list(times), list(forces))
    return kane.simulate(kane.build(kane.formulate(block())), until=UNTIL, inputs={"push": push})


def main() -> None:
    """Push the block."""
    run = pushed()
    print(run)
    first = next(event for event in run.events if event.cause == "slips")
    print(f"slips at {first.time * FORCES[1][1] / FORCES[1][0]:.9f} N, closed form {slips_at():.9f} N")
    friction = run.reactions["slope"][:, 1:]
    figure = Figure(figsize=(8, 4), layout="constrained")
    path, force = figure.subplots(1, 2)
    path.plot(run["y"], run["x"], "k")
    path.set_xlabel("across, y [m]")
    path.set_ylabel("downhill, x [m]")
    path.invert_yaxis()
    force.plot(run.time, [hypot(*f) for f in friction], "k")
    force.axhline(STATIC * MASS * G * cos(SLOPE), color="0.7", linewidth=0.8)
    force.axhline(KINETIC * MASS * G * cos(SLOPE), color="0.7", linewidth=0.8)
    force.set_ylabel("friction [N]")
    force.set_xlabel("time [s]")
    force.set_ylim(0.0, np.ceil(STATIC * MASS * G))
    figure.savefig(OUT / "pushed_block.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
