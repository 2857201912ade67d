"""Latches and switches that open or close by forces of constraints; closed forms vouch for times and motions."""

from __future__ import annotations

import numpy as np
import pytest

import kane
from kane.errors import ModelError
from kane.haptics import Coupler, Session, Simulated

LIMIT = 10.0  # N


def _told(run):
    return [(event.name, event.cause, event.time) for event in run.events]


@pytest.fixture(scope="module")
def catch() -> kane.Model:
    """Return a block of 2 kg on a latch that holds pulls up to the limit."""
    m = kane.Model("block on a latch")
    slide = m.connect(m.ground, m.body("block", mass=2.0), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(slide, m.input("pull")))
    m.latch(slide.q, off=-m.reaction("latch") - m.input("limit", LIMIT), name="latch")
    return m


@pytest.fixture(scope="module")
def dyn(catch) -> kane.Dynamics:
    return kane.build(kane.formulate(catch))


def _fallen(t):
    """Return x and its rate for the pull 5 N/s t after the release at 2 s: x'' = 2.5 t."""
    return 2.5 * (t**3 - 8.0) / 6.0 - 5.0 * (t - 2.0), 1.25 * (t**2 - 4.0)


@pytest.mark.parametrize(
    ("integrator", "atol"), [(kane.RK8(), 1e-10), (kane.RK4(), 1e-10), (kane.Midpoint(), 1e-5), (kane.BDF(), 1e-5)]
)
def test_a_latch_opens_where_its_force_passes_the_limit(catch, dyn, integrator, atol):
    run = kane.simulate(dyn, until=3.0, inputs={"pull": 5.0 * catch.time}, integrator=integrator)
    assert _told(run)[-1] == ("latch", "deleted", pytest.approx(2.0, abs=1e-8))
    assert [cause for _, cause, _ in _told(run)] == ["imposed", "deleted"]  # it is closed at the start
    assert run.events[-1].energy_lost == 0.0
    np.testing.assert_allclose([run["x"][-1], run.u[-1, 0]], _fallen(3.0), atol=max(atol, 1e-8))
    held = run.time < 2.0
    np.testing.assert_allclose(run.reactions["latch"][held, 0], -5.0 * run.time[held], atol=1e-10)
    np.testing.assert_allclose(run.u[held, 0], 0.0, atol=1e-14)


def test_an_opened_latch_catches_again_and_does_not_chatter(dyn):
    # 12 N open the latch at 1 s; -6 N from 1.5 s on bring the block back: x = 0.75 m, v = 3 m/s at 1.5 s.
    pull = kane.Held([0.0, 1.0, 1.5, 4.0], [5.0, 12.0, -6.0, 9.0])
    run = kane.simulate(dyn, until=5.0, inputs={"pull": pull})
    back = 1.5 + (3.0 + np.sqrt(9.0 + 2.0 * 3.0 * 0.75)) / 3.0
    assert _told(run)[1:] == [
        ("latch", "deleted", pytest.approx(1.0, abs=1e-12)),
        ("latch", "imposed", pytest.approx(back, abs=1e-9)),
    ]
    assert run.events[-1].energy_lost == pytest.approx(0.5 * 2.0 * (9.0 + 4.5), rel=1e-9)  # v^2 = 9 + 2 a x
    assert run["x"][-1] == pytest.approx(0.0, abs=1e-12)


def test_a_latch_that_is_overloaded_at_the_start_opens_at_once(dyn):
    run = kane.simulate(dyn, until=1.0, inputs={"pull": 14.0})
    assert [(cause, time) for _, cause, time in _told(run)] == [("imposed", 0.0), ("deleted", 0.0)]
    assert run["x"][-1] == pytest.approx(3.5, rel=1e-10)


