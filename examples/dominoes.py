"""Dominoes topple in a row: the pulse accelerates up to a constant speed.

Each domino turns about its lower front edge, does not bounce, and slides along the next one, which it pushes. Source:
van Leeuwen, The domino effect, Am. J. Phys. 78 (2010) 721. Prints the speed from domino to domino; draws
out/dominoes.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
COUNT, HEIGHT, THICKNESS, PITCH, MASS, G = 20, 0.048, 0.0075, 0.02, 0.01, 9.81  # m, kg, m/s^2
TILT, RATE = 0.2, 1.0  # initial tilt and rate of the first domino [rad, rad/s]
UNTIL = 0.7  # s


def row(count: int = COUNT, friction: float = 0.0) -> kane.Dynamics:
    """Return compiled equations of a row of dominoes; the upper edge of each can touch the face of the next."""
    m = kane.Model("dominoes", gravity=(0, -G, 0))
    square = MASS / 12 * (HEIGHT**2 + THICKNESS**2)
    before = None
    for k in range(count):
        body = m.body(f"domino {k}", mass=MASS, inertia=(square,) * 3, com=(-THICKNESS / 2, HEIGHT / 2, 0))
        foot = m.connect(m.ground, body, kane.Revolute(f"a{k}", axis=(0, 0, -1)), at=(k * PITCH, 0, 0))
        m.stop(foot, lower=0, upper=np.pi / 2, name=f"foot {k}")
        body.shape(kane.Box(THICKNESS, HEIGHT, HEIGHT / 2), at=(-THICKNESS / 2, HEIGHT / 2, 0))
        if before is not None:
            face = kane.Plane(body.point((-THICKNESS, 0, 0)), -body.x)
            rough = kane.Coulomb(friction) if friction else None
            m.contact(before.point((0, HEIGHT, 0)), face, friction=rough, name=f"strikes {k}")
        before = body
    return kane.build(kane.formulate(m))


def topple(dyn: kane.Dynamics, until: float = UNTIL) -> kane.Trajectory:
    """Simulate the row after a push of the first domino."""
    return kane.simulate(dyn, until=until, q={"a0": TILT}, u={"a0_dot": RATE})


def strikes(run: kane.Trajectory) -> np.ndarray:
    """Return the time at which each domino is first struck [s]."""
    first: dict[str, float] = {}
    for event in run.events:
        if event.name.startswith("strikes"):
            first.setdefault(event.name, event.time)
    return np.array(list(first.values()))


def main() -> None:
    """Push the first domino."""
    run = topple(row())
    times = strikes(run)
    speeds = PITCH / np.diff(times)
    print(run)
    print("speed [m/s]:", " ".join(f"{v:.4f}" for v in speeds))
    print(f"in sqrt(g h): {speeds[-1] / np.sqrt(G * HEIGHT):.4f}")

    lean, speed = (figure := Figure(figsize=(7, 5), layout="constrained")).subplots(2, 1)
    for k in range(COUNT):
        lean.plot(run.time, np.degrees(run[f"a{k}"]), color=f"{0.7 * k / COUNT}", linewidth=0.8)
    lean.set_xlabel("time [s]")
    lean.set_ylabel("lean [deg]")
    speed.plot(np.arange(2, len(times) + 1), speeds, "ko-")
    speed.set_xticks(range(2, COUNT, 3))
    speed.set_xlabel("domino that is struck [number]")
    speed.set_ylabel("speed of the pulse [m/s]")
    figure.savefig(OUT / "dominoes.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
