"""Stoneking 2008: five bodies on gimbals, a ball joint and a hinge tumble freely for 100 s.

Prints COEF and RHS (COEF udot = RHS) at the start, and the drift of energy and momentum; writes
out/stoneking_spacecraft.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
UNTIL = 100.0  # s
Q = {"G1_2": 0.4, "G4_2": 0.3}
# The paper's order: angular velocity of the root, joint speeds, velocity of the root [rad/s, m/s].
U = [0.05, -0.03, 0.08, 0.02, -0.01, 0.03, -0.04, 0.03, 0.02, 0.05, -0.02, 0.03, 0.1, -0.05, 0.02]


def drift(values: np.ndarray) -> np.ndarray:
    """Return the relative change of a quantity (times, ...) from its first value."""
    return np.abs(values - values[0]).reshape(len(values), -1).max(axis=1) / np.linalg.norm(values[0])


def main() -> None:
    """Simulate, check, draw."""
    OUT.mkdir(exist_ok=True)
    dyn = kane.build(kane.formulate(kane.library.spacecraft_tree()))
    run = kane.simulate(dyn, until=UNTIL, dt=0.01, every=10, q=Q, u=U)
    momentum = dyn.momentum(run.q, run.u)
    lost = {"energy": run.energy, "linear momentum": momentum.linear, "angular momentum": momentum.angular}
    with np.printoptions(precision=3, suppress=True, linewidth=140):
        print("COEF =", dyn.mass_matrix(run.q[0]), "RHS =", -dyn.bias(run.q[0], run.u[0]), sep="\n")

    figure = Figure(figsize=(9, 9), layout="constrained")
    (angles, ball, kept) = figure.subplots(3, 1, sharex=True)
    for name in ("G1_1", "G1_2", "G1_3", "G3", "G4_1", "G4_2"):
        angles.plot(run.time, np.degrees(run[name]), label=name)
    for name in "wxyz":
        ball.plot(run.time, run[f"G2_q{name}"], label=f"G2_q{name}")
    for name, values in lost.items():
        print(f"{name}: relative drift {drift(values).max():.1e} over {UNTIL:g} s")
        kept.semilogy(run.time[1:], np.maximum(drift(values)[1:], 1e-17), label=name)
    for ax, label in (
        (angles, "joint angle [deg]"),
        (ball, "quaternion of B3 [1]"),
        (kept, "relative drift [1]"),
    ):
        ax.set_ylabel(label)
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        ax.grid(alpha=0.3)
    kept.set_xlabel("t [s]")
    figure.suptitle("Stoneking's five-body spacecraft, torque-free")
    figure.savefig(OUT / "stoneking_spacecraft.png")


if __name__ == "__main__":
    main()
