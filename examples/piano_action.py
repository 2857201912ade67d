"""A key of a piano throws its hammer at the string.

The jack drives it and lets go, the string throws it back, the check catches it, and it falls back when the key is let
go. Each of these is a constraint that comes and goes.

Prints what happens, and draws out/piano_action.png. Torques are constant, so that all times have closed forms.

Source: Gillespie 1996, Haptic display of systems with changing kinematic constraints: the virtual piano action.
"""

from pathlib import Path

from matplotlib.figure import Figure

import kane

OUT = Path("out")
KEY, HAMMER, RATIO = 0.01, 2e-4, 5.0  # kg m^2, kg m^2, hammer angle over key angle
FINGER, WEIGHT, SPRING = 0.6, 0.02, 0.3  # N m, on the key, of the hammer, and of what brings the key back
LETOFF, BED = 0.16, 0.2  # rad, of the key
STRING, CHECK = 1.0, 0.6  # rad, of the hammer
RESTITUTION, RELEASED, UNTIL = 0.5, 0.25, 0.6  # -, s, s


def action() -> kane.Model:
    """A key and a hammer, each on its own axle."""
    m = kane.Model("piano action", gravity=(0, 0, 0))
    bodies = [m.body(name, mass=0.0, inertia=(J, J, J)) for name, J in (("key", KEY), ("hammer", HAMMER))]
    key, hammer = (m.connect(m.ground, b, kane.Revolute(b.name, axis="z"))[b.name] for b in bodies)
    m.load(kane.Motor(key, m.input("finger") - SPRING))
    m.load(kane.Motor(hammer, -WEIGHT))
    m.stop(key, lower=0.0, upper=BED, name="key")
    m.stop(hammer, lower=0.0, upper=STRING, restitution=RESTITUTION, name="hammer")
    ahead = hammer.q - RATIO * key.q  # of the jack, which slips under the hammer where it lies on it
    under = kane.minimum(LETOFF / 2 - key.q, 1e-6 - ahead)
    m.switch(hammer.qdot - RATIO * key.qdot, on=under, off=key.q - LETOFF, name="jack")
    falls = kane.minimum(CHECK - hammer.q, -hammer.qdot)  # positive where the hammer comes down below the check
    m.switch(hammer.qdot, on=kane.minimum(falls, key.q - LETOFF), off=LETOFF - key.q, name="check")
    return m


def stroke() -> kane.Trajectory:
    """Pressed from rest, let go after a quarter of a second."""
    finger = kane.Held([0.0, RELEASED], [FINGER, 0.0])
    return kane.simulate(kane.build(kane.formulate(action())), until=UNTIL, inputs={"finger": finger})


def main() -> None:
    """One stroke."""
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
