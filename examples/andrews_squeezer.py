"""Andrews' squeezing mechanism: seven bodies in three loops, compared with the published solution at 0.03 s.

Prints the angles and the values of the test set for IVP solvers; writes out/andrews_squeezer.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane
from kane.library import andrews_squeezer
from kane.library.andrews_squeezer import ANDREWS_START

OUT = Path("out")
PUBLISHED = {
    "beta": 15.81077119629904,
    "theta": -15.75637105984298,
    "gamma": 0.04082224013073101,
    "phi": -0.5347301163226948,
    "delta": 0.5244099658805304,
    "omega": 0.5347301163226948,
    "epsilon": 1.048080741042263,
}


def main() -> None:
    """Simulate, compare, draw."""
    OUT.mkdir(exist_ok=True)
    dyn = kane.build(kane.formulate(andrews_squeezer()))
    state = kane.assemble(dyn, q=ANDREWS_START)
    print(state)
    run = kane.simulate(dyn, until=0.03, q=state.q, u=state.u, integrator=kane.RK8(rtol=1e-10, atol=1e-10))

    figure = Figure(figsize=(9, 8), layout="constrained")
    (angles, kept) = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    print(f"\n{'at 0.03 s':10}{'here':>16}{'published':>16}{'difference':>12}")
    for name, published in PUBLISHED.items():
        print(f"{name:10}{run[name][-1]:16.10f}{published:16.10f}{run[name][-1] - published:12.1e}")
        angles.plot(1e3 * run.time, (run[name] + np.pi) % (2 * np.pi) - np.pi, ".", markersize=2, label=name)
    for name, width, color in (("configuration_drift", 3.0, "silver"), ("configuration_residual", 0.8, "black")):
        values = np.maximum(run.to_xarray()[name], 1e-19)
        kept.semilogy(1e3 * run.time, values, color=color, linewidth=width, label=name.replace("_", " "))
    angles.set_ylabel("angle [rad], less full turns")
    kept.set_ylabel("gap of the loops [m]")
    kept.set_xlabel("t [ms]")
    for ax in (angles, kept):
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, markerscale=6)
        ax.grid(alpha=0.3)
    figure.suptitle("Andrews' squeezing mechanism")
    figure.savefig(OUT / "andrews_squeezer.png")


if __name__ == "__main__":
    main()
