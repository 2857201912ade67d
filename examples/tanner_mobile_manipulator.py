"""Tanner & Kyriakopoulos 2001, Figs. 3-5: a three-wheeled platform and its arm move freely with locked steering.

Prints the drift of the kinetic energy and the fraction of time in which the platform would tip over; draws
out/tanner_fig3.png, ... The paper has no initial values; they are chosen to reproduce the motion of each figure.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import kane
from kane.library import lock_steering, mobile_manipulator, platform_wheels

OUT = Path("out")
SPEED = 1.0 / 0.15  # rad/s of the steered wheel, for 1 m/s
CASES: dict[str, dict[str, Any]] = {
    "Fig. 3: straight, links aligned": {"u": {"roll0": SPEED}},
    "Fig. 4: the first link turns": {"u": {"u5": 2.0}},
    "Fig. 5: a circle": {"q": {"phi": 0.5}, "u": {"roll0": SPEED}},
}
UNTIL, FRICTION = 6.0, 0.7
# Line widths and dashes that keep coinciding forces visible.
LINES: dict[str, Any] = {"lateral w0": (3.5, "-"), "lateral w1 + w2": (3.5, (0, (3, 3))), "traction w0": (1.5, "-")}
LINES |= {"traction w1": (1.5, (0, (4, 4))), "traction w2": (1.5, (4, (2, 6)))}
OUTLINE = np.array([0.35, -0.35, -0.35, 0.35, 0.35]) + 1j * np.array([0.2, 0.35, -0.35, -0.2, 0.2])


def draw(run: kane.Trajectory, forces: Any, measure: Any, title: str) -> Figure:
    """Draw the motion from above, energy, friction forces, and the tip-over measure, thick where it is negative."""
    figure = Figure(figsize=(10, 7), layout="constrained")
    axes: Any = figure.subplots(2, 2)
    figure.suptitle(title)
    path = axes[0, 0]
    for k in np.linspace(0, len(run) - 1, 16).astype(int):
        x, y, theta, _, q1, q2 = run.q[k, :6]
        place, turned = x + 1j * y, np.exp(1j * theta)
        elbow = place + 1.05 * turned * np.exp(1j * q1)
        tip = elbow + 0.8 * turned * np.exp(1j * (q1 + q2))
        corners, arm = place + OUTLINE * turned, np.array([place, elbow, tip])
        path.fill(corners.real, corners.imag, color="lightgray", ec="gray", alpha=0.3)
        path.plot(arm.real, arm.imag, ".-", color="C0", linewidth=1)
    path.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", adjustable="datalim")
    axes[0, 1].plot(run.time, run.energy)
    axes[0, 1].set(xlabel="t [s]", ylabel="kinetic energy [J]", ylim=(0, 1.2 * run.energy[0]))
    for name, (width, style) in LINES.items():
        axes[1, 0].plot(run.time, forces[name], linewidth=width, linestyle=style, label=name)
    low, high = axes[1, 0].get_ylim()
    axes[1, 0].set(xlabel="t [s]", ylabel="friction [N]", ylim=(min(low, -1.0), max(high, 1.0)))
    axes[1, 0].legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3, frameon=False)
    axes[1, 1].plot(run.time, measure)
    axes[1, 1].plot(run.time, np.where(measure < 0.0, 0.0, np.nan), color="C3", linewidth=5)
    axes[1, 1].axhline(0.0, color="gray", linewidth=0.5)
    axes[1, 1].set(xlabel="t [s]", ylabel="tip-over stability measure [N rad]")
    return figure


def main() -> None:
    """Run the three cases."""
    model = mobile_manipulator()
    lock_steering(model)
    equations = kane.formulate(model)
    dyn, wheels = kane.build(equations), platform_wheels(model)
    forces = kane.wheel_forces(equations, wheels)
    tip = kane.tip_over(equations, wheels, [model.bodies[1], *(wheel.turn.child for wheel in wheels)])
    OUT.mkdir(exist_ok=True)
    for number, (title, case) in enumerate(CASES.items(), start=3):
        start = kane.assemble(dyn, **case, fixed=[*case.get("q", ()), *case["u"], "u4", "theta", "q1", "q2"])
        run = kane.simulate(dyn, until=UNTIL, q=start.q, u=start.u, integrator=kane.RK8(rtol=1e-10))
        found, measure = forces.along(run, friction=FRICTION), tip.along(run)["measure"].to_numpy()
        drift, held = np.ptp(run.energy) / run.energy[0], min(found[f"skid {g}"].min() for g in forces.lateral)
        print(f"{title}: energy constant to {drift:.0e}; tips over {np.mean(measure < 0.0):.0%} of the time;", end=" ")
        print(f"at a friction of {FRICTION} the least skid margin is {float(held):.0f} N")
        draw(run, found, measure, title).savefig(OUT / f"tanner_fig{number}.png", dpi=80)


if __name__ == "__main__":
    main()
