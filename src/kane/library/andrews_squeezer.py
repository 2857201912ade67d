"""Andrews' squeezing mechanism: seven bodies in three loops, a benchmark for solvers."""

from __future__ import annotations

from kane.model.constraints import Coincidence
from kane.model.joints import Revolute
from kane.model.loads import Motor, PointSpring
from kane.model.model import Model

# Lengths [m]: A, B and C are points of the ground, the others are distances on the bodies.
A, B, C = (-0.06934, -0.00227, 0.0), (-0.03635, 0.03273, 0.0), (0.014, 0.072, 0.0)
D, DA, E, EA, RR, RA = 0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092
SS, SA, SB, SC, SD = 0.035, 0.01874, 0.01043, 0.018, 0.02
TA, TB, U, UA, UB, ZF, ZT, FA = 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421
# Mass [kg], moment of inertia [kg m^2] and mass centre [m] of K1 to K7.
SQUEEZER_BODIES = {
    "K1": (0.04325, 2.194e-6, (RA, 0.0, 0.0)),
    "K2": (0.00365, 4.410e-7, (-DA, 0.0, 0.0)),
    "K3": (0.02373, 5.255e-6, (SB, -SA, 0.0)),
    "K4": (0.00706, 5.667e-7, (0.0, EA - E, 0.0)),
    "K5": (0.07050, 1.169e-5, (TA, -TB, 0.0)),
    "K6": (0.00706, 5.667e-7, (ZF - FA, 0.0, 0.0)),
    "K7": (0.05498, 1.912e-5, (-UB, -UA, 0.0)),
}
# Parent, coordinate and position in the parent [m] of each joint about z.
SQUEEZER_JOINTS = {
    "K1": ("ground", "beta", (0.0, 0.0, 0.0)),
    "K2": ("K1", "theta", (RR, 0.0, 0.0)),
    "K3": ("ground", "gamma", B),
    "K5": ("ground", "delta", A),
    "K4": ("K5", "phi", (ZT, 0.0, 0.0)),
    "K7": ("ground", "epsilon", A),
    "K6": ("K7", "omega", (0.0, -U, 0.0)),
}
# Points of K3, K4 and K6 that coincide with the end of K2 [m].
MEET = {"K3": (0.0, -SS, 0.0), "K4": (0.0, -E, 0.0), "K6": (ZF, 0.0, 0.0)}
# Initial angles of the test set, which close the loops; the mechanism starts at rest [rad].
ANDREWS_START = {
    "beta": -0.0617138900142764496358948458001,
    "theta": 0.0,
    "gamma": 0.455279819163070380255912382449,
    "phi": 0.222668390165885884674473185609,
    "delta": 0.487364979543842550225598953530,
    "omega": -0.222668390165885884674473185609,
    "epsilon": 1.23054744454982119249735015568,
}


def andrews_squeezer() -> Model:
    """Return a model of seven bodies in the plane x-y, driven by a constant torque on K1.

    A spring connects K3 to the ground at C. As in the source, q = (beta, theta, gamma, phi, delta, omega, epsilon)
    [rad]; ``ANDREWS_START`` is the source's start at rest. The ends of K3, K4 and K6 coincide with the end of K2, which
    gives three loops and leaves one degree of freedom. There is no gravity.

    Parameters: stiffness c0 [N/m] and unloaded length l0 [m] of the spring. Input: torque mom on K1 [N m]. The source
    does not always define on which side of its line a mass centre is; only the forces in bearings A and B depend on
    this.

    Source: Hairer & Wanner, Solving Ordinary Differential Equations II, VII.7; Schiehlen (ed.), Multibody Systems
        Handbook, 1990; the test set for IVP solvers of Bari, problem Andrews.
    """
    model = Model("andrews_squeezer", gravity=(0.0, 0.0, 0.0))
    N = model.ground
    bodies = {"ground": N} | {
        name: model.body(name, mass=mass, inertia=(0.0, moment, moment), com=com)
        for name, (mass, moment, com) in SQUEEZER_BODIES.items()
    }
    joints = {
        name: model.connect(bodies[parent], bodies[name], Revolute(coordinate, axis="z"), at=at)
        for name, (parent, coordinate, at) in SQUEEZER_JOINTS.items()
    }
    model.coordinates(*ANDREWS_START)
    end = bodies["K2"].point((-D, 0.0, 0.0))
    for name, at in MEET.items():
        model.constrain(Coincidence(bodies[name].point(at), end, along=[N.x, N.y]), name=f"{name}_on_K2")
    model.load(Motor(joints["K1"], model.input("mom", 0.033)))
    stiffness, rest = model.parameter("c0", 4530.0), model.parameter("l0", 0.07785)
    model.load(PointSpring(bodies["K3"].point((SD, -SC, 0.0)), N.point(C), stiffness, rest))
    return model
