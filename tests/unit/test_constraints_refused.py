"""Constraints that cannot be: each refused when it is made, in words that name the thing and the cure."""

import pytest
from sympy.physics.mechanics import dynamicsymbols

import kane
from kane import (
    Cam,
    Coincidence,
    Disk,
    Distance,
    Gear,
    ModelError,
    NoSkid,
    Parallel,
    Plane,
    Prescribed,
    Ring,
    Rolling,
    Rope,
    Sliding,
    Sphere,
)

m = kane.Model("refusing")
N = m.ground
A, B = (m.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0)) for name in "AB")
a = m.connect(N, A, kane.Revolute("a", axis="z"))
b = m.connect(A, B, kane.Prismatic("b", axis="x"))
ball = m.connect(N, m.body("C", mass=1.0, inertia=(1.0, 1.0, 1.0)), kane.Spherical("ball"))
other = kane.Model("other")
O = other.body("O", mass=1.0, inertia=(1.0, 1.0, 1.0))
foreign = other.connect(other.ground, O, kane.Revolute("o", axis="z"))
zero, force, small = m.parameter("zero", 0.0), m.input("force"), m.parameter("small", 0.1)
moving = A.point((a.q, 0.0, 0.0))
floor, wheel = Plane(N.point(), N.z), Disk(B.point(), B.y, 0.5)

