"""Attitude control from exact linearization: reaction wheels turn a spacecraft by 40 degrees, to rest.

Draws out/attitude_control.png.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.linalg import solve_continuous_are

import kane

OUT = Path("out")


def spacecraft() -> kane.Model:
    """Return a hub with three wheels along its axes, driven by motors."""
    m = kane.Model("spacecraft")
    hub = m.body("hub", mass=300.0, inertia=(80.0, 60.0, 90.0, 4.0, 0.0, -3.0))
    m.connect(m.ground, hub, kane.Spherical("hub"))
    for axis, inertia in (("x", (0.1, 0.05, 0.05)), ("y", (0.05, 0.1, 0.05)), ("z", (0.05, 0.05, 0.1))):
        wheel = m.body(f"wheel {axis}", mass=5.0, inertia=inertia)
        joint = m.connect(hub, wheel, kane.Revolute(f"wheel_{axis}", axis=axis))
        m.load(kane.Motor(joint, m.input(f"T{axis}")))
    return m


def main() -> None:
    """Turn the hub by 40 degrees to rest, with the torques of its wheels."""
    dyn = kane.build(kane.formulate(spacecraft()))
    whole = kane.linearize(dyn)
    lin = whole.part([name for name in whole.states if name.startswith("hub")])
    # The torques -K x minimize the integral of x.Q x + 0.05 T.T (LQR).
    Q, effort = np.diag([1.0, 1.0, 1.0, 10.0, 10.0, 10.0]), 0.05
    K = lin.B.T @ solve_continuous_are(lin.A, lin.B, Q, effort * np.eye(3)) / effort

    def feedback(t: float, q: Any, u: Any) -> Any:
        turned = 2.0 * np.sign(q[0]) * q[1:4]  # the small rotation, to first order
        return -K @ np.concatenate([turned, u[:3]])

    half = np.radians(20.0)
    away = [np.cos(half), *(np.sin(half) * np.array([2.0, -1.0, 2.0]) / 3.0)]
    names = [f"hub_q{c}" for c in "wxyz"]
    run = kane.simulate(dyn, until=120.0, q=dict(zip(names, away, strict=True)), inputs=feedback)
    angle = 2.0 * np.degrees(np.arcsin(np.linalg.norm(run.q[:, 1:4], axis=1)))
    wheels = np.abs(run.u[:, 3:]).max()
    print(f"spacecraft: {angle[0]:.0f} deg off, {angle[-1]:.1e} deg after 120 s, wheels at most {wheels:.0f} rad/s")
    figure = Figure(figsize=(6, 4), layout="constrained")
    ax = figure.subplots()
    ax.plot(run.time, angle, color="black")
    ax.set(title="spacecraft with wheels", xlabel="t [s]", ylabel="off by [deg]")
    ax.grid(alpha=0.3)
    figure.savefig(OUT / "attitude_control.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
