"""A cart swings up a pole with the least effort, and in the least time.

Both motions follow from direct collocation (``kane.collocate``, extra ``casadi``). Draws out/cart_pole_swing_up.png,
and an animated page: out/cart_pole_swing_up.html.
"""

import math
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import kane

OUT = Path("out")


def cart_pole() -> tuple[kane.Model, kane.Dynamics]:
    """Return a cart of 1 kg with a pole, a point mass of 0.3 kg at 0.5 m."""
    m = kane.Model("cart pole", gravity=(0, 0, -9.81))
    cart, pole = m.body("cart", mass=1.0), m.body("pole", mass=0.3)
    rail = m.connect(m.ground, cart, kane.Prismatic("x", axis="x"))
    m.connect(cart, pole, kane.Revolute("phi", axis="y"), child_at=(0, 0, 0.5))
    m.load(kane.Motor(rail, m.input("F")))
    return m, kane.build(kane.formulate(m))


def main() -> None:
    m, dyn = cart_pole()
    still = {"x_dot": 0.0, "phi_dot": 0.0}
    task: dict[str, Any] = {
        "start": {"x": 0.0, "phi": 0.0} | still,
        "end": {"x": 1.0, "phi": math.pi} | still,
        "bounds": {"x": (-2, 2), "F": (-20, 20)},
    }
    (force,) = dyn.equations.inputs
    least = kane.refine(kane.collocate(dyn, duration=2.0, nodes=41, objective=kane.integral(force**2), **task))
    fast = kane.collocate(
        dyn, duration=(0.5, 5.0), nodes=81, objective=kane.final(m.time), guess=least, method="trapezoid", **task
    )
    print(f"least effort: {least.objective:.2f} N^2 s in {least.duration:.2f} s")
    print(kane.verify(least))
    print(f"least time: {fast.duration:.3f} s; {fast.message}")

    figure = Figure(figsize=(7, 7), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True)
    for result, name, style in ((least, "least effort", "-"), (fast, "least time", "--")):
        axes[0].plot(result.time, result["x"], style, label=name)
        axes[1].plot(result.time, result["phi"], style)
        axes[2].plot(result.point_time, result["F"], style)
    for axis, label in zip(axes, ("cart x [m]", "pole phi [rad]", "force F [N]"), strict=True):
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[1].axhline(math.pi, color="grey", linewidth=0.8)
    axes[0].legend()
    axes[2].set_xlabel("time [s]")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "cart_pole_swing_up.png", dpi=120)
    least.trajectory.save_html(OUT / "cart_pole_swing_up.html")


if __name__ == "__main__":
    main()
