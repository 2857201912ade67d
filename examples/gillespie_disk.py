"""Gillespie 2003, Example 1: a disk thrown up a ramp slips until its lowest point is at rest, then rolls.

Prints the equations of both and draws out/gillespie_disk.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane

OUT = Path("out")
FRICTION = 0.35  # coefficient of sliding friction; the paper does not specify a friction law
THROW, UNTIL = 2.5, 1.5  # m/s up the ramp without spin; s


def forces(dyn: kane.Dynamics, *places: str) -> kane.RevealedReactions:
    """Return the forces that Kane's equations eliminate, from auxiliary generalized speeds."""
    return kane.RevealedReactions(dyn, kane.reveal_reactions(dyn.equations, *places))


def picture(slips: kane.Trajectory, rolls: kane.Trajectory, friction: list[np.ndarray]) -> None:
    """Draw speeds and friction force over time."""
    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for run, force in zip((slips, rolls), friction, strict=True):
        (first,) = above.plot(run.time, run["u1"], color="silver", linewidth=4)
        (second,) = above.plot(run.time, -run["u2"], color="black", linestyle="--")
        below.plot(run.time, force, color="black")
    first.set_label("u1, of the centre up the ramp")
    second.set_label("-u2, r times the spin")
    above.set_ylabel("velocity [m/s]")
    above.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    below.set_ylabel("friction Ff, down the ramp [N]")
    below.set_xlabel("t [s]")
    for ax in (above, below):
        ax.axvline(slips.time[-1], color="grey", linestyle=":")
        ax.grid(alpha=0.3)
    figure.suptitle("Gillespie, Example 1: the disk slips, then rolls")
    figure.savefig(OUT / "gillespie_disk.png")


def main() -> None:
    """Simulate slipping, locate its end, and simulate rolling."""
    model = kane.library.sliding_disk()
    equations = kane.formulate(model)
    slide = model.connections[0]
    friction = FRICTION * slide.reaction_force.dot(slide.child.y)  # solved together with the accelerations
    sliding = kane.build(kane.substitute(equations, Ff=friction))
    rolling = kane.build(kane.formulate(kane.library.rolling_disk()))
    print("Sliding, Eqs. (38)-(40):\n" + equations.listing())
    print("Rolling, Eq. (42), u2 = -u1:\n" + rolling.equations.listing())

    r = equations.defaults["r"]
    stops = kane.Event(model.rate("q1") + r * model.rate("q2"), direction=-1, terminal=True)
    slips = kane.simulate(sliding, until=UNTIL, u={"u1": THROW}, events=[stops])
    N = forces(sliding, "q1")(slips)[:, 1]
    u1 = slips.final.u[0]
    rolls = kane.simulate(rolling, start=slips.time[-1], until=UNTIL, q=slips.final.q, u=[u1, -u1])
    needed = -forces(rolling, "rolling")(rolls)[:, 0]
    print(f"N = {N[0]:.4f} N; sliding, Ff = {FRICTION * N[0]:.4f} N")
    print(f"slips until t = {slips.time[-1]:.6f} s, then rolls at {u1:.6f} m/s")
    print(f"rolling takes Ff = {needed[0]:.4f} N, {abs(needed[0]) / N[0]:.3f} of N: no more than {FRICTION}")
    picture(slips, rolls, [FRICTION * N, needed])


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
