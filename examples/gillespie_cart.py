"""Gillespie 2003, Example 3: a shopping cart whose caster turns freely, and sticks.

Prints the operations of the two sets of equations and draws out/gillespie_cart.png. The cart is pulled backwards, and
its caster swings around. If the caster sticks before that, the cart moves on a circle.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
PULL = {"F": -6.0, "tau": 0.4}  # N, N m
STICKS, UNTIL = 1.0, 2.4  # s
L2, L3 = 0.7, 0.08  # m, the model's defaults
BASKET = np.array([[-0.05, -0.25], [0.75, -0.2], [0.75, 0.2], [-0.05, 0.25], [-0.05, -0.25]])


def shape(q: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the outline of the basket, and the line of the caster from its axis P2 to its wheel P3, in the plane."""
    c, s = np.cos(q[2]), np.sin(q[2])
    R, place = np.array([[c, -s], [s, c]]), q[:2]
    arm = np.array([[L2, 0.0], [L2 - L3 * np.cos(q[3]), -L3 * np.sin(q[3])]])
    return place + BASKET @ R.T, place + arm @ R.T


def draw(ax: Any, run: kane.Trajectory, color: str, label: str) -> None:
    """Draw the path of P1, and the cart at three times."""
    ax.plot(run["q1"], run["q2"], color=color, label=label)
    for k in np.linspace(0, len(run) - 1, 3).astype(int):
        basket, caster = shape(run.q[k])
        ax.plot(*basket.T, color=color, alpha=0.4)
        ax.plot(*caster.T, color=color, linewidth=3)


def main() -> None:
    """Pull the cart, with a caster that sticks at 1 s and with a free caster."""
    model = kane.library.shopping_cart()
    turning = kane.formulate(model)
    sticking = kane.constrain(turning, model.rate("q4"), dependent=["u2", "u3"])  # Eq. 64
    for name, eqs in (("free, Eq. (63)", turning), ("stuck, Eq. (67)", sticking)):
        print(f"caster {name}: {eqs.notes_on_embedding}\n{eqs.count()}\n")
    free, stuck = kane.build(turning), kane.build(sticking)

    start = kane.assemble(free, q={"q4": 0.05})
    before = kane.simulate(free, until=STICKS, q=start.q, u=start.u, inputs=PULL)
    after = kane.simulate(free, start=STICKS, until=UNTIL, q=before.final.q, u=before.final.u, inputs=PULL)
    q, u = before.final.q, before.final.u
    # The impact of sticking conserves the momentum along the remaining motion C u1: u1 = C.M u / C.M C.
    C = kane.assemble(stuck, q=q, u={"u1": 1.0}, fixed=[*(x.name for x in stuck.equations.q), "u1"]).u
    M = free.mass_matrix(q)
    jolted = C * (C @ M @ u) / (C @ M @ C)
    lost = free.energy(q, u).kinetic - stuck.energy(q, jolted).kinetic
    circle = kane.simulate(stuck, start=STICKS, until=UNTIL, q=q, u=jolted, inputs=PULL)
    turned = np.degrees(after["q4"][-1])
    print(f"free: the caster has turned by {turned:.0f} deg")
    print(
        f"stuck at {np.degrees(q[3]):.1f} deg: the impact takes {lost:.4f} J, u1 from {u[0]:.4f} to {jolted[0]:.4f} m/s"
    )

    figure = Figure(figsize=(9, 4.8), layout="constrained")
    ax = figure.subplots()
    draw(ax, before, "grey", "until 1 s")
    draw(ax, after, "black", "caster free")
    draw(ax, circle, "tab:red", "caster stuck")
    ax.set_aspect("equal")
    ax.set_xlabel("q1, along x [m]")
    ax.set_ylabel("q2, along y [m]")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, frameon=False)
    figure.suptitle("Gillespie, Example 3: a cart pulled backwards, seen from above")
    figure.savefig(OUT / "gillespie_cart.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
