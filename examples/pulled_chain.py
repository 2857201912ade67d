"""A hanging chain whose last link is pulled by the mouse of a page.

With BY_HAND = 60 the page is served for a minute: press on the chain and drag. With BY_HAND = 0 a script replaces the
page for three seconds of real time: it presses, pulls the last link aside, and keeps it there. Each link then aligns
with the force in its joint, the sum of the pull and the weight below.

Prints the angles of the links and their theoretical values; draws out/pulled_chain.png and out/pulled_chain.html.
"""

import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import kane
from kane.haptics import Coupler, Pointer, Session

OUT = Path("out")
LINKS, LENGTH, MASS, DAMPING, G = 4, 0.1, 0.05, 2e-3, 9.81
BY_HAND, AWAY = 0, np.array([0.12, 0.0, 0.03])  # s; displacement of the mouse [m]


def chain() -> kane.Dynamics:
    """Return compiled equations of hanging links that turn about y with damping."""
    m = kane.Model("pulled_chain", gravity=(0, 0, -G))
    above = m.ground
    for k in range(LINKS):
        link = m.body(f"link {k + 1}", mass=MASS, inertia=(4e-5, 4e-5, 1e-6), com=(0, 0, -LENGTH / 2))
        joint = m.connect(above, link, kane.Revolute(f"q{k + 1}", axis="y"), at=(0, 0, -LENGTH if k else 0))
        m.load(kane.Damper(joint, DAMPING))
        link.shape(kane.Capsule(link.point(), link.point((0, 0, -LENGTH)), 0.008))
        above = link
    return kane.build(kane.formulate(m))


def drag(session: Session, hand: Pointer) -> None:
    """Imitate a page whose user presses, drags and holds still: report the mouse position 100 times per second."""
    session.arm()
    began = time.monotonic()
    while (t := time.monotonic() - began) < 3.0:
        hand.move(AWAY * min(1.0, max(0.0, t - 0.2) / 0.8), True)
        time.sleep(0.01)


def main() -> None:
    """Pull, by hand or by script."""
    dyn, hand = chain(), Pointer()
    end = dyn.equations.model.bodies[-1].point((0, 0, -LENGTH))
    with Session(dyn, hand, Coupler(end, stiffness=80.0, damping=2.0)) as session:
        if BY_HAND:
            with kane.view(session) as view:
                print(view.url, flush=True)
                session.run(BY_HAND)
        else:
            session.start(2.9)
            drag(session, hand)
            session.wait()
        print(session.report)
    run, log = session.trajectory, session.log
    last = np.flatnonzero(log["level"])[-1]
    x, _, z = log["pull"][last, :3]
    below = MASS * G * (LINKS - np.arange(LINKS) - 0.5)  # half of a link's own weight turns it
    print("angles of the links [deg]:", np.degrees(np.cumsum(run.q[last])).round(2))
    print("angles of the forces [deg]:", np.degrees(np.arctan2(-x, below - z)).round(2))
    session.save_html(OUT / "pulled_chain.html", traces=[end])
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    angle, force = figure.subplots(1, 2)
    angle.plot(run.time, np.degrees(np.cumsum(run.q, axis=1)))
    angle.set(xlabel="time [s]", ylabel="angles of the links [deg]")
    force.plot(log["time"], log["pull"][:, 0], "k")
    force.set(xlabel="time [s]", ylabel="pull along x [N]")
    figure.savefig(OUT / "pulled_chain.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
