"""A gripper lifts a box that only friction holds between its two pads.

Each corner of the box can touch the table and the two pads. Prints the friction of a pad and its theoretical value;
draws out/gripper.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
MASS, SIZES, G = 0.5, (0.1, 0.08, 0.06), 9.81  # kg, m, m/s^2
FRICTION, SQUEEZE = 0.6, 6.0  # 1, N
HEIGHT, BEGINS, TAKES, UNTIL = 0.3, 0.2, 0.8, 1.5  # m, s


def gripper(squeeze: float = SQUEEZE) -> kane.Dynamics:
    """Return compiled equations of an arm that rises by a law of time, and two fingers that motors press together."""
    m = kane.Model("gripper", gravity=(0, 0, -G))
    moments = tuple(MASS / 12 * (sum(x * x for x in SIZES) - x * x) for x in SIZES)
    box, arm = m.body("box", mass=MASS, inertia=moments), m.body("arm", mass=0.0)
    m.connect(m.ground, box, kane.Free("box"))
    share = kane.minimum(kane.maximum((m.time - BEGINS) / TAKES, 0), 1)
    rise = HEIGHT * (share - kane.sin(2 * np.pi * share) / (2 * np.pi))  # zero speed and acceleration at both ends
    m.connect(m.ground, arm, kane.Prismatic(rise, axis="z"), name="lift")
    block = box.shape(kane.Box(*SIZES))
    rough = kane.Coulomb(FRICTION)
    m.contact(block, kane.Plane(m.ground.point(), m.ground.z), friction=rough, name="table")
    for side, sign in (("left", 1), ("right", -1)):
        finger = m.body(f"{side} finger", mass=0.1)
        at = (-sign * SIZES[0] / 2, 0, SIZES[2] / 2)
        slide = m.connect(arm, finger, kane.Prismatic(side, axis=(sign, 0, 0)), at=at)
        m.load(kane.Motor(slide, squeeze))
        finger.shape(kane.Box(0.01, 0.06, 0.04), at=(-0.005 * sign, 0, 0))  # for pictures
        m.contact(block, kane.Plane(finger.point(), finger.direction((sign, 0, 0))), friction=rough, name=side)
    return kane.build(kane.formulate(m))


def lift(dyn: kane.Dynamics) -> kane.Trajectory:
    """Simulate from the box on the table, between the fingers."""
    return kane.simulate(dyn, until=UNTIL, q={"box_z": SIZES[2] / 2})


def friction(run: kane.Trajectory, side: str) -> np.ndarray:
    """Return the friction force of a pad on the box, summed over the corners, at each record [N]."""
    force = np.sum([run.reactions[name] for name in run.reactions if name.startswith(side)], axis=0)
    return np.asarray(np.hypot(force[:, 1], force[:, 2]))


def main() -> None:
    """Lift the box."""
    run = lift(gripper())
    print(run)
    needed = MASS * (G + 2 * np.pi * HEIGHT / TAKES**2) / 2
    print(f"lifted by {run['box_z'][-1] - run['box_z'][0]:.12f} m")
    print(f"friction of a pad up to {friction(run, 'left').max():.4f} N, by Newton's law {needed:.4f} N")

    height, force = (figure := Figure(figsize=(7, 5), layout="constrained")).subplots(2, 1, sharex=True)
    height.plot(run.time, run["box_z"], "k")
    height.set_ylabel("height of the box [m]")
    force.plot(run.time, friction(run, "left"), "k", label="friction of a pad")
    force.axhline(FRICTION * SQUEEZE, color="tab:red", linestyle="--", label="its bound")
    force.set_ylabel("force on the box [N]")
    force.set_xlabel("time [s]")
    force.legend(frameon=False, loc="lower right")
    figure.savefig(OUT / "gripper.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
