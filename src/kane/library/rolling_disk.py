"""The disk on a ramp of Gillespie 2003, sliding and rolling."""

from __future__ import annotations

from kane.expression.functions import cos, sin
from kane.expression.node import Expr
from kane.model.joints import Prismatic, Revolute
from kane.model.loads import Force, Torque
from kane.model.model import Model
from kane.model.shapes import Disk, Plane


def sliding_disk() -> Model:
    """Return a uniform disk B that touches a ramp A and slides freely on it: u1 = dq1/dt, u2 = r dq2/dt.

    The ground's axes x, y, z are a1 up the ramp, a2 normal to it, and a3. The displacement of the centre Bo along a1 is
    q1 [m], the rotation about a3 is q2 [rad]. Input: the friction force Ff [N]; -Ff a1 acts on the disk's lowest point,
    which is equivalent to -Ff a1 at Bo and a torque -r Ff a3. Parameters: radius r [m], mass m [kg], central moment of
    inertia J [kg m^2], slope theta [rad], acceleration of free fall g [m/s^2]. The paper has no numbers; the defaults
    are chosen here.

    Source: Gillespie 2003, Example 1, Figs. 1-2, Eqs. 6, 35-40, with Eq. 39 corrected to F2 = -Ff.
    """
    model, r = _disk("sliding_disk")
    model.speeds(u1=model.rate("q1"), u2=r * model.rate("q2"))
    return model


def rolling_disk() -> Model:
    """Return the same disk rolling: the constraint "rolling", u1 + u2 = 0, makes u2 dependent and eliminates Ff.

    ``kane.reveal_reactions(equations, "rolling", "q1")`` gives the reactions. "rolling" is the friction force along a1,
    the paper's -Ff. "q1 Fy" is the normal force N, in the joint that keeps Bo over the ramp.

    Source: Gillespie 2003, Example 1, Eqs. 7, 41-42, 47.
    """
    model, r = _disk("rolling_disk")
    model.constrain(model.rate("q1") + r * model.rate("q2"), name="rolling")
    model.speeds(u1=model.rate("q1"), u2=r * model.rate("q2"), dependent=("u2",))
    return model


def _disk(name: str) -> tuple[Model, Expr]:
    """Return the model and the radius of the disk."""
    model = Model(name)
    defaults = {"r": 0.2, "m": 3.0, "J": 0.06, "theta": 0.3, "g": 9.81}
    r, m, J, theta, g = (model.parameter(key, value) for key, value in defaults.items())
    model.gravity = (-g * sin(theta), -g * cos(theta), 0.0)
    carrier = model.body("carrier", mass=0.0)
    B = model.body("B", mass=m, inertia=(J / 2, J / 2, J))
    model.connect(model.ground, carrier, Prismatic("q1", axis="x"), at=(0.0, r, 0.0))
    model.connect(carrier, B, Revolute("q2", axis="z"))
    B.shape(Disk(B.point(), B.z, r))
    model.ground.shape(Plane(model.ground.point(), model.ground.y))
    Ff = model.input("Ff")
    model.load(Force(carrier.point(), (-Ff, 0.0, 0.0)))  # Bo, in the body that does not turn
    model.load(Torque(B, (0.0, 0.0, -r * Ff)))
    return model, r
