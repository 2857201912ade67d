"""A double pendulum is kept upright by a digital controller with a sample period of 10 ms and a delay.

Prints the eigenvalues of the closed loop in discrete time for several delays and draws out/sampled_control.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.linalg import expm, solve_discrete_are

import kane

OUT = Path("out")
PERIOD, UNTIL = 0.01, 3.0  # s
START = {"q1": 0.04, "q2": -0.02}  # rad, from upright


def pendulum() -> kane.Dynamics:
    """Return compiled equations of two links on top of each other, with a motor in each joint."""
    m = kane.Model("double pendulum", gravity=(0.0, 0.0, -9.81))
    lower, upper = (m.body(name, mass=1.0, inertia=(0.02, 0.02, 1e-3), com=(0, 0, 0.25)) for name in ("lower", "upper"))
    m.load(kane.Motor(m.connect(m.ground, lower, kane.Revolute("q1", axis="y")), m.input("tau1")))
    m.load(kane.Motor(m.connect(lower, upper, kane.Revolute("q2", axis="y"), at=(0, 0, 0.5)), m.input("tau2")))
    return kane.build(kane.formulate(m))


def linear(dyn: kane.Dynamics) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B of x' = A x + B tau in the upright position, by differences of the accelerations."""
    h, M = 1e-5, dyn.mass_matrix([0.0, 0.0])
    columns = [dyn.forward(h * e, [0, 0], [0, 0]) - dyn.forward(-h * e, [0, 0], [0, 0]) for e in np.eye(2)]
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [np.column_stack(columns) / (2 * h), np.zeros((2, 2))]])
    return A, np.vstack([np.zeros((2, 2)), np.linalg.inv(M)])


def held(A: np.ndarray, B: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Return F and G of x(t + h) = F x + G tau with tau constant over the step."""
    E = expm(np.block([[A, B], [np.zeros((2, 6))]]) * h)
    return E[:4, :4], E[:4, 4:]


def gains(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the gains of the discrete linear-quadratic regulator with zero-order hold, without delay."""
    F, G = held(A, B, PERIOD)
    P = solve_discrete_are(F, G, np.diag([100.0, 100.0, 1.0, 1.0]), 0.1 * np.eye(2))
    return np.asarray(np.linalg.solve(0.1 * np.eye(2) + G.T @ P @ G, G.T @ P @ F))


def closed(A: np.ndarray, B: np.ndarray, K: np.ndarray, delay: float) -> np.ndarray:
    """Return the matrix that advances [x, the torque still applied] by one period, for a delay of at most a period."""
    (F1, G1), (F2, G2) = held(A, B, delay), held(A, B, PERIOD - delay)
    return np.block([[F2 @ F1 - G2 @ K, F2 @ G1], [-K, np.zeros((2, 2))]])


def law(K: np.ndarray, delay: float) -> kane.Sampled:
    """Return the sampled law tau = -K [q, u], with the state at the last sample time."""
    return kane.Sampled(lambda t, q, u: -K @ np.concatenate([q, u]), period=PERIOD, delay=delay)


def main() -> None:
    """Compare delays."""
    dyn = pendulum()
    A, B = linear(dyn)
    K = gains(A, B)
    ax = (figure := Figure(figsize=(7, 4), layout="constrained")).subplots()
    for delay, style in ((0.0, "-"), (0.005, "--"), (0.01, ":")):
        run = kane.simulate(dyn, until=UNTIL, q=START, inputs=law(K, delay))  # with the nonlinear equations
        largest = max(abs(np.linalg.eigvals(closed(A, B, K, delay))))
        print(f"delay {1e3 * delay:4.1f} ms: |z| up to {largest:.4f}, q1 at {UNTIL} s {run['q1'][-1]:.2e} rad")
        ax.plot(run.time, 1e3 * run["q1"], style, label=f"delay {1e3 * delay:g} ms")
    ax.set_xlabel("time [s]")
    ax.set_ylabel("q1 [mrad]")
    ax.legend(frameon=False)
    figure.savefig(OUT / "sampled_control.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
