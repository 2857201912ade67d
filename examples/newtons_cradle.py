"""Newton's cradle of five balls, with simultaneous impacts resolved in turn and together.

The balls touch; the first is raised and released. If impacts are resolved in turn, as waves through bodies that barely
touch, the last ball leaves with the whole speed v. If they are resolved together, as for bodies pressed against each
other, compression gives all balls v / 5, and expansion returns e times its impulses. Then the first ball continues with
(1 - 4 e) / 5 v, and the others leave with (1 + e) / 5 v. Prints the speeds after the first impact divided by v, and
draws out/newtons_cradle.png.
"""

from math import cos, sqrt
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
BALLS, RADIUS, LENGTH, RAISED = 5, 0.02, 0.3, 0.3  # -, m, m, rad


def cradle(impacts: str, restitution: float) -> kane.Model:
    """Return balls of 0.1 kg on threads, each touching the next."""
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
    """Simulate the release of the first ball from an angle."""
    return kane.simulate(kane.build(kane.formulate(cradle(impacts, restitution))), until=until, q={"q1": -RAISED})


def first_impact(swung: kane.Trajectory) -> np.ndarray:
    """Return the rates after the first impact divided by the impact rate, which follows from the pendulum's energy."""
    came = sqrt(2 * 9.81 / LENGTH * (1 - cos(RAISED)))
    return next(event.u for event in swung.events if event.time > 0.1) / came


def main() -> None:
    """Simulate elastic impacts with both methods."""
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
