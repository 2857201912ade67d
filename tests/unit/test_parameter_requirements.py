"""Masses, lengths and coefficients that are parameters: every call that takes values refuses the impossible by name.

Who vouches: which quantities of a body, a shape, a gear or a law of contact have a meaning is mechanics, not kane.
"""

import json

import numpy as np
import pytest

import kane
from kane.files.json_file import _checksum

Y = (0.0, 1.0, 0.0)


def planar(m, name="b", **given):
    """A body that moves in a plane, and its joint."""
    b = m.body(name, **{"mass": 1.0, "inertia": (0.1, 0.1, 0.1), **given})
    return b, m.connect(m.ground, b, kane.Planar((f"x{name}", f"y{name}", f"th{name}")))


def touching(m, b, radius=0.1, **law):
    floor = kane.Plane(m.ground.point((0, -1, 0)), m.ground.y)
    return m.contact(kane.Sphere(b.point(), radius), floor, name="c", **law)


def hinged(m, **limits):
    a, b = m.body("a", mass=1.0, inertia=(1, 1, 1)), m.body("b", mass=1.0, inertia=(1, 1, 1))
    one = m.connect(m.ground, a, kane.Revolute("q1", axis="x"))
    two = m.connect(a, b, kane.Revolute("q2", axis="x"), at=Y)
    return a, b, one, two


# What P is in a model: a declaration, its default, values that are refused, and words of the message.
KINDS = {
    "mass": (lambda m, P: planar(m, mass=P), 1.0, [-1.0, 0.0], "mass"),
    "sum of masses": (lambda m, P: planar(m, mass=2.0 - P), 1.0, [3.0], "the mass of body 'b' is -1"),
    "inertia": (lambda m, P: planar(m, inertia=(0.1, 0.1, P)), 0.1, [-1e-3], "principal moment of inertia of body 'b'"),
    "product of inertia": (lambda m, P: planar(m, inertia=(1, 1, 1, P, 0, 0)), 0.1, [1.5, -2.0], "inertia of body 'b'"),
    "radius of a sphere": (lambda m, P: touching(m, planar(m)[0], P), 0.1, [0.0, -0.1], "the radius of a Sphere is"),
    "shape for pictures": (lambda m, P: planar(m)[0].shape(kane.Box(P, 1, 1)), 0.1, [-0.1], "a length of a Box is"),
    "restitution": (lambda m, P: touching(m, planar(m)[0], restitution=P), 0.1, [-0.1, 1.1], "the restitution of 'c'"),
    "Newton's restitution": (
        lambda m, P: touching(m, planar(m)[0], restitution=kane.Newton(P)), 0.1, [1.1], "the restitution of 'c'",
    ),
    "friction": (lambda m, P: touching(m, planar(m)[0], friction=kane.Coulomb(P)), 0.1, [-0.1], "friction of 'c'"),
    "kinetic friction": (
        lambda m, P: touching(m, planar(m)[0], friction=kane.Coulomb(0.5, P)), 0.1, [0.6], "less the kinetic one",
    ),
    "friction of a joint": (lambda m, P: m.stick(hinged(m)[2], static=P), 0.1, [-0.1], "static friction of 'friction"),
    "stop": (lambda m, P: m.stop(hinged(m)[2], lower=-1.0, upper=P), 0.1, [-2.0], "travel of the stop of 'q1' is -1"),
    "distance": (
        lambda m, P: m.constrain(kane.Distance(hinged(m)[1].point(Y), m.ground.point((0, P, 0)), P)),
        1.0, [-0.1], "the length of a Distance is",
    ),
    "gear": (lambda m, P: m.constrain(kane.Gear(*hinged(m)[2:], P)), 2.0, [0.0], "the ratio of a Gear is 0"),
    "rope": (
        lambda m, P: m.constrain(kane.Rope([hinged(m)[1].point(Y), m.ground.point((0, 5, 0))], P)),
        3.0, [-1.0], "the length of a Rope is -1",
    ),
    "direction": (
        lambda m, P: m.constrain(kane.NoSkid(planar(m)[0].point(), m.bodies[1].direction((P, 0, 0)))),
        1.0, [0.0], "direction of body 'b'",
    ),
}  # fmt: skip


def built(kind):
    declare, default, refused, words = KINDS[kind]
    m = kane.Model("m", gravity=(0, -9.81, 0))
    declare(m, m.parameter("P", default))
    if len(m.bodies) == 1:
        planar(m)
    return kane.build(kane.formulate(m)), refused, words


CALLS = {
    "simulate": lambda dyn, q, given: kane.simulate(dyn, until=0.1, parameters=given),
    "simulate with an array": lambda dyn, q, given: kane.simulate(dyn, until=0.1, parameters=[given["P"]]),
    "Stepper": lambda dyn, q, given: kane.Stepper(dyn, parameters=given),
    "forward": lambda dyn, q, given: dyn.forward(q, q, t=0.0, parameters=given),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_is_refused_by_its_name_in_runs_and_calls(kind):
    dyn, refused, words = built(kind)
    q = np.zeros(len(dyn.equations.q))
    for value in refused:
        for call in CALLS.values():
            with pytest.raises(kane.ModelError, match=rf"(?s){words}.*P = {value:g}"):
                call(dyn, q, {"P": value})


def test_every_call_that_takes_parameters_checks_them():
    dyn, _, _ = built("mass")
    q, given = np.zeros(3), {"P": -2.0}
    data = kane.Measurements([0.0, 0.1], np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3)), forces=np.zeros((2, 3)))
    calls = (
        lambda: kane.simulate_many(dyn, until=0.1, q=np.zeros((2, 3)), parameters=given),
        lambda: kane.assemble(dyn, parameters=given),
        lambda: kane.identify(dyn, data, ["P"], start=given),
        lambda: kane.linearize(dyn, parameters=given),
        lambda: kane.draw3d(dyn, parameters=given),
        lambda: dyn.save_html("never_written.html", parameters=given),
        lambda: dyn.energy(q, q, parameters=given),
        lambda: dyn.mass_matrix(q, parameters=given),
        lambda: dyn.inverse(q, q, q, parameters=given),
        lambda: dyn.derivatives("forward", wrt=("q",))(q, q, parameters=given),
        lambda: dyn.forward(q, q, parameters={"P": np.array([1.0, 2.0, -2.0])}),
    )
    for call in calls:
        with pytest.raises(kane.ModelError, match="the mass of body 'b' is -2 with P = -2; give parameters with which"):
            call()


