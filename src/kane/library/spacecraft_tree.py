"""The five-body spacecraft of Stoneking 2008."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.model.joints import Gimbal, Prismatic, Revolute, Spherical
from kane.model.model import Model

# Mass [kg] and central inertia xx yy zz xy xz yz [kg m^2]. The paper has no numbers; these are chosen here.
SPACECRAFT_BODIES: dict[str, tuple[float, tuple[float, ...]]] = {
    "B1": (500.0, (180.0, 220.0, 150.0, 4.0, -3.0, 6.0)),
    "B2": (20.0, (1.5, 1.2, 2.0, 0.1, 0.0, -0.05)),
    "B3": (80.0, (12.0, 10.0, 8.0, 0.4, -0.2, 0.3)),
    "B4": (15.0, (6.0, 0.4, 6.2, 0.0, 0.1, 0.0)),
    "B5": (10.0, (0.5, 0.7, 0.6, 0.02, 0.0, -0.03)),
}
# Inner body, outer body, and position of the joint from the mass centre of the inner and of the outer body [m].
SPACECRAFT_JOINTS: dict[str, tuple[str, str, tuple[float, float, float], tuple[float, float, float]]] = {
    "G1": ("B1", "B2", (0.9, 0.1, 0.6), (-0.2, 0.0, -0.5)),
    "G2": ("B1", "B3", (-0.2, 0.1, -0.8), (0.1, 0.0, 0.5)),
    "G3": ("B3", "B4", (0.0, 0.4, 0.1), (0.05, -1.2, 0.0)),
    "G4": ("B3", "B5", (0.1, -0.4, -0.2), (0.0, 0.3, 0.1)),
}


def spacecraft_tree(gravity: Sequence[Any] = (0.0, 0.0, 0.0)) -> Model:
    """Return a free-flying tree of five bodies: B2 (joint G1) and B3 (G2) on B1, B4 (G3) and B5 (G4) on B3.

    G1 is a 2-1-3 gimbal (G1_1, G1_2, G1_3 [rad]), G2 a ball (quaternion of B3 in B1), G3 a hinge about axis 2, G4 a 1-2
    gimbal. Body frames have their origins at the mass centres. The generalized speeds are the paper's, in its order:
    angular velocity of the root B1 in root axes, joint speeds, velocity of the root's mass centre in inertial axes. The
    coordinates have the same order; the root's position x, y, z [m] is last.

    The paper defines the tree and the joints (its "B_l" is B1) but has no numbers. Masses, inertias and positions of
    the joints are chosen here.

    Args:
        gravity: acceleration of free fall [m/s^2]; default zero.

    Source: Stoneking 2008, "Example Problem" and "From 3-space to State Space".
    """
    model = Model("spacecraft_tree", gravity=gravity)
    # The root slides along inertial axes, so that its speeds are the measure numbers of its velocity in N.
    below = model.ground
    for axis in "xy":
        carrier = model.body(f"root_{axis}", mass=0.0)
        model.connect(below, carrier, Prismatic(axis, axis=axis))
        below = carrier
    last = model.body("root_z", mass=0.0)
    model.connect(below, last, Prismatic("z", axis="z"))
    bodies = {name: model.body(name, mass=mass, inertia=inertia) for name, (mass, inertia) in SPACECRAFT_BODIES.items()}
    model.connect(last, bodies["B1"], Spherical("root"))
    joints = {
        "G1": Gimbal("G1", sequence="213"),
        "G2": Spherical("G2"),
        "G3": Revolute("G3", axis="y"),
        "G4": Gimbal("G4", sequence="12"),
    }
    for name, (inner, outer, at, child_at) in SPACECRAFT_JOINTS.items():
        model.connect(bodies[inner], bodies[outer], joints[name], at=at, child_at=child_at, name=name)
    order = ("root", *SPACECRAFT_JOINTS)
    by_name = {c.name: c.coordinate_names for c in model.connections}
    model.coordinates(*(q for name in order for q in by_name[name]), "x", "y", "z")
    return model
