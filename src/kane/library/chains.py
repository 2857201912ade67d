"""Chains and pendulums of any length."""

from __future__ import annotations

from kane.errors import ModelError, shown
from kane.expression.functions import cos, sin
from kane.expression.node import Expr
from kane.geometry.scalars import Triple
from kane.model.body import Body
from kane.model.joints import CustomJoint, Prismatic, Revolute
from kane.model.loads import Motor
from kane.model.model import Model


def chain(n: int = 6) -> Model:
    """Return a chain of n equal bodies on revolute joints 0.1 m apart, with axes x, y, z in turn and motors.

    Each body has 1 kg, its mass centre at (0.01, 0.02, 0.05) m, and the central inertia diag(2, 3, 1) g m^2. Gravity
    is along -z. Coordinates q1, q2, ... [rad], inputs tau1, tau2, ... [N m].
    """
    _require_positive(n)
    model = Model(f"chain{n}")
    parent = model.ground
    for i in range(n):
        body = model.body(f"B{i + 1}", mass=1.0, inertia=(2e-3, 3e-3, 1e-3), com=(0.01, 0.02, 0.05))
        joint = Revolute(f"q{i + 1}", axis="xyz"[i % 3])
        connection = model.connect(parent, body, joint, at=(0.0, 0.0, 0.1 if i else 0.0))
        model.load(Motor(connection, model.input(f"tau{i + 1}")))
        parent = body
    return model


def n_link_pendulum(n: int = 3) -> Model:
    """Return a cart on a line along x with n point masses on massless links of length l below it.

    Coordinates: position q1 of the cart [m], angles q2, q3, ... of each link to the previous link [rad]. Parameters:
    cart mass mc, bob mass m [kg], link length l [m], acceleration of free fall g [m/s^2]. Input: force F on the cart
    [N].
    """
    _require_positive(n)
    model, parent, m, l = _pushed_cart(f"pendulum{n}")
    for i in range(n):
        link = model.body(f"link{i + 1}", mass=m, com=(0.0, -l, 0.0))
        model.connect(parent, link, Revolute(f"q{i + 2}", axis="z"), at=(0.0, -l, 0.0) if i else (0.0, 0.0, 0.0))
        parent = link
    return model


def n_link_pendulum_to_vertical(n: int = 3) -> Model:
    """Return the pendulum of ``n_link_pendulum`` with q2, q3, ... [rad] as the angle of each link to the vertical.

    Every bob moves on a circle about the previous bob, p = (l sin q, -l cos q), without rotation; the massless links
    are not bodies. M and bias take a third fewer operations than with relative angles.
    """
    _require_positive(n)
    model, parent, m, l = _pushed_cart(f"pendulum{n}_to_vertical")

    def on_circle(q: Expr) -> Triple:
        return l * sin(q), -l * cos(q), 0.0

    for i in range(n):
        bob = model.body(f"bob{i + 1}", mass=m)
        model.connect(parent, bob, CustomJoint(f"q{i + 2}", position=on_circle))
        parent = bob
    return model


def _pushed_cart(name: str) -> tuple[Model, Body, Expr, Expr]:
    """Return a model with the cart, the cart, the mass of a bob and the length of a link."""
    model = Model(name)
    mc, m, l, g = (model.parameter(name, value) for name, value in (("mc", 1.0), ("m", 1.0), ("l", 1.0), ("g", 9.81)))
    model.gravity = (0.0, -g, 0.0)
    cart = model.body("cart", mass=mc)
    slider = model.connect(model.ground, cart, Prismatic("q1", axis="x"))
    model.load(Motor(slider, model.input("F")))
    return model, cart, m, l


def _require_positive(n: int) -> None:
    if not isinstance(n, int) or n < 1:
        raise ModelError(f"the number of links must be a whole number of at least 1, not {shown(n)}")
