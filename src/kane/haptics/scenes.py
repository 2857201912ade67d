"""Mechanisms in the hands of simulated people, ready to run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kane import library
from kane.dynamics.build import build
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.formulation.formulate import formulate
from kane.haptics.coupler import Coupler
from kane.haptics.devices.device import Device
from kane.haptics.devices.simulated import Arm, Simulated
from kane.haptics.limits import coupler_limits
from kane.model.body import Point
from kane.model.model import Model

# A hand of a desktop device moves a cart of metres: ten metres there for one here, a twentieth of the force.
SCALE, FORCE_SCALE = 10.0, 0.05
# Of the stiffness up to which the free handle is stable, and of the damping that goes with it.
SHARE = 0.1
PUSH = [
    (0.0, 0.0, 0.0, 0.0),
    (0.5, 0.0, 0.0, 0.0),
    (1.5, 0.05, 0.02, 0.0),
    (3.0, 0.05, 0.02, 0.0),
    (4.0, 0.03, -0.03, 0.0),
    (6.0, 0.08, 0.03, 0.0),
]


class HandScene(NamedTuple):
    """What ``Session`` takes, and for how long it is worth a look [s]."""

    dyn: Dynamics
    hand: Device
    coupler: Coupler
    q: Any
    seconds: float


def pushed_cart() -> HandScene:
    """Gillespie's Example 3 whole: a person pushes the shopping cart at its back, steers and pulls; the caster, whose
    bearing has dry friction, sticks and is free again.

    Source: Gillespie 2003, Example 3, Fig. 4.
    """
    m = library.shopping_cart()
    (caster,) = (c for c in m.connections if "q4" in c.coordinate_names)
    m.stick(caster, static=0.3, kinetic=0.24)
    dyn = build(formulate(m))
    (basket,) = (body for body in m.bodies if body.name == "B")
    arm = Arm(mass=1.0, damping=10.0, stiffness=300.0, path=PUSH)
    hand = Simulated(rate=1000.0, mass=0.1, damping=0.1, quantum=2e-5, delay=1e-3, arm=arm)
    limits = coupler_limits(hand, scale=SCALE, force_scale=FORCE_SCALE)
    coupler = Coupler(
        basket.point((-0.1, 0.0, 0.0)),
        stiffness=SHARE * limits.stable,
        damping=0.5 * limits.damping,
        scale=SCALE,
        force_scale=FORCE_SCALE,
        axes="xy",
    )
    return HandScene(dyn, hand, coupler, np.array([0.0, 0.0, 0.0, 0.3]), 8.0)


def stirred(model: Model, handle: Point) -> HandScene:
    """Any mechanism, of which a hand moves a point on a small circle in the plane of x and y of the ground."""
    turns = np.linspace(0.0, 4 * np.pi, 161)
    path = [(0.5 + 0.025 * k, 0.02 * (1 - np.cos(a)), 0.02 * np.sin(a), 0.0) for k, a in enumerate(turns)]
    hand = Simulated(quantum=2e-5, delay=1e-3, arm=Arm(mass=1.0, damping=10.0, stiffness=300.0, path=path))
    limits = coupler_limits(hand)
    coupler = Coupler(handle, stiffness=SHARE * limits.stable, damping=SHARE * limits.damping)
    return HandScene(build(formulate(model)), hand, coupler, None, 5.0)


SCENES = {"shopping_cart": pushed_cart}


def scene_of(name: str) -> HandScene:
    """The scene of this name.

    Raises:
        ModelError: there is none.
    """
    if name not in SCENES:
        raise ModelError(f"there is no scene {name!r}: those are {', '.join(SCENES)}; other models need a handle")
    return SCENES[name]()
