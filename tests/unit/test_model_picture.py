"""What a picture of a model contains: boxes, lines, roads, and words; where they are, not how they look."""

import re
import xml.etree.ElementTree as ET

import pytest

import kane
from kane import Model, Revolute, library
from kane.model.picture.kinematic_graph import loops, restrictions
from kane.model.picture.picture import CONSTRAINT_COLOUR, draw

SVG = "{http://www.w3.org/2000/svg}"
PAGE = 1000.0  # pixels; what a notebook and a page of a paper are wide
MODELS = {
    **{
        f.__name__: f
        for f in (
            library.four_bar,
            library.stewart_platform,
            library.andrews_squeezer,
            library.whipple_bicycle,
            library.mobile_manipulator,
            library.bricard,
            library.flyball_governor,
            library.shopping_cart,
            library.stanford_arm,
        )
    },
    "chain of 30": lambda: library.chain(30),
    "eight windows": lambda: library.n_four_bar(8),
    "tree": lambda: library.random_tree(5, 40),
}


def numbers(element, *names):
    return [float(element.get(name)) for name in names]


def boxes(picture):
    return [numbers(box, "x", "y", "width", "height") for box in picture.findall(f"{SVG}rect")]


def lines(picture):
    """The straight pieces of the lines between boxes, and whether they are of a constraint."""
    for path in picture.findall(f"{SVG}path[@shape-rendering]"):
        x = y = 0.0
        for letter, rest in re.findall(r"([MHV])([-\d. ]+)", path.get("d")):
            place = [float(word) for word in rest.split()]
            after = {"M": place, "H": [place[0], y], "V": [x, place[-1]]}[letter]
            if letter != "M":
                yield (x, y), tuple(after), path.get("stroke") == CONSTRAINT_COLOUR
            x, y = after


def words(picture):
    return [text.text for text in picture.findall(f"{SVG}text")]


def round_bodies():
    """A ball, which may roll, on a plate that turns about x."""
    m = Model("plate")
    plate, ball = (m.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0)) for name in ("plate", "ball"))
    m.connect(m.ground, plate, Revolute("q1", axis="x"))
    m.connect(plate, ball, kane.Free("ball"))
    return m, plate, ball


@pytest.mark.parametrize("name", MODELS)
def test_every_body_and_every_constraint_is_in_the_picture_and_nothing_lies_across_a_box(name):
    model = MODELS[name]()
    picture = ET.fromstring(draw(model))
    shown, found = words(picture), boxes(picture)
    frames = {cut.child.name for cut in model.cuts}
    assert {b.name for b in model.bodies} - frames <= set(shown)
    assert not frames & set(shown)  # the massless frame of a cut joint is not what the user declared
    said = " ".join(shown)
    for constraint in model.constraints:
        assert constraint.name in said or constraint.name.startswith("closure of")
    width, height = numbers(picture, "width", "height")
    for k, (x, y, w, h) in enumerate(found):
        assert 0.0 < x < x + w < width
        assert 0.0 < y < y + h < height
        assert not [b for b in found[:k] if abs(b[1] - y) < h and x < b[0] + b[2] and b[0] < x + w]
        for (x0, y0), (x1, y1), _ in lines(picture):
            beside = max(x0, x1) <= x + 1 or min(x0, x1) >= x + w - 1
            assert beside or max(y0, y1) <= y + 1 or min(y0, y1) >= y + h - 1


@pytest.mark.parametrize("name", MODELS)
def test_lines_of_constraints_and_of_joints_never_run_along_each_other(name):
    """Two that share a stretch cannot be told apart. Those of joints may: they begin at one body."""
    pieces = list(lines(ET.fromstring(draw(MODELS[name]()))))
    for k, (a, b, red) in enumerate(pieces):
        for c, d, other in pieces[:k]:
            for along, across in ((0, 1), (1, 0)):
                level = a[across] == b[across] == c[across] == d[across]
                shared = min(max(a[along], b[along]), max(c[along], d[along])) - max(
                    min(a[along], b[along]), min(c[along], d[along])
                )
                assert not (level and shared > 0.0 and (red or other))


@pytest.mark.parametrize("name", ["chain of 30", "tree", "stewart_platform", "whipple_bicycle"])
def test_pictures_are_no_wider_than_a_page_and_keep_their_proportions(name):
    picture = ET.fromstring(draw(MODELS[name]()))
    width, height = numbers(picture, "width", "height")
    assert width <= PAGE
    assert width / 8.0 < height < 3.0 * width
    assert numbers(picture, "width", "height") == [float(x) for x in picture.get("viewBox").split()[2:]]


