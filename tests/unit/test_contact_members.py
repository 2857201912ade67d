"""Contacts, stops, latches, sticking joints and switches as they are declared: what they say, and what is refused."""

import math

import pytest

import kane
from kane import Coulomb, ModelError, Newton, Plane, Poisson, Sphere


def crate():
    """The example of the guide: a crate with a lid over a floor."""
    m = kane.Model("crate", gravity=(0, -9.81, 0))
    body = m.body("crate", mass=2, inertia=(0.02,) * 3)
    lid = m.body("lid", mass=0.3, inertia=(1e-3,) * 3, com=(0.1, 0, 0))
    m.connect(m.ground, body, kane.Planar(("x", "y", "th")))
    hinge = m.connect(body, lid, kane.Revolute("q1", axis="z"), at=(-0.1, 0.1, 0))
    return m, body, hinge, Plane(m.ground.point(), m.ground.y)


def declared():
    """The example with one of each kind."""
    m, body, hinge, floor = crate()
    mu = m.parameter("mu", 0.5)
    m.contact(body.point((-0.1, -0.1, 0)), floor, restitution=0.3, friction=Coulomb(mu, 0.8 * mu), name="left")
    m.contact(kane.Box(0.2, 0.2, 0.1, body.point()), floor, name="box")
    m.stop(hinge, lower=0, upper=1.2, restitution=Newton(0.2))
    m.stick(hinge, static=0.03, kinetic=0.02)
    m.switch(hinge.qdot, on=hinge.q - 1.1, off=m.time - 2, name="catch")
    m.latch(1.5 - hinge.q, holds=[body.point().velocity.dot(m.ground.x)], off=m.time - 3)
    return m


def test_candidates_are_named_after_what_declared_them():
    names = [c.name for c in declared().intermittents]
    corners = [f"box: {x}{y}{z}" for x in "-+" for y in "-+" for z in "-+"]
    ends = ["stop of q1: lower", "stop of q1: upper"]
    assert names == ["left", *corners, *ends, "friction of q1", "catch", "latch"]


def test_a_second_contact_without_a_name_is_numbered():
    m, body, _, floor = crate()
    for x in (-0.1, 0.1):
        m.contact(body.point((x, 0, 0)), floor)
    assert [c.name for c in m.intermittents] == ["contact of crate with ground", "contact of crate with ground (2)"]


def test_a_contact_without_friction_has_no_rows_along_the_surface():
    m, body, _, floor = crate()
    (without,) = m.contact(body.point(), floor)
    (rough,) = m.contact(body.point(), floor, friction=Coulomb(0.5), name="rough")
    assert [row.name for row in without.rows] == ["normal"]
    assert [row.name for row in rough.rows] == ["normal", "tangent 1", "tangent 2"]
    assert rough.friction == Coulomb(0.5, 0.5)


def test_a_number_for_a_restitution_is_that_of_poisson():
    m, body, _, floor = crate()
    (one,) = m.contact(body.point(), floor, restitution=0.3)
    (two,) = m.contact(body.point(), floor, restitution=Newton(0.4), name="two")
    assert (one.restitution, two.restitution) == (Poisson(0.3), Newton(0.4))


def test_gaps_of_stops_are_the_ways_that_are_left():
    m, _, hinge, _ = crate()
    lower, upper = m.stop(hinge, lower=-0.5, upper=1.2)
    assert [kane.evaluate(c.gap, {"q1": 0.3}) for c in (lower, upper)] == pytest.approx([0.8, 0.9], rel=1e-15)


def test_a_switch_imposes_the_motion_of_a_constraint_and_keeps_its_configuration_as_it_is_found():
    m, body, hinge, _ = crate()
    (geared,) = m.switch(kane.Gear(hinge, m.connections[0]["th"], 2.0), on=m.time - 1, name="gear")
    (row,) = kane.formulate(m).intermittents[-1].rows
    assert row.configuration is None
    assert row.integral is geared.rows[0].configuration
    with pytest.raises(ModelError, match="contains no velocity"):
        m.switch(hinge.q - 1, on=m.time - 1)
    (made,) = m.switch(kane.Sliding(Sphere(body.point(), 0.1), Plane(m.ground.point(), m.ground.y)), on=m.time - 1)
    assert made.bilateral


