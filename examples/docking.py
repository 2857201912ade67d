"""Two spacecraft dock: one drifts into the other, a latch joins them, they turn together, and separate again.

Prints the events, and linear and angular momentum before and after, and draws out/docking.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
RELEASE, UNTIL = 8.0, 12.0  # s
MASS, INERTIA = {1: 900.0, 2: 400.0}, {1: 700.0, 2: 150.0}  # kg, kg m^2
START = {"x2": 3.0}  # m
DRIFT = {"x1_dot": 0.4, "y2_dot": 0.02, "a1_dot": 0.01}  # m/s, rad/s


def spacecraft() -> kane.Model:
    """Return two bodies in a plane without gravity, each with a port 1 m from its mass centre."""
    m = kane.Model("docking", gravity=(0, 0, 0))
    for k in (1, 2):
        body = m.body(f"craft {k}", mass=MASS[k], inertia=(INERTIA[k],) * 3)
        m.connect(m.ground, body, kane.Planar((f"x{k}", f"y{k}", f"a{k}")))
    one, two = m.bodies[1:]
    P, Q, z = one.point((1, 0, 0)), two.point((-1, 0, 0)), m.ground.z
    gap = Q.position.dot(two.x) - P.position.dot(two.x)  # along the axis of the port
    # The transverse velocity of port P relative to the other craft, and the difference of the angular rates.
    across = P.velocity.dot(two.y) - Q.velocity.dot(two.y) + two.angular_velocity.dot(z) * gap
    turning = one.angular_velocity.dot(z) - two.angular_velocity.dot(z)
    m.latch(gap, holds=[across, turning], off=m.time - RELEASE, name="latch")
    return m


def momentum(run: kane.Trajectory) -> np.ndarray:
    """Return linear momentum along x and y, and angular momentum about the origin, (3, times)."""
    total = np.zeros((3, len(run.time)))
    for k in (1, 2):
        x, y, vx, vy = (run[f"{name}{k}{end}"] for end in ("", "_dot") for name in "xy")
        turning = MASS[k] * (x * vy - y * vx) + INERTIA[k] * run[f"a{k}_dot"]
        total += [MASS[k] * vx, MASS[k] * vy, turning]
    return total


def main() -> None:
    """Dock and separate."""
    run = kane.simulate(kane.build(kane.formulate(spacecraft())), until=UNTIL, q=START, u=DRIFT)
    print(run)
    before, after = momentum(run)[:, 0], momentum(run)[:, -1]
    print(f"momentum before {before} and after {after} N s, N s, N m s")

    ax = (figure := Figure(figsize=(7, 4), layout="constrained")).subplots()
    ax.plot(run.time, run["a1_dot"], "k", label="craft 1")
    ax.plot(run.time, run["a2_dot"], "tab:red", linestyle="--", label="craft 2")
    ax.set_xlabel("time [s]")
    ax.set_ylabel("rate of turning [rad/s]")
    ax.legend(frameon=False)
    figure.savefig(OUT / "docking.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
