"""How fast a rimless wheel walks downhill: a table over slopes and lengths of its spokes, as one sweep.

Each step ends with an impact. On gentle slopes the wheel comes to rest on two spokes. Prints the speeds beside their
closed form, and draws out/walking_speeds.png.

Source of the closed form: McGeer, Passive dynamic walking, Int. J. Robotics Research 9 (1990) 62, section 2.
"""

from math import cos, pi, sin, sqrt
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import quad

import kane

OUT = Path("out")
G, SPOKES, START = 9.81, 8, 1.5  # m/s^2, 1, rad/s
SLOPES, LENGTHS, HALF = np.linspace(0.02, 0.2, 10), np.array([0.5, 1.0, 1.5]), pi / SPOKES  # rad, m, rad
EARLY, LATE = 20, 40  # steps between which the speed is measured; the gait has its limit then


def wheel() -> kane.Dynamics:
    """Return a hub of 1 kg on massless spokes; x is downhill. Slope and length are parameters."""
    m = kane.Model("rimless wheel")
    slope, length = m.parameter("slope", 0.1, unit="rad"), m.parameter("length", 1.0, unit="m")
    m.gravity = (G * kane.sin(slope), -G * kane.cos(slope), 0)
    hub = m.body("hub", mass=1.0, inertia=(1e-9,) * 3)
    m.connect(m.ground, hub, kane.Planar(("x", "y", "turn")))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for k in range(SPOKES):
        foot = hub.point((length * sin(2 * HALF * k), -length * cos(2 * HALF * k), 0))
        m.contact(foot, floor, friction=kane.Coulomb(5.0), name=f"spoke {k}")
    return kane.build(kane.formulate(m))


def speeds(dyn: kane.Dynamics) -> np.ndarray:
    """Return the speed of the hub along the slope, (slopes, lengths); NaN if the wheel comes to rest."""
    slope, length = (x.ravel() for x in np.meshgrid(SLOPES, LENGTHS, indexing="ij"))
    x, step = dyn.equations.q[0], 2 * dyn.equations.parameters[1] * sin(HALF)
    found = kane.sweep(
        dyn,
        until=60.0,
        u={"turn_dot": -START},
        runs={"slope": slope, "length": length, "y": length, "x_dot": START * length},
        outputs=["x"],
        events=[kane.Event(x - n * step, 1, terminal=n == LATE, name=f"step {n}") for n in (EARLY, LATE)],
    )
    seconds = found[f"step {LATE}"] - found[f"step {EARLY}"]
    return ((LATE - EARLY) * 2 * length * sin(HALF) / seconds).reshape(len(SLOPES), len(LENGTHS))


def closed_form(slope: float, length: float) -> float:
    """Return the speed in the limit: the energy of a step replaces the loss 1 - cos^2(2 pi / spokes) of its impact."""
    begin, end, fall = slope - HALF, slope + HALF, 2 * G / length
    after = 2 * fall * sin(HALF) * sin(slope) / (1 / cos(2 * HALF) ** 2 - 1)  # rate^2 after an impact
    if after <= fall * (1 - cos(begin)):  # the spoke does not pass the vertical
        return np.nan
    return 2 * length * sin(HALF) / quad(lambda x: 1 / sqrt(after + fall * (cos(begin) - cos(x))), begin, end)[0]


def main() -> None:
    """Print and draw the table."""
    table, exact = speeds(wheel()), np.array([[closed_form(s, r) for r in LENGTHS] for s in SLOPES])
    print("speed [m/s] with spokes of", ", ".join(f"{r} m" for r in LENGTHS), "(closed form); nan: comes to rest")
    for slope, row, known in zip(SLOPES, table, exact, strict=True):
        print(f"slope {slope:.2f}:", *(f"  {v:.6f} ({w:.6f})" for v, w in zip(row, known, strict=True)))
    ax = (figure := Figure(figsize=(6, 4), layout="constrained")).subplots()
    ax.plot(SLOPES, table, "o", label=[f"{length} m" for length in LENGTHS])
    ax.plot(SLOPES, exact, "k", linewidth=0.8)
    ax.set(xlabel="slope [rad]", ylabel="speed, closed form as lines [m/s]")
    figure.legend(loc="outside upper center")
    figure.savefig(OUT / "walking_speeds.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
