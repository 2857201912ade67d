"""A rolling coin: the path of its contact point, and the speed above which it stays upright.

Draws out/rolling_coin.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
G, RADIUS = 9.81, 0.05  # m/s^2, m: the model's defaults


def main() -> None:
    """Simulate wobbling on the table, and upright rolling faster and slower than sqrt(g r / 3)."""
    coin = kane.build(kane.formulate(kane.library.rolling_coin()))
    print(f"{len(coin.equations.q)} coordinates, {len(coin.equations.u)} speeds, all of them independent")
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    table, upright = figure.subplots(1, 2)

    run = kane.simulate(coin, until=4.0, q={"lean": 0.5}, u={"u2": 14.0, "u3": 6.0})
    print(f"energy of the wobbling coin: relative change {np.ptp(run.energy) / run.energy[0]:.1e} in 4 s")
    table.plot(run["x"], run["y"], color="black")
    table.set_aspect("equal")
    table.set_title("path of the point in contact")
    table.set_xlabel("x [m]")
    table.set_ylabel("y [m]")

    critical = np.sqrt(G / (3 * RADIUS))  # rad/s
    for share, style in ((0.95, "-"), (1.05, "--"), (1.5, ":")):
        start = {"u2": share * critical, "u1": 0.01}
        run = kane.simulate(coin, until=1.5, u=start)
        swing = np.degrees(np.abs(run["lean"]).max())
        print(
            f"upright at {share * critical * RADIUS:.3f} m/s, {share:.2f} of the critical speed: leans {swing:.2f} deg"
        )
        upright.plot(run.time, np.degrees(run["lean"]), style, color="black", label=f"{share:.2f} of sqrt(g r / 3)")
    upright.set_title("lean after a small push")
    upright.set_xlabel("t [s]")
    upright.set_ylabel("lean [deg]")
    upright.legend(frameon=False)
    for ax in (table, upright):
        ax.grid(alpha=0.3)
    figure.savefig(OUT / "rolling_coin.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
