"""Watt's flyball governor, with rigid couplers and with elastic couplers."""

from __future__ import annotations

from collections.abc import Callable

from kane.library.rods import bar
from kane.model.body import Point
from kane.model.constraints import Distance
from kane.model.joints import Prismatic, Revolute, Weld
from kane.model.loads import Motor, PointDamper, PointSpring
from kane.model.model import Model

# Length and width of shaft and rods, edge of the sleeve, length of the couplers [m]; density [kg/m^3], ball [kg].
ROD_LENGTH, ROD_WIDTH, SLEEVE_EDGE, COUPLER_LENGTH = 1.0, 0.01, 0.1, 0.5
DENSITY, BALL_MASS = 3000.0, 5.0
BAR_MASS, SLEEVE_MASS = DENSITY * ROD_LENGTH * ROD_WIDTH * ROD_WIDTH, DENSITY * SLEEVE_EDGE**3


def flyball_governor() -> Model:
    """Return a shaft along z, two rods with balls that hang from its top, and a sleeve lifted by two rigid couplers.

    Coordinates: angle q1 of the shaft, angles q2 and q3 of the rods from straight down [rad], height q4 of the sleeve
    on the shaft [m]. The massless couplers keep a distance of 0.5 m from the middle of each rod to the sleeve. The
    loops are closed at q2 = q3 = pi/3 and q4 = 0.5, where the benchmark starts with the shaft at 2 pi rad/s. Parameter:
    acceleration of free fall g along -z [m/s^2]. Input: torque T on the shaft [N m].

    Source: Gonzalez, Dopico, Lugris & Cuadrado 2006: benchmark A05, with couplers of infinite stiffness.
    """
    model = Model("flyball_governor")

    def hold(P: Point, Q: Point, side: str) -> None:
        model.constrain(Distance(P, Q, COUPLER_LENGTH), name=f"{side}_coupler")

    return _governor(model, hold)


def stiff_flyball_governor() -> Model:
    """Return ``flyball_governor`` with springs and dampers as couplers: a stiff system without constraints.

    Additional parameters: stiffness k [N/m] and damping c [N s/m] of each coupler.

    Source: Gonzalez, Dopico, Lugris & Cuadrado 2006: benchmark A05.
    """
    model = Model("stiff_flyball_governor")
    k, c = model.parameter("k", 8e5), model.parameter("c", 4e4)

    def hold(P: Point, Q: Point, side: str) -> None:
        model.load(PointSpring(P, Q, k, COUPLER_LENGTH))
        model.load(PointDamper(P, Q, c))

    return _governor(model, hold)


def _governor(model: Model, hold: Callable[[Point, Point, str], None]) -> Model:
    """Add shaft, sleeve and rods; ``hold`` adds a coupler between two points."""
    g = model.parameter("g", 9.81)
    model.gravity = (0.0, 0.0, -g)
    shaft = bar(model, "shaft", BAR_MASS, ROD_LENGTH, ROD_WIDTH, axis=2)
    model.load(Motor(model.connect(model.ground, shaft, Revolute("q1", axis="z")), model.input("T")))
    rods = []
    for coordinate, name, x, axis in (
        ("q2", "right", 0.5 * SLEEVE_EDGE, "-y"),
        ("q3", "left", -0.5 * SLEEVE_EDGE, "y"),
    ):
        rod = bar(model, name, BAR_MASS, -ROD_LENGTH, ROD_WIDTH, axis=2)
        model.connect(shaft, rod, Revolute(coordinate, axis=axis), at=(x, 0.0, ROD_LENGTH))
        model.connect(rod, model.body(f"{name}_ball", mass=BALL_MASS), Weld(), at=(0.0, 0.0, -ROD_LENGTH))
        rods.append((rod, x))
    sleeve = model.body("sleeve", mass=SLEEVE_MASS, inertia=[SLEEVE_MASS * SLEEVE_EDGE**2 / 6.0] * 3)
    model.connect(shaft, sleeve, Prismatic("q4", axis="z"))
    for rod, x in rods:
        hold(rod.point((0.0, 0.0, -0.5 * ROD_LENGTH)), sleeve.point((x, 0.0, 0.0)), rod.name)
    return model
