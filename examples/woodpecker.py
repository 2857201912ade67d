"""A woodpecker hops down its pole: Pfeiffer's toy with the data of Glocker (1995; ASME DETC 2001), and its limit cycle.

A sleeve with play slides down a pole; a bird hangs on it by a spring. Angles are small. The published limit cycle, with
Moreau's impact law, passes phi_S = -0.2788 at -0.3411 m/s and -7.4583 rad/s; Routh's law differs by a few per cent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

import kane
from kane.expression.node import Expr
from kane.model.constraints import Row
from kane.model.contacts import Intermittent, IntermittentConstraint

OUT = Path("out")
PLAY, HALF, RADIUS = 0.0006, 0.0058, 0.0031  # play, half length and radius of the sleeve [m]
TO_SPRING, TO_BIRD, BEAK_UP, BEAK_BACK, POLE = 0.010, 0.015, 0.02, 0.0201, 0.0025  # m
SECTION, CAME = -0.2788, {"y_dot": -0.3411, "phi_S_dot": -7.4583}


@dataclass(frozen=True)
class Touching(Intermittent):
    """A contact with friction, defined by its gap and its slip velocity."""

    gap: Expr
    slip: Expr
    restitution: float
    title: str = "contact"

    def intermittents(self, name: str) -> Sequence[IntermittentConstraint]:
        """Return one contact with Newton's impact law."""
        normal, slip = Row("normal", configuration=self.gap), Row("slip", motion=self.slip)
        impact = kane.Newton(self.restitution)
        return [IntermittentConstraint(name, self.gap, normal, (slip,), kane.Coulomb(0.3), impact)]


def toy() -> kane.Model:
    """Return sleeve and bird; massless bodies carry the rotations, so that translation along the pole stays linear."""
    m = kane.Model("woodpecker", gravity=(0, -9.81, 0))
    y = m.connect(m.ground, m.body("sleeve", mass=0.0003), kane.Prismatic("y", axis="y"))["y"]
    M = m.connect(m.ground, m.body("tilt", mass=0.0, inertia=(5e-9,) * 3), kane.Revolute("phi_M", axis="z"))["phi_M"]
    S = m.connect(m.ground, m.body("nod", mass=0.0, inertia=(7e-7,) * 3), kane.Revolute("phi_S", axis="z"))["phi_S"]
    along = kane.Prismatic(y.q + TO_SPRING * M.q + TO_BIRD * S.q, axis="y")
    m.connect(m.ground, m.body("bird", mass=0.0045), along, name="along the pole")
    m.load(kane.Motor(M, -0.0056 * (M.q - S.q)))
    m.load(kane.Motor(S, 0.0056 * (M.q - S.q)))
    free = TO_SPRING + TO_BIRD - BEAK_BACK - POLE - BEAK_UP * S.q
    m.intermittent(Touching(free, y.qdot + TO_SPRING * M.qdot + (TO_BIRD - BEAK_BACK) * S.qdot, 0.5), name="beak")
    m.intermittent(Touching(PLAY + HALF * M.q, y.qdot + RADIUS * M.qdot, 0.0), name="lower edge")
    m.intermittent(Touching(PLAY - HALF * M.q, y.qdot + RADIUS * M.qdot, 0.0), name="upper edge")
    return m


def hop(until: float) -> kane.Trajectory:
    """Simulate from the published point of the cycle, with the lower edge in contact."""
    dyn = kane.build(kane.formulate(toy()))
    past = kane.Event(SECTION - dyn.equations.q[2], name="section", direction=1)
    start = {"phi_M": -PLAY / HALF, "phi_S": SECTION}
    return kane.simulate(dyn, until=until, q=start, u=CAME, events=past)


def main() -> None:
    """Simulate a dozen hops."""
    run = hop(2.0)
    one, last = [event for event in run.events if event.name == "section"][-2:]
    print(f"a hop takes {last.time - one.time:.4f} s and passes at {last.u[0]:.3f} m/s and {last.u[2]:.2f} rad/s")
    ax = (figure := Figure(figsize=(7, 4), layout="constrained")).subplots()
    ax.plot(run["phi_S"], run["phi_S_dot"], "k", linewidth=0.6)
    ax.set_xlabel("angle of the bird [rad]")
    ax.set_ylabel("its rate [rad/s]")
    figure.savefig(OUT / "woodpecker.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
