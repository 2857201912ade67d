"""Enclosures of expressions: wheel loads, tip-over margins and reactions, against samples and closed forms."""

import math

import numpy as np
import pytest

import kane
from kane.expression.interpret import interpret

pytest.importorskip("flint", reason="python-flint, extra certify")

SAMPLES = 2000


@pytest.fixture(scope="module")
def platform():
    """The mobile manipulator of Tanner & Kyriakopoulos 2001, its wheel loads and its tip-over measure and angles."""
    model = kane.library.mobile_manipulator()
    equations = kane.formulate(model)
    wheels = kane.library.platform_wheels(model)
    platform = next(b for b in model.bodies if b.name == "platform")
    forces = kane.wheel_forces(equations, wheels)
    tip = kane.tip_over(equations, wheels, [platform, *(w.turn.child for w in wheels)])
    angles = {f"angle {name}": x for name, x in tip.angles.items()}
    margins = {f"slip {name}": x for name, x in forces.slip_margins(0.7).items()}
    return kane.build(equations), {**forces.load, "measure": tip.measure, **angles, **margins}


def sampled(equations, outputs, box, **values):
    """Values of expressions at random states of a box, (outputs, samples)."""
    random = np.random.default_rng(0)
    leaves = {leaf.name: leaf for leaf in (equations.t, *equations.q, *equations.u, *equations.inputs)}
    known = {leaf: values.get(name, 0.0) for name, leaf in leaves.items()}
    known |= {leaf: equations.defaults[leaf.name] for leaf in equations.parameters}
    known |= {leaves[name]: random.uniform(low, high, SAMPLES) for name, (low, high) in box.items()}
    return np.array([np.broadcast_to(x, SAMPLES) for x in interpret(list(outputs.values()), known)])


@pytest.mark.parametrize("width", [1e-3, 0.1])
def test_samples_of_wheel_loads_and_tip_over_margins_are_inside(platform, width):
    dyn, outputs = platform
    box = {"q1": (0.4 - width, 0.4 + width), "q2": (0.3 - width, 0.3 + width), "u5": (2.0 - width, 2.0 + width)}
    found = kane.enclose(dyn, box, inputs=np.zeros(len(dyn.equations.inputs)), outputs=outputs)
    values = sampled(dyn.equations, outputs, box)
    assert ((found.low[:, None] <= values) & (values <= found.high[:, None])).all()
    if width < 0.01:  # the same factor as for torques of arms
        assert (found.high - found.low <= 3.0 * np.ptp(values, axis=1)).all()
    assert dict(zip(found.names, found.units, strict=True))["w0"] == "N"
    assert "[N]" in repr(found)


def pendulum():
    m = kane.Model("pendulum")
    bob = m.body("bob", mass=2.0, com=(0, 0, -3.0), inertia=(0.0, 0.0, 0.0))
    j = m.connect("ground", bob, kane.Revolute("q1", axis="y"))
    m.load(kane.Motor(j, m.input("T")))
    return kane.formulate(m)


def test_the_largest_tension_of_a_pendulum_is_the_closed_form():
    """The force along the rod is m (g cos q + l u^2): largest at q = 0 and the highest speed."""
    equations = pendulum()
    reactions = kane.reveal_reactions(equations, "q1")
    box = {"q1": (-0.5, 0.5), "u1": (1.0, 2.0)}
    found = kane.enclose(kane.build(equations), {**box, "T": (0.0, 0.0)}, outputs=reactions.forward, parts=200)
    low, high = found["q1 Fz"]
    least, most = 2.0 * (9.81 * math.cos(0.5) + 3.0 * 1.0), 2.0 * (9.81 + 3.0 * 4.0)
    assert low <= least <= most <= high
    assert high - low <= 1.1 * (most - least)


def test_accelerations_in_outputs_follow_from_the_equations():
    """u1' of the pendulum is -g sin(q) / l + T / (m l^2)."""
    equations = pendulum()
    box = {"q1": (0.2, 0.3), "T": (0.0, 1.0)}
    low, high = kane.enclose(kane.build(equations), box, outputs={"alpha": equations.udot[0]})["alpha"]
    least, most = -9.81 * math.sin(0.3) / 3.0, -9.81 * math.sin(0.2) / 3.0 + 1.0 / 18.0
    assert low <= least <= most <= high
    assert high - low <= 1.01 * (most - least)


def slider():
    m = kane.Model("slider")
    x = m.connect("ground", m.body("b", mass=1.0), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(x, 1.0))
    equations = kane.formulate(m)
    return x.q, kane.build(equations)


