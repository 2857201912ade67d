"""Balls dropped into a groove collide, roll and come to rest, with friction at all contacts.

At rest the forces of the walls add up to the weight. Prints the final state, and draws out/bag_of_spheres.png.
"""

from math import sqrt
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
BALLS, RADIUS, MASS, G = 3, 0.05, 1.0, 9.81  # -, m, kg, m/s^2
ASIDE = (0.0, 0.02, -0.03)  # m


def bag() -> kane.Model:
    """Return balls in a plane between two walls at right angles."""
    m = kane.Model("bag", gravity=(0, -G, 0))
    walls = {
        side: kane.Plane(m.ground.point(), m.ground.direction((way / sqrt(2), 1 / sqrt(2), 0)))
        for side, way in (("left", 1), ("right", -1))
    }
    balls: list[kane.Sphere] = []
    for k in range(BALLS):
        ball = m.body(f"ball {k}", mass=MASS, inertia=(0.4 * MASS * RADIUS**2,) * 3)
        m.connect(m.ground, ball, kane.Planar((f"x{k}", f"y{k}", f"a{k}")))
        balls.append(kane.Sphere(ball.point(), RADIUS))
        others = {f"{k} on {j}": balls[j] for j in range(k)}
        for name, surface in {f"{k} {side}": wall for side, wall in walls.items()}.items():
            m.contact(balls[k], surface, restitution=0.4, friction=kane.Coulomb(0.3), name=name)
        for name, other in others.items():
            m.contact(balls[k], other, restitution=0.4, friction=kane.Coulomb(0.3), name=name)
    return m


def dropped(until: float = 2.0) -> kane.Trajectory:
    """Simulate the balls from rest, one above the other, not quite in line."""
    start = {f"x{k}": ASIDE[k] for k in range(BALLS)} | {f"y{k}": 0.2 + 0.12 * k for k in range(BALLS)}
    return kane.simulate(kane.build(kane.formulate(bag())), until=until, q=start, integrator=kane.RK8(rtol=1e-8))


def support(run: kane.Trajectory) -> float:
    """Return the upward force of the walls at the end [N].

    The normals are (way, 1) / sqrt 2, the tangents (-1, way) / sqrt 2.
    """
    total = 0.0
    for k in range(BALLS):
        for side, way in (("left", 1), ("right", -1)):
            normal, rub = run.reactions[f"{k} {side}"][-1]
            total += (normal + way * rub) / sqrt(2)
    return total


def main() -> None:
    """Drop the balls."""
    run = dropped()
    over = sum(event.cause == "is stepped over" for event in run.events)
    fastest = np.abs(run.u[-1]).max()
    print(f"{len(run.events)} events, {over} of them Moreau-Jean time steps; at the end {fastest:.2g} m/s or rad/s")
    print(f"the walls carry {support(run):.6f} N of {BALLS * MASS * G:.6f} N; {run.modes[-1]}")
    ax = (figure := Figure(figsize=(6, 5), layout="constrained")).subplots()
    for k in range(BALLS):
        ax.plot(run[f"x{k}"], run[f"y{k}"], linewidth=0.8, label=f"ball {k}")
    ax.set_xlabel("x [m]")
    ax.set_ylabel("y [m]")
    ax.legend(frameon=False)
    figure.savefig(OUT / "bag_of_spheres.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
