"""Exact linearization: a bicycle's eigenvalues over its speed, and a double pendulum balanced on a cart.

Draws out/linear_control.png, and animated pages: out/weave.html, out/double_pendulum.html.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.linalg import solve_continuous_are

import kane

OUT = Path("out")
SWINGING = ["roll", "steer", "roll_dot", "steer_dot"]


def bicycle(ax: Axes) -> None:
    """Draw the eigenvalues of upright riding over the speed: weave is stable above 4.29 m/s, capsize below 6.02 m/s."""
    dyn = kane.build(kane.formulate(kane.library.whipple_bicycle()))

    def ride(v: float) -> kane.Linearization:
        speeds = {"x_dot": v, "rear_dot": -v / 0.3, "front_dot": -v / 0.35}
        return kane.linearize(dyn, q={"heave": -0.3}, u=speeds).part(SWINGING)

    for v in (4.0, 5.0, 7.0):
        print(f"bicycle at {v} m/s: {', '.join(f'{x:.4g}' for x in ride(v).eigenvalues())} 1/s")
    locus = kane.root_locus(ride, np.linspace(0.0, 10.0, 101), name="v [m/s]")
    print(f"stable between {' and '.join(f'{v:.6g}' for v in locus.crossings())} m/s")
    weave = next(mode for mode in ride(5.0).modes() if mode.eigenvalue.imag)
    kane.mode_motion(ride(5.0), weave, amplitude=0.3).save_html(OUT / "weave.html")
    ax.plot(locus.values, locus.eigenvalues.real, "k")
    ax.set(title="bicycle", xlabel="v [m/s]", ylabel="Re eigenvalue [1/s]", ylim=(-10, 8))


def regulator(lin: kane.Linearization, weights: list[float], effort: float) -> Any:
    """Return K of the input v = -K x that minimizes the integral of x.Q x + effort v.v (LQR)."""
    P = solve_continuous_are(lin.A, lin.B, np.diag(weights), effort * np.eye(lin.B.shape[1]))
    return lin.B.T @ P / effort


def pendulum(ax: Axes) -> None:
    """Balance two links on a cart, from an error of 8 degrees."""
    model = kane.library.n_link_pendulum(2)
    eqs = kane.formulate(model)
    dyn = kane.build(eqs)
    up = kane.trim(dyn, q={"q2": np.pi}, fixed=["q1", "F"])
    lin = kane.linearize(dyn, q=up.q, u=up.u)
    unstable = lin.eigenvalues()[0].real
    K = regulator(lin, [10, 10, 10, 1, 1, 1], 0.01)[0]
    x = [*(q - value for q, value in zip(eqs.q, up.q, strict=True)), *eqs.u]
    balanced = kane.build(kane.substitute(eqs, F=-sum(k * y for k, y in zip(K, x, strict=True))))
    run = kane.simulate(balanced, until=6.0, q=up.q + np.radians([0.0, 8.0, -4.0]))
    print(f"double pendulum: falls at {unstable:.3g} 1/s, balanced to {np.abs(run.q[-1] - up.q).max():.1e} after 6 s")
    run.save_html(OUT / "double_pendulum.html")
    ax.plot(run.time, run.q - up.q, label=["cart", "link 1", "link 2"])
    ax.set(title="double pendulum on a cart", xlabel="t [s]", ylabel="off by [m or rad]")
    ax.legend(frameon=False)


def main() -> None:
    """Draw both examples side by side."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    for draw, ax in zip((bicycle, pendulum), figure.subplots(1, 2), strict=True):
        draw(ax)
        ax.grid(alpha=0.3)
    figure.savefig(OUT / "linear_control.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
