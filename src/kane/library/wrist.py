"""The spherical robot wrist of Gillespie 2003."""

from __future__ import annotations

from kane.model.joints import Revolute
from kane.model.loads import Force, Torque
from kane.model.model import Model


def wrist() -> Model:
    """Return a wrist of massless links A, B and a body C on three intersecting axes.

    A turns about n3 by q1, B about b2 by q2, C about c3 by q3; u_i = dq_i/dt (Eq. 48). n1 is vertical, upwards.
    Inputs: the torque T1, T2, T3 [N m] on C and the force F1, F2, F3 [N] at its mass centre, both along c1, c2, c3.
    Parameters: mass M [kg], distance L [m] of the mass centre along c3, central moments of inertia I1, I2, I3
    [kg m^2], acceleration of free fall G [m/s^2]. The paper has no numbers; the defaults are chosen here.

    Source: Gillespie 2003, Example 2, Fig. 3.
    """
    model = Model("wrist")
    defaults = {"M": 2.0, "L": 0.2, "I1": 0.03, "I2": 0.04, "I3": 0.02, "G": 9.81}
    M, L, I1, I2, I3, G = (model.parameter(name, value) for name, value in defaults.items())
    model.gravity = (-G, 0.0, 0.0)
    A, B = (model.body(name, mass=0.0) for name in "AB")
    C = model.body("C", mass=M, inertia=(I1, I2, I3), com=(0.0, 0.0, L))
    axes = ((model.ground, A, "z"), (A, B, "y"), (B, C, "z"))
    for i, (P, Q, axis) in enumerate(axes, start=1):
        model.connect(P, Q, Revolute(f"q{i}", axis=axis))
    model.speeds(u1=model.rate("q1"), u2=model.rate("q2"), u3=model.rate("q3"))
    torque = [model.input(f"T{i}") for i in (1, 2, 3)]
    force = [model.input(f"F{i}") for i in (1, 2, 3)]
    model.load(Torque(C, torque, expressed_in=C))
    model.load(Force(C.point((0.0, 0.0, L)), force, expressed_in=C))
    return model


def wrist_measure_numbers() -> Model:
    """Return the wrist with u_i = w_NC . c_i: kinematics as in Eq. (50), dynamical equations as in Eq. (49).

    These speeds are singular at sin q2 = 0.

    Source: Gillespie 2003, Example 2, Eqs. 49-50.
    """
    model = wrist()
    C = model.bodies[-1]
    w = C.angular_velocity
    model.speeds(u1=w.dot(C.x), u2=w.dot(C.y), u3=w.dot(C.z))
    return model
