"""What public objects print is true, and readable."""

import pytest

import kane
from kane.expression.interpret import evaluate


def arm():
    m = kane.Model("arm", gravity=(0, 0, -9.81))
    L = m.parameter("L", 0.5)
    a, b = m.body("A", mass=3.0, com=(L / 2, 0, 0)), m.body("B", mass=2.0)
    shoulder = m.connect(m.ground, a, kane.Revolute("q1", axis="z"))
    base = m.connect(a, b, kane.Free("base"))
    return m, L, a, b, shoulder, base


def test_rates_and_speeds_of_joints_print_as_what_they_are():
    _, _, _, _, shoulder, base = arm()
    assert repr(shoulder.q) == "q1"
    assert repr(shoulder.qdot) == "q1'"
    assert repr(shoulder.speeds[0]) == "q1'"  # the same, whatever generalized speed is called u1
    assert repr(base.qdot[0]) == "base_qw'"
    assert repr(base.speeds[0]) == "base_wx"
    assert repr(base["base_x"]) == "base['base_x']"


def test_measures_and_what_they_are_made_of_print_as_one_types_them():
    m, L, a, b, shoulder, _ = arm()
    typed = [
        "B.x", "B.direction((1, 2, 3))", "B.point()", "B.point((L, 0.3, 0))", "B.point((L, 0, 0)).velocity",
        "B.angular_velocity", "A.x.dot(B.y)", "B.angular_velocity.dot(A.direction((1, L, 0)))",
        "B.point((L, 0.3, 0)).velocity.dot(A.x)", "A.point().position.dot(N.z)",
    ]  # fmt: skip
    names = {"A": a, "B": b, "N": m.ground, "L": L}
    for text in typed:
        assert repr(eval(text, {}, names)) == text.replace("N.", "ground."), text
    assert repr(shoulder.reaction_force) == "q1.reaction_force"
    assert repr(shoulder.reaction_torque.dot(a.x)).startswith("[q1 Tx]*A.x.dot(A.x)")


def test_two_measures_of_one_expression_can_be_given_values():
    m, _, a, b, _, _ = arm()
    w, v = a.angular_velocity.dot(a.z), b.point().velocity.dot(m.ground.x)
    values = {"A.angular_velocity.dot(A.z)": 2.0, "B.point().velocity.dot(ground.x)": 3.0}
    assert evaluate(w - v, values) == -1.0


def test_a_model_says_its_name_and_how_much_there_is_of_what():
    m, _, a, b, shoulder, _ = arm()
    assert repr(m) == "<Model 'arm': 2 bodies, 2 joints>"
    m.load(kane.Damper(shoulder, 0.1))
    imposed = m.constrain(kane.Distance(a.point(), b.point(), 1.0))
    assert repr(m) == "<Model 'arm': 2 bodies, 2 joints, 1 load, 1 constraint>"
    assert repr(imposed) == "<Constraint 'distance of points of A and B': length>"
    assert repr(kane.Model("empty")) == "<Model 'empty': 0 bodies>"


def test_the_table_of_loads_says_between_which_bodies_a_spring_pulls():
    m, _, a, b, _, _ = arm()
    m.load(kane.PointSpring(a.point(), b.point(), 10.0))
    assert "<td>PointSpring</td><td>A, B</td>" in m._repr_html_()


def test_messages_name_a_measure_as_it_is_typed():
    m, _, a, _, _, _ = arm()
    with pytest.raises(kane.ModelError, match=r"depends on A\.angular_velocity\.dot\(A\.z\);"):
        m.body("C", mass=1.0, com=(a.angular_velocity.dot(a.z), 0, 0))


def test_a_speed_of_choice_named_like_that_of_a_joint_is_told_from_it():
    m, _, _, _, shoulder, base = arm()
    m.speeds(u1=2.0 * shoulder.speeds[0], **{f"w{k}": w for k, w in enumerate(base.speeds)})
    assert "<td>u1</td><td>2*q1&#x27;</td>" in m._repr_html_()
    assert "<td>w0</td><td>base_wx</td>" in m._repr_html_()


def test_equations_of_constraints_print_as_equations():
    m = kane.Model("rail")
    a = m.body("A", mass=1.0)
    x = m.connect(m.ground, a, kane.Planar("p"))
    m.constrain(x.q[1] - 0.5 * x.q[0], name="rail")
    (equation,) = kane.formulate(m).constraints
    assert repr(equation) == "<Equation 'rail': p_y_dot - 0.5*p_x_dot = 0, derivative of p_y - 0.5*p_x = 0>"


def test_rotations_print_as_one_types_them():
    m, L, _, _, shoulder, _ = arm()
    q1, names = shoulder.q, {"Rotation": kane.Rotation, "q1": shoulder.q, "L": L}
    general = kane.Rotation.quaternion(0.5, 0.5, -0.5, 0.5) @ kane.Rotation.about((0.6, 0.0, 0.8), 0.3)
    for rotation in (
        kane.Rotation.identity(),
        kane.Rotation.about("z", q1),
        kane.Rotation.about("x", 0.3) @ kane.Rotation.about("y", q1 - L),
        general,
    ):
        typed = eval(repr(rotation), {}, names)
        for ours, theirs in zip(typed.entries, rotation.entries, strict=True):
            assert [m.arena.lift(x) for x in ours] == [m.arena.lift(x) for x in theirs]
