"""A cart with a pole between two stops: the loops of reinforcement learning and of sampling MPC by ``kane.Steppers``.

Trains nothing. Evaluates random linear policies, whose rows begin again when the pole falls; then swings the pole up by
model predictive path integral control (Williams et al. 2017) with 128 samples. Draws out/many_runs.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
DT, FORCE, HORIZON, SAMPLES = 0.02, 20.0, 40, 128  # s, N


def cart_and_pole() -> kane.Dynamics:
    """Return compiled equations of a cart on a rail of 2 m with stops at its ends, and of a pole on the cart."""
    m = kane.Model("cart and pole")
    cart = m.body("cart", mass=1.0)
    pole = m.body("pole", mass=0.2, inertia=(0.006, 0.006, 1e-4), com=(0, 0, 0.3))
    rail = m.connect(m.ground, cart, kane.Prismatic("x", axis="x"))
    m.connect(cart, pole, kane.Revolute("angle", axis="y"))  # zero upright
    m.load(kane.Motor(rail, m.input("force")))
    m.stop(rail, lower=-1.0, upper=1.0, restitution=0.2)
    return kane.build(kane.formulate(m))


def evaluate_policies(dyn: kane.Dynamics, rng: np.random.Generator) -> None:
    """Take 500 steps of many rows, each with its own gains; rows whose pole falls begin again."""
    runs = kane.Steppers(dyn, SAMPLES, integrator=kane.MoreauJean(), q={"angle": 0.05})
    gains = rng.normal((0.0, 60.0, 0.0, 10.0), (3.0, 40.0, 3.0, 8.0), size=(SAMPLES, 4))
    episodes, hits, alive = np.ones(SAMPLES), 0, np.zeros(SAMPLES)
    for _ in range(500):
        force = np.clip((gains * np.hstack([runs.q, runs.u])).sum(axis=1, keepdims=True), -FORCE, FORCE)
        hits += int(runs.step(DT, force).sum())
        fallen = np.abs(runs.q[:, 1]) > 0.5
        alive += ~fallen
        episodes += fallen
        runs.reset(fallen, q={"angle": rng.uniform(-0.05, 0.05, fallen.sum())})
    best = (alive / episodes).max() * DT
    print(f"{SAMPLES} policies: {episodes.sum():.0f} episodes of up to {best:.1f} s, {hits} steps with impacts")


def swing_up(dyn: kane.Dynamics, rng: np.random.Generator) -> np.ndarray:
    """Return time, position, angle and force of a swing-up, one row for each step of the controller."""
    plant = kane.Stepper(dyn, q={"angle": np.pi}, integrator=kane.MoreauJean())
    runs = kane.Steppers(dyn, SAMPLES, integrator=kane.MoreauJean())
    plan, rows = np.zeros(HORIZON), []
    for _ in range(200):
        tried = np.clip(plan + rng.normal(scale=8.0, size=(SAMPLES, HORIZON)), -FORCE, FORCE)
        runs.reset(range(SAMPLES), like=plant)  # all samples begin with the state and the contacts of the plant
        cost = np.zeros(SAMPLES)
        for force in tried.T:
            runs.step(DT, force[:, None])
            (x, angle), (_, spin) = runs.q.T, runs.u.T
            cost += 6.0 * (1.0 - np.cos(angle)) + 0.5 * x**2 + 0.02 * spin**2 + 1e-4 * force**2
        weights = np.exp((cost.min() - cost) / 5.0)
        plan = weights @ tried / weights.sum()
        plant.inputs = plan[:1]
        plant.step(DT)
        rows.append([plant.time, *plant.q, plan[0]])
        plan = np.append(plan[1:], 0.0)
    return np.array(rows)


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    dyn, rng = cart_and_pole(), np.random.default_rng(0)
    evaluate_policies(dyn, rng)
    t, x, angle, force = swing_up(dyn, rng).T
    print(f"after {t[-1]:.0f} s the pole leans by {abs(np.rad2deg(np.angle(np.exp(1j * angle[-1])))):.0f} deg")
    figure = Figure(figsize=(7, 6), layout="constrained")
    for ax, values, label in zip(figure.subplots(3), (x, angle, force), ("x [m]", "angle [rad]", "F [N]"), strict=True):
        ax.plot(t, values)
        ax.set_ylabel(label)
    ax.set_xlabel("time [s]")
    figure.savefig(OUT / "many_runs.png")
