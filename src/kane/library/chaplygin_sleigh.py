"""Chaplygin's sleigh: a body on a plane with one knife edge."""

from __future__ import annotations

from kane.model.constraints import NoSkid
from kane.model.joints import Planar
from kane.model.model import Model
from kane.model.shapes import Box


def chaplygin_sleigh() -> Model:
    """Return a sleigh on a horizontal plane with a knife edge at P, along its x axis, that does not skid.

    Coordinates: x, y of P [m], heading angle [rad]. The speeds are u1 = v_P . x [m/s] along the edge, and u2 [rad/s]
    about the vertical; the knife edge determines the third rate. Parameters: distance a of the mass centre ahead of P
    [m], mass m [kg], central moment of inertia I about the vertical [kg m^2].

        u1dot = a u2^2,   (I + m a^2) u2dot = -m a u1 u2

    Source: Chaplygin 1911; Neimark & Fufaev 1972, ch. 2.
    """
    model = Model("chaplygin_sleigh")
    a, m, I = (model.parameter(name, value) for name, value in (("a", 0.3), ("m", 2.0), ("I", 0.1)))
    sleigh = model.body("sleigh", mass=m, inertia=(I, I, I), com=(a, 0.0, 0.0))
    model.connect(model.ground, sleigh, Planar(("x", "y", "angle")), name="plane")
    sleigh.shape(Box(0.7, 0.3, 0.06), at=(0.25, 0.0, 0.09))
    sleigh.shape(Box(0.12, 0.01, 0.06), at=(0.0, 0.0, 0.03))
    P = sleigh.point()
    model.constrain(NoSkid(P, sleigh.y), name="knife edge")
    model.speeds(u1=P.velocity.dot(sleigh.x), u2=sleigh.angular_velocity.dot(sleigh.z))
    return model