def test_a_limit_may_be_an_input_that_jumps(catch, dyn):
    limit = kane.Held([0.0, 1.25], [LIMIT, 6.0])
    run = kane.simulate(dyn, until=2.0, inputs={"pull": 5.0 * catch.time, "limit": limit})
    assert _told(run)[-1] == ("latch", "deleted", pytest.approx(1.25, abs=1e-12))


@pytest.fixture(scope="module")
def train() -> kane.Model:
    """Return two carts and a tow bar that breaks."""
    m = kane.Model("train")
    first = m.connect(m.ground, m.body("first", mass=3.0), kane.Prismatic("a", axis="x"))
    second = m.connect(m.ground, m.body("second", mass=1.0), kane.Prismatic("b", axis="x"))
    m.load(kane.Motor(first, m.input("pull")))
    m.switch(first.qdot - second.qdot, on=m.time + 1.0, off=abs(m.reaction("bar")) - LIMIT, name="bar")
    return m


def test_a_tow_bar_breaks_also_in_compiled_modes_and_many_runs(train):
    # The bar pulls the second cart with 1/4 of the pull, 20 N/s t: the limit is passed at 2 s with 10 m/s.
    plain = kane.build(kane.formulate(train))
    given = {"pull": 20.0 * train.time}
    expected = [10.0 + 20.0 * (9.0 - 4.0) / 2.0 / 3.0, 10.0]
    for each in (plain, kane.compile_modes(plain, "all")):
        run = kane.simulate(each, until=3.0, inputs=given)
        assert _told(run) == [("bar", "imposed", 0.0), ("bar", "deleted", pytest.approx(2.0, abs=1e-9))]
        np.testing.assert_allclose(run.u[-1], expected, rtol=1e-8)
        runs = kane.simulate_many(each, until=3.0, u={"a_dot": [0.0, 0.0]}, inputs=given)
        np.testing.assert_allclose(runs.u[:, -1], [expected, expected], rtol=1e-8)
        runs = kane.simulate_many(each, until=1.0, u={"a_dot": [0.0, 0.0]}, inputs={"pull": [39.0, 41.0]})
        np.testing.assert_allclose(runs.u[:, -1], [[9.75, 9.75], [41.0 / 3.0, 0.0]], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("carts", [5, 30])  # 30 speeds are solved island by island
def test_the_first_bar_of_a_long_train_breaks(carts):
    m = kane.Model("train")
    first, *others = (
        m.connect(m.ground, m.body(f"cart {k}", mass=1.0), kane.Prismatic(f"x{k}", axis="x")) for k in range(carts)
    )
    m.load(kane.Motor(first, 5.0 * m.time))
    for k, (front, rear) in enumerate(zip([first, *others], others, strict=False)):
        off = abs(m.reaction(f"bar {k}")) - LIMIT
        m.switch(front.qdot - rear.qdot, on=m.time + 1.0, off=off, name=f"bar {k}")
    run = kane.simulate(kane.build(kane.formulate(m)), until=4.0)
    # The first bar pulls all carts but one; the rest keeps its speed.
    time = 2.0 * carts / (carts - 1)
    assert _told(run)[carts - 1 :] == [("bar 0", "deleted", pytest.approx(time, abs=1e-9))]
    np.testing.assert_allclose(run.u[-1, 1:], 2.5 * time**2 / carts, rtol=1e-9)


def test_redundant_latches_share_their_force_and_open_one_after_the_other():
    m = kane.Model("two latches")
    slide = m.connect(m.ground, m.body("block", mass=2.0), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(slide, 5.0 * m.time))
    for k, limit in enumerate((5.0, 20.0)):
        m.latch(slide.q, off=-m.reaction(f"latch {k}") - limit, name=f"latch {k}")
    run = kane.simulate(kane.build(kane.formulate(m)), until=5.0)
    assert _told(run)[2:] == [  # halves of 10 N, then all of 20 N
        ("latch 0", "deleted", pytest.approx(2.0, abs=1e-9)),
        ("latch 1", "deleted", pytest.approx(4.0, abs=1e-9)),
    ]


def test_charts_and_speeds_of_choice_keep_the_law():
    m = kane.Model("gyro beside a latch", gravity=(0, 0, -9.81))
    gimbal = m.body("gyro", mass=1.0, inertia=(0.1, 0.1, 0.2))
    m.connect(m.ground, gimbal, kane.Gimbal(("q1", "q2", "q3"), "zyx"))
    slide = m.connect(m.ground, m.body("block", mass=2.0), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(slide, 5.0 * m.time))
    m.latch(slide.q, off=-m.reaction("latch") - 5.0, name="latch")
    given = {"u": {"u2": 2.0, "u1": 0.3}, "charts": kane.Charts(within=0.3)}
    run = kane.simulate(kane.build(kane.formulate(m)), until=2.0, **given)
    assert 0.0 < run.chart_switches[0].time < 1.0
    assert _told(run)[-1] == ("latch", "deleted", pytest.approx(1.0, abs=1e-9))
    m = kane.Model("train")
    a, b = (m.connect(m.ground, m.body(x, mass=1.0), kane.Prismatic(x, axis="x")) for x in "ab")
    m.load(kane.Motor(a, 20.0 * m.time))
    m.switch(a.qdot - b.qdot, on=m.time + 1.0, off=abs(m.reaction("bar")) - LIMIT, name="bar")
    m.speeds(s=a.qdot + b.qdot, d=a.qdot - b.qdot)
    run = kane.simulate(kane.build(kane.formulate(m)), until=2.0)
    assert _told(run)[-1] == ("bar", "deleted", pytest.approx(1.0, abs=1e-9))


def test_a_rope_breaks_where_its_tension_passes_the_limit():
    m = kane.Model("pendulum", gravity=(0, -9.81, 0))
    ball = m.body("ball", mass=0.5, inertia=(1e-3,) * 3)
    m.connect(m.ground, ball, kane.Planar(("x", "y", "turn")))
    rope = kane.Distance(ball.point(), m.ground.point(), 1.5)
    m.switch(rope, on=m.time + 1.0, off=-m.reaction("rope") - LIMIT, name="rope")
    run = kane.simulate(kane.build(kane.formulate(m)), until=1.0, q={"x": 1.5})
    name, cause, _ = _told(run)[-1]
    assert (name, cause) == ("rope", "deleted")
    # Released at rest from the height of the pivot, the tension is 3 m g times the sine of the angle of the rope.
    x, y, _ = run.events[-1].q
    sine = LIMIT / (3.0 * 0.5 * 9.81)
    np.testing.assert_allclose([x, y], [1.5 * np.sqrt(1.0 - sine**2), -1.5 * sine], rtol=1e-8)
    np.testing.assert_allclose(run.energy, run.energy[0], atol=1e-9)
    assert run.events[-1].energy_lost == 0.0


def test_forces_of_stops_and_permanent_constraints_close_a_brake():
    m = kane.Model("overload")
    press = m.connect(m.ground, m.body("press", mass=1.0), kane.Prismatic("p", axis="x"))
    wheel = m.connect(m.ground, m.body("wheel", mass=1.0, inertia=(1.0, 1.0, 1.0)), kane.Revolute("w", axis="z"))
    driven = m.connect(m.ground, m.body("driven", mass=2.0), kane.Prismatic("d", axis="x"))
    m.load(kane.Motor(press, -8.0 * m.time))
    m.stop(press, lower=0.0, name="bed")
    drive = m.constrain(kane.Prescribed(driven, m.time**3 / 6.0), name="drive")  # its reaction is 2 t
    m.switch(wheel.qdot, on=m.reaction("bed: lower") - LIMIT, off=drive.reactions[0] - 5.0, name="brake")
    m.load(kane.Motor(wheel, 1.0))
    run = kane.simulate(kane.build(kane.formulate(m)), until=3.0, u={"w_dot": 0.5})
    told = [x for x in _told(run) if x[0] == "brake"]
    assert told == [
        ("brake", "imposed", pytest.approx(1.25, abs=1e-8)),
        ("brake", "deleted", pytest.approx(2.5, abs=1e-8)),
    ]
    assert run["w_dot"][-1] == pytest.approx(0.5, rel=1e-8)  # 1 rad/s^2 for the last half second


def test_a_slip_force_of_a_contact_opens_a_latch():
    m = kane.Model("crate", gravity=(0, -10.0, 0))
    crate = m.body("crate", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, crate, kane.Planar(("x", "y", "th")))
    m.load(kane.Force(crate.point(), (4.0 * m.time, 0, 0), m.ground))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for side in (-0.1, 0.1):
        m.contact(crate.point((side, 0, 0)), floor, friction=kane.Coulomb(2.0), name=f"foot {side}")
    lid = m.connect(m.ground, m.body("lid", mass=1.0), kane.Prismatic("lid", axis="z"))
    m.load(kane.Motor(lid, 1.0))
    grip = sum(m.reaction(f"foot {side}: tangent 2") for side in (-0.1, 0.1))
    m.latch(lid.q, off=abs(grip) - LIMIT, name="latch")
    dyn = kane.build(kane.formulate(m))
    for each in (dyn, kane.compile_modes(dyn, "all")):
        run = kane.simulate(each, until=3.0)
        assert _told(run)[-1] == ("latch", "deleted", pytest.approx(2.5, abs=1e-8))
        assert run["lid"][-1] == pytest.approx(0.125, rel=1e-7)


def test_kinetic_friction_of_a_stick_opens_a_latch_in_both_directions_of_slip():
    m = kane.Model("shear pin")
    drum = m.connect(m.ground, m.body("drum", mass=1.0, inertia=(1.0, 1.0, 1.0)), kane.Revolute("w", axis="z"))
    lid = m.connect(m.ground, m.body("lid", mass=1.0), kane.Prismatic("lid", axis="x"))
    m.load(kane.Motor(lid, 1.0))
    m.stick(drum, static=m.input("capacity"), name="brake")
    m.latch(lid.q, off=m.input("way") * m.reaction("brake") - LIMIT, name="latch")
    dyn = kane.build(kane.formulate(m))
    for each in (dyn, kane.compile_modes(dyn, "all")):
        for way, speed in ((-1.0, 50.0), (1.0, -50.0), (1.0, 50.0)):  # friction is against the slip
            given = {"capacity": 5.0 * m.time, "way": way}
            run = kane.simulate(each, until=3.0, u={"w_dot": speed}, inputs=given)
            deleted = [time for name, cause, time in _told(run) if (name, cause) == ("latch", "deleted")]
            assert deleted == ([] if way * speed > 0.0 else [pytest.approx(2.0, abs=1e-8)])


def test_a_stepper_and_a_session_open_the_latch(catch, dyn):
    stepper, events = kane.Stepper(dyn), []
    for pull in (9.0, 12.0, 12.0):
        stepper.inputs = {"pull": pull, "limit": LIMIT}
        events += stepper.step(1.0)
    assert [(event.cause, event.time) for event in events] == [("imposed", 0.0), ("deleted", 1.0)]
    assert stepper.q[0] == pytest.approx(0.5 * 6.0 * 4.0, rel=1e-10)
    with Session(dyn, Simulated(), Coupler(catch.bodies[-1].point(), stiffness=50.0)) as session:
        session.rehearse(0.1)
        session.inputs = {"pull": 12.0}
        session.rehearse(0.1)
        run = session.trajectory
    assert _told(run)[-1] == ("latch", "deleted", pytest.approx(0.1, abs=1.5e-3))  # one tick
    assert run.u[-1, 0] == pytest.approx(6.0 * (run.time[-1] - run.events[-1].time), rel=1e-6)


def test_a_stepper_imposes_a_switch_that_breaks():
    m = kane.Model("carts")
    first = m.connect(m.ground, m.body("first", mass=3.0), kane.Prismatic("a", axis="x"))
    second = m.connect(m.ground, m.body("second", mass=1.0), kane.Prismatic("b", axis="x"))
    m.load(kane.Motor(first, m.input("pull")))
    m.stop(second, upper=20.0)
    m.latch(1.0 - second.q + first.q, off=m.reaction("tow") - 1.0, name="tow")
    stepper = kane.Stepper(kane.build(kane.formulate(m)), u={"b_dot": 1.0})
    assert [event.cause for event in stepper.step(1.5)] == ["imposed"]
    stepper.impose(second.qdot, name="brake")
    while "brake" not in stepper.mode:
        stepper.step(0.01)
    assert "tow held" in stepper.mode


def test_a_saved_model_and_a_certificate_keep_the_law(catch, tmp_path):
    kane.save_model(catch, tmp_path / "catch.json")
    read = kane.load_model(tmp_path / "catch.json")
    run = kane.simulate(kane.build(kane.formulate(read)), until=3.0, inputs={"pull": 5.0 * read.time})
    assert _told(run)[-1] == ("latch", "deleted", pytest.approx(2.0, abs=1e-8))
    certificate = kane.certify(catch, states=3)
    assert certificate.holds, str(certificate)


def test_unknown_reactions_and_methods_without_forces_are_refused(catch, dyn):
    m = kane.Model("block")
    slide = m.connect(m.ground, m.body("block", mass=2.0), kane.Prismatic("x", axis="x"))
    m.stop(slide, lower=-1.0, name="end")
    with pytest.raises(ModelError, match="'latch' depends on the reaction 'x Fx'"):
        m.latch(slide.q, off=slide.reaction_force.dot(m.ground.y) - 1.0, name="latch")
    with pytest.raises(ModelError, match=r"'gap of a latch' depends on \[end\]"):
        m.latch(slide.q + m.reaction("end"), name="latch")

    class Pad(kane.Intermittent):
        title = "pad"

        def intermittents(self, name):
            row = kane.Row("normal", configuration=slide.q)
            return [kane.IntermittentConstraint(name, gap=slide.q, normal=row, off=m.reaction("end: lower") - 1.0)]

    with pytest.raises(ModelError, match="off= of 'pad' depends on the reaction 'end: lower'"):
        m.intermittent(Pad())
    m.latch(slide.q, off=m.reaction("ends") - 1.0, name="latch")
    with pytest.raises(ModelError, match=r"'latch' depends on the reaction 'ends', .*known are end: lower"):
        kane.formulate(m)
    with pytest.raises(ModelError, match=r"kane.MoreauJean has impulses .*'latch' depends on a reaction"):
        kane.simulate(dyn, until=1.0, integrator=kane.MoreauJean(), dt=0.01)
    with pytest.raises(ModelError, match=r"kane.MoreauJean has impulses .*'latch' depends on a reaction"):
        kane.Stepper(dyn, integrator=kane.MoreauJean())
    with pytest.raises(ModelError, match=r"reaction 'latch'; only on= and off= .*run.reactions"):
        kane.simulate(dyn, until=1.0, events=kane.Event(catch.reaction("latch") - 1.0))
    with pytest.raises(ModelError, match="'latch' depends on an input or a reaction"):
        kane.sensitivities(kane.simulate(dyn, until=1.0), wrt=["x"])
    one = kane.Model("load")
    slide = one.connect(one.ground, one.body("block", mass=2.0), kane.Prismatic("x", axis="x"))
    one.stop(slide, lower=0.0, name="end")
    one.load(kane.Motor(slide, 0.5 * one.reaction("end: lower")))
    with pytest.raises(ModelError, match="a load depends on the reaction 'end: lower' of an intermittent constraint"):
        kane.formulate(one)