def test_kinks_have_the_mean_value_form():
    """x - min(x, 2 x + 2) vanishes for x > -2; ball arithmetic alone gives twice the width of the box."""
    x, dyn = slider()
    margin = x - kane.minimum(x, 2.0 * x + 2.0)
    assert kane.enclose(dyn, {"x": (0.0, 1.0)}, outputs={"y": margin}, parts=1)["y"] == pytest.approx((0, 0), abs=1e-12)
    for low, high in ((-2.5, -1.9), (-3.0, 2.0)):
        box = {"x": (low, high)}
        bounds = kane.enclose(dyn, box, outputs={"y": margin, "z": kane.absolute(x) - x}, parts=8)
        values = sampled(dyn.equations, {"y": margin, "z": kane.absolute(x) - x}, box)
        assert ((bounds.low[:, None] <= values) & (values <= bounds.high[:, None])).all()


@pytest.mark.parametrize("parts", [1, 5])
def test_an_angle_that_jumps_from_pi_to_minus_pi_is_enclosed(parts):
    """The mean value form alone would claim pi +- 0.2, which excludes the values near -pi."""
    x, dyn = slider()
    low, high = kane.enclose(dyn, {"x": (-0.2, 0.2)}, outputs={"angle": kane.atan2(x, -1.0)}, parts=parts)["angle"]
    assert low <= math.atan2(-0.2, -1.0) < math.atan2(0.2, -1.0) <= high
    low, high = kane.enclose(dyn, {"x": (-0.2, 0.2)}, outputs={"angle": kane.atan2(x, 1.0)})["angle"]
    assert low <= math.atan2(-0.2, 1.0) < math.atan2(0.2, 1.0) <= high < 0.21


def test_digits_of_an_angle_are_proved():
    m = kane.Model("angle")
    x = m.connect("ground", m.body("b", mass=1.0), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(x, kane.atan2(x.q, 2.0)))
    found = kane.digits(kane.build(kane.formulate(m)), q={"x": 0.3})
    assert found.values[0] == pytest.approx(math.atan2(0.3, 2.0), rel=1e-15)
    assert found.digits[0] > 15.0


def test_an_output_with_a_jump_leaves_the_others_sharp():
    x, dyn = slider()
    y = x * x - x * x * x
    bounds = kane.enclose(dyn, {"x": (0.5, 0.501)}, outputs={"jump": kane.select(x < 0.2, 1.0, 2.0), "y": y}, parts=1)
    assert bounds["jump"] == pytest.approx((2.0, 2.0))
    assert bounds["y"][1] - bounds["y"][0] < 3.0 * (0.5**2 - 0.5**3) * 1e-2


def test_wrong_outputs_are_refused(platform):
    dyn, outputs = platform
    x, _ = slider()
    with pytest.raises(kane.ModelError, match="give quantity= or outputs=, not both"):
        kane.enclose(dyn, {"q1": (0, 1)}, quantity="forward", outputs=outputs)
    with pytest.raises(kane.ModelError, match="outputs= is a dict of expressions by name"):
        kane.enclose(dyn, {"q1": (0, 1)}, outputs=["w0"])
    with pytest.raises(kane.ModelError, match="the output 'w0' is an expression"):
        kane.enclose(dyn, {"q1": (0, 1)}, outputs={"w0": "load"})
    with pytest.raises(kane.ModelError, match="the output 'x' belongs to another model"):
        kane.enclose(dyn, {"q1": (0, 1)}, outputs={"x": x})
    with pytest.raises(kane.ModelError, match="accelerations of outputs= follow from the equations"):
        kane.enclose(dyn, {"u4'": (0, 1)}, outputs=outputs)
    with pytest.raises(
        kane.ModelError, match="make the speed 'u1' dependent: it has no range; give ranges of u4, u5, u"
    ):
        kane.enclose(dyn, {"u1": (0, 1)}, quantity="inverse")
    crank = kane.formulate(kane.library.slider_crank())
    with pytest.raises(kane.ModelError, match="near="):
        kane.enclose(kane.build(crank), {"q1": (0, 1)}, outputs={"a": crank.udot[0]})
    joint = dyn.equations.model.connections[-1]
    with pytest.raises(kane.ModelError, match=r"depends on the reaction .*kane.reveal_reactions\(equations, ...\)"):
        kane.enclose(dyn, {"q1": (0, 1)}, outputs={"Fz": joint.reaction_force.dot(joint.child.z)})
