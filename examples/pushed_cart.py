"""Gillespie 2003, Example 3 with haptics: a person pushes a shopping cart through a device, and its caster sticks.

The person is simulated; the bearing of the caster has dry friction. The session runs the same ticks as in real time,
but in simulated time. Prints the report, and draws out/pushed_cart.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from kane.haptics import Session
from kane.haptics.scenes import pushed_cart

OUT = Path("out")


def main() -> None:
    """Push the cart."""
    scene = pushed_cart()
    with Session(scene.dyn, scene.hand, scene.coupler, q=scene.q) as session:
        session.arm()
        session.rehearse(scene.seconds)
        print(session.report)
        run, log = session.trajectory, session.log

    figure = Figure(figsize=(9, 3.5), layout="constrained")
    path, angle, force = figure.subplots(1, 3)
    path.plot(run["q1"], run["q2"], color="black")
    path.set_aspect("equal")
    path.set_xlabel("q1 [m]")
    path.set_ylabel("q2 [m]")
    angle.plot(run.time, np.degrees(run["q4"]), color="black")
    angle.set_xlabel("time [s]")
    angle.set_ylabel("caster, q4 [deg]")
    for k, name in enumerate("xy"):
        force.plot(log["time"], log["force"][:, k], label=name)
    force.set_xlabel("time [s]")
    force.set_ylabel("force on the hand [N]")
    force.legend(frameon=False)
    figure.savefig(OUT / "pushed_cart.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
