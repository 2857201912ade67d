"""A bicycle ridden without hands is pushed sideways. Its speed decides: it weaves, balances itself, or slowly falls.

Draws out/whipple_bicycle.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
REAR, FRONT = 0.3, 0.35  # m, radii of the wheels
HELD = ["x", "y", "yaw", "roll", "steer", "rear", "front", "x_dot", "roll_dot", "steer_dot"]


def main() -> None:
    """Simulate speeds below, within and above the stable range of the benchmark bicycle, 4.3 to 6.0 m/s."""
    equations = kane.formulate(kane.library.whipple_bicycle())
    print(repr(equations))
    bicycle = kane.build(equations)
    rear = kane.RevealedReactions(bicycle, kane.reveal_reactions(equations, "rear wheel on the road"))
    print(f"reactions revealed: {', '.join(rear.names)}")
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    roll, path = figure.subplots(1, 2)
    for v, style in ((3.5, ":"), (5.0, "-"), (8.0, "--")):
        speeds = {"x_dot": v, "rear_dot": -v / REAR, "front_dot": -v / FRONT, "roll_dot": 0.2}
        start = kane.assemble(bicycle, q={"heave": -REAR}, u=speeds, fixed=HELD)
        run = kane.simulate(bicycle, until=3.0, q=start.q, u=start.u)
        forces = rear(run)
        print(
            f"{v} m/s: rolls by {np.degrees(run['roll'][-1]):7.3f} deg after 3 s, the energy within "
            f"{np.ptp(run.energy) / run.energy[0]:.0e}, on the rear wheel {forces[-1, 2]:.1f} N at the end"
        )
        roll.plot(run.time, np.degrees(run["roll"]), style, color="black", label=f"{v} m/s")
        path.plot(run["x"], run["y"], style, color="black")
    roll.set_title("roll after a push")
    roll.set_xlabel("t [s]")
    roll.set_ylabel("roll [deg]")
    roll.legend(frameon=False)
    path.set_title("path of the rear wheel, to the right downwards")
    path.set_xlabel("x [m]")
    path.set_ylabel("y [m]")
    path.invert_yaxis()
    for ax in (roll, path):
        ax.grid(alpha=0.3)
    figure.savefig(OUT / "whipple_bicycle.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