def test_what_is_substituted_for_good_is_checked_too():
    dyn, _, _ = built("mass")
    with pytest.raises(kane.ModelError, match=r"the mass of body 'b' is -2; give parameters"):
        kane.substitute(dyn.equations, P=-2.0)
    left = kane.substitute(built("sum of masses")[0].equations, P=1.5)
    assert left.parameters == ()
    assert kane.build(left).forward([0] * 3, [0] * 3)[1] == pytest.approx(-9.81, rel=1e-14)


def test_of_many_trajectories_the_impossible_one_fails_alone():
    dyn, _, _ = built("mass")
    many = kane.simulate_many(dyn, until=0.1, parameters={"P": np.array([1.0, -1.0, 0.0, 2.0])})
    assert sorted(many.failures) == [1, 2]
    assert "the mass of body 'b' is -1" in many.failures[1]
    assert "neither mass nor inertia with P = 0" in many.failures[2]
    assert many.q[3, -1, 1] == pytest.approx(-9.81 * 0.1**2 / 2.0, rel=1e-9)


def test_a_load_of_no_mass_on_a_body_that_has_one_is_possible():
    m = kane.Model("crane", gravity=(0, -9.81, 0))
    P = m.parameter("P", 2.0)
    b, _ = planar(m)
    load = m.body("load", mass=P, inertia=(0.0, 0.0, 0.1 * P))
    m.connect(b, load, kane.Weld(), at=(1.0, 0, 0))
    dyn = kane.build(kane.formulate(m))
    run = kane.simulate(dyn, until=0.1, parameters={"P": 0.0}, u=[0, 0, 2.0])
    assert run["thb"][-1] == pytest.approx(0.2, rel=1e-12)  # nothing but b turns, about its own mass centre
    with pytest.raises(kane.ModelError, match="the mass of body 'load' is -1"):
        kane.simulate(dyn, until=0.1, parameters={"P": -1.0})


def test_a_body_given_by_its_moments_may_have_any_of_them():
    """Values that ``identify`` finds give the measured motion together, and need not be of bodies one by one."""
    m = kane.Model("m")
    body = m.body("b", mass=1.0, inertia=(0.1, 0.2, 0.25))
    m.connect(m.ground, body, kane.Revolute("q1", axis="z"))
    dyn = kane.build(kane.formulate(kane.inertial_parameters(m)))
    assert dyn.forward([0.1], [0.0], parameters={"b_m": -1.0, "b_xx": -1.0}) == pytest.approx([0.0])


def test_a_nan_that_enters_comes_out_as_nan():
    for kind in ("mass", "inertia", "radius of a sphere"):
        dyn, _, _ = built(kind)
        q = np.zeros(len(dyn.equations.q))
        found = dyn.inverse(q, q, q + 1.0, parameters={"P": np.nan})
        assert np.isnan(found).any() == (kind != "radius of a sphere")


def test_defaults_that_cannot_be_are_refused_where_they_are_declared():
    m = kane.Model("m")
    P = m.parameter("P", -1.0)
    with pytest.raises(kane.ModelError, match="the mass of body 'b' is -1 with P = -1"):
        m.body("b", mass=P)
    with pytest.raises(kane.ModelError, match="principal moment of inertia of body 'b' is -1 with P = -1"):
        m.body("b", mass=1.0, inertia=(P, 1.0, 1.0))
    assert len(m.bodies) == 1
    assert m.requirements == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_from_a_file_refuses_what_the_one_that_was_saved_does(kind, tmp_path):
    declare, default, refused, words = KINDS[kind]
    m = kane.Model("m", gravity=(0, -9.81, 0))
    declare(m, m.parameter("P", default))
    kane.save_model(m, tmp_path / "m.json")
    back = kane.load_model(tmp_path / "m.json")
    assert [(r.what, r.kind) for r in back.requirements] == [(r.what, r.kind) for r in m.requirements]
    if len(m.bodies) > 1 and kind != "shape for pictures":
        with pytest.raises(kane.ModelError, match=words):
            kane.simulate(kane.build(kane.formulate(back)), until=0.1, parameters={"P": refused[0]})


@pytest.mark.parametrize(
    "raw", ["mass", ["the mass", "mass", [1.0, 2.0]], ["the mass", "no kind", [1.0]], [1, "mass", []]]
)
def test_a_file_with_a_damaged_requirement_is_refused(raw, tmp_path):
    m = kane.Model("m")
    planar(m, mass=m.parameter("P", 1.0))
    path = tmp_path / "m.json"
    kane.save_model(m, path)
    content = {**json.loads(path.read_text("utf-8")), "requirements": [raw]}
    header = {name: content.pop(name) for name in ("format", "version", "sha256")}
    path.write_text(json.dumps({**header, "sha256": _checksum(content), **content}), "utf-8")
    with pytest.raises(kane.ImportFileError, match=r"requirement"):
        kane.load_model(path)
