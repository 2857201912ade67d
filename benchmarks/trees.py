"""Robots written down once, as plain numbers, for kane and for its peers alike."""

from dataclasses import dataclass
from math import cos, sin

import numpy as np
import numpy.typing as npt

GRAVITY = 9.81  # m/s^2
IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
Row = tuple[float, float, float]


@dataclass(frozen=True)
class Link:
    """A joint and the body it carries; joint frame and body frame coincide at zero.

    Attributes:
        name: of the joint and its coordinate.
        kind: "R" revolute or "P" prismatic.
        axis: "x", "y" or "z" of the joint frame.
        parent: index of the link carrying this one, -1 for the ground.
        position: origin of the joint frame in the parent's frame [m].
        rotation: of the joint frame relative to the parent's, by rows.
        mass: [kg]
        centre: mass centre in the body frame [m].
        inertia: about the mass centre in body axes: xx, yy, zz, xy, xz, yz [kg m^2].
    """

    name: str
    kind: str
    axis: str
    parent: int
    position: Row
    mass: float
    centre: Row
    inertia: tuple[float, float, float, float, float, float]
    rotation: tuple[Row, Row, Row] = IDENTITY


@dataclass(frozen=True)
class Tree:
    """Links, each after its parent, in uniform gravity [m/s^2]."""

    name: str
    links: tuple[Link, ...]
    gravity: Row = (0.0, 0.0, -GRAVITY)


def chain(n: int) -> Tree:
    """n revolute joints 0.1 m apart with axes x, y, z in turn; every body 1 kg with its mass centre off all axes."""
    links = tuple(
        Link(
            name=f"q{i + 1}",
            kind="R",
            axis="xyz"[i % 3],
            parent=i - 1,
            position=(0.0, 0.0, 0.1 if i else 0.0),
            mass=1.0,
            centre=(0.01, 0.02, 0.05),
            inertia=(2e-3, 3e-3, 1e-3, 0.0, 0.0, 0.0),
        )
        for i in range(n)
    )
    return Tree(f"chain {n}", links)


def general_arm(n: int) -> Tree:
    """n revolute joints with no special geometry: every length, angle and inertial number is generic.

    The joint frames follow the modified convention (z along the joint, x along the common normal), as Angeles' do.
    """
    random = np.random.default_rng(1988 + n)
    return Tree(f"general {n}R", tuple(_general_link(i, random) for i in range(n)))


def _general_link(i: int, random: np.random.Generator) -> Link:
    alpha, a, d = random.uniform(0.3, 1.2), random.uniform(0.1, 0.5), random.uniform(0.1, 0.5)
    root = random.uniform(-0.2, 0.2, (3, 3)) + 0.3 * np.eye(3)
    inertia = root @ root.T  # positive definite; the trace is raised so that the triangle inequality holds too
    inertia = np.trace(inertia) * np.eye(3) - inertia
    c, s = cos(alpha), sin(alpha)
    return Link(
        name=f"q{i + 1}",
        kind="R",
        axis="z",
        parent=i - 1,
        position=(a, -d * s, d * c),
        rotation=((1.0, 0.0, 0.0), (0.0, c, -s), (0.0, s, c)),
        mass=random.uniform(1.0, 5.0),
        centre=_row(random.uniform(-0.2, 0.2, 3)),
        inertia=_six(inertia),
    )


def _row(values: npt.NDArray[np.float64]) -> Row:
    return float(values[0]), float(values[1]), float(values[2])


def _six(inertia: npt.NDArray[np.float64]) -> tuple[float, float, float, float, float, float]:
    xx, xy, xz, _, yy, yz, _, _, zz = (float(value) for value in inertia.ravel())
    return xx, yy, zz, xy, xz, yz


def stanford_arm() -> Tree:
    """The Stanford Arm with the numbers of Kane & Levinson 1983; coordinates in the order q1 q2 q6 q3 q4 q5, y up."""
    arms = {"L1": 0.1, "L2": 0.6, "L3": 0.2, "L4": 0.1, "L5": 0.7, "L6": 0.06}
    rows = (
        ("q1", "R", "y", (0.0, 0.0, 0.0), 9.0, 0.0, (0.01, 0.02, 0.01)),
        ("q2", "R", "x", (arms["L1"], arms["L4"], 0.0), 6.0, 0.0, (0.06, 0.01, 0.05)),
        ("q6", "P", "y", (0.0, 0.0, 0.0), 4.0, 0.0, (0.4, 0.01, 0.4)),
        ("q3", "R", "y", (0.0, arms["L5"], 0.0), 1.0, 0.0, (0.0005, 0.001, 0.001)),
        ("q4", "R", "x", (0.0, arms["L2"] - arms["L5"], 0.0), 0.6, arms["L6"], (0.0005, 0.0002, 0.0005)),
        ("q5", "R", "y", (0.0, 0.0, 0.0), 0.5, arms["L3"], (0.001, 0.002, 0.003)),
    )
    links = tuple(
        Link(name, kind, axis, i - 1, position, mass, (0.0, height, 0.0), (*principal, 0.0, 0.0, 0.0))
        for i, (name, kind, axis, position, mass, height, principal) in enumerate(rows)
    )
    return Tree("Stanford Arm", links, gravity=(0.0, -GRAVITY, 0.0))