REFUSED = {
    "no point": (lambda: Distance(A, B.point(), 1.0), "a Distance takes points such as body.point"),
    "a point that moves in its body": (lambda: Coincidence(moving, B.point()), "depends on a; it may depend on param"),
    "points of two models": (lambda: Coincidence(A.point(), O.point()), "body 'O' of another model; build everything"),
    "points of one body": (lambda: Coincidence(A.point(), A.point((1, 0, 0))), "both are fixed in body 'A'; give two"),
    "a direction that is no list": (lambda: Coincidence(A.point(), B.point(), along=N.x), r"write along=\[\.\.\.\]"),
    "a number as direction": (lambda: Coincidence(A.point(), B.point(), along=[1.0]), "a direction such as body.x"),
    "a direction of another model": (lambda: Coincidence(A.point(), B.point(), along=[O.x]), "'O' of another model"),
    "a rod without length": (lambda: Distance(A.point(), B.point(), 0.0), "0 m; give a positive .* kane.Coincidence"),
    "a parameter without length": (lambda: Distance(A.point(), B.point(), zero), "is 0 m; give a positive number"),
    "a rod of one body": (lambda: Distance(A.point(), A.point((0, 1, 0)), 1.0), "both are fixed in body 'A'"),
    "a length of an input": (
        lambda: Distance(A.point(), B.point(), force),
        "depends on the input force; it may depend on coord",
    ),
    "a length that is no number": (lambda: Distance(A.point(), B.point(), "long"), "must be a number or an expression"),
    "a length of another model": (lambda: Distance(A.point(), B.point(), foreign.q), "'other'|another model"),
    "a rope of one point": (lambda: Rope([A.point()], 1.0), "a list of two or more points"),
    "a rope that is a point": (lambda: Rope(A.point(), 1.0), "a list of two or more points"),
    "a rope of negative length": (lambda: Rope([N.point(), A.point()], -1.0), "is -1 m; give a positive number"),
    "a rope in one body": (lambda: Rope([A.point(), A.point((1, 0, 0))], 1.0), "are fixed in body 'A'; give points of"),
    "a rope that stands still": (lambda: Rope([N.point(), A.point(), A.point()], 1.0), "twice in a row; name it once"),
    "a gear of bodies": (lambda: Gear(A, b, 2.0), "a Gear takes a joint, which Model.connect returns"),
    "a gear with itself": (lambda: Gear(a, a, 2.0), "joins two coordinates, not 'a' with itself"),
    "a gear of a ball": (
        lambda: Gear(a, ball, 2.0),
        r"joint 'ball' is Spherical with 4 coord.*; give one of them, such as joint\[\"ball_qw\"\]",
    ),
    "a gear without ratio": (lambda: Gear(a, b, zero), "ratio of a Gear is 0; to lock 'a' use kane.Prescribed"),
    "a gear that changes": (lambda: Gear(a, b, m.time), "depends on t; it may depend on parameters only"),
    "a gear of two models": (lambda: Gear(a, foreign, 2.0), "'O' of another model"),
    "a cam without profile": (lambda: Cam(a, b, 2.0), "is a function of one argument, its coordinate, not 2.0"),
    "a round cam": (lambda: Cam(a, b, lambda x: 0.0), "returns 0.0, without its coordinate 'b'"),
    "a cam of another thing": (lambda: Cam(a, b, lambda x: a.q), "without its coordinate 'b'"),
    "a cam of itself": (lambda: Cam(a, a, lambda x: x), "not 'a' with itself"),
    "a motion of itself": (lambda: Prescribed(a, a.q + m.time), "depends on 'a' itself; give time or other coord"),
    "a motion by an input": (lambda: Prescribed(a, force), "motion of 'a' depends on the input force"),
    "a motion by a rate": (lambda: Prescribed(a, b.qdot), "depends on the rate b; it may depend on coordinates"),
    "a normal without length": (
        lambda: Plane(N.point(), N.direction((0, 0, 0))),
        r"direction \(0, 0, 0\) of body 'ground'",
    ),
    "a normal of parameters, zero": (lambda: Plane(N.point(), N.direction((zero, 0, 0))), "give one that is not zero"),
    "a normal of another body": (
        lambda: Plane(N.point(), A.z),
        "in body 'A', its point in body 'ground'; give both in one",
    ),
    "a sphere without radius": (
        lambda: Sphere(A.point(), 0.0),
        "the radius of a Sphere is 0 m; give a positive number",
    ),
    "a disk of negative radius": (
        lambda: Disk(A.point(), A.z, -0.1),
        "the radius of a Disk is -0.1 m; give a positive",
    ),
    "a disk that grows": (lambda: Disk(A.point(), A.z, m.time), "depends on t; it may depend on parameters only"),
    "an axle of another body": (
        lambda: Disk(A.point(), B.z, 0.1),
        "axle of a Disk is fixed in body 'B', its centre in",
    ),
    "an axle without length": (
        lambda: Ring(A.point(), A.direction((0, 0, 0)), 1.0),
        r"a Ring has the direction \(0, 0, 0\)",
    ),
    "rolling of a body": (lambda: Rolling(A, floor), "the roller of a Rolling is a kane.Disk or kane.Sphere, not Body"),
    "rolling of a ring": (
        lambda: Rolling(Ring(A.point(), A.z, 1.0), floor),
        "is a kane.Disk or kane.Sphere, not Ring",
    ),
    "rolling on a body": (
        lambda: Sliding(wheel, N),
        "a Sliding is on a kane.Plane, kane.Disk or kane.Ring, not on Body",
    ),
    "rolling on itself": (lambda: Rolling(wheel, Plane(B.point(), B.z)), "both are fixed in body 'B'"),
    "a sphere on a disk": (
        lambda: Rolling(Sphere(A.point(), 1.0), wheel),
        "a Sphere does not roll on a Disk; give a kane.Pl",
    ),
    "a wheel too large": (
        lambda: Rolling(wheel, Ring(N.point(), N.y, 0.5)),
        "0.5 m, does not fit into the ring of body 'gr",
    ),
    "rolling in another model": (lambda: Rolling(wheel, Plane(O.point(), O.z)), "'O' of another model"),
    "a knife without edge": (
        lambda: NoSkid(A.point(), A.direction((0, 0, 0))),
        r"a NoSkid has the direction \(0, 0, 0\)",
    ),
    "a knife on nothing": (lambda: NoSkid(A.point(), A.y, on="ice"), "holds against a body, not against 'ice'"),
    "a knife on itself": (lambda: NoSkid(A.point(), A.y, on=A), "both are fixed in body 'A'"),
    "parallel bodies": (lambda: Parallel(A, B), "takes a direction such as body.x, not Body"),
    "parallel in one body": (lambda: Parallel(A.x, A.y), "a Parallel restricts nothing: both are fixed in body 'A'"),
}


