"""A key of a piano throws its hammer at the string.

The jack drives the hammer and releases it, the string throws it back, and the check catches it. The hammer falls back
when the key is released. Each of these interactions is an intermittent constraint.

Prints the events, and draws out/piano_action.png. Torques are constant, so that all times have closed forms.

Source: Gillespie 1996, Haptic display of systems with changing kinematic constraints: the virtual piano action.
"""

from pathlib import Path

from matplotlib.figure import Figure

import kane

OUT = Path("out")
KEY, HAMMER, RATIO = 0.01, 2e-4, 5.0  # kg m^2, kg m^2, hammer angle over key angle
FINGER, WEIGHT, SPRING = 0.6, 0.02, 0.3  # torques of the finger, of the hammer's weight and of the key's return [N m]
LETOFF, BED = 0.16, 0.2  # angles of the key [rad]
STRING, CHECK = 1.0, 0.6  # angles of the hammer [rad]
RESTITUTION, RELEASED, UNTIL = 0.5, 0.25, 0.6  # -, s, s


def action() -> kane.Model:
    """Return a key and a hammer, each on its own axle."""
    m = kane.Model("piano action", gravity=(0, 0, 0))
    bodies = [m.body(name, mass=0.0, inertia=(J, J, J)) for name, J in (("key", KEY), ("hammer", HAMMER))]
    key, hammer = (m.connect(m.ground, b, kane.Revolute(b.name, axis="z"))[b.name] for b in bodies)
    m.load(kane.Motor(key, m.input("finger") - SPRING))
    m.load(kane.Motor(hammer, -WEIGHT))
    m.stop(key, lower=0.0, upper=BED, name="key")
    m.stop(hammer, lower=0.0, upper=STRING, restitution=RESTITUTION, name="hammer")
    ahead = hammer.q - RATIO * key.q  # of the hammer relative to the jack, which engages when they touch
    under = kane.minimum(LETOFF / 2 - key.q, 1e-6 - ahead)
    m.switch(hammer.qdot - RATIO * key.qdot, on=under, off=key.q - LETOFF, name="jack")
    falls = kane.minimum(CHECK - hammer.q, -hammer.qdot)  # positive if the hammer moves down below the check
    m.switch(hammer.qdot, on=kane.minimum(falls, key.q - LETOFF), off=LETOFF - key.q, name="check")
    return m


def stroke() -> kane.Trajectory:
    """Simulate a key pressed from rest, and released after a quarter of a second."""
    finger = kane.Held([0.0, RELEASED], [FINGER, 0.0])
    return kane.simulate(kane.build(kane.formulate(action())), until=UNTIL, inputs={"finger": finger})


def main() -> None:
    """Simulate one stroke."""
    run = stroke()
    print(run)
    figure = Figure(figsize=(7, 4), layout="constrained")
    ax = figure.subplots()
    ax.plot(run.time, run["hammer"], "k", label="hammer")
    ax.plot(run.time, RATIO * run["key"], "tab:red", linestyle="--", label=f"{RATIO:g} times the key")
    ax.set_xlabel("time [s]")
    ax.set_ylabel("angle [rad]")
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    figure.savefig(OUT / "piano_action.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
