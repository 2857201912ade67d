"""Gillespie 2003, Example 3 complete: a cart is pushed, its caster sticks, and is free again, in one run.

The caster's rate is a switch: imposed with an impulse at 1 s, deleted at 1.7 s. Prints the events, and draws
out/sticking_caster.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
PUSH = {"F": -6.0, "tau": 0.4}  # N, N m
STICKS, FREE, UNTIL = 1.0, 1.7, 2.4  # s
PARTS = (("free", 0.0, STICKS, "grey"), ("stuck", STICKS, FREE, "tab:red"), ("free again", FREE, UNTIL, "black"))


def cart() -> kane.Model:
    """Return the cart of the paper with a caster that sticks for some time."""
    m = kane.library.shopping_cart()
    m.switch(m.rate("q4"), on=m.time - STICKS, off=m.time - FREE, name="caster sticks")
    return m


def main() -> None:
    """Push the cart."""
    dyn = kane.build(kane.formulate(cart()))
    start = kane.assemble(dyn, q={"q4": 0.05})
    run = kane.simulate(dyn, until=UNTIL, q=start.q, u=start.u, inputs=PUSH, times=np.linspace(0, UNTIL, 961))
    print(run)

    figure = Figure(figsize=(8, 4), layout="constrained")
    path, angle = figure.subplots(1, 2)
    for name, begin, end, color in PARTS:
        part = (run.time >= begin) & (run.time <= end)
        path.plot(run["q1"][part], run["q2"][part], color=color)
        angle.plot(run.time[part], np.degrees(run["q4"][part]), color=color, label=name)
    path.set_aspect("equal")
    path.set_xlabel("q1 [m]")
    path.set_ylabel("q2 [m]")
    angle.legend(frameon=False)
    angle.set_xlabel("time [s]")
    angle.set_ylabel("caster, q4 [deg]")
    figure.savefig(OUT / "sticking_caster.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
