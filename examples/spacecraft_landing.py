"""A spacecraft lands on a slope with uncertain mass, mass centre, friction and speeds: how often does it tip over?

It moves in a vertical plane; its feet meet rigid ground. A second call resumes or reads the store out/landing.zarr.
Prints the probability and draws out/spacecraft_landing.png. main(1_000_000) takes 15 minutes of one core.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy import stats

import kane

OUT = Path("out")
RUNS, SEED, UNTIL = 2048, 1, 8.0  # runs, seed, s
GRAVITY, SLOPE = 1.62, 0.12  # of the Moon [m/s^2], rad
HALF_TRACK, HEIGHT, INERTIA = 1.0, 1.6, 900.0  # of the mass centre above and between the feet [m], kg m^2
OVER = 1.0  # rad: a lander that is tilted so far at the end has tipped over

UNCERTAIN = {
    "mass": stats.norm(1000.0, 50.0),  # kg
    "offset": stats.norm(0.0, 0.04),  # of the mass centre along the track [m]
    "friction": (0.3, 0.9),
    "x_dot": stats.norm(0.2, 0.15),  # down the slope, m/s
    "z_dot": (-2.0, -0.5),  # m/s
    "tilt_dot": stats.norm(0.0, 0.04),  # rad/s
}


def lander() -> kane.Dynamics:
    """Return compiled equations of the lander; x runs down the slope, z is normal to it."""
    g = GRAVITY * np.array([np.sin(SLOPE), 0.0, -np.cos(SLOPE)])
    m = kane.Model("lander", gravity=tuple(g))
    mass, offset, friction = m.parameter("mass", 1000.0), m.parameter("offset", 0.0), m.parameter("friction", 0.5)
    last = m.ground
    for axis in "xz":
        last = m.connect(last, m.body(axis + " carrier", mass=0.0), kane.Prismatic(axis, axis=axis)).child
    body = m.body("lander", mass=mass, inertia=(INERTIA, INERTIA, INERTIA), com=(offset, 0.0, HEIGHT))
    m.connect(last, body, kane.Revolute("tilt", axis="y"))
    ground = kane.Plane(m.ground.point(), m.ground.z)
    for name, x in (("uphill foot", -HALF_TRACK), ("downhill foot", HALF_TRACK)):
        m.contact(body.point((x, 0.0, 0.0)), ground, friction=kane.Coulomb(friction), name=name)
    return kane.compile_modes(kane.build(kane.formulate(m)), "all")


def study(dyn: kane.Dynamics, runs: int) -> kane.Sweep:
    """Return the results of all runs, which are computed unless the store has them."""
    x, _, tilt = dyn.equations.q
    return kane.sweep(
        dyn,
        until=UNTIL,
        q={"z": 0.5, "tilt": 0.02},
        runs=kane.sample(runs, UNCERTAIN, method="random"),
        seed=SEED,
        outputs={"distance": x, "tilt": tilt, "tipped": kane.absolute(tilt) > OVER},
        store=OUT / "landing.zarr",
    )


def main(runs: int = RUNS) -> None:
    """Estimate the probability, and draw which landers slide and which tip over."""
    found = study(lander(), runs)
    tipped, worst = found.statistics("tipped"), found.statistics("distance").maximum_run
    low, high = tipped.interval
    print(f"{tipped.n} landings: tips over with probability {tipped.mean:.2e}, from {low:.2e} to {high:.2e} (95 %)")
    print(f"run {worst} slides farthest: {found['distance'][worst]:.2f} m")
    ax = (figure := Figure(figsize=(6, 4), layout="constrained")).subplots()
    speed, friction, over = found["initial x_dot"], found["friction"], found["tipped"] == 1.0
    dots = ax.scatter(speed[:RUNS], friction[:RUNS], c=found["distance"][:RUNS], s=6, vmax=2.0)
    ax.plot(speed[over], friction[over], "rx")
    ax.set(xlabel="speed down the slope at the start [m/s]", ylabel="friction [1]")
    figure.colorbar(dots, label="distance from the start [m]", extend="max")
    figure.savefig(OUT / "spacecraft_landing.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
