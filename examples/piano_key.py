"""A finger presses a key of a piano, and feels the hammer's weight, its let-off, and the bed of the key.

The finger is simulated and presses the front of the key through a haptic device of one axis. The jack drives the hammer
until it releases it; the hammer flies to the string and returns, and the check catches it. The hammer's flight has a
closed form. Only impacts dissipate, so their loss equals the energy that the finger gave to the mechanism.

Prints both comparisons, and draws out/piano_key.png and out/piano_key.html, an animation.

Source: Gillespie 1996, Haptic display of systems with changing kinematic constraints: the virtual piano action.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane
from kane.haptics import Arm, Coupler, Session, Simulated

OUT = Path("out")
KEY, HAMMER, RATIO, LEVER = 0.008, 1.5e-4, 6.0, 0.2  # kg m^2, kg m^2, hammer angle over key angle, m
WEIGHT, SPRING = 0.012, 0.02  # torques of the hammer's weight and of the key's return [N m]
LETOFF, BED, STRING, CHECK = 0.04, 0.05, 0.3, 0.18  # two angles of the key, two of the hammer [rad]
FINGER = [(0.6, 0, 0, 0), (0.68, 0, 0, -0.02), (1.2, 0, 0, -0.02), (1.4, 0, 0, 0)]  # s, m: down, hold, and up


def action() -> kane.Dynamics:
    """Return compiled equations of a key and a hammer, each on its own axle, and their intermittent constraints."""
    m = kane.Model("piano_key", gravity=(0, 0, 0))
    bodies = [m.body(name, mass=0.0, inertia=(J, J, J)) for name, J in (("key", KEY), ("hammer", HAMMER))]
    at = {"key": (0, 0, 0), "hammer": (0, 0, 0.05)}
    key, hammer = (m.connect(m.ground, b, kane.Revolute(b.name, axis="y"), at=at[b.name])[b.name] for b in bodies)
    m.load(kane.Motor(key, -SPRING))
    m.load(kane.Motor(hammer, -WEIGHT))
    m.stop(key, lower=0.0, upper=BED, name="key")
    m.stop(hammer, lower=0.0, upper=STRING, restitution=0.5, name="hammer")
    under = kane.minimum(LETOFF / 2 - key.q, 1e-6 - hammer.q + RATIO * key.q)  # positive if the jack engages
    m.switch(hammer.qdot - RATIO * key.qdot, on=under, off=key.q - LETOFF, name="jack")
    falls = kane.minimum(CHECK - hammer.q, -hammer.qdot)
    m.switch(hammer.qdot, on=kane.minimum(falls, key.q - LETOFF), off=LETOFF - key.q, name="check")
    bodies[0].shape(kane.Box(LEVER, 0.022, 0.015), at=(LEVER / 2, 0, 0))
    bodies[1].shape(kane.Box(0.13, 0.008, 0.006), at=(-0.065, 0, 0))
    bodies[1].shape(kane.Box(0.016, 0.016, 0.03), at=(-0.13, 0, 0.015))
    return kane.build(kane.formulate(m))


def main() -> None:
    """Simulate one stroke."""
    dyn = action()
    front = dyn.equations.model.bodies[1].point((LEVER, 0, 0))
    hand = Simulated(rate=4000, arm=Arm(mass=0.3, damping=8.0, stiffness=600.0, path=FINGER))
    with Session(dyn, hand, Coupler(front, stiffness=1000, damping=1.0, axes="z")) as session:
        session.arm()
        session.rehearse(2.0)
    run, log = session.trajectory, session.log
    print(session.report)
    flies = next(e for e in run.events if (e.name, e.cause) == ("jack", "deleted"))
    lands = next(e for e in run.events if (e.name, e.cause) == ("hammer: upper", "bounces"))
    closed = np.sqrt(flies.u[1] ** 2 - 2 * WEIGHT / HAMMER * (STRING - flies.q[1]))
    print(f"the hammer meets the string with {-lands.u[1] / 0.5:.6f} rad/s, closed form {closed:.6f} rad/s")
    lost = sum(e.energy_lost for e in run.events)
    print(f"the finger gave {session.report.to_mechanism:.4f} J, impacts took {lost:.4f} J")
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    angle, force = figure.subplots(1, 2)
    angle.plot(run.time, run["hammer"], "k", label="hammer")
    angle.plot(run.time, RATIO * run["key"], "tab:red", linestyle="--", label=f"{RATIO:g} times the key")
    angle.set(xlabel="time [s]", ylabel="angle [rad]")
    angle.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    force.plot(log["time"], log["force"][:, 2], "k")
    force.set(xlabel="time [s]", ylabel="force on the finger [N]")
    figure.savefig(OUT / "piano_key.png")
    session.save_html(OUT / "piano_key.html", traces=[front])


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
