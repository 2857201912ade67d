"""Scenes: mechanisms with simulated operators, ready to run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kane import library
from kane.deferred import NamedTuple
from kane.dynamics.build import build
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.formulation.formulate import formulate
from kane.haptics.coupling.coupler import Coupler
from kane.haptics.devices.device import Device
from kane.haptics.devices.pointer import Pointer
from kane.haptics.devices.simulated import Arm, Simulated
from kane.haptics.safety.coupler_limits import coupler_limits
from kane.model.body import Point
from kane.model.contacts import Coulomb
from kane.model.joints import Free, Prismatic, Revolute
from kane.model.loads import Damper
from kane.model.model import Model
from kane.model.shapes import Box, Plane, Sphere

# A desktop device moves a cart of metres: ten metres per metre of the device, a twentieth of the force.
SCALE, FORCE_SCALE = 10.0, 0.05
# Stiffness and damping of couplers, relative to the stability limit and to the damping of ``coupler_limits``.
STABLE_FRACTION = 0.1
# Radius of the ball, thickness of the walls [m].
SCENE_BALL_RADIUS, WALL_THICKNESS = 0.012, 0.004
DRAGGED_BOX_SIZE = (0.1, 0.08, 0.06)  # m
MINUTE = 60.0  # duration of a scene with the mouse [s]
PUSH = [
    (0.0, 0.0, 0.0, 0.0),
    (0.5, 0.0, 0.0, 0.0),
    (1.5, 0.05, 0.02, 0.0),
    (3.0, 0.05, 0.02, 0.0),
    (4.0, 0.03, -0.03, 0.0),
    (6.0, 0.08, 0.03, 0.0),
]


class HandScene(NamedTuple):
    """Arguments of ``Session``, and the duration of the scene [s]."""

    dyn: Dynamics
    hand: Device
    coupler: Coupler
    q: Any
    seconds: float


def pushed_cart() -> HandScene:
    """Return Gillespie's Example 3: a person pushes, steers and pulls the shopping cart at its back.

    The bearing of the caster has dry friction, so that the caster sticks and slips.

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
        stiffness=STABLE_FRACTION * limits.stable,
        damping=0.5 * limits.damping,
        scale=SCALE,
        force_scale=FORCE_SCALE,
        axes="xy",
    )
    return HandScene(dyn, hand, coupler, np.array([0.0, 0.0, 0.0, 0.3]), 8.0)


def stirred(model: Model, handle: Point) -> HandScene:
    """Return a scene in which an operator moves a point of any mechanism on a small circle in the x-y plane."""
    turns = np.linspace(0.0, 4 * np.pi, 161)
    path = [(0.5 + 0.025 * k, 0.02 * (1 - np.cos(a)), 0.02 * np.sin(a), 0.0) for k, a in enumerate(turns)]
    hand = Simulated(quantum=2e-5, delay=1e-3, arm=Arm(mass=1.0, damping=10.0, stiffness=300.0, path=path))
    limits = coupler_limits(hand)
    coupler = Coupler(handle, stiffness=STABLE_FRACTION * limits.stable, damping=STABLE_FRACTION * limits.damping)
    return HandScene(build(formulate(model)), hand, coupler, None, 5.0)


def ball_in_a_box() -> HandScene:
    """Return a scene in which an operator shakes a ball in a box of 10 cm; the ball bounces off the walls."""
    m = Model("ball_in_a_box", gravity=(0.0, 0.0, 0.0))
    slider, ball = m.body("slider", mass=0.0), m.body("ball", mass=0.2)
    joints = m.connect(m.ground, slider, Prismatic("x", axis="x")), m.connect(slider, ball, Prismatic("y", axis="y"))
    for joint in joints:
        m.stop(joint, lower=-0.05, upper=0.05, restitution=0.6)
    ball.shape(Sphere(ball.point(), SCENE_BALL_RADIUS))
    for side in (-1.0, 1.0):
        across, thick = 0.05 + SCENE_BALL_RADIUS + 0.5 * WALL_THICKNESS, 0.1 + 2 * SCENE_BALL_RADIUS
        height = 2 * SCENE_BALL_RADIUS
        m.ground.shape(Box(WALL_THICKNESS, thick + 2 * WALL_THICKNESS, height), at=(side * across, 0.0, 0.0))
        m.ground.shape(Box(thick, WALL_THICKNESS, height), at=(0.0, side * across, 0.0))
    return _shaken(m, ball.point(), 0.08)


