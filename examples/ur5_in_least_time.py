"""A UR5 lifts 5 kg from the left to the right in the least time that its motors allow; extras ``casadi``, ``demo``.

Torques stay below 150 N m (28 N m in the wrist) and joint rates below 180 deg/s. Draws out/ur5_in_least_time.png.
"""

import math
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
TORQUES = (150.0, 150.0, 150.0, 28.0, 28.0, 28.0)  # N m
FIRST, LAST = (-0.8, 0.1, 0.2, 0.0, 0.0, 0.0), (0.8, -0.9, 0.4, 0.3, 0.0, 0.0)  # rad
EFFORT = 0.02  # weight of the squared torques against time: without it, torques that do not matter oscillate
NAMES = ("shoulder pan", "shoulder lift", "elbow", "wrist 1", "wrist 2", "wrist 3")


def main() -> None:
    m = kane.load_urdf(kane.example_robot("ur5"), stops=False)
    (wrist,) = (body for body in m.bodies if body.name == "wrist_3_link")
    load = m.body("load", mass=5.0, inertia=(0.02, 0.02, 0.02))
    load.shape(kane.Box(0.15, 0.15, 0.15))
    m.connect(wrist, load, kane.Weld(), at=(0, 0.12, 0))
    dyn = kane.build(kane.formulate(m))
    q, u = ([leaf.name for leaf in leaves] for leaves in (dyn.equations.q, dyn.equations.u))
    still = dict.fromkeys(u, 0.0)
    limits = {leaf.name: (-most, most) for leaf, most in zip(dyn.equations.inputs, TORQUES, strict=True)}
    share = [(leaf / most) ** 2 for leaf, most in zip(dyn.equations.inputs, TORQUES, strict=True)]
    swing = kane.collocate(
        dyn,
        duration=(0.3, 3.0),
        nodes=81,
        objective=kane.final(m.time) + kane.integral(EFFORT * sum(share[1:], share[0])),
        start=dict(zip(q, FIRST, strict=True)) | still,
        end=dict(zip(q, LAST, strict=True)) | still,
        bounds=limits | dict.fromkeys(u, (-math.pi, math.pi)),
        guess={"duration": 1.5},
        method="trapezoid",  # torques jump between their limits
    )
    alone = (LAST[0] - FIRST[0]) / math.pi
    print(f"least time: {swing.duration:.3f} s; at full rate all the way: {alone:.3f} s; {swing.message}")
    print(kane.verify(swing))

    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True)
    for k, name in enumerate(NAMES):
        axes[0].plot(swing.time, np.degrees(swing.q[:, k]), label=name)
        axes[1].plot(swing.time, np.degrees(swing.u[:, k]))
        axes[2].plot(swing.point_time, swing.point_inputs[:, k] / TORQUES[k])
    for ax, label in zip(axes, ("angle [deg]", "rate [deg/s]", "torque [of limit]"), strict=True):
        ax.set_ylabel(label)
        ax.grid(alpha=0.3)
    figure.legend(loc="outside upper center", ncols=6, fontsize="small")
    axes[2].set_xlabel("time [s]")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "ur5_in_least_time.png", dpi=120)
    swing.trajectory.save_html(OUT / "ur5_in_least_time.html")


if __name__ == "__main__":
    main()
