"""Painleve's rod slides on a rough table in a state without admissible contact force: an impact without collision.

If the friction coefficient exceeds 4/3, the friction of a rod of length 2 l that leans forward can push its tip into
the table. A normal force N accelerates the tip by p N / m, p = 1 + 3 cos a (cos a - mu sin a). If p is negative, the
tip stops at once. Prints p for both directions of sliding, and draws out/painleve_rod.png.
"""

from math import cos, radians, sin
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
HALF, FRICTION, ANGLE, SPEED = 0.5, 1.6, radians(60.0), 2.0  # m, -, rad, m/s


def rod() -> kane.Model:
    """Return a thin rod of 1 kg whose lower end touches a table."""
    m = kane.Model("rod", gravity=(0, -9.81, 0))
    body = m.body("rod", mass=1.0, inertia=(0.0, HALF**2 / 3, HALF**2 / 3))
    m.connect(m.ground, body, kane.Planar(("x", "y", "a")))
    table = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(body.point((-HALF, 0, 0)), table, friction=kane.Coulomb(FRICTION), name="tip")
    return m


def sliding(speed: float, until: float = 0.2) -> kane.Trajectory:
    """Simulate the rod from its tip at the origin, sliding along x without rotation."""
    place = {"x": HALF * cos(ANGLE), "y": HALF * sin(ANGLE), "a": ANGLE}
    times = np.linspace(0.0, until, 201)
    return kane.simulate(kane.build(kane.formulate(rod())), until=until, q=place, u={"x_dot": speed}, times=times)


def main() -> None:
    """Slide the rod in both directions."""
    ax = (figure := Figure(figsize=(7, 4), layout="constrained")).subplots()
    for speed, style, words in ((SPEED, "-", "trails"), (-SPEED, "--", "leads")):
        mu = FRICTION if speed < 0 else -FRICTION
        p = 1 + 3 * cos(ANGLE) * (cos(ANGLE) - mu * sin(ANGLE))
        run = sliding(speed)
        print(f"the tip {words}, p = {p:.4f}:", *(f"{e.cause} by an impulse of {e.impulse} N s" for e in run.events))
        tip = run["x_dot"] + HALF * np.sin(run["a"]) * run["a_dot"]
        ax.plot(run.time, tip, "k" if speed > 0 else "tab:red", linestyle=style, label=f"the tip {words}, p = {p:.2f}")
    ax.set_xlabel("time [s]")
    ax.set_ylabel("velocity of the tip [m/s]")
    ax.legend(frameon=False)
    figure.savefig(OUT / "painleve_rod.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