def test_a_model_with_candidates_is_written_and_read_without_loss(tmp_path):
    m = declared()
    kane.save_model(m, tmp_path / "crate.json")
    read = kane.load_model(tmp_path / "crate.json")
    assert [repr(c) for c in read.intermittents] == [repr(c) for c in m.intermittents]
    for a, b in zip(read.intermittents, m.intermittents, strict=True):
        assert a.bilateral is b.bilateral
        assert (type(a.restitution), type(a.friction)) == (type(b.restitution), type(b.friction))
        assert [repr(x) for x in (a.gap, a.on, a.off)] == [repr(x) for x in (b.gap, b.on, b.off)]
    assert kane.evaluate(read.intermittents[0].friction.kinetic, {"mu": 0.5}) == 0.4


def test_a_copied_model_has_its_candidates():
    import copy

    m = declared()
    assert [repr(c) for c in copy.deepcopy(m).intermittents] == [repr(c) for c in m.intermittents]


def test_what_comes_and_goes_is_told_of_a_model():
    m = declared()
    assert "14 intermittent constraints" in repr(m)
    assert [line for line in str(m).splitlines() if line.startswith("intermittent")] == [
        "intermittent: left (normal, tangent 1, tangent 2)",
        "intermittent: box (8 parts: normal)",
        "intermittent: stop of q1 (2 parts: normal)",
        "intermittent: friction of q1",
        "intermittent: catch",
        "intermittent: latch (normal, rate)",
    ]
    m.notes.append("a camera is left out")
    assert str(m).endswith("notes: 1, in model.notes")
    page = m._repr_html_()
    assert "Intermittent constraints" in page
    assert "restitution 0.2 (Newton)" in page
    assert page.count("box (8 parts)") == 1
    assert page.count(">box<") == 1  # in the picture, where its corners are one


def refused(said):
    """A test of something that a model refuses with these words."""

    def wrap(act):
        return pytest.param(act, said, id=act.__name__)

    return wrap


@refused("static friction of 'c' is -0.1; give a number that is not negative")
def negative_friction(m, body, hinge, floor):
    m.contact(body.point(), floor, friction=Coulomb(-0.1), name="c")


@refused(r"the kinetic friction 0.6 of 'c' is more than the static one, 0.5")
def kinetic_above_static(m, body, hinge, floor):
    m.contact(body.point(), floor, friction=Coulomb(0.5, 0.6), name="c")


@refused("is a kane.Coulomb")
def a_number_for_friction(m, body, hinge, floor):
    m.contact(body.point(), floor, friction=0.5)


@refused("restitution of 'c' is 1.2; give a number from 0, plastic, to 1, elastic")
def restitution_above_one(m, body, hinge, floor):
    m.contact(body.point(), floor, restitution=1.2, name="c")


@refused("depends on q1; it may depend on parameters only")
def restitution_that_moves(m, body, hinge, floor):
    m.contact(body.point(), floor, restitution=hinge.q)


@refused(
    "no contact of a Plane with a Plane; as a feature a Plane touches nothing, as a surface .* by Point or Sphere or"
)
def two_planes(m, body, hinge, floor):
    m.contact(Plane(body.point(), body.y), floor)


@refused(r"there is no contact of a Plane with a Sphere; .*; exchange them: contact\(the Sphere, the Plane\)")
def a_pair_the_other_way_round(m, body, hinge, floor):
    m.contact(Plane(body.point(), body.y), kane.Sphere(m.ground.point(), 1.0))


@refused("there is no contact of a Polyhedron with a Cylinder; .*; give a simpler shape in place of one")
def a_polyhedron_on_a_cylinder(m, body, hinge, floor):
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    m.contact(kane.Polyhedron(corners, body.point()), kane.Cylinder(m.ground.point(), m.ground.z, 1.0))


@refused("there is no contact of a Cylinder with a Cylinder")
def a_cylinder_on_a_cylinder(m, body, hinge, floor):
    m.contact(kane.Cylinder(body.point(), body.z, 1, 1), kane.Cylinder(m.ground.point(), m.ground.z, 1.0))


