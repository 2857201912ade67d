"""A slider-crank turns by its torque until the piston meets a stop, bounces, and comes to rest there.

Prints the impacts: each leaves e times the rate of the crank, for the loop has one freedom. Draws
out/slider_crank_stop.png.
"""

from pathlib import Path

from matplotlib.figure import Figure

import kane

OUT = Path("out")
RESTITUTION, TORQUE, STOP, UNTIL = 0.6, 1.5, 0.3, 2.0  # -, N m, m, s
LABELS = {"q3": "piston, q3 [m]", "u1": "crank, u1 [rad/s]"}


def mechanism() -> kane.Model:
    """The slider-crank of the library with a stop for its piston."""
    m = kane.library.slider_crank()
    slide = next(c for c in m.connections if c.name == "q3")
    m.stop(slide, lower=STOP, restitution=RESTITUTION, name="stop")
    return m


def motion() -> kane.Trajectory:
    """From rest, the piston at 0.38 m."""
    dyn = kane.build(kane.formulate(mechanism()))
    start = kane.assemble(dyn, q={"q1": 0.6, "q2": -0.9, "q3": 0.38}, fixed=["q1"])
    return kane.simulate(dyn, until=UNTIL, q=start.q, u=start.u, inputs={"T": TORQUE})


def main() -> None:
    """Turn it."""
    run = motion()
    print(run)
    figure = Figure(figsize=(7, 5), layout="constrained")
    for ax, (name, label) in zip(figure.subplots(2, 1), LABELS.items(), strict=True):
        ax.plot(run.time, run[name], "k")
        ax.set_ylabel(label)
    ax.set_xlabel("time [s]")
    figure.savefig(OUT / "slider_crank_stop.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