@pytest.mark.parametrize(("make", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_constrained_is_refused_in_words(make, words):
    with pytest.raises(ModelError, match=words):
        make()


def test_comparisons_are_no_constraints():
    # Their value is 0 or 1 and their derivative zero: an equation would be dropped, a limit never hold.
    slider = kane.Model("slider")
    x = slider.connect(slider.ground, slider.body("b", mass=1.0), kane.Prismatic("x", axis="x")).q
    with pytest.raises(ModelError, match=r"'half' is the comparison .*0 or 1; write .*0\.5.* for the equation"):
        slider.constrain(kane.equal(x, 0.5), name="half")
    with pytest.raises(ModelError, match=r"'right' is the comparison 0 < x, .*; for a limit use m\.stop"):
        slider.constrain(x > 0, name="right")
    with pytest.raises(ModelError, match=r"is the comparison x <= 0"):
        slider.constrain(dynamicsymbols("x") <= 0)
    with pytest.raises(ModelError, match="'no way' is the comparison"):
        kane.Row("no way", motion=x > 0)
    assert not slider.constraints


def test_a_wheel_held_at_another_height_than_its_radius_is_refused_by_formulate():
    held = kane.Model("held")
    wheel = held.body("wheel", mass=1.0, inertia=(1.0, 1.0, 1.0))
    held.connect(held.ground, wheel, kane.Revolute("q1", axis="y"), at=(0.0, 0.0, 0.6))
    held.constrain(Sliding(Disk(wheel.point(), wheel.y, 0.5), Plane(held.ground.point(), held.ground.z)))
    with pytest.raises(ModelError, match=r"'sliding of wheel on ground: touch' cannot hold: .* which is 0.1"):
        kane.formulate(held)


def test_what_an_input_cannot_impose_is_told_with_the_way_in_which_inputs_act():
    """A crane's cable is as long as its winch makes it: the length is a coordinate with a motor."""
    m = kane.Model("crane")
    trolley, load, length = m.body("trolley", mass=1.0), m.body("load", mass=1.0), m.input("length", 5.0)
    slide = m.connect(m.ground, trolley, kane.Prismatic("x", axis="x"))
    m.connect(m.ground, load, kane.Planar("load", axis="y"))
    asked = (
        lambda: Distance(trolley.point(), load.point(), length),
        lambda: m.constrain(slide.qdot - length),
        lambda: m.connect(trolley, m.body("hook", mass=0.0), kane.Prismatic(length, axis="z")),
    )
    for ask in asked:
        with pytest.raises(ModelError, match=r"length.*An input cannot impose a motion exactly; .* by a load"):
            ask()


def test_a_motion_without_inertia_beside_a_constraint_is_refused():
    """A point mass on a rope turns freely: the angle is in no column of M and A, but the configuration is known."""

    def rope(**inertia):
        m = kane.Model("rope")
        ball = m.body("ball", mass=1.0, **inertia)
        m.connect(m.ground, ball, kane.Planar(("x", "z", "angle"), axis="y"))
        m.constrain(kane.Distance(m.ground.point(), ball.point(), 2.0), name="rope")
        return kane.formulate(m)

    equations = rope()
    dyn, at = kane.build(equations), ([-2.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    message = "mass matrix of 'rope' is singular .* 'angle_dot' .* no constraint row contains it; give inertia to"
    with pytest.raises(kane.ModelError, match=message):
        dyn.forward(*at)
    with pytest.raises(kane.ModelError, match=message):
        kane.RevealedReactions(dyn, kane.reveal_reactions(equations, "rope"))(*at)
    with pytest.raises(kane.ModelError, match=message):
        kane.simulate(dyn, until=0.1, q={"x": -2.0})
    assert kane.assemble(dyn, q={"x": -1.0}).q[0] == pytest.approx(-2.0)
    assert kane.build(rope(inertia=(0.1, 0.1, 0.1))).forward(*at) == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