@refused("there is no contact of 'crate' with a Plane")
def a_name_for_a_feature(m, body, hinge, floor):
    m.contact("crate", floor)


@refused("both are fixed in body 'ground'")
def ground_on_ground(m, body, hinge, floor):
    m.contact(m.ground.point((0, 1, 0)), floor)


@refused("as a surface it must be infinite")
def on_a_cylinder_with_ends(m, body, hinge, floor):
    m.contact(body.point(), kane.Cylinder(m.ground.point(), m.ground.z, 1.0, 2.0))


@refused("has no ends to touch with; give length=")
def a_cylinder_without_ends(m, body, hinge, floor):
    m.contact(kane.Cylinder(body.point(), body.z, 1.0), floor)


@refused("has no place; give its centre")
def a_box_without_a_place(m, body, hinge, floor):
    m.contact(kane.Box(1, 1, 1), floor)


@refused("the length of a Box is -1 m|a length of a Box is -1 m; give a positive number")
def a_negative_box(m, body, hinge, floor):
    m.contact(kane.Box(1, -1, 1, body.point()), floor)


@refused("there is already a constraint named 'left'; give another name=")
def a_name_that_is_taken(m, body, hinge, floor):
    m.contact(body.point(), floor, name="left")
    m.stick(hinge, static=1, name="left")


@refused("there is already a constraint named 'left'; give another name=")
def a_constraint_of_a_name_that_is_taken(m, body, hinge, floor):
    m.contact(body.point(), floor, name="left")
    m.constrain(hinge.q, name="left")


@refused("has no end; give lower=, upper= or both")
def a_stop_without_end(m, body, hinge, floor):
    m.stop(hinge)


@refused("goes from 2 to 1, which leaves no travel; exchange them")
def ends_exchanged(m, body, hinge, floor):
    m.stop(hinge, lower=2, upper=1)


@refused(r'with 3 coordinates; give one of them, such as joint\["x"\]')
def a_stop_of_three_coordinates(m, body, hinge, floor):
    m.stop(m.connections[0], lower=0)


@refused("is Weld with 0 coordinates; give a joint that has a coordinate")
def a_stop_of_a_weld(m, body, hinge, floor):
    m.stop(m.connect(body, m.body("lamp", mass=1), kane.Weld()), lower=0)


@refused("the static friction of 'c' is -1")
def negative_threshold(m, body, hinge, floor):
    m.stick(hinge, static=-1, name="c")


@refused("give an expression of the model")
def a_switch_by_a_number(m, body, hinge, floor):
    m.switch(hinge.qdot, on=1.0)


@refused("contains no velocity and would have to jump to zero")
def a_switch_of_a_position(m, body, hinge, floor):
    m.switch(hinge.q, on=m.time - 1)


@refused("nothing that moves|restricts nothing")
def a_switch_of_time(m, body, hinge, floor):
    m.switch(m.time, on=m.time - 1)


@refused("which contains rates or velocities")
def a_latch_of_a_rate(m, body, hinge, floor):
    m.latch(hinge.qdot)


@refused("of another model")
def another_model(m, body, hinge, floor):
    joint = crate()[2]
    m.switch(hinge.qdot, on=joint.q)


@refused("off= of 'switch' depends on the reaction 'q1 Fx'.*; .* Stepper.impose and Stepper.delete")
def a_switch_by_a_reaction(m, body, hinge, floor):
    m.switch(hinge.qdot, on=hinge.q, off=hinge.reaction_force.dot(m.bodies[2].y) - 30)


@refused("gap of a latch' depends on open")
def a_latch_whose_gap_is_an_input(m, body, hinge, floor):
    m.latch(m.input("open") - hinge.q)


@refused("the lower end of the stop of 'q1' depends on the input low")
def a_stop_at_an_input(m, body, hinge, floor):
    m.stop(hinge, lower=m.input("low"))


@refused("depends on high; it may depend on parameters only")
def a_contact_at_an_input(m, body, hinge, floor):
    m.contact(body.point(), Plane(m.ground.point((0, m.input("high"), 0)), m.ground.y))


