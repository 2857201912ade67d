"""Planar four-bar linkages: a single one, and many in a row."""

from __future__ import annotations

from kane.errors import ModelError, shown
from kane.library.rods import thin_rod
from kane.model.constraints import Coincidence
from kane.model.joints import Revolute
from kane.model.loads import Motor
from kane.model.model import Model


def four_bar() -> Model:
    """Return a four-bar linkage of thin uniform rods in the plane x-y; the ends of coupler and rocker coincide.

    Angles [rad]: q1 of the crank from x, q2 from the crank to the coupler, q3 of the rocker from x.
    Parameters: lengths of crank a, coupler b, rocker c and ground d [m], mass per length mu [kg/m], acceleration of
    free fall g along -y [m/s^2]. Input: torque T on the crank [N m]. With the defaults the crank can make full turns:
    a + d < b + c (Grashof). ``kane.assemble(equations, q={"q1": 1.0, "q3": 1.5}, fixed=["q1"])`` closes the loop.
    """
    model = Model("four_bar")
    defaults = {"a": 0.3, "b": 0.9, "c": 0.7, "d": 1.0, "mu": 2.0, "g": 9.81}
    a, b, c, d, mu, g = (model.parameter(name, value) for name, value in defaults.items())
    N = model.ground
    model.gravity = (0.0, -g, 0.0)
    crank, coupler, rocker = (
        thin_rod(model, name, mu * length, length) for name, length in (("crank", a), ("coupler", b), ("rocker", c))
    )
    shaft = model.connect(N, crank, Revolute("q1", axis="z"))
    model.connect(crank, coupler, Revolute("q2", axis="z"), at=(a, 0.0, 0.0))
    model.connect(N, rocker, Revolute("q3", axis="z"), at=(d, 0.0, 0.0))
    ends = coupler.point((b, 0.0, 0.0)), rocker.point((c, 0.0, 0.0))
    model.constrain(Coincidence(*ends, along=[N.x, N.y]), name="loop")
    model.load(Motor(shaft, model.input("T")))
    return model


def n_four_bar(n: int = 3) -> Model:
    """Return n four-bar windows in a row: n + 1 uniform rods on the ground, with n couplers between their tops.

    Angles [rad]: a0, ..., an of the standing rods from the vertical y towards x; b1, ..., bn of the couplers relative
    to the rods at which they start. All angles are zero when the rods are upright and the loops closed. While the
    windows are parallelograms, b_i = -a_i. When all rods are along x, the degrees of freedom increase from 1 to n + 1
    for an instant. Parameters: length l [m] and mass m [kg] of each rod, acceleration of free fall g along -y [m/s^2].
    The benchmark starts upright with tops at 1 m/s along x: a_i' = 1 rad/s, b_i' = -1 rad/s.

    Source: Gonzalez, Dopico, Lugris & Cuadrado 2006: benchmark A02.
    """
    if not isinstance(n, int) or n < 1:
        raise ModelError(f"the number of windows must be a whole number of at least 1, not {shown(n)}")
    model = Model(f"n_four_bar{n}")
    l, m, g = (model.parameter(name, value) for name, value in (("l", 1.0), ("m", 1.0), ("g", 9.81)))
    N = model.ground
    model.gravity = (0.0, -g, 0.0)
    standing = [thin_rod(model, f"A{i}", m, l, axis=1) for i in range(n + 1)]
    for i, rod in enumerate(standing):
        model.connect(N, rod, Revolute(f"a{i}", axis="-z"), at=(i * l, 0.0, 0.0))
    for i in range(1, n + 1):
        coupler = thin_rod(model, f"B{i}", m, l)
        model.connect(standing[i - 1], coupler, Revolute(f"b{i}", axis="-z"), at=(0.0, l, 0.0))
        ends = coupler.point((l, 0.0, 0.0)), standing[i].point((0.0, l, 0.0))
        model.constrain(Coincidence(*ends, along=[N.x, N.y]), name=f"window{i}")
    return model
