"""A bicycle at 5 m/s changes its lane by 2 m in 3 s with the least steering torque; extra ``casadi``.

The rider steers to the wrong side first: the bicycle must lean before it can turn. Draws out/bicycle_lane_change.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
REAR, FRONT = 0.3, 0.35  # m, radii of the wheels
SPEED, LANE, DURATION = 5.0, 2.0, 3.0
HELD = ["x", "y", "yaw", "roll", "steer", "rear", "front", "x_dot", "roll_dot", "steer_dot"]


def main() -> None:
    m = kane.library.whipple_bicycle()
    (steering,) = (joint for joint in m.connections if joint.coordinate_names == ("steer",))
    torque = m.input("torque")
    m.load(kane.Motor(steering, torque))
    dyn = kane.build(kane.formulate(m))
    speeds = {"x_dot": SPEED, "rear_dot": -SPEED / REAR, "front_dot": -SPEED / FRONT}
    ride = kane.assemble(dyn, q={"heave": -REAR}, u=speeds, fixed=HELD)
    q, u = ([leaf.name for leaf in leaves] for leaves in (dyn.equations.q, dyn.equations.u))
    turned = {"x": SPEED * DURATION, "rear": -SPEED * DURATION / REAR, "front": -SPEED * DURATION / FRONT}
    change = kane.collocate(
        dyn,
        duration=DURATION,
        nodes=61,
        objective=kane.integral(torque**2),
        start=dict(zip((*q, *u), map(float, (*ride.q, *ride.u)), strict=True)),
        end={"y": LANE, "yaw": 0.0, "roll": 0.0, "steer": 0.0, "roll_dot": 0.0, "steer_dot": 0.0},
        guess={name: [0.0, last] for name, last in (turned | {"y": LANE}).items()} | speeds | {"heave": -REAR},
        method="radau",
    )
    first = np.argmax(np.abs(change["steer"]) > np.radians(0.5))
    print(f"torque of at most {np.abs(change['torque']).max():.2f} N m; {change.message}")
    print(f"the first half degree of steering: {np.degrees(change['steer'][first]):+.2f} deg, for a lane at +{LANE} m")
    print(kane.verify(change))

    figure = Figure(figsize=(7, 7), layout="constrained")
    axes = figure.subplots(3, 1)
    axes[0].plot(change["x"], change["y"])
    axes[0].set(xlabel="x [m]", ylabel="y [m], to the right")
    axes[0].invert_yaxis()
    for name in ("steer", "roll", "yaw"):
        axes[1].plot(change.time, np.degrees(change[name]), label=name)
    axes[1].set_ylabel("angle [deg]")
    figure.legend(loc="outside upper center", ncols=3)
    axes[2].plot(change.point_time, change["torque"])
    axes[2].set(xlabel="time [s]", ylabel="torque [N m]")
    for ax in axes:
        ax.grid(alpha=0.3)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "bicycle_lane_change.png", dpi=120)
    change.trajectory.save_html(OUT / "bicycle_lane_change.html")


if __name__ == "__main__":
    main()
