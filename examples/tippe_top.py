"""A tippe top is spun on its round end, and turns over onto its stem: friction lifts its mass centre.

The top is a ball of radius R with its mass centre a R below the middle. Its moments of inertia are A across and C along
its axis. Friction conserves Jellett's integral J = C w (R - a R). A fast top turns over if 1 - a < A / C < 1 + a and
J^2 > m g R^3 C a (1 + a)^4 / (1 + a - A / C) [Rauch-Wojciechowski, Skoldstam & Glad, Regular and Chaotic Dynamics 10
(2005) 333]. Prints the final angles; draws out/tippe_top.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
MASS, R, ECCENTRICITY, G, FRICTION = 0.006, 0.02, 0.15, 9.81, 0.05  # kg, m, 1, m/s^2, 1
ACROSS, ALONG = 0.40 * MASS * R**2, 0.41 * MASS * R**2  # kg m^2
TILT, SPIN, UNTIL = 0.1, 150.0, 6.0  # rad, rad/s, s


def top(across: float = ACROSS) -> kane.Dynamics:
    """Return compiled equations of a top on a table with friction."""
    m = kane.Model("tippe top", gravity=(0, 0, -G))
    body = m.body("top", mass=MASS, inertia=(across, across, ALONG), com=(0, 0, -ECCENTRICITY * R))
    m.connect(m.ground, body, kane.Free("top"))
    table = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(kane.Sphere(body.point(), R), table, friction=kane.Coulomb(FRICTION), name="table")
    return kane.build(kane.formulate(m))


def spun(dyn: kane.Dynamics, spin: float = SPIN, until: float = UNTIL) -> kane.Trajectory:
    """Simulate a top that spins about the vertical with a small tilt."""
    start = {"top_z": R, "top_qw": np.cos(TILT / 2), "top_qx": np.sin(TILT / 2)}
    rates = {"top_wy": spin * np.sin(TILT), "top_wz": spin * np.cos(TILT)}  # along the axes of the top
    return kane.simulate(dyn, until=until, q=start, u=rates, integrator=kane.RK8(rtol=1e-8))


def upwards(run: kane.Trajectory) -> np.ndarray:
    """Return the vertical along the axes of the top, (records, 3)."""
    w, x, y, z = (run[f"top_q{axis}"] for axis in "wxyz")
    return np.column_stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])


def jellett(run: kane.Trajectory, across: float = ACROSS) -> np.ndarray:
    """Return J: angular momentum about the mass centre times the arm from the contact point to the mass centre."""
    momentum = np.column_stack([run["top_wx"], run["top_wy"], run["top_wz"]]) * (across, across, ALONG)
    return np.asarray(np.sum(momentum * R * (upwards(run) - (0, 0, ECCENTRICITY)), axis=1))


def threshold(across: float = ACROSS) -> float:
    """Return the spin above which the top turns over, if it can [rad/s]."""
    a = ECCENTRICITY
    least = np.sqrt(MASS * G * R**3 * ALONG * a / (1 + a - across / ALONG)) * (1 + a) ** 2
    return float(least / (ALONG * R * (1 - a)))


def main() -> None:
    """Spin the top fast, and slowly."""
    fast, slow = spun(top()), spun(top(), spin=0.8 * threshold())
    print(fast)
    print(f"turns over above {threshold():.1f} rad/s")
    ax = (figure := Figure(figsize=(7, 4), layout="constrained")).subplots()
    for run, style, label in ((fast, "k", f"{SPIN:g} rad/s"), (slow, "tab:red", f"{0.8 * threshold():.0f} rad/s")):
        lean = np.degrees(np.arccos(upwards(run)[:, 2]))
        print(
            f"spun at {label} it leans by {lean[-1]:.1f} deg at the end; J changes by {np.ptp(jellett(run)):.0e} of "
            f"{jellett(run)[0]:.2e} kg m^3/s"
        )
        ax.plot(run.time, lean, style, label=label)
    ax.set_xlabel("time [s]")
    ax.set_ylabel("axis from upright [deg]")
    ax.legend(frameon=False)
    figure.savefig(OUT / "tippe_top.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
