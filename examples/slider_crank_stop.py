"""A torque turns a slider-crank until the piston hits a stop, bounces, and comes to rest there.

Prints the impacts. Each leaves e times the rate of the crank, because the loop has one degree of freedom. Draws
out/slider_crank_stop.png.
"""

from pathlib import Path

from matplotlib.figure import Figure

import kane

OUT = Path("out")
RESTITUTION, TORQUE, STOP, UNTIL = 0.6, 1.5, 0.3, 2.0  # -, N m, m, s
LABELS = {"q3": "piston, q3 [m]", "u1": "crank, u1 [rad/s]"}


def mechanism() -> kane.Model:
    """Return the slider-crank of the library with a stop for its piston."""
    m = kane.library.slider_crank()
    slide = next(c for c in m.connections if c.name == "q3")
    m.stop(slide, lower=STOP, restitution=RESTITUTION, name="stop")
    return m


def motion() -> kane.Trajectory:
    """Simulate from rest, with the piston at 0.38 m."""
    dyn = kane.build(kane.formulate(mechanism()))
    start = kane.assemble(dyn, q={"q1": 0.6, "q2": -0.9, "q3": 0.38}, fixed=["q1"])
    return kane.simulate(dyn, until=UNTIL, q=start.q, u=start.u, inputs={"T": TORQUE})


def main() -> None:
    """Turn the crank."""
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
