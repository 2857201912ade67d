"""Angeles, Ma & Rojas 1988, Example 1: joint trajectories of the Stanford Arm (Fig. 4), torques and force (Fig. 5).

Writes out/angeles_fig4.png and out/angeles_fig5.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
B = 2 * np.pi / 10
INITIAL = {"q1": 0.0, "q2": np.pi / 2, "q3": 0.0, "q4": 0.0, "q5": 0.0, "q6": 0.0}
RATE = {"q1": np.pi / 30, "q2": -np.pi / 60, "q3": 0.01, "q4": np.pi / 30, "q5": np.pi / 30, "q6": np.pi / 30}


def main() -> None:
    """Follow the trajectories and draw them with the torques and the force."""
    OUT.mkdir(exist_ok=True)
    dyn = kane.build(kane.formulate(kane.library.stanford_arm_dh()))
    q = {name: (lambda t, name=name: INITIAL[name] + RATE[name] * (t - kane.sin(B * t) / B)) for name in INITIAL}
    motion = kane.follow(dyn, q=q, times=np.linspace(0.0, 10.0, 501))

    figure = Figure(figsize=(8, 7), layout="constrained")
    (angles, slide) = figure.subplots(2, 1, sharex=True)
    angles.plot(motion.time, np.degrees(motion["q1"]), label="theta 1, 4, 5, 6")
    angles.plot(motion.time, np.degrees(motion["q2"]), "--", label="theta 2")
    slide.plot(motion.time, motion["q3"])
    angles.set_ylabel("angle [deg]")
    angles.legend(frameon=False)
    for ax in (angles, slide):
        ax.grid(alpha=0.3)
    slide.set_ylabel("b3 [m]")
    slide.set_xlabel("t [s]")
    figure.suptitle("Angeles et al., Fig. 4: joint trajectories of Example 1")
    figure.savefig(OUT / "angeles_fig4.png")

    figure = Figure(figsize=(9, 8), layout="constrained")
    axes = figure.subplots(3, 2, sharex=True)
    for i, ax in enumerate(axes.flat, start=1):
        ax.plot(motion.time, motion[f"tau{i}"], color="black")
        ax.set_ylabel(f"tau {i} [{'N' if i == 3 else 'N m'}]")
        ax.grid(alpha=0.3)
    figure.supxlabel("t [s]")
    figure.suptitle("Angeles et al., Fig. 5: driving torques and force of Example 1")
    figure.savefig(OUT / "angeles_fig5.png")


if __name__ == "__main__":
    main()
