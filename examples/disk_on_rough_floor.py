"""A disk on a rough floor slips and rolls.

Thrown with backspin, it returns rolling. Started at a lean, it rolls until friction reaches its limit, then slips.

Prints the events, and draws out/disk_on_rough_floor.png.
"""

from math import cos, sin
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
M, R, G = 1.0, 0.3, 9.81  # kg, m, m/s^2
STATIC, KINETIC = 0.25, 0.2
SPEED, BACKSPIN = 1.0, -20.0  # m/s, rad/s
LEAN, SPIN, TURN = 0.1, 4.0, 0.5  # rad from upright, rad/s about the axle and about the vertical
UNTIL = 1.5  # s


def disk(static: float = STATIC) -> kane.Model:
    """Return a disk with coordinates x, y, z of its centre, heading and lean of its plane, spin about its axle."""
    m = kane.Model("disk on a rough floor", gravity=(0, 0, -G))
    heading, riser, plate = (m.body(name, mass=0.0) for name in ("heading", "riser", "plate"))
    body = m.body("disk", mass=M, inertia=(M * R * R / 4, M * R * R / 2, M * R * R / 4))
    m.connect(m.ground, heading, kane.Planar(("x", "y", "heading")))
    m.connect(heading, riser, kane.Prismatic("z", axis="z"))
    m.connect(riser, plate, kane.Revolute("lean", axis="x"))
    m.connect(plate, body, kane.Revolute("spin", axis="y"))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(kane.Disk(body.point(), body.y, R), floor, friction=kane.Coulomb(static, KINETIC), name="floor")
    return m


def thrown(until: float = UNTIL) -> kane.Trajectory:
    """Simulate an upright disk, thrown forwards with backspin."""
    start = {"x_dot": SPEED, "spin_dot": BACKSPIN}
    return kane.simulate(kane.build(kane.formulate(disk())), until=until, q={"z": R}, u=start)


def leaning(until: float = UNTIL, static: float = STATIC) -> kane.Trajectory:
    """Simulate a leaning disk that starts rolling."""
    u = {"spin_dot": SPIN, "heading_dot": TURN, "x_dot": R * (SPIN + TURN * sin(LEAN))}
    dyn = kane.build(kane.formulate(disk(static)))
    return kane.simulate(dyn, until=until, q={"z": R * cos(LEAN), "lean": LEAN}, u=u)


def main() -> None:
    """Simulate both motions."""
    upright, lean = thrown(), leaning()
    print(upright)
    rolls = (2 * SPEED + R * BACKSPIN) / 3  # angular momentum about the contact point is constant: m v r + I w
    print(f"rolls at {upright['x_dot'][-1]:.9f} m/s, closed form {rolls:.9f} m/s\n{lean}")

    figure = Figure(figsize=(8, 4), layout="constrained")
    speeds, grip = figure.subplots(1, 2)
    speeds.plot(upright.time, upright["x_dot"], "k", label="centre")
    speeds.plot(upright.time, R * upright["spin_dot"], "tab:red", linestyle="--", label="radius times spin")
    speeds.set_ylabel("upright: speed [m/s]")
    speeds.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    force = lean.reactions["floor"]
    grip.plot(lean.time, np.hypot(force[:, 1], force[:, 2]) / force[:, 0], "k")
    grip.set_ylabel("leaning: friction over normal force [1]")
    for ax in (speeds, grip):
        ax.set_xlabel("time [s]")
    figure.savefig(OUT / "disk_on_rough_floor.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
