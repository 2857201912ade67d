"""The Gough-Stewart platform on six legs."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kane.expression.functions import cos, sin
from kane.expression.node import Expr
from kane.model.body import Point
from kane.model.constraints import Coincidence
from kane.model.joints import Free, Prismatic, Universal
from kane.model.loads import Motor
from kane.model.model import Model

PARAMETERS = {
    "rb": 1.0,
    "rp": 0.6,
    "eb": 0.2,
    "ep": 0.2,
    "M": 40.0,
    "Ix": 3.0,
    "Iz": 6.0,
    "m1": 2.0,
    "c1": 0.3,
    "J1": 0.06,
    "m2": 1.0,
    "c2": 0.3,
    "J2": 0.03,
    "g": 9.81,
}


def stewart_platform() -> Model:
    """Return a model of a platform on six legs, each with a universal joint on the base and a ball on the platform.

    The joint Free("platform") at the platform's mass centre has the first coordinates. Each leg i has the angles a_i,
    b_i about x and y [rad], 0 for an upright leg, and the length l_i [m] from universal joint to ball. There are 24
    speeds and 18 constraint equations, so 6 degrees of freedom. Inputs: thrusts F1, ..., F6 of the legs [N].

    Parameters: radii rb of the base and rp of the platform [m]. The joints are at the angles
    0, 120, 240 deg +- eb on the base and 60, 180, 300 deg +- ep on the platform [rad]. Mass M and moments Ix = Iy, Iz
    of the platform. Mass m1, distance c1 of the mass centre from the universal joint, and transverse central moment J1
    of the lower part of each leg. Mass m2, distance c2 from the ball, and moment J2 of the upper part. Acceleration of
    free fall g along -z. The defaults are chosen here.

    To find the legs for a pose of the platform, call ``kane.assemble(equations, q={"platform_z": 1.0, "l1": 1.0, ...},
    fixed=[...])`` with the platform's coordinates fixed.

    Source: Gough & Whitehall 1962; Stewart 1965.
    """
    model = Model("stewart_platform")
    p = {name: model.parameter(name, value) for name, value in PARAMETERS.items()}
    model.gravity = (0.0, 0.0, -p["g"])
    platform = model.body("platform", mass=p["M"], inertia=(p["Ix"], p["Ix"], p["Iz"]))
    model.connect(model.ground, platform, Free("platform"))
    for i in range(6):
        corner, side = 2.0 * math.pi / 3.0 * (i // 2), 1.0 if i % 2 else -1.0
        foot = model.ground.point(_on_circle(p["rb"], corner + side * p["eb"]))
        # Neighbouring joints on the base are connected to different corners of the platform.
        head = platform.point(_on_circle(p["rp"], corner + side * (math.pi / 3.0 - p["ep"])))
        _leg(model, i + 1, foot, head, p)
    return model


def _on_circle(radius: Expr, angle: Expr) -> tuple[Expr, Expr, float]:
    return radius * cos(angle), radius * sin(angle), 0.0


def _leg(model: Model, i: int, foot: Point, head: Point, p: Mapping[str, Expr]) -> None:
    """Add a leg of two bodies in line, which a motor pushes apart."""
    lower = model.body(f"lower{i}", mass=p["m1"], com=(0.0, 0.0, p["c1"]), inertia=(p["J1"], p["J1"], 0.0))
    upper = model.body(f"upper{i}", mass=p["m2"], com=(0.0, 0.0, -p["c2"]), inertia=(p["J2"], p["J2"], 0.0))
    model.connect(foot.body, lower, Universal((f"a{i}", f"b{i}"), "x", "y"), at=foot.position_in_body, name=f"foot{i}")
    slide = model.connect(lower, upper, Prismatic(f"l{i}", axis="z"))
    model.load(Motor(slide, model.input(f"F{i}")))
    model.constrain(Coincidence(upper.point(), head), name=f"ball{i}")
