"""Makes the pictures of docs/contacts.md: python docs/figures/contacts.py."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import kane

HERE = Path(__file__).parent
G = 9.81


def crate():
    """A crate with a lid: pushed along the floor, it slides to rest; dropped askew, it bounces."""
    m = kane.Model("crate", gravity=(0, -G, 0))
    crate = m.body("crate", mass=2, inertia=(0.02, 0.02, 0.02))
    lid = m.body("lid", mass=0.3, inertia=(1e-3,) * 3, com=(0.1, 0, 0))
    m.connect(m.ground, crate, kane.Planar(("x", "y", "th")))
    hinge = m.connect(crate, lid, kane.Revolute("q1", axis="z"), at=(-0.1, 0.1, 0))
    crate.shape(kane.Box(0.2, 0.2, 0.2))
    lid.shape(kane.Box(0.2, 0.01, 0.2), at=(0.1, 0, 0))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for side, x in (("left", -0.1), ("right", 0.1)):
        rough = kane.Coulomb(static=0.5, kinetic=0.4)
        m.contact(crate.point((x, -0.1, 0)), floor, restitution=0.3, friction=rough, name=side)
    m.stop(hinge, lower=0, upper=1.2, restitution=0.2)
    m.stick(hinge, static=0.03, kinetic=0.02)
    return kane.simulate(
        kane.build(kane.formulate(m)), until=1.2, q={"y": 0.2, "th": 0.35, "q1": 0.4}, u={"x_dot": 1.2}
    )


def door():
    """The door of the guide: it falls shut, is opened against the wall, and falls shut again."""
    m = kane.Model("door")
    door = m.body("door", mass=20.0, inertia=(1.5, 0.1, 1.5), com=(0.45, 0, 0))
    hinge = m.connect(m.ground, door, kane.Revolute("angle", axis="z"))
    m.load(kane.Spring(hinge, 8.0))
    m.load(kane.Damper(hinge, 4.0))
    m.load(kane.Motor(hinge, m.input("hand")))
    m.stop(hinge, upper=1.6, restitution=0.3, name="wall")
    m.stick(hinge, static=0.4, kinetic=0.2, name="hinge")
    m.latch(hinge.q, off=kane.minimum(m.time - 4.0, 4.5 - m.time), name="latch")
    pull = kane.Held([0.0, 4.1, 5.0], [0.0, 40.0, 0.0])
    return kane.simulate(kane.build(kane.formulate(m)), until=9.0, q={"angle": 1.2}, inputs={"hand": pull})


def pinned():
    """The end of a double pendulum, which a switch keeps in a slot from 1 s on."""
    m = kane.Model("arm", gravity=(0, -G, 0))
    one, two = (m.body(name, mass=1.0, inertia=(0.1,) * 3, com=(0.3, 0, 0)) for name in ("one", "two"))
    m.connect(m.ground, one, kane.Revolute("q1", axis="z"))
    m.connect(one, two, kane.Revolute("q2", axis="z"), at=(0.5, 0, 0))
    end = two.point((0.5, 0, 0))
    m.switch(end.velocity.dot(m.ground.x), on=m.time - 1.0, name="slot")
    run = kane.simulate(kane.build(kane.formulate(m)), until=6.0, u={"u1": 2.0})
    both = run["q1"] + run["q2"]
    x, y = 0.5 * (np.cos(run["q1"]) + np.cos(both)), 0.5 * (np.sin(run["q1"]) + np.sin(both))
    figure, (path, drift) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    held = run.active("slot")
    path.plot(x[~held], y[~held], label="free")
    path.plot(x[held], y[held], label="in the slot")
    path.set(xlabel="x of the end [m]", ylabel="y [m]", aspect="equal")
    path.legend()
    drift.plot(run.time[held], x[held] - x[held][0], ".", markersize=2)
    drift.set(xlabel="time [s]", ylabel="x less x when imposed [m]", ylim=(-2e-14, 2e-14))
    return figure


def main():
    """All of them."""
    run = crate()
    run.plot(["x", "y", "th", "q1"]).savefig(HERE / "crate.png", dpi=100)
    door().plot("angle").savefig(HERE / "door.png", dpi=100)
    pinned().savefig(HERE / "slot.png", dpi=100)


if __name__ == "__main__":
    main()
