"""Newton's cradle of five balls, with impacts that meet taken in turn and together.

The balls touch; the first is let go. In turn, as waves run through bodies that hardly touch, the last ball leaves with
all of the speed v. Together, as bodies pressed into each other, the compression leaves all with v / 5, the expansion
gives back e of its impulses: the first goes on with (1 - 4 e) / 5 v, the others leave with (1 + e) / 5 v. Prints the
speeds behind the first impact over v, and draws out/newtons_cradle.png.
"""

from math import cos, sqrt
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
BALLS, RADIUS, LENGTH, RAISED = 5, 0.02, 0.3, 0.3  # -, m, m, rad


def cradle(impacts: str, restitution: float) -> kane.Model:
    """Balls of 0.1 kg on threads, each touching the next."""
    m = kane.Model("cradle", gravity=(0, -9.81, 0))
    m.impacts = impacts
    balls = []
    for k in range(BALLS):
        ball = m.body(f"ball {k + 1}", mass=0.1, com=(0, -LENGTH, 0))
        m.connect(m.ground, ball, kane.Revolute(f"q{k + 1}", axis="z"), at=(2 * RADIUS * k, 0, 0))
        balls.append(kane.Sphere(ball.point((0, -LENGTH, 0)), RADIUS))
    for k in range(BALLS - 1):
        m.contact(balls[k + 1], balls[k], restitution=restitution, name=f"{k + 1} on {k + 2}")
    return m


def run(impacts: str, restitution: float = 1.0, until: float = 1.2) -> kane.Trajectory:
    """The first ball let go from an angle."""
    return kane.simulate(kane.build(kane.formulate(cradle(impacts, restitution))), until=until, q={"q1": -RAISED})


def first_impact(swung: kane.Trajectory) -> np.ndarray:
    """The rates behind the first impact, over that of the ball that came: the energy of a pendulum says that one."""
    came = sqrt(2 * 9.81 / LENGTH * (1 - cos(RAISED)))
    return next(event.u for event in swung.events if event.time > 0.1) / came


def main() -> None:
    """Both ways, elastic."""
    axes = (figure := Figure(figsize=(8, 4), layout="constrained")).subplots(1, 2, sharey=True)
    for ax, impacts in zip(axes, ("in turn", "together"), strict=True):
        swung = run(impacts)
        print(f"{impacts}:", *(f"{share:.6f}" for share in first_impact(swung)))
        for k in range(BALLS):
            ax.plot(swung.time, np.degrees(swung[f"q{k + 1}"]), linewidth=3 - 0.6 * k, label=f"ball {k + 1}")
        ax.set_title(impacts)
        ax.set_xlabel("time [s]")
        ax.set_ylabel("angle [deg]")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    figure.savefig(OUT / "newtons_cradle.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
