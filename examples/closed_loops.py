"""Closed loops that are hard for solvers: forty flat windows, Bricard's chain, a crank for a thousand seconds.

Prints redundant equations, freedoms, drifts and the equations of the four-bar linkage; writes out/closed_loops.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane
from kane import library

OUT = Path("out")
WINDOWS = 40
EXACT = kane.RK5(rtol=1e-10, atol=1e-10)
# When many windows are flat, their derivative has only 6 to 8 correct digits, which limits the tolerance.
PASSING = kane.RK5(rtol=1e-8, atol=1e-8)


def draw(dyn: kane.Dynamics, run: kane.Trajectory, curves: dict[str, np.ndarray], label: str, axes: np.ndarray) -> None:
    """Draw curves, the energy drift relative to the largest kinetic energy, and the residual of the loops."""
    drift = np.abs(run.energy - run.energy[0]) / np.max(dyn.energy(run.q, run.u).kinetic)
    print(f"  energy drift {drift.max():.1e}, residual {float(run.residuals.configuration_residual.max()):.1e} m")
    above, kept, gap = axes
    for name, values in curves.items():
        above.plot(run.time, values, label=name)
    for name, values in {"drift of the energy": drift, "conditioning": run.to_xarray().conditioning}.items():
        kept.semilogy(run.time, np.maximum(values, 1e-17), label=name)
    gap.semilogy(run.time, np.maximum(run.residuals.configuration_residual, 1e-17), color="black", linewidth=0.8)
    above.set_ylabel(label)
    kept.set_ylabel("share of the energy, conditioning [1]")
    gap.set(xlabel="t [s]", ylabel="largest gap of the loops [m]")
    for ax in axes:
        ax.grid(alpha=0.3)
    for ax in (above, kept):
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 0.98), ncols=3)


def main() -> None:
    """Draw three mechanisms side by side."""
    OUT.mkdir(exist_ok=True)
    figure = Figure(figsize=(14, 10), layout="constrained")
    left, middle, right = figure.subplots(3, 3).T
    titles = (f"{WINDOWS} windows", "Bricard's chain", "four-bar linkage")
    for column, title in zip((left, middle, right), titles, strict=True):
        column[0].set_title(title, pad=24)

    dyn = kane.build(kane.formulate(library.n_four_bar(WINDOWS)))
    flat = kane.assemble(dyn, q=[np.pi / 2] * (WINDOWS + 1) + [-np.pi / 2] * WINDOWS)
    print(f"{WINDOWS} windows: freedoms upright 1, flat {len(dyn.equations.u) - flat.rank}")
    u = {f"a{i}_dot": 1.0 for i in range(WINDOWS + 1)} | {f"b{i}_dot": -1.0 for i in range(1, WINDOWS + 1)}
    run = kane.simulate(dyn, until=10.0, u=u, integrator=PASSING)
    tops = {"x": np.sin(run["a0"]), "y": np.cos(run["a0"])}
    draw(dyn, run, tops, "position of the tops [m]", left)

    dyn = kane.build(kane.formulate(library.bricard()))
    state = kane.assemble(dyn)
    print(f"Bricard: {state.rank} of {len(dyn.equations.constraints)} equations count; redundant {state.redundant}")
    run = kane.simulate(dyn, until=10.0, q=state.q, integrator=EXACT)
    corner = dyn.poses(run.q)["bar3"].position.T
    draw(dyn, run, dict(zip("xyz", corner, strict=True)), "position of P3 [m]", middle)

    dyn = kane.build(kane.formulate(library.four_bar()))
    state = kane.assemble(dyn, q={"q1": 1.0, "q3": 1.5}, u={"u1": 6.4}, fixed=["q1", "u1"])
    near = kane.formulate(library.four_bar(), near=state)  # symbolic embedding, with readable expressions
    print(f"four-bar: {near.notes_on_embedding}\n{near.listing()}")
    turn = kane.simulate(dyn, until=1.0, q=state.q, u=state.u)
    fast = kane.compile_modes(dyn, turn.modes)  # separate equations for each speed selection
    print(f"four-bar: modes of one turn: {turn.modes}")
    run = kane.simulate(fast, until=1000.0, q=state.q, u=state.u, integrator=EXACT)
    turns = (run["q1"] - run["q1"][0]) / (2 * np.pi)
    print(f"four-bar: {turns[-1]:.1f} turns in 1,000 s")
    draw(dyn, run, {"crank": turns}, "full turns [1]", right)
    figure.savefig(OUT / "closed_loops.png")


if __name__ == "__main__":
    main()
