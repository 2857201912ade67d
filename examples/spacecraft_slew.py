"""A spacecraft turns by 150 degrees about a skew axis in 20 s, with the least energy in its three torques.

The turn about one fixed axis needs more. Both are compared; extra ``casadi``. Draws out/spacecraft_slew.png.
"""

import math
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
INERTIA = np.array([30.0, 20.0, 10.0])  # kg m^2
AXIS, ANGLE, DURATION = np.ones(3) / math.sqrt(3.0), math.radians(150.0), 20.0


def spacecraft() -> kane.Dynamics:
    """Return a free rigid body with a torque about each principal axis."""
    m = kane.Model("spacecraft", gravity=(0, 0, 0))
    craft = m.body("craft", mass=100.0, inertia=tuple(INERTIA))
    craft.shape(kane.Box(0.8, 1.1, 1.4))
    m.connect(m.ground, craft, kane.Spherical("craft"))
    m.load(kane.Torque(craft, tuple(m.input(f"T{k}") for k in "xyz"), expressed_in=craft))
    return kane.build(kane.formulate(m))


def fixed_axis(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rate [rad/s] and torques I alpha + w x I w [N m] of the turn about AXIS with the least-effort rate."""
    s = times / DURATION
    rate, acceleration = 6.0 * ANGLE / DURATION * s * (1.0 - s), 6.0 * ANGLE / DURATION**2 * (1.0 - 2.0 * s)
    gyroscopic = np.cross(AXIS, INERTIA * AXIS)
    return rate, np.outer(acceleration, INERTIA * AXIS) + np.outer(rate**2, gyroscopic)


def main() -> None:
    dyn = spacecraft()
    x, y, z = dyn.equations.inputs
    still = {"craft_wx": 0.0, "craft_wy": 0.0, "craft_wz": 0.0}
    names, turned = ("craft_qx", "craft_qy", "craft_qz"), math.sin(ANGLE / 2) * AXIS
    slew = kane.collocate(
        dyn,
        duration=DURATION,
        nodes=41,
        objective=kane.integral(x * x + y * y + z * z),
        start={"craft_qw": 1.0, **dict.fromkeys(names, 0.0), **still},
        end=dict(zip(names, turned.tolist(), strict=True)) | still,  # the length of the quaternion gives qw
        method="radau",
    )
    times = np.linspace(0.0, DURATION, 401)
    rate, fixed = fixed_axis(times)
    effort = np.trapezoid((fixed**2).sum(axis=1), times)
    print(f"least effort: {slew.objective:.3f} N^2 m^2 s; about a fixed axis: {effort:.3f}")
    print(kane.verify(slew))

    figure = Figure(figsize=(7, 5.5), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    for k, letter in enumerate("xyz"):
        upper.plot(slew.time, slew.u[:, k], color=f"C{k}", label=f"about {letter}")
        upper.plot(times, rate * AXIS[k], "--", color="grey", linewidth=0.8)
        lower.plot(slew.point_time, slew.point_inputs[:, k], color=f"C{k}")
        lower.plot(times, fixed[:, k], "--", color=f"C{k}", linewidth=0.8)
    upper.set_ylabel("angular velocity [rad/s]")
    lower.set_ylabel("torque [N m]")
    lower.set_xlabel("time [s]; dashed: about a fixed axis")
    figure.legend(loc="outside upper center", ncols=3)
    for ax in (upper, lower):
        ax.grid(alpha=0.3)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "spacecraft_slew.png", dpi=120)
    slew.trajectory.save_html(OUT / "spacecraft_slew.html")


if __name__ == "__main__":
    main()
