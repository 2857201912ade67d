"""Balls poured into a bin come to rest by Moreau-Jean time steps, with friction and restitution at all contacts.

At rest the floor and the walls carry the weight, and the energy has never grown by more than the error of a step.
Prints both, and draws out/poured_balls.png.
"""

from math import cos, pi, sin
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
BALLS, RADIUS, MASS, G, WIDTH, STEP = 6, 0.05, 1.0, 9.81, 0.25, 1e-3  # -, m, kg, m/s^2, m, s


def bin_of_balls() -> kane.Model:
    """Return balls in a plane between two walls, over a floor."""
    m = kane.Model("bin", gravity=(0, -G, 0))
    sides = {"floor": ((0, 0, 0), m.ground.y), "left": ((0, 0, 0), m.ground.x), "right": ((WIDTH, 0, 0), -m.ground.x)}
    surfaces: dict[str, kane.Plane | kane.Sphere] = {
        name: kane.Plane(m.ground.point(place), normal) for name, (place, normal) in sides.items()
    }
    for k in range(BALLS):
        ball = m.body(f"ball {k}", mass=MASS, inertia=(0.4 * MASS * RADIUS**2,) * 3)
        m.connect(m.ground, ball, kane.Planar((f"x{k}", f"y{k}", f"a{k}")))
        sphere = kane.Sphere(ball.point(), RADIUS)
        for name, surface in surfaces.items():
            m.contact(sphere, surface, friction=kane.Coulomb(0.3), restitution=0.3, name=f"{k} {name}")
        surfaces[f"ball {k}"] = sphere
    return m


def poured(dyn: kane.Dynamics, until: float = 3.0) -> kane.Trajectory:
    """Simulate the balls from rest, one above the other, not in line."""
    start = {f"x{k}": WIDTH * (0.35 + 0.1 * (k % 4)) for k in range(BALLS)}
    start |= {f"y{k}": 0.1 + 0.13 * k for k in range(BALLS)}
    return kane.simulate(dyn, until=until, q=start, integrator=kane.MoreauJean(), dt=STEP)


def carried(run: kane.Trajectory) -> float:
    """Return the upward force of floor and walls at the end [N]; the tangents of both walls point upwards."""
    normal = sum(run.reactions[f"{k} floor"][-1][0] for k in range(BALLS))
    return normal + sum(run.reactions[f"{k} {side}"][-1][1] for k in range(BALLS) for side in ("left", "right"))


def main() -> None:
    """Pour the balls."""
    run = poured(kane.build(kane.formulate(bin_of_balls())))
    print(f"{len(run.events)} changes of contacts; at the end {np.abs(run.u[-1]).max():.2g} m/s or rad/s")
    print(f"floor and walls carry {carried(run):.6f} N of {BALLS * MASS * G:.6f} N")
    print(f"the energy falls from {run.energy[0]:.3f} J to {run.energy[-1]:.3f} J, and rises by at most", end=" ")
    print(f"{max(np.diff(run.energy).max(), 0):.1e} J in a step")
    ax = (figure := Figure(figsize=(5, 6), layout="constrained")).subplots()
    turn = np.linspace(0, 2 * pi, 60)
    for k in range(BALLS):
        (line,) = ax.plot(run[f"x{k}"], run[f"y{k}"], linewidth=0.8)
        rim = [(run[f"x{k}"][-1] + RADIUS * cos(a), run[f"y{k}"][-1] + RADIUS * sin(a)) for a in turn]
        ax.plot(*zip(*rim, strict=True), color=line.get_color())
    ax.plot([0, 0, WIDTH, WIDTH], [0.8, 0, 0, 0.8], color="black")
    ax.set_aspect("equal")
    ax.set_xlabel("x [m]")
    ax.set_ylabel("y [m]")
    figure.savefig(OUT / "poured_balls.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