def test_a_long_chain_goes_on_from_a_dashed_box_that_repeats_the_body():
    picture = ET.fromstring(draw(library.chain(30)))
    dashed = [b for b in picture.findall(f"{SVG}rect") if b.get("stroke-dasharray")]
    left = min(x for x, *_ in boxes(picture))
    assert len(dashed) >= 2
    assert all(float(b.get("x")) == left for b in dashed)
    repeated = [name for name in set(words(picture)) if words(picture).count(name) == 2]
    assert len(repeated) == len(dashed)


def test_a_joint_that_closes_a_loop_is_a_line_between_its_bodies_with_its_kind():
    model = library.bricard()
    assert {tuple(b.name for b in bodies): w for bodies, w in loops(model).items()} == {
        ("ground", "bar5"): ["Revolute(q6)"]
    }
    picture = ET.fromstring(draw(model))
    assert "Revolute(q6)" in words(picture)
    assert len(boxes(picture)) == 6
    assert any(red for *_, red in lines(picture))


def joined(model):
    return {tuple(b.name for b in bodies): names for bodies, names in restrictions(model).items()}


def test_wheels_that_roll_stand_on_a_hatched_line():
    model = library.whipple_bicycle()
    assert joined(model) == {
        ("ground", "rear wheel"): ["rear wheel on the road"],
        ("ground", "front wheel"): ["front wheel on the road"],
    }
    picture = ET.fromstring(draw(model))
    roads = [p for p in picture.findall(f"{SVG}path") if p.get("stroke") == CONSTRAINT_COLOUR]
    assert len(roads) == 2
    assert not any(red for *_, red in lines(picture))


def test_equations_of_a_carrier_and_a_rate_are_about_the_wheel():
    """As the manipulator writes them: the velocity is the platform's, the rate the wheel's."""
    found = joined(library.mobile_manipulator())
    assert found["ground", "w0"] == ["rolling of w0 along x", "rolling of w0 along y"]
    assert found["ground", "w1"] == ["no slip of w1"]


def test_what_rolls_on_a_moving_body_is_joined_to_it_and_not_to_the_ground():
    m, plate, ball = round_bodies()
    m.constrain(kane.Rolling(kane.Sphere(ball.point(), 0.1), kane.Plane(plate.point(), plate.z)), name="rolls")
    assert joined(m) == {("plate", "ball"): ["rolls"]}
    assert not [p for p in ET.fromstring(draw(m)).findall(f"{SVG}path") if " l-4 5" in p.get("d")]


def test_bodies_held_by_the_ground_and_coordinates_that_are_held_differ():
    m, _plate, ball = round_bodies()
    m.constrain(ball.point().position.dot(m.ground.z) - 0.1, name="height")
    m.constrain(kane.Prescribed(m.connections[0], kane.sin(m.time)), name="driven")
    assert joined(m) == {("ground", "ball"): ["height"], ("plate",): ["driven"]}
    picture = ET.fromstring(draw(m))
    assert len([p for p in picture.findall(f"{SVG}path") if " l-4 5" in p.get("d")]) == 1
    assert {"height", "driven"} <= set(words(picture))


def test_constraints_of_a_joint_that_closes_a_loop_are_drawn_where_it_closes():
    model = library.bricard()
    (cut,) = model.cuts
    model.constrain(kane.Prescribed(cut, kane.sin(model.time)), name="driven")
    model.constrain(cut.child.point().position.dot(model.bodies[2].x) - 0.1, name="of its frame")
    assert ("bar5",) in joined(model)
    assert all("q6_M" not in bodies for bodies in joined(model))
    assert {"driven", "Revolute(q6)"} <= set(words(ET.fromstring(draw(model))))


def test_constraints_that_have_no_value_at_a_made_up_state_are_drawn():
    m, plate, ball = round_bodies()
    x = ball.point().position.dot(m.ground.x) - plate.point().position.dot(m.ground.x)
    m.constrain(kane.sqrt(x - 100.0), name="root")
    assert joined(m) == {("plate", "ball"): ["root"]}


def test_a_model_without_bodies_is_drawn():
    assert words(ET.fromstring(draw(Model("nothing")))) == ["ground"]
