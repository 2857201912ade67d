"""The simplest walking model walks passively down a slope of 0.009: a hip, massless legs, nearly massless feet.

A foot can touch only while the legs are apart. As in the paper, it may pass through the ground when the legs cross.
Prints the steps and the published gait, and draws out/simplest_walker.png.

Source: Garcia, Chatterjee, Ruina & Coleman, The simplest walking model, J. Biomech. Eng. 120 (1998) 281.
"""

from dataclasses import dataclass, replace
from math import cos, sin
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import kane

OUT = Path("out")
SLOPE, FOOT, UNTIL = 0.009, 1e-10, 24.0  # rad, mass of a foot over that of the hip, sqrt(l / g)
ANGLE, RATE, PERIOD = 0.200310900544, -0.199832473005, 3.88246375285  # published gait, in units of l, g and hip mass


@dataclass(frozen=True)
class FootFall(kane.Intermittent):
    """Contact of a foot that can close only while the legs are more than 0.2 rad apart."""

    contact: kane.Contact
    apart: Any
    title = "foot fall"

    def intermittents(self, name: str) -> list[kane.IntermittentConstraint]:
        """Return the contact with a gap that is open while the legs are close."""
        far = kane.maximum(self.apart - 0.2, 0)
        return [replace(c, gap=kane.select(far, c.gap, 0.1)) for c in self.contact.intermittents(name)]


def walker() -> kane.Model:
    """Return a hip of mass 1 on legs a and b of length 1; x is downhill."""
    m = kane.Model("simplest walker", gravity=(sin(SLOPE), -cos(SLOPE), 0))
    rider, hip = m.body("rider", mass=0.0), m.body("hip", mass=1.0)
    m.connect(m.ground, rider, kane.Prismatic("x", axis="x"))
    m.connect(rider, hip, kane.Prismatic("y", axis="y"))
    legs = [m.body(name, mass=FOOT, com=(0, -1, 0)) for name in "ab"]
    a, b = (m.connect(hip, leg, kane.Revolute(leg.name, axis="z")) for leg in legs)
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for leg in legs:
        contact = kane.Contact(leg.point((0, -1, 0)), floor, friction=kane.Coulomb(10.0))
        m.intermittent(FootFall(contact, kane.absolute(a["a"].q - b["b"].q)), name=f"foot {leg.name}")
    return m


def walk(until: float = UNTIL, angle: float = ANGLE, rate: float = RATE) -> kane.Trajectory:
    """Simulate from just after a step, on leg a."""
    q = {"x": -sin(angle), "y": cos(angle), "a": angle, "b": -angle}
    u = {"x_dot": -cos(angle) * rate, "y_dot": -sin(angle) * rate, "a_dot": rate, "b_dot": rate * cos(2 * angle)}
    return kane.simulate(kane.build(kane.formulate(walker())), until=until, q=q, u=u)


def main() -> None:
    """Simulate six steps."""
    run = walk()
    print(run)
    print(f"a published step takes {PERIOD}, legs {2 * ANGLE:.9f} rad apart at its end")
    ax = (figure := Figure(figsize=(7, 4), layout="constrained")).subplots()
    ax.plot(run.time, run["a"], "k", label="leg a")
    ax.plot(run.time, run["b"], "tab:red", linestyle="--", label="leg b")
    ax.set_xlabel("time [sqrt(l/g)]")
    ax.set_ylabel("angle to the normal of the slope [rad]")
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    figure.savefig(OUT / "simplest_walker.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    main()