def crank() -> HandScene:
    """Return a scene in which an operator turns a crank against its stop."""
    m = Model("crank", gravity=(0.0, -9.81, 0.0))
    arm = m.body("crank", mass=0.3, inertia=(1e-4, 1e-3, 1e-3), com=(0.05, 0.0, 0.0))
    joint = m.connect(m.ground, arm, Revolute("angle", axis="z"))
    m.load(Damper(joint, 0.01))
    arm.shape(Box(0.1, 0.012, 0.012), at=(0.05, 0.0, 0.0))
    arm.shape(Sphere(arm.point((0.1, 0.0, 0.0)), 0.01))
    m.stop(joint, lower=-0.5, upper=0.5, restitution=0.3)
    return _shaken(m, arm.point((0.1, 0.0, 0.0)), 0.07)


def dragged_box() -> HandScene:
    """Return a scene in which an operator drags a free box over a rough floor by an upper corner, and lifts one end.

    Four corners are contacts with static friction above kinetic friction. Ticks without a consistent contact mode are
    Moreau-Jean time steps.
    """
    m, mass = Model("dragged_box", gravity=(0.0, 0.0, -9.81)), 0.5
    moments = [mass / 12 * (sum(x * x for x in DRAGGED_BOX_SIZE) - x * x) for x in DRAGGED_BOX_SIZE]
    body = m.body("box", mass=mass, inertia=moments)
    m.connect(m.ground, body, Free("box"))
    floor = Plane(m.ground.point(), m.ground.z)
    m.contact(body.shape(Box(*DRAGGED_BOX_SIZE)), floor, friction=Coulomb(0.5, 0.4), name="floor")
    path = [(0.3, 0, 0, 0), (1, 0.2, 0.1, 0), (1.8, 0, 0.15, 0.03), (2.4, -0.1, -0.1, 0), (3.2, 0, 0, 0)]
    hand = Simulated(quantum=2e-5, delay=1e-3, arm=Arm(mass=0.5, damping=8.0, stiffness=250.0, path=path))
    limits = coupler_limits(hand)
    corner = body.point([0.5 * size for size in DRAGGED_BOX_SIZE])
    fraction = 3 * STABLE_FRACTION
    coupler = Coupler(corner, stiffness=fraction * limits.stable, damping=fraction * limits.damping)
    return HandScene(build(formulate(m)), hand, coupler, {"box_z": 0.5 * DRAGGED_BOX_SIZE[2]}, 4.0)


def _shaken(model: Model, handle: Point, way: float) -> HandScene:
    """Return a scene with an operator who moves the handle along x and y with the amplitude ``way`` [m]."""
    path = [(0.0, 0, 0, 0), (0.5, 0, 0, 0), (0.9, way, 0, 0), (1.5, -way, way, 0), (2.1, 0, -way, 0), (2.7, 0, 0, 0)]
    hand = Simulated(quantum=2e-5, delay=1e-3, arm=Arm(mass=0.5, damping=8.0, stiffness=250.0, path=path))
    limits = coupler_limits(hand)
    stiffness, damping = STABLE_FRACTION * limits.stable, STABLE_FRACTION * limits.damping
    coupler = Coupler(handle, stiffness=stiffness, damping=damping, axes="xy")
    return HandScene(build(formulate(model)), hand, coupler, None, 3.2)


def held_by_mouse(scene: HandScene) -> HandScene:
    """Return the scene with the mouse of a page as the operator, and a stiffer coupler, as the mouse feels no force."""
    soft = scene.coupler
    coupler = replace(soft, stiffness=soft.stiffness / STABLE_FRACTION, damping=soft.damping / STABLE_FRACTION)
    return scene._replace(hand=Pointer(), coupler=coupler, seconds=MINUTE)


SCENES = {"shopping_cart": pushed_cart, "ball_in_a_box": ball_in_a_box, "crank": crank, "dragged_box": dragged_box}


def make_hand_scene(name: str) -> HandScene:
    """Return the scene of this name.

    Raises:
        ModelError: the name is unknown.
    """
    if name not in SCENES:
        raise ModelError(f"there is no scene {name!r}; the scenes are {', '.join(SCENES)}, other models need a handle")
    return SCENES[name]()
