"""The Stanford Arm of Kane & Levinson 1983."""

from __future__ import annotations

from typing import Any

from kane.errors import ModelError
from kane.expression.functions import cos, sin
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.model.joints import Prismatic, Revolute
from kane.model.loads import Motor
from kane.model.model import Model

# Appendix 3: lengths L1, ..., L6 [m]; mass [kg] and central principal moments [kg m^2] of A, ..., F; g [m/s^2].
LENGTHS = {"L1": 0.1, "L2": 0.6, "L3": 0.2, "L4": 0.1, "L5": 0.7, "L6": 0.06}
STANFORD_BODIES = {
    "A": (9.0, (0.01, 0.02, 0.01)),
    "B": (6.0, (0.06, 0.01, 0.05)),
    "C": (4.0, (0.4, 0.01, 0.4)),
    "D": (1.0, (0.0005, 0.001, 0.001)),
    "E": (0.6, (0.0005, 0.0002, 0.0005)),
    "F": (0.5, (0.001, 0.002, 0.003)),
}
STANFORD_GRAVITY = 9.81


def stanford_arm() -> Model:
    """Return the arm with the paper's coordinates q1, ..., q6: q6 [m] is the slide, the others are angles [rad].

    A turns about the vertical n2 by q1, B about b1 by q2, C slides along c2 by q6, D turns about d2 by q3, E about e1
    by q4, F about f2 by q5. Each joint has a motor, with inputs tau1, ..., tau5 [N m] and sigma [N]. The inner body
    acts on the outer, positive along the coordinate. The paper's tau2, ..., tau5 and sigma have the opposite sign,
    which ``stanford_arm_feedback`` takes into account.

    Source: Kane & Levinson 1983, Fig. 2 and Appendix 3. All data are literals, so that they fold into constants.
    """
    model = Model("stanford_arm", gravity=(0.0, -STANFORD_GRAVITY, 0.0))
    L = LENGTHS
    bodies = {
        name: model.body(name, mass=mass, inertia=inertia, com=(0.0, {"E": L["L6"], "F": L["L3"]}.get(name, 0.0), 0.0))
        for name, (mass, inertia) in STANFORD_BODIES.items()
    }
    A, B, C, D, E, F = bodies.values()
    joints = (
        model.connect(model.ground, A, Revolute("q1", axis="y")),
        model.connect(A, B, Revolute("q2", axis="x"), at=(L["L1"], L["L4"], 0.0)),
        model.connect(B, C, Prismatic("q6", axis="y")),
        model.connect(C, D, Revolute("q3", axis="y"), at=(0.0, L["L5"], 0.0)),
        model.connect(D, E, Revolute("q4", axis="x"), at=(0.0, L["L2"] - L["L5"], 0.0)),
        model.connect(E, F, Revolute("q5", axis="y")),
    )
    model.coordinates("q1", "q2", "q3", "q4", "q5", "q6")
    names = sorted(c.name for c in joints)
    efforts = {name: model.input("sigma" if name == "q6" else f"tau{name[1]}") for name in names}
    for c in joints:
        model.load(Motor(c, efforts[c.name]))
    return model


def stanford_arm_feedback(model: Model, **gains: float) -> dict[str, Expr]:
    """Return the feedback laws of Eqs. 128-133 for the inputs of ``stanford_arm``, by input name.

    They move the arm to q1 = ... = q5 = pi/3, q6 = 0.1 m in about 10 s. Start from q2 = pi/2: q2 = 0 is singular in the
    paper's speeds, and "q_r(0) = 0 for all r" contradicts its own Fig. 3.

    Args:
        model: model from ``stanford_arm``.
        gains: k1, ..., k12 to replace the paper's values [N m/rad, N m s/rad; k11 in N/m, k12 in N s/m], and targets
            q1, ..., q6 [rad; q6 in m].

    Raises:
        ModelError: a gain is unknown, or the model has other joints.

    Source: Kane & Levinson 1983, Eqs. 128-133; all but tau1 with the sign reversed, see ``stanford_arm``.
    """
    values = (3.0, 5.0, 1.0, 3.0, 0.3, 0.6, 0.3, 0.6, 0.25, 0.25, 30.0, 41.0)
    k: dict[str, Any] = {f"k{i}": value for i, value in enumerate(values, start=1)}
    target = {**{f"q{i}": 1.0471975511965976 for i in range(1, 6)}, "q6": 0.1}
    unknown = sorted(set(gains) - set(k) - set(target))
    if unknown:
        raise ModelError(f"there are no gains named {', '.join(unknown)}; there are k1, ..., k12 and q1, ..., q6")
    k.update({name: value for name, value in gains.items() if name in k})
    target.update({name: value for name, value in gains.items() if name in target})
    require(model, Model, "this takes a model from stanford_arm")
    joint = {c.name: c for c in model.connections}
    if not joint.keys() >= target.keys():
        raise ModelError(f"{model.name!r} has no joints q1, ..., q6; give a model from stanford_arm")
    q: dict[str, Any] = {name: joint[name].q for name in target}
    v: dict[str, Any] = {name: joint[name].qdot for name in target}
    m = {name: mass for name, (mass, _) in STANFORD_BODIES.items()}
    g, L = STANFORD_GRAVITY, LENGTHS
    s2, c2, s3, c3 = sin(q["q2"]), cos(q["q2"]), sin(q["q3"]), cos(q["q3"])
    s4, c4 = sin(q["q4"]), cos(q["q4"])
    hand = m["E"] * L["L6"] + m["F"] * L["L3"]

    def servo(i: int, stiffness: str, damping: str) -> Any:
        return k[stiffness] * (q[f"q{i}"] - target[f"q{i}"]) + k[damping] * v[f"q{i}"]

    outer = (m["C"] + m["D"]) * q["q6"] * s2 + m["D"] * L["L5"] * s2 + (m["E"] + m["F"]) * (q["q6"] + L["L2"]) * s2
    return {
        "tau1": -servo(1, "k1", "k2"),
        "tau2": -(servo(2, "k3", "k4") + g * (outer + hand * (c4 * s2 + c3 * s4 * c2))),
        "tau3": -(servo(3, "k5", "k6") - g * hand * s2 * s3 * s4),
        "tau4": -(servo(4, "k7", "k8") + g * hand * (c2 * s4 + s2 * c3 * c4)),
        "tau5": -servo(5, "k9", "k10"),
        "sigma": -(servo(6, "k11", "k12") - g * (m["C"] + m["D"] + m["E"] + m["F"]) * c2),
    }
