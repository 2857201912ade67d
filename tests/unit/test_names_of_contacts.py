"""What comes and goes is called by one rule everywhere: its own name, or the name it was declared by, for all parts."""

import numpy as np
import pytest

import kane
from kane.dynamics.reactions.exerted_forces import StatesOfArrows, acting

G = 9.81


@pytest.fixture(scope="module")
def stopped():
    """A block that runs from one end of its travel to the other."""
    m = kane.Model("block")
    block = m.body("block", mass=m.parameter("mass", 1.0))
    joint = m.connect(m.ground, block, kane.Prismatic("x", axis="x"))
    m.stop(joint, lower=0, upper=0.5, name="end")
    m.stop(joint, lower=-1, name="far")
    m.load(kane.Motor(joint, m.input("push", default=-1.0)))
    dyn = kane.build(kane.formulate(m))
    return dyn, kane.simulate(dyn, until=1.0, q={"x": 0.1})


def test_the_name_of_a_declaration_means_any_of_its_parts_where_one_asks_what_was_in_force(stopped):
    _, run = stopped
    assert run.active("end: lower").any()
    assert not run.active("end: upper").any()
    assert (run.active("end") == run.active("end: lower")).all()


def test_reactions_of_several_parts_are_refused_by_the_names_of_the_parts_and_unknown_names_by_what_is_known(stopped):
    _, run = stopped
    assert run.reactions["end: lower"][-1] == pytest.approx(1.0)  # what the push presses with
    with pytest.raises(kane.ModelError, match="'end' has the parts 'end: lower', 'end: upper'"):
        run.reactions["end"]
    for look_up in (lambda name: run.reactions[name], run.active):
        with pytest.raises(
            kane.ModelError, match=r"no contact, stop, .* 'wall'; known are end: lower, end: upper, far"
        ):
            look_up("wall")
        with pytest.raises(kane.ModelError, match=r"no contact, stop, .* 3"):
            look_up(3)


def test_pages_and_pictures_draw_all_parts_of_what_is_named(stopped, tmp_path):
    dyn, run = stopped
    assert run.save_html(tmp_path / "run.html", arrows=["end"]).stat().st_size > 0
    states = StatesOfArrows(run.q, run.u, run.inputs, run.time, {}, run.reactions)
    assert [found.name for found in acting(dyn, "end", states)] == ["end: lower", "end: upper"]
    with pytest.raises(kane.ModelError, match="'end: lower' is known only along a run"):
        kane.draw3d(dyn, q={"x": 0.1}, arrows=["end"])


def slid(joint, up, speed):
    """A ball that slides on a plane with friction; of Planar joints one of the two tangents cannot move."""
    m = kane.Model("ball", gravity=tuple(-G * x for x in up))
    ball = m.body("ball", mass=0.2, inertia=(1e-4,) * 3)
    m.connect(m.ground, ball, joint)
    table = kane.Plane(m.ground.point(), m.ground.direction(up))
    m.contact(kane.Sphere(ball.point(), 0.04), table, friction=kane.Coulomb(0.5), name="table")
    dyn = kane.build(kane.formulate(m))
    return dyn, kane.simulate(dyn, until=0.05, **speed)


@pytest.mark.parametrize(
    ("joint", "up", "start", "rows"),
    [
        (kane.Planar(("x", "y", "angle")), (0, 1, 0), {"q": {"y": 0.04}, "u": {"x_dot": 1.0}}, 2),
        (kane.Free("ball"), (0, 0, 1), {"q": {"ball_z": 0.04}, "u": {"ball_vx": 1.0}}, 3),
    ],
    ids=["planar", "spatial"],
)
def test_arrows_of_a_contact_with_friction_are_weight_and_friction(joint, up, start, rows, tmp_path):
    """Who vouches: Coulomb's law on a level table, a ball that slides towards x: N = m g up, f = -0.5 N x."""
    dyn, run = slid(joint, up, start)
    assert run.reactions["table"].shape == (len(run), rows)
    states = StatesOfArrows(run.q, run.u, run.inputs, run.time, {}, run.reactions)
    (found,) = acting(dyn, "table", states)
    weight = 0.2 * G
    # n is up, t2 is x whether that is y or z, and t1 has no force
    assert run.reactions["table"][5] == pytest.approx([weight, *[0.0] * (rows - 2), -0.5 * weight], abs=1e-9)
    assert found.force[5] == pytest.approx(weight * (np.array(up) - [0.5, 0, 0]), abs=1e-9)
    assert run.save_html(tmp_path / "run.html", arrows=["table"]).stat().st_size > 0
    with pytest.raises(kane.ModelError, match="'table' is known only along a run"):
        kane.draw3d(dyn, q=run.q[5], arrows=["table"])


def test_a_driven_joint_that_reaches_its_stop_is_refused_by_the_name_of_what_drives_it():
    m = kane.Model("driven")
    block = m.body("block", mass=1.0)
    joint = m.connect(m.ground, block, kane.Prismatic("x", axis="x"))
    m.stop(joint, upper=1.0, name="s")
    m.switch(joint.qdot - 1, on=m.time - 0.1, name="drive")
    m.switch(joint.qdot - 2, on=m.time - 9.0, name="later")
    with pytest.raises(kane.SimulationError, match=r"'s: upper' contradicts .* both ways, 'drive': no forces"):
        kane.simulate(kane.build(kane.formulate(m)), until=3.0)


def test_what_a_switch_lacks_and_whose_expressions_it_takes_is_said():
    m, other = kane.Model("one"), kane.Model("other")
    mine = m.connect(m.ground, m.body("b", mass=1.0), kane.Prismatic("x", axis="x"))
    foreign = other.connect(other.ground, other.body("b", mass=1.0), kane.Prismatic("y", axis="x"))
    with pytest.raises(kane.ModelError, match="on= of a switch is None; give an expression"):
        m.switch(mine.qdot)
    with pytest.raises(kane.ModelError, match="'grab' uses the expression y' of another model"):
        m.switch(foreign.qdot, on=m.time, name="grab")
    stepper = kane.Stepper(kane.build(kane.formulate(m)))
    with pytest.raises(kane.ModelError, match="'grab' uses the expression y' of another model"):
        stepper.impose(foreign.qdot, name="grab")


def test_no_list_of_the_same_wrong_thing_is_offered(stopped):
    dyn, _ = stopped
    for wrong in (
        lambda: kane.Stepper(dyn).impose("x_dot"),
        lambda: kane.simulate(dyn, until=1.0, events="y"),
        lambda: kane.excitation(dyn, ["mass"], duration=1.0, q="a", u=1.0, udot=1.0),
    ):
        with pytest.raises(kane.ModelError, match="give a list of") as caught:
            wrong()
        assert "['" not in str(caught.value)
