"""The shopping cart of Gillespie 2003, with a free caster and with a stuck caster."""

from __future__ import annotations

from kane.expression.node import Expr
from kane.model.constraints import NoSkid
from kane.model.joints import Planar, Revolute
from kane.model.loads import Force, Torque
from kane.model.model import Model
from kane.model.shapes import Box, Disk


def shopping_cart() -> Model:
    """Return a model of a basket B on two wheels with a free caster C: four coordinates, three speeds, u3 dependent.

    The coordinates q1, q2 [m] locate P1, midway between the back wheels. The angle from n1 to b1 is q3, the angle from
    b1 to c1 is q4 [rad]. The speeds are u1 = v_P1 . b1 [m/s], u2 = w_NB . n3 and u3 = w_NC . n3 [rad/s]. The constraint
    v_P1 . b2 = 0 of the back wheels determines the fourth rate, and v_P3 . c2 = 0 of the caster wheel makes u3
    dependent.

    Inputs: a force F b1 at P1 [N] and a moment tau b3 on B [N m]. Lengths: L1 from P1 to Bo, L2 from P1 to the caster
    axis P2, L3 from P3 to P2 [m]. Further parameters: mass mB [kg] and central moment of inertia IB [kg m^2] of B about
    the vertical, mass mC of the particle at P3 [kg]. The paper has no numbers; the defaults are chosen here.

    Source: Gillespie 2003, Example 3, Fig. 4, Eqs. 51-63.
    """
    model, speeds = _cart("shopping_cart")
    model.speeds(**speeds, dependent=("u3",))
    return model


def stuck_shopping_cart() -> Model:
    """Return the same cart with a stuck caster, dq4/dt = 0: u2 and u3 are dependent. L3 = L2 cos q4 is singular.

    Source: Gillespie 2003, Example 3, Eqs. 64-67, corrected: mB for "Mb" in Eq. 66, a positive u1 u2 term in Eq. 67.
    """
    model, speeds = _cart("stuck_shopping_cart")
    model.constrain(model.rate("q4"), name="sticking")
    model.speeds(**speeds, dependent=("u2", "u3"))
    return model


def _cart(name: str) -> tuple[Model, dict[str, Expr]]:
    """Return the model with its wheels, and the definitions of its speeds."""
    model = Model(name)
    defaults = {"L1": 0.4, "L2": 0.7, "L3": 0.08, "mB": 20.0, "mC": 1.5, "IB": 2.0}
    L1, L2, L3, mB, mC, IB = (model.parameter(key, value) for key, value in defaults.items())
    B = model.body("B", mass=mB, inertia=(IB, IB, IB), com=(L1, 0.0, 0.0))
    C = model.body("C", mass=mC, com=(-L3, 0.0, 0.0))
    model.connect(model.ground, B, Planar(("q1", "q2", "q3")), name="plane")
    model.connect(B, C, Revolute("q4", axis="z"), at=(L2, 0.0, 0.0))
    B.shape(Box(0.75, 0.5, 0.4), at=(0.375, 0.0, 0.4))
    for side in (-0.25, 0.25):
        B.shape(Disk(B.point((0.0, side, 0.08)), B.y, 0.08))
    C.shape(Disk(C.point((-L3, 0.0, 0.08)), C.y, 0.08))
    P1, P3, n3 = B.point(), C.point((-L3, 0.0, 0.0)), model.ground.z
    model.constrain(NoSkid(P1, B.y), name="back wheels")
    model.constrain(NoSkid(P3, C.y), name="caster wheel")
    model.load(Force(P1, (model.input("F"), 0.0, 0.0), expressed_in=B))
    model.load(Torque(B, (0.0, 0.0, model.input("tau"))))
    speeds = {
        "u1": P1.velocity.dot(B.x),
        "u2": B.angular_velocity.dot(n3),
        "u3": C.angular_velocity.dot(n3),
    }
    return model, speeds
