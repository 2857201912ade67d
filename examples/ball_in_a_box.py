"""An operator shakes a ball in a box, and feels the ball hit the walls.

The operator's arm is simulated. Box and ball move on a table without friction. If both are at rest at the end, the
energy from the operator equals the energy that the walls dissipate; this tests the energy account of the session.

Prints both energies, and draws out/ball_in_a_box.png and out/ball_in_a_box.html, an animation.
"""

from pathlib import Path

from matplotlib.figure import Figure

import kane
from kane.haptics import Arm, Coupler, Session, Simulated

OUT = Path("out")
BOX, BALL = 0.15, 0.05  # kg
ROOM, RADIUS, WALL, RESTITUTION = 0.03, 0.012, 0.004, 0.8  # range of the ball, sizes [m]; -
PATH = [
    *[(0.2, 0, 0, 0), (0.5, 0.06, 0, 0), (0.8, -0.06, 0.03, 0)],
    *[(1.1, 0.06, -0.03, 0), (1.4, 0, 0.06, 0), (1.7, 0, 0, 0)],
]


def ball_in_a_box() -> kane.Dynamics:
    """Return compiled equations of a box that moves along x and y, and a ball in it."""
    m = kane.Model("ball_in_a_box", gravity=(0, 0, 0))
    table, box, inside, ball = (m.body(k, mass=x) for k, x in dict(table=0.0, box=BOX, inside=0.0, ball=BALL).items())
    m.connect(m.ground, table, kane.Prismatic("x", axis="x"))
    m.connect(table, box, kane.Prismatic("y", axis="y"))
    walls = (
        m.connect(box, inside, kane.Prismatic("along", axis="x")),
        m.connect(inside, ball, kane.Prismatic("across", axis="y")),
    )
    for joint in walls:
        m.stop(joint, lower=-ROOM, upper=ROOM, restitution=RESTITUTION)
    ball.shape(kane.Sphere(ball.point(), RADIUS))
    half = ROOM + RADIUS + WALL / 2
    for side in (-half, half):
        box.shape(kane.Box(WALL, 2 * half + WALL, 2 * RADIUS), at=(side, 0, 0))
        box.shape(kane.Box(2 * half - WALL, WALL, 2 * RADIUS), at=(0, side, 0))
    return kane.build(kane.formulate(m))


def main() -> None:
    """Shake the box twice along x and twice along y."""
    dyn = ball_in_a_box()
    box = dyn.equations.model.bodies[2]
    hand = Simulated(rate=4000, quantum=2e-5, arm=Arm(mass=0.5, damping=8.0, stiffness=250.0, path=PATH))
    with Session(dyn, hand, Coupler(box.point(), stiffness=300, damping=1.0, axes="xy")) as session:
        session.arm()
        session.rehearse(3.0)
    run, log, report = session.trajectory, session.log, session.report
    print(report)
    gained, taken = report.energy[1] - report.energy[0], sum(event.energy_lost for event in run.events)
    print(f"energy: given {report.to_mechanism:.4f} J, kept {gained:.4f} J, to {len(run.events)} knocks {taken:.4f} J")
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    place, force = figure.subplots(1, 2)
    place.plot(run["x"], run["y"], "0.6", label="box")
    place.plot(run["x"] + run["along"], run["y"] + run["across"], "k", label="ball")
    place.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    place.legend(frameon=False)
    force.plot(log["time"], log["force"][:, 0], "k")
    force.set(xlabel="time [s]", ylabel="force on the hand along x [N]")
    figure.savefig(OUT / "ball_in_a_box.png")
    session.save_html(OUT / "ball_in_a_box.html", traces=[box])


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
