"""A one-legged hopper finds the motion of least effort that repeats every 0.5 m, through landing and lift-off.

The motion begins and ends at the top of the flight: free, on the foot, free. ``kane.collocate`` finds durations, inputs
and the impulse of the landing; ``kane.verify`` simulates the motion again. Draws out/one_legged_hopper.png, and an
animated page: out/one_legged_hopper.html.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
STEP, SPEED, HOPS = 0.5, 1.0, 3  # m, m/s


def hopper() -> tuple[kane.Model, kane.Dynamics]:
    """Return a body with a leg that turns at the hip and extends; x is forward, z upward."""
    m = kane.Model("hopper", gravity=(0, 0, -9.81))
    body, leg = (m.body(name, mass=kg, inertia=(j, j, j)) for name, kg, j in (("body", 10, 0.5), ("leg", 1, 0.02)))
    foot = m.body("foot", mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
    m.connect(m.ground, body, kane.Planar(("z", "x", "pitch"), axis="y"))
    hip = m.connect(body, leg, kane.Revolute("hip", axis="y"), child_at=(0, 0, 0.2))
    shin = m.connect(leg, foot, kane.Prismatic("length", axis=(0, 0, -1)), at=(0, 0, 0.2))
    m.load(kane.Motor(hip, m.input("torque")))
    m.load(kane.Motor(shin, m.input("thrust")))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(foot.point(), floor, friction=kane.Coulomb(0.7), name="foot")
    return m, kane.build(kane.formulate(m))


def hop(m: kane.Model, dyn: kane.Dynamics) -> Any:
    """Return the periodic motion with the least effort."""
    (z, _, *others), (_, *rates), (torque, thrust) = dyn.equations.q, dyn.equations.u, dyn.equations.inputs
    periodic = [kane.final(s) - kane.initial(s) for s in (z, *others, *rates)]
    return kane.collocate(
        dyn,
        phases=[
            kane.Phase("free", duration=(0.1, 0.3), guess={"x": [0.0, 0.1], "z": [0.75, 0.6], "hip": [0.0, -0.2]}),
            kane.Phase("foot held", duration=(0.1, 0.4), guess={"x": [0.1, 0.4], "z": 0.6, "hip": [-0.2, 0.2]}),
            kane.Phase("free", duration=(0.1, 0.3), guess={"x": [0.4, 0.5], "z": [0.6, 0.75], "hip": [0.2, 0.0]}),
        ],
        start={"x": 0.0, "z_dot": 0.0},
        end={"x": STEP, "z_dot": 0.0},
        bounds={"length": (0.4, 0.8), "pitch": (-0.5, 0.5), "hip": (-1, 1), "torque": (-100, 100)},
        boundary=[*periodic, kane.final(m.time) - STEP / SPEED],
        objective=kane.integral((torque / 10) ** 2 + (thrust / 100) ** 2),
    )


def main() -> None:
    found = kane.refine(hop(*hopper()), 1e-5)
    print(found.trajectory)
    print(kane.verify(found))
    figure = Figure(figsize=(8, 6), layout="constrained")
    path, force = figure.subplots(2, 1, height_ratios=(3, 2))
    for phase, color in zip(found.phases, ("tab:blue", "k", "tab:red"), strict=True):
        at = phase.begin + phase.duration * np.array([0.1, 0.5, 0.9])
        x, z, pitch, hip, length = (np.interp(at, phase.time, phase[s]) for s in ("x", "z", "pitch", "hip", "length"))
        trunk = np.outer([-0.06, 0.06], np.cos(pitch)), np.outer([0.06, -0.06], np.sin(pitch))
        for start in STEP * np.arange(HOPS):
            foot = x - length * np.sin(pitch + hip), z - length * np.cos(pitch + hip)
            path.plot([x + start, foot[0] + start], [z, foot[1]], color, linewidth=1)
            path.plot(x + start + trunk[0], z + trunk[1], color, linewidth=5)
    path.set(xlabel="x [m]", ylabel="z [m]", aspect="equal")
    force.plot(found.phases[1].point_time, found.phases[1].multipliers, label=["normal", "tangential"])
    force.plot(found.point_time, found["thrust"], "grey", label="thrust of the leg")
    force.set(xlabel="time [s]", ylabel="force [N]")
    force.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "one_legged_hopper.png", dpi=120)
    found.trajectory.save_html(OUT / "one_legged_hopper.html")


if __name__ == "__main__":
    main()
