"""The slider-crank mechanism."""

from __future__ import annotations

from kane.library.rods import thin_rod
from kane.model.constraints import Coincidence
from kane.model.joints import Prismatic, Revolute
from kane.model.loads import Motor
from kane.model.model import Model


def slider_crank() -> Model:
    """Return a crank, a connecting rod and a piston that slides along x; the rod's end coincides with the piston's pin.

    Coordinates: angle q1 of the crank from x, angle q2 from crank to rod [rad], position q3 of the piston [m]. The loop
    is closed at (0, 0, r + l). Parameters: lengths of crank r and rod l [m], masses of crank mc, rod mr and piston mp
    [kg], acceleration of free fall g along -y [m/s^2]. Inputs: torque T on the crank [N m], force F on the piston [N].
    With r = l the rod can coincide with the crank while the piston rests at x = 0. This motion gives a second degree of
    freedom at q1 = pi/2.
    """
    model = Model("slider_crank")
    defaults = {"r": 0.1, "l": 0.3, "mc": 0.8, "mr": 0.6, "mp": 1.2, "g": 9.81}
    r, l, mc, mr, mp, g = (model.parameter(name, value) for name, value in defaults.items())
    N = model.ground
    model.gravity = (0.0, -g, 0.0)
    crank, rod = thin_rod(model, "crank", mc, r), thin_rod(model, "rod", mr, l)
    piston = model.body("piston", mass=mp)
    shaft = model.connect(N, crank, Revolute("q1", axis="z"))
    model.connect(crank, rod, Revolute("q2", axis="z"), at=(r, 0.0, 0.0))
    slide = model.connect(N, piston, Prismatic("q3", axis="x"))
    model.constrain(Coincidence(rod.point((l, 0.0, 0.0)), piston.point(), along=[N.x, N.y]), name="pin")
    model.load(Motor(shaft, model.input("T")))
    model.load(Motor(slide, model.input("F")))
    return model
