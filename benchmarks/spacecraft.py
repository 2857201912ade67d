"""A spacecraft of a free hub and four bodies on two-axis gimbals, as a kane model and as a Pinocchio model."""

from typing import Any

import numpy as np

import kane
from benchmarks.peers.pinocchio_models import pinocchio

# mass [kg], principal inertia about the mass centre [kg m^2]
HUB = (500.0, (200.0, 250.0, 300.0))
RING = (5.0, (0.1, 0.1, 0.1))
APPENDAGE = (50.0, (20.0, 30.0, 40.0))
# Where each gimbal sits on the hub [m], the axis of its outer joint; the inner axis is z. The appendage's mass centre
# lies twice as far out, seen from the gimbal, as the gimbal does from the hub's.
GIMBALS = (((1.0, 0.0, 0.0), "y"), ((-1.0, 0.0, 0.0), "y"), ((0.0, 1.0, 0.0), "x"), ((0.0, -1.0, 0.0), "x"))
OUTWARD = 2.0


def _centre(at: tuple[float, float, float]) -> tuple[float, float, float]:
    x, y, z = at
    return OUTWARD * x, OUTWARD * y, OUTWARD * z


def model() -> kane.Model:
    """Described to kane: 14 freedoms, no gravity."""
    spacecraft = kane.Model("spacecraft", gravity=(0.0, 0.0, 0.0))
    hub = spacecraft.body("hub", mass=HUB[0], inertia=HUB[1])
    spacecraft.connect(spacecraft.ground, hub, kane.Free("hub"))
    for k, (at, axis) in enumerate(GIMBALS):
        ring = spacecraft.body(f"ring{k}", mass=RING[0], inertia=RING[1])
        appendage = spacecraft.body(f"appendage{k}", mass=APPENDAGE[0], com=_centre(at), inertia=APPENDAGE[1])
        spacecraft.connect(hub, ring, kane.Revolute(f"g{k}_outer", axis=axis), at=at)
        spacecraft.connect(ring, appendage, kane.Revolute(f"g{k}_inner", axis="z"))
    return spacecraft


def peer_model() -> Any:
    """Described to Pinocchio.

    Raises:
        PeerMissingError: Pinocchio is not installed.
    """
    pin = pinocchio()
    spacecraft, here = pin.Model(), pin.SE3.Identity()
    spacecraft.gravity.linear = np.zeros(3)
    hub = spacecraft.addJoint(0, pin.JointModelFreeFlyer(), here, "hub")
    spacecraft.appendBodyToJoint(hub, _inertia(HUB, np.zeros(3)), here)
    for k, (at, axis) in enumerate(GIMBALS):
        kind = getattr(pin, f"JointModelR{axis.upper()}")
        ring = spacecraft.addJoint(hub, kind(), pin.SE3(np.eye(3), np.array(at)), f"g{k}_outer")
        spacecraft.appendBodyToJoint(ring, _inertia(RING, np.zeros(3)), here)
        appendage = spacecraft.addJoint(ring, pin.JointModelRZ(), here, f"g{k}_inner")
        spacecraft.appendBodyToJoint(appendage, _inertia(APPENDAGE, np.array(_centre(at))), here)
    return spacecraft


def _inertia(numbers: tuple[float, tuple[float, float, float]], centre: Any) -> Any:
    return pinocchio().Inertia(numbers[0], centre, np.diag(numbers[1]))
