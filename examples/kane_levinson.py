"""Kane & Levinson 1983: the Stanford Arm's torques for a given motion (Fig. 1) and its motion under feedback (Fig. 3).

Writes out/kane_levinson_fig1.png and out/kane_levinson_fig3.png.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
T = 10.0
START = {"q1": 0.0, "q2": np.pi / 2, "q3": 0.0, "q4": 0.0, "q5": 0.0, "q6": 0.0}
END = {"q1": np.pi / 3, "q2": np.pi / 3, "q3": np.pi / 3, "q4": np.pi / 3, "q5": np.pi / 3, "q6": 0.1}
# In the paper tau2, ..., tau5 and sigma act from the outer on the inner body.
PAPER_SIGN = {"tau1": 1, "tau2": -1, "tau3": -1, "tau4": -1, "tau5": -1, "sigma": -1}


def maneuver(name: str, t: Any) -> Any:
    """Return a coordinate as an expression of time, Eq. 127."""
    start, end = START[name], END[name]
    return start + (end - start) / T * (t - T / (2 * np.pi) * kane.sin(2 * np.pi * t / T))


def figure_1(model: kane.Model, dyn: kane.Dynamics) -> None:
    """Draw torques and force for the maneuver of Eq. 127, in the paper's signs."""
    q = {name: maneuver(name, model.time) for name in START}
    motion = kane.follow(dyn, q=q, times=np.linspace(0.0, T, 501))
    figure = Figure(figsize=(9, 8), layout="constrained")
    axes = figure.subplots(3, 2, sharex=True)
    for ax, (name, sign) in zip(axes.flat, PAPER_SIGN.items(), strict=True):
        ax.plot(motion.time, sign * motion[name], color="black")
        ax.set_ylabel(f"{name} [{'N' if name == 'sigma' else 'N m'}]")
        ax.grid(alpha=0.3)
        start, end = (sign * motion[name][[0, -1]]).round(4) + 0.0  # + 0.0 turns -0.0 into 0.0
        print(f"{name}: {start:9.4f} at the start, {end:9.4f} at the end")
    for ax in axes[-1]:
        ax.set_xlabel("t [s]")
    figure.suptitle("Kane & Levinson, Fig. 1: torques and force for Eq. 127")
    figure.savefig(OUT / "kane_levinson_fig1.png")


def figure_3(model: kane.Model, dyn: kane.Dynamics) -> None:
    """Draw the coordinates under the feedback laws of Eqs. 128-133."""
    run = kane.simulate(dyn, until=T, q={"q2": np.pi / 2}, inputs=kane.library.stanford_arm_feedback(model))
    figure = Figure(figsize=(9, 8), layout="constrained")
    axes = figure.subplots(3, 2, sharex=True)
    for ax, name in zip(axes.flat, START, strict=True):
        in_metres = name == "q6"
        ax.plot(run.time, run[name] if in_metres else np.degrees(run[name]), color="black")
        ax.axhline(END[name] if in_metres else np.degrees(END[name]), color="grey", linestyle=":")
        ax.set_ylabel(f"{name} [{'m' if in_metres else 'deg'}]")
        ax.grid(alpha=0.3)
    for ax in axes[-1]:
        ax.set_xlabel("t [s]")
    figure.suptitle("Kane & Levinson, Fig. 3: coordinates under feedback")
    figure.savefig(OUT / "kane_levinson_fig3.png")


def comparison(eqs: kane.Equations) -> None:
    """Print the paper's comparison of operations for torques and force, with this library's count."""
    here = eqs.count()["inverse"]
    rows = {"Lagrange": (2195, 1719), "Newton-Euler, Walker and Orin": (1541, 1196), "Newton-Euler": (852, 738)}
    rows |= {"Kane and Levinson": (646, 394), "kane, the same arm": (here["mul"], here["add"])}
    for name, (mul, add) in rows.items():
        print(f"{name:<30}{mul:>6} multiplications {add:>6} additions")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    arm = kane.library.stanford_arm()
    equations = kane.formulate(arm)
    comparison(equations)
    compiled = kane.build(equations)
    figure_1(arm, compiled)
    figure_3(arm, compiled)
