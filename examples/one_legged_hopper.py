"""A one-legged hopper finds the motion with the least effort that repeats every 0.5 m, through landing and lift-off.

The motion begins and ends at the top of the flight: free, on the foot, free. ``kane.collocate`` finds the durations, the
impulse of the landing and the inputs; ``kane.verify`` simulates the motion again. Draws out/one_legged_hopper.png, and
an animated page: out/one_legged_hopper.html.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
STEP, SPEED = 0.5, 1.0  # m, m/s


def hopper() -> tuple[kane.Model, kane.Dynamics]:
    """Return a body with a leg that turns at the hip and becomes longer; x is forward, z upward."""
    m = kane.Model("hopper", gravity=(0, 0, -9.81))
    body = m.body("body", mass=10.0, inertia=(0.5, 0.5, 0.5))
    leg = m.body("leg", mass=1.0, inertia=(0.02, 0.02, 0.02), com=(0, 0, -0.2))
    foot = m.body("foot", mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
    m.connect(m.ground, body, kane.Planar(("z", "x", "pitch"), axis="y"))
    hip = m.connect(body, leg, kane.Revolute("hip", axis="y"))
    shin = m.connect(leg, foot, kane.Prismatic("length", axis=(0, 0, -1)))
    m.load(kane.Motor(hip, m.input("torque")))
    m.load(kane.Motor(shin, m.input("thrust")))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(foot.point(), floor, friction=kane.Coulomb(0.7), name="foot")
    return m, kane.build(kane.formulate(m))


def hop(m: kane.Model, dyn: kane.Dynamics) -> Any:
    """Return the periodic motion with the least mean square of torque and thrust."""
    (z, x, *others), (climb, *rates) = dyn.equations.q, dyn.equations.u
    torque, thrust = dyn.equations.inputs
    periodic = [kane.final(s) - kane.initial(s) for s in (z, *others, *rates)]
    flight = {"duration": (0.1, 0.3), "nodes": 16}
    return kane.collocate(
        dyn,
        phases=[
            kane.Phase("free", **flight, guess={"x": [0, 0.1], "z": [0.75, 0.6], "length": 0.6, "hip": [0, -0.2]}),
            kane.Phase("foot held", duration=(0.1, 0.4), guess={"x": [0.1, 0.4], "z": 0.6, "length": 0.6, "hip": [-0.2, 0.2]}),
            kane.Phase("free", **flight, guess={"x": [0.4, 0.5], "z": [0.6, 0.75], "length": 0.6, "hip": [0.2, 0]}),
        ],
        start={"x": 0.0, "z_dot": 0.0},
        end={"x": STEP, "z_dot": 0.0},
        bounds={"length": (0.4, 0.8), "pitch": (-0.5, 0.5), "hip": (-1, 1), "torque": (-100, 100)},
        boundary=[*periodic, kane.final(m.time) - STEP / SPEED],
        objective=kane.integral((torque / 10) ** 2 + (thrust / 100) ** 2),
    )


def main() -> None:
    m, dyn = hopper()
    found = kane.refine(hop(m, dyn), 1e-5)
    print(found.trajectory)
    print(kane.verify(found))

    figure = Figure(figsize=(7, 6), layout="constrained")
    run = found.trajectory
    print(run.events)
    picture, force = figure.subplots(2, 1)
    for k in range(0, len(run.time), 4):
        x, z, angle = run["x"][k], run["z"][k], run["pitch"][k] + run["hip"][k]
        foot = x - run["length"][k] * math.sin(angle), z - run["length"][k] * math.cos(angle)
        picture.plot([x, foot[0]], [z, foot[1]], "k", alpha=0.5)
    force.plot(run.time, run.reactions["foot"])
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "one_legged_hopper.png", dpi=120)
    run.save_html(OUT / "one_legged_hopper.html")


if __name__ == "__main__":
    main()
