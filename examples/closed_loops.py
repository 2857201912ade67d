"""Closed loops that are hard for solvers: forty windows that lie flat, Bricard's chain, a crank for a thousand turns.

Prints redundant equations, freedoms and drifts; writes out/closed_loops.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane
from kane import library

OUT = Path("out")
WINDOWS = 40
EXACT = kane.RK5(rtol=1e-10, atol=1e-10)


def draw(dyn: kane.Dynamics, run: kane.Trajectory, curves: dict[str, np.ndarray], title: str, axes: np.ndarray) -> None:
    """Curves above; below what is lost of the energy, as a share of the largest kinetic energy, and of the loops."""
    drift = np.abs(run.energy - run.energy[0]) / np.max(dyn.energy(run.q, run.u).kinetic)
    print(f"  energy drift {drift.max():.1e}, residual {float(run.residuals.configuration_residual.max()):.1e} m")
    above, below = axes
    for name, values in curves.items():
        above.plot(run.time, values, label=name)
    kept = {"energy drift": drift, "residual [m]": run.residuals.configuration_residual}
    for name, values in (kept | {"conditioning": run.residuals.conditioning}).items():
        below.semilogy(run.time, np.maximum(values, 1e-17), label=name)
    above.set_title(title)
    below.set_xlabel("t [s]")
    for ax in axes:
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.0, -0.12), ncols=3)
        ax.grid(alpha=0.3)


def main() -> None:
    """Three mechanisms, side by side."""
    OUT.mkdir(exist_ok=True)
    figure = Figure(figsize=(15, 8), layout="constrained")
    left, middle, right = figure.subplots(2, 3).T

    dyn = kane.build(kane.formulate(library.n_four_bar(WINDOWS)))
    flat = kane.assemble(dyn, q=[np.pi / 2] * (WINDOWS + 1) + [-np.pi / 2] * WINDOWS)
    print(f"{WINDOWS} windows: freedoms upright 1, flat {len(dyn.equations.u) - flat.rank}")
    u = {f"a{i}_dot": 1.0 for i in range(WINDOWS + 1)} | {f"b{i}_dot": -1.0 for i in range(1, WINDOWS + 1)}
    run = kane.simulate(dyn, until=10.0, u=u, integrator=EXACT)
    tops = {"x of the tops [m]": np.sin(run["a0"]), "y of the tops [m]": np.cos(run["a0"])}
    draw(dyn, run, tops, f"{WINDOWS} windows", left)

    dyn = kane.build(kane.formulate(library.bricard()))
    state = kane.assemble(dyn)
    print(f"Bricard: {state.rank} of {len(dyn.equations.constraints)} equations count; redundant {state.redundant}")
    run = kane.simulate(dyn, until=10.0, q=state.q, integrator=EXACT)
    corner = dyn.poses(run.q)["bar3"].position.T
    draw(dyn, run, {f"{x} of P3 [m]": p for x, p in zip("xyz", corner, strict=True)}, "Bricard's chain", middle)

    dyn = kane.build(kane.formulate(library.four_bar()))
    state = kane.assemble(dyn, q={"q1": 1.0, "q3": 1.5}, u={"u1": 6.4}, fixed=["q1", "u1"])
    run = kane.simulate(dyn, until=1000.0, q=state.q, u=state.u, integrator=EXACT)
    turns = (run["q1"] - run["q1"][0]) / (2 * np.pi)
    print(f"four-bar: {turns[-1]:.1f} turns in 1,000 s")
    draw(dyn, run, {"turns of the crank": turns}, "four-bar linkage", right)
    figure.savefig(OUT / "closed_loops.png")


if __name__ == "__main__":
    main()
