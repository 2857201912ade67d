"""Identify the inertial parameters of a UR5 from torques: a designed motion determines 36 base parameters out of 60.

Draws out/identify_ur5.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
NOISE = np.array([2.0, 2.0, 1.0, 0.2, 0.2, 0.1])  # standard deviation of measured torques [N m]


def main() -> None:
    """Design, measure, identify, and predict the torques of another motion."""
    model = kane.inertial_parameters(kane.load_urdf(kane.example_robot("ur5"), stops=False))
    dyn = kane.build(kane.formulate(model))
    names = list(model.parameters)
    motion = kane.excitation(dyn, names, duration=10.0, q=(-2.0, 2.0), u=2.0, udot=6.0, harmonics=4)
    print(motion)

    time, random = np.arange(0.0, 10.0, 0.01), np.random.default_rng(0)
    q, u, udot = motion.at(time)
    tau = dyn.inverse(q, u, udot) + NOISE * random.normal(size=q.shape)  # replace by measured torques
    guess = {name: 1.2 * value for name, value in zip(names, dyn.parameters, strict=True)}
    fit = kane.identify(dyn, kane.Measurements(time, q, u, udot, forces=tau), names, start=guess)
    print(fit)
    print(fit.unidentifiable)

    bodies = fit.physically_consistent()
    print(f"physically consistent, nearest to the guess: misfit {bodies.misfit:.3g} of {len(fit.base_parameters)}")
    errors = np.array([c.standard_error for c in fit.base_parameters])
    missed = (np.array([c.value for c in fit.base_parameters]) - fit.B @ dyn.parameters) / errors
    print(f"errors / standard errors: RMS {np.sqrt(np.mean(missed**2)):.2f}, largest {np.abs(missed).max():.2f}")

    figure = Figure(figsize=(13, 4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.plot(time, q, label=[name.removesuffix("_joint") for name in (leaf.name for leaf in dyn.equations.q)])
    left.set(title="designed motion", xlabel="t [s]", ylabel="q [rad]", ylim=(-2.1, 3.9))
    left.legend(frameon=False, ncols=2, loc="upper center", fontsize="small")
    middle.bar(range(1, len(missed) + 1), missed, color="0.4")
    middle.set(
        title="error of each base parameter",
        xlabel="base parameter [number]",
        ylabel="error [standard errors]",
        ylim=(-4, 4),
    )

    t = np.linspace(0.0, 4.0, 400)[:, None]
    state = np.sin(2 * t + np.arange(6)), 2 * np.cos(2 * t + np.arange(6)), -4 * np.sin(2 * t + np.arange(6))
    for values, style, label in ((guess, ":", "guess"), (bodies.values, "-", "identified"), (None, "k--", "truth")):
        right.plot(t, dyn.inverse(*state, parameters=values)[:, 1], style, label=label)
    right.set(title="another motion: shoulder lift", xlabel="t [s]", ylabel="torque [N m]")
    right.legend(frameon=False)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "identify_ur5.png", dpi=150)


if __name__ == "__main__":
    main()
