"""A rattleback: a stone that is spun in the wrong direction begins to rattle, stops, and reverses its spin.

Its lower side is half an ellipsoid whose axes differ from the principal axes of inertia; only this couples rocking and
spin. Prints computing times and the time of reversal; draws out/rattleback.png. Dimensions: Kane & Levinson, Realistic
mathematical modeling of the rattleback, Int. J. Non-Linear Mechanics 17 (1982) 175.
"""

import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
AXES, BELOW = (0.2, 0.03, 0.02), 0.01  # semi-axes of the ellipsoid; depth of the mass centre below its centre [m]
MASS, G = 1.0, 9.81  # kg, m/s^2
INERTIA = ((2e-4, -2e-5, 0.0), (-2e-5, 1.6e-3, 0.0), (0.0, 0.0, 1.7e-3))  # kg m^2
SPIN, TAP, UNTIL = 5.0, 0.1, 20.0  # rad/s about the vertical and about the long axis, s


def stone() -> kane.Dynamics:
    """Return compiled equations of a rigid body on a rough table."""
    m = kane.Model("rattleback", gravity=(0, 0, -G))
    body = m.body("stone", mass=MASS, inertia=INERTIA, com=(0, 0, -BELOW))
    m.connect(m.ground, body, kane.Free("stone"))
    shell, table = body.shape(kane.Ellipsoid(*AXES)), kane.Plane(m.ground.point(), m.ground.z)
    m.contact(shell, table, friction=kane.Coulomb(1.0), name="table")
    return kane.build(kane.formulate(m))


def spun(dyn: kane.Dynamics, spin: float, tap: float = TAP, until: float = UNTIL) -> kane.Trajectory:
    """Simulate the stone from its equilibrium position, rolling: the lowest point has zero velocity."""
    start = {"stone_wz": spin, "stone_wx": tap, "stone_vy": -tap * AXES[2]}
    return kane.simulate(dyn, until=until, q={"stone_z": AXES[2]}, u=start, integrator=kane.RK8(rtol=1e-10))


def lean(run: kane.Trajectory) -> np.ndarray:
    """Return the angle of the long axis from the table [rad]."""
    w, x, y, z = (run[f"stone_q{name}"] for name in "wxyz")
    return np.asarray(np.arcsin(2 * (x * z - w * y)))


def main() -> None:
    """Spin the stone in both directions."""
    begun = time.perf_counter()
    dyn = stone()
    built = time.perf_counter()
    wrong = spun(dyn, -SPIN)
    done = time.perf_counter()
    right = spun(dyn, SPIN)
    print(wrong)
    print(f"derived and built in {built - begun:.2f} s, run in {done - built:.2f} s")
    fast = kane.compile_modes(dyn, wrong.modes)  # separate equations for rolling
    begun = time.perf_counter()
    again = spun(fast, -SPIN)
    print(f"run in {time.perf_counter() - begun:.2f} s in its compiled mode, {again.modes[0]!r}")
    turns = wrong.time[np.argmax(wrong["stone_wz"] > 0)]
    print(f"spun at {-SPIN} rad/s it turns back after {turns:.1f} s, up to {wrong['stone_wz'].max():.3f} rad/s")
    print(f"energy changes by {np.ptp(wrong.energy):.1e} of {wrong.energy[0]:.4f} J")

    figure = Figure(figsize=(7, 5), layout="constrained")
    spin, pitch = figure.subplots(2, 1, sharex=True)
    for run, colour, label in ((wrong, "k", "spun the wrong way"), (right, "tab:red", "spun the right way")):
        spin.plot(run.time, run["stone_wz"], colour, label=label)
        pitch.plot(run.time, np.degrees(lean(run)), colour, linewidth=0.8)
    spin.set_ylabel("spin [rad/s]")
    spin.legend(frameon=False, loc="lower right")
    pitch.set_ylabel("long axis from level [deg]")
    pitch.set_xlabel("time [s]")
    figure.savefig(OUT / "rattleback.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
