"""The picture, the text and the tables of a model say what was declared."""

import xml.etree.ElementTree as ET

import kane
from kane import Model, Revolute
from kane.model.picture.drawing import graph_text, html, tables

SVG = "{http://www.w3.org/2000/svg}"


def branched() -> Model:
    m = Model("tree & twig")
    a, b, c = (m.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0)) for name in ("A<1>", "B", "C"))
    shoulder = m.connect(m.ground, a, Revolute("q1"))
    m.connect(a, b, Revolute("q2"))
    m.connect(a, c, Revolute(2 * shoulder.q, axis="x"), name="follower")
    m.load(kane.Motor(shoulder, m.input("tau")))
    m.parameter("L", 0.25)
    return m


def test_the_text_is_a_tree_with_every_body_behind_its_joint():
    lines = graph_text(branched()).splitlines()
    assert lines == [
        "ground",
        "└─ Revolute(q1) ─ A<1>",
        "   ├─ Revolute(q2) ─ B",
        "   └─ Revolute(2*q1) ─ C",
    ]
    assert str(branched()) == "\n".join(lines)


def test_constraints_and_speeds_of_choice_stand_below_the_tree_and_in_tables():
    m = branched()
    q2 = m.connections[1]
    m.constrain(q2.q - 0.5 * m.connections[0].q, name="belt")
    m.speeds(w1=m.rate("q1"), w2=q2.qdot + m.rate("q1"), dependent=["w2"])
    assert graph_text(m).splitlines()[4:] == ["constraint: belt", "speeds: w1, w2", "dependent: w2"]
    assert tables(m)["Constraints"][1] == [("belt", "belt")]
    assert [name for name, _ in tables(m)["Speeds"][1]] == ["w1", "w2"]


def test_a_body_that_hangs_on_nothing_is_said_to():
    m = branched()
    m.body("loose", mass=1.0)
    assert graph_text(m).splitlines()[-1] == "loose (not connected)"
    assert "loose" in kane.draw(m)


def test_the_picture_has_a_box_for_each_body_and_a_line_for_each_joint_and_none_overlap():
    m = kane.library.random_tree(3, 12)
    picture = ET.fromstring(kane.draw(m))
    boxes = picture.findall(f"{SVG}rect")
    assert len(boxes) == len(m.bodies)
    assert len(picture.findall(f"{SVG}path")) == len(m.connections)
    corners = {(float(b.get("x", 0)), float(b.get("y", 0))) for b in boxes}
    assert len(corners) == len(boxes)
    assert all(float(b.get("x", 0)) + float(b.get("width", 0)) <= float(picture.get("width", 0)) for b in boxes)


def test_names_are_escaped_in_the_page():
    page = branched()._repr_html_()
    assert "A&lt;1&gt;" in page
    assert "<h3>tree &amp; twig</h3>" in page
    assert "A<1>" not in page


def test_the_tables_hold_every_body_joint_load_and_symbol():
    found = tables(branched())
    assert [row[0] for row in found["Bodies"][1]] == ["A<1>", "B", "C"]
    assert found["Joints"][1][2] == ("follower", "Revolute", "A<1>", "C", "2*q1", "")
    assert found["Loads"][1] == [("Motor", "q1")]
    assert found["Symbols"][1] == [("L", "parameter", "0.25"), ("tau", "input", "0")]
    assert html(branched()).count("<table>") == 4
