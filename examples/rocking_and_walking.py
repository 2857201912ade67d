"""Impacts that transfer support from one foot to the next: Housner's rocking block, and a rimless wheel.

The wheel walks downhill. Prints the closed forms of the fraction of the rate that an impact leaves, and of the limit
rate of the wheel; draws out/rocking_and_walking.png.
"""

from math import atan2, cos, pi, sin
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
G = 9.81  # m/s^2
WIDTH, HEIGHT, TILT = 0.4, 1.6, 0.12  # block, released at rest on one corner [m, m, rad]
SPOKES, LENGTH, SLOPE, START = 8, 1.0, 0.15, 1.5  # wheel [-, m, rad, rad/s]
GRIP = kane.Coulomb(5.0)  # large enough to prevent slip


def block() -> kane.Model:
    """Return a block of 1 kg with contacts at its two lower corners."""
    m = kane.Model("rocking block", gravity=(0, -G, 0))
    body = m.body("block", mass=1.0, inertia=(1.0, 1.0, (WIDTH**2 + HEIGHT**2) / 12))
    m.connect(m.ground, body, kane.Planar(("x", "y", "turn")), child_at=(0, -HEIGHT / 2, 0))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for name, side in (("left", -1), ("right", 1)):
        m.contact(body.point((side * WIDTH / 2, -HEIGHT / 2, 0)), floor, friction=GRIP, name=name)
    return m


def wheel() -> kane.Model:
    """Return a rimless wheel: a hub of 1 kg on massless spokes; x is downhill."""
    m = kane.Model("rimless wheel", gravity=(G * sin(SLOPE), -G * cos(SLOPE), 0))
    hub = m.body("hub", mass=1.0, inertia=(1e-9,) * 3)
    m.connect(m.ground, hub, kane.Planar(("x", "y", "turn")))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for k in range(SPOKES):
        angle = 2 * pi * k / SPOKES - pi / 2
        m.contact(hub.point((LENGTH * cos(angle), LENGTH * sin(angle), 0)), floor, friction=GRIP, name=f"spoke {k}")
    return m


def rocking(until: float) -> kane.Trajectory:
    """Simulate the block, released on its right corner."""
    place = {"x": WIDTH / 2 * (1 - cos(TILT)), "y": WIDTH / 2 * sin(TILT), "turn": -TILT}
    return kane.simulate(kane.build(kane.formulate(block())), until=until, q=place)


def walking(until: float) -> kane.Trajectory:
    """Simulate the wheel from spoke 0 normal to the slope."""
    start = {"y": LENGTH}, {"x_dot": LENGTH * START, "turn_dot": -START}
    return kane.simulate(kane.build(kane.formulate(wheel())), until=until, q=start[0], u=start[1])


def main() -> None:
    """Simulate rocking and walking."""
    block_run, wheel_run = rocking(4.0), walking(6.0)
    alpha, half = atan2(WIDTH, HEIGHT), pi / SPOKES
    print(f"a block keeps {1 - 1.5 * sin(alpha) ** 2:.9f} of its rate (Housner)")
    fixed = cos(2 * half) * np.sqrt(4 * G / LENGTH * sin(half) * sin(SLOPE) / (1 - cos(2 * half) ** 2))
    print(f"the wheel walks: after each impact {fixed:.9f} rad/s in the limit")
    print(wheel_run)
    figure = Figure(figsize=(7, 5), layout="constrained")
    for ax, run, name in zip(figure.subplots(2, 1), (block_run, wheel_run), ("block", "wheel"), strict=True):
        ax.plot(run.time, run["turn_dot"], "k")
        ax.set_ylabel(f"{name}, rate of turning [rad/s]")
        ax.set_xlabel("time [s]")
    figure.savefig(OUT / "rocking_and_walking.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