@refused("a row of 'magnet' depends on the input 'far'")
def an_intermittent_of_ones_own_by_an_input(m, body, hinge, floor):
    class Magnet(kane.Intermittent):
        title = "magnet"

        def intermittents(self, name):
            gap = m.input("far") - hinge.q
            return [kane.IntermittentConstraint(name, gap, kane.Row("normal", configuration=gap))]

    m.intermittent(Magnet())


@pytest.mark.parametrize(("act", "said"), [x for x in list(globals().values()) if hasattr(x, "marks") and x.id])
def test_what_cannot_be_meant_is_refused_by_name_and_leaves_nothing_behind(act, said):
    m, body, hinge, floor = crate()
    with pytest.raises(ModelError, match=said):
        act(m, body, hinge, floor)
    assert [c.name for c in m.intermittents] in ([], ["left"])
    assert m.constraints == []


def test_a_contact_whose_gap_no_speed_changes_is_left_out_and_said_to_be():
    m = kane.Model("robot", gravity=(0, -9.81, 0))
    base, arm = m.body("base", mass=1, inertia=(1, 1, 1)), m.body("arm", mass=1, inertia=(1, 1, 1))
    m.connect(m.ground, base, kane.Weld())
    m.connect(base, arm, kane.Revolute("a", axis="z"))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(base.point(), floor, name="base on floor")
    m.contact(arm.point((1, 0, 0)), floor, name="hand")
    equations = kane.formulate(m)
    assert [c.name for c in equations.intermittents] == ["hand"]
    assert equations.notes == ("'base on floor' left out: no speed changes the gap, so it can neither open nor close",)
    run = kane.simulate(kane.build(equations), until=1.0, q={"a": 0.5}, u={"a_dot": -1.0})
    assert {e.name for e in run.events} == {"hand"}


@pytest.mark.parametrize("of", ["time", "place"])
@pytest.mark.parametrize("width", [1e-1, 1e-3])
def test_a_switch_whose_signal_rises_and_falls_within_one_step_is_seen(of, width):
    """A free body takes one long step; the signal is positive for twice the width on its way, and nowhere else."""
    m = kane.Model("body")
    joint = m.connect(m.ground, m.body("B", mass=1.0), kane.Prismatic("x", axis="x"))
    along = m.time if of == "time" else joint.q
    m.switch([joint.qdot], on=width**2 - (along - 3.21) ** 2, off=m.time - 4.0, name="brake")
    run = kane.simulate(kane.build(kane.formulate(m)), until=10.0, u=[1.0])
    found = [(event.cause, event.time) for event in run.events]
    assert found == [("imposed", pytest.approx(3.21 - width, abs=1e-9)), ("deleted", pytest.approx(4.0, abs=1e-9))]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("released", "again"),
    [(lambda t: (t - 0.3) * (0.4 - t), True), (lambda t: t - 0.3, False)],
    ids=["once", "for good"],
)
def test_a_signal_that_was_positive_all_along_imposes_again_only_after_it_has_been_negative(released, again, compiled):
    """It falls within a step, whose end is tried before it is known that the step has to be cut."""
    m = kane.Model("body")
    joint = m.connect(m.ground, m.body("B", mass=1.0), kane.Prismatic("x", axis="x"))
    m.connect(m.ground, m.body("C", mass=1.0), kane.Prismatic("y", axis="y"))
    m.switch([joint.qdot], on=kane.sin(8.0 * m.time) + 0.5, off=released(m.time), name="brake")
    dyn = kane.build(kane.formulate(m))
    run = kane.simulate(dyn, until=1.0, u=[1.0, 1.0])
    if compiled:
        run = kane.simulate(kane.compile_modes(dyn, run.modes), until=1.0, u=[1.0, 1.0])
    rises = (2 * math.pi - math.asin(0.5)) / 8
    due = [("imposed", 0.0), ("deleted", 0.3), *([("imposed", rises)] if again else [])]
    assert [event.cause for event in run.events] == [cause for cause, _ in due]
    assert [event.time for event in run.events] == pytest.approx([time for _, time in due], abs=1e-9)
