"""Angeles, Ma & Rojas 1988, Example 2: a straight line with constant orientation, and its torques.

The arm's wrist is not spherical, so the joint angles have no closed form; kane.inverse_kinematics finds them.
Writes out/angeles_fig6.png (the line's spline), angeles_fig7.png (angles) and angeles_fig8.png (torques).
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane
from kane.library.angeles_arms import SIX_AXIS_START

OUT = Path("out")
LENGTH = 0.5  # m, in one second


def draw(name: str, title: str, time: np.ndarray, curves: dict[str, np.ndarray]) -> None:
    """Draw a small plot for each curve."""
    columns = min(2, len(curves))
    figure = Figure(figsize=(9, 8 if columns > 1 else 4), layout="constrained")
    axes = figure.subplots(-(-len(curves) // columns), columns, sharex=True)
    for ax, (label, values) in zip(np.atleast_1d(axes).flat, curves.items(), strict=True):
        ax.plot(time, values, color="black")
        ax.set_ylabel(label)
        ax.grid(alpha=0.3)
        if np.ptp(values) < 1e-3:
            ax.set_ylim(-1, 1)  # the last link does not rotate, and its mass centre is on the last axis
            ax.text(0.5, 0.6, "zero but for rounding", transform=ax.transAxes, ha="center")
    figure.supxlabel("t [s]")
    figure.suptitle(title)
    figure.savefig(OUT / name)


def main() -> None:
    """Compute joint angles along the line, and the torques by inverse dynamics."""
    OUT.mkdir(exist_ok=True)
    dyn = kane.build(kane.formulate(kane.library.six_axis_arm()))
    start = dyn.poses(SIX_AXIS_START)["link6"]
    t = np.linspace(0.0, 1.0, 201)
    y = LENGTH * t**3 * (10 - 15 * t + 6 * t**2)  # zero speed and acceleration at both ends
    line = start.position + np.outer(y, [0.0, 1.0, 0.0])
    q = kane.inverse_kinematics(dyn, "link6", position=line, orientation=start.orientation, q=SIX_AXIS_START)
    motion = kane.follow(dyn, q=q, times=t)
    print(f"the line starts at {start.position.round(5)} and ends at {dyn.poses(q[-1])['link6'].position.round(5)}")

    names = range(1, 7)
    draw("angeles_fig6.png", "Angeles et al., Fig. 6: y of the end effector", t, {"y [m]": y})
    angles = {f"theta {i} [deg]": np.degrees(motion[f"q{i}"]) for i in names}
    draw("angeles_fig7.png", "Angeles et al., Fig. 7: joint trajectories of Example 2", t, angles)
    torques = {f"tau {i} [N m]": motion[f"tau{i}"] for i in names}
    draw("angeles_fig8.png", "Angeles et al., Fig. 8: driving torques of Example 2", t, torques)


if __name__ == "__main__":
    main()
