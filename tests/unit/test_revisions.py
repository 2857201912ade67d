"""Constraints imposed on, and deleted from, a motion that is under way: ``Stepper.impose`` and ``Stepper.delete``.

The same model with a switch from the start vouches for the motion, momentum for the impulse, free fall for deletion.
"""

import threading

import numpy as np
import pytest

import kane
from kane.simulation.modes import revisions

G, AT = 10.0, 0.5
START = {"q": {"q1": 0.3}, "u": {"u1": -0.4, "u2": 2.0}}


def arm(declare=lambda model, joints: None):
    """A double pendulum, and its joints."""
    m = kane.Model("arm", gravity=(0, -G, 0))
    one, two = (m.body(name, mass=k, inertia=(0.1, 0.1, 0.1), com=(0.3, 0, 0)) for k, name in ((1, "one"), (2, "two")))
    shoulder = m.connect(m.ground, one, kane.Revolute("q1", axis="z"))
    elbow = m.connect(one, two, kane.Revolute("q2", axis="z"), at=(0.5, 0, 0))
    m.load(kane.Motor(shoulder, m.input("tau")))
    declare(m, (shoulder, elbow))
    return kane.build(kane.formulate(m)), (shoulder, elbow)


@pytest.fixture(scope="module")
def free():
    return arm()


@pytest.fixture
def held_back(monkeypatch):
    """What lets the worker formulate."""
    gate, formulate = threading.Event(), revisions.with_other_intermittent
    monkeypatch.setattr(revisions, "with_other_intermittent", lambda *args: gate.wait(60) and formulate(*args))
    return gate


def state(stepper):
    return np.concatenate([stepper.q, stepper.u])


@pytest.mark.parametrize(
    "method", [kane.RK8(), kane.RK4(), kane.Gauss4(), kane.BDF(rtol=1e-9, atol=1e-11)], ids=lambda m: m.name
)
def test_what_is_imposed_on_line_moves_as_what_a_switch_imposes(free, method):
    dyn, (shoulder, elbow) = free
    whole, _ = arm(lambda m, joints: m.switch(joints[1].qdot + joints[0].qdot, on=m.time - AT, name="lock"))
    stepper = kane.Stepper(dyn, integrator=method, **START)
    for _ in range(50):
        stepper.step(AT / 50)
    before = stepper.u
    assert stepper.impose(shoulder.qdot + elbow.qdot, name="lock").wait()
    (event,) = stepper.step(AT / 50)
    for _ in range(49):
        assert stepper.step(AT / 50) == ()
    other = kane.Stepper(whole, integrator=method, **START)
    (expected,) = [event for _ in range(100) for event in other.step(AT / 50)]
    assert (event.name, event.cause, event.time) == ("lock", "imposed", pytest.approx(AT, rel=1e-14))
    assert event.impulse == pytest.approx(expected.impulse, rel=1e-6)
    assert event.energy_lost == pytest.approx(expected.energy_lost, rel=1e-6)
    assert state(stepper) == pytest.approx(state(other), rel=1e-6, abs=1e-7)
    assert abs(stepper.u.sum()) < 1e-12
    assert abs(before.sum()) > 0.1


def test_what_is_imposed_on_a_closed_loop_is_kept_beside_it():
    """Who vouches: the same linkage with a switch from the start."""

    def linkage(switch):
        m = kane.library.four_bar()
        crank = next(c for c in m.connections if c.name == "q1")["q1"]
        if switch:
            m.switch(crank.qdot - 3 * kane.cos(m.time), on=m.time - AT / 10, name="drive")
        return kane.build(kane.formulate(m)), crank

    dyn, crank = linkage(switch=False)
    start = kane.assemble(dyn, q={"q1": 0.5}, u={"u1": 7.0}, fixed=["q1", "u1"])
    stepper = kane.Stepper(dyn, q=start.q, u=start.u)
    stepper.step(AT / 10)
    stepper.impose(crank.qdot - 3 * kane.cos(dyn.equations.t), name="drive").wait()
    (event,) = stepper.step(AT / 2)
    run = kane.simulate(linkage(switch=True)[0], until=0.6 * AT, q=start.q, u=start.u)
    assert event.impulse == pytest.approx(run.events[0].impulse, rel=1e-8)
    assert state(stepper) == pytest.approx(np.concatenate([run.final.q, run.final.u]), rel=1e-7)
    assert stepper.u[0] == pytest.approx(3 * np.cos(0.6 * AT), rel=1e-13)


def test_its_impulse_is_the_projection_of_momentum(free):
    dyn, (shoulder, elbow) = free
    stepper = kane.Stepper(dyn, **START)
    stepper.step(AT)
    before, M = stepper.u, dyn.mass_matrix(stepper.q)
    stepper.impose([elbow.qdot - 2 * shoulder.qdot - 1], name="ratio").wait()
    (event,) = stepper.step(1e-3)
    A = np.array([-2.0, 1.0])
    assert M @ (event.u - before) == pytest.approx(A * event.impulse[0], rel=1e-10)
    assert A @ event.u == pytest.approx(1.0, rel=1e-12)
    assert event.time == AT
    lost = 0.5 * (before @ M @ before - event.u @ M @ event.u)
    assert event.energy_lost == pytest.approx(lost, rel=1e-10)


def test_the_stepper_goes_on_with_the_old_equations_until_the_new_ones_are_ready(free, held_back):
    dyn, (_, elbow) = free
    stepper, other = kane.Stepper(dyn, **START), kane.Stepper(dyn, **START)
    lock = stepper.impose(elbow.qdot, name="lock")
    for _ in range(3):
        assert stepper.step(0.1) == other.step(0.1) == ()
    assert not lock.ready
    assert not lock.wait(1e-3)
    assert repr(lock) == "<imposition of 'lock': being formulated>"
    assert (state(stepper) == state(other)).all()
    held_back.set()
    assert lock.wait()
    (event,) = stepper.step(0.1)
    assert event.name == "lock"
    assert event.time == pytest.approx(0.3)
    assert stepper.u[1] == 0.0


def test_what_is_deleted_moves_as_if_it_had_never_been(free):
    dyn, (_, elbow) = free
    stepper = kane.Stepper(dyn, **START)
    stepper.impose(elbow.qdot, name="lock").wait()
    stepper.step(0.2)
    assert stepper.delete("lock").ready  # the equations that there were are known
    q, u = stepper.q, stepper.u
    (event,) = stepper.step(0.3)
    assert (event.name, event.cause, event.time) == ("lock", "deleted", pytest.approx(0.2))
    alone = kane.Stepper(dyn, q=q, u=u)
    alone.step(0.3)
    assert state(stepper) == pytest.approx(state(alone), rel=1e-13)
    assert stepper.equations.intermittents == ()


@pytest.fixture(scope="module")
def crate():
    """A crate on two corners, with a lid that friction holds; the slope is less than that of friction."""
    m = kane.Model("crate", gravity=(0.3 * G, -G, 0))
    crate, lid = m.body("crate", mass=2, inertia=(0.02,) * 3), m.body("lid", mass=0.3, inertia=(1e-3,) * 3)
    m.connect(m.ground, crate, kane.Planar(("x", "y", "angle")))
    hinge = m.connect(crate, lid, kane.Revolute("lid", axis="z"))
    m.stick(hinge, static=0.03, kinetic=0.02, name="bearing")
    floor, friction = kane.Plane(m.ground.point(), m.ground.y), kane.Coulomb(0.5, 0.4)
    m.contact(kane.Box(0.2, 0.2, 0.2, crate.point()), floor, friction=friction, name="crate")
    return kane.build(kane.formulate(m)), hinge


def test_a_floor_that_is_deleted_lets_fall_what_lay_on_it(crate):
    dyn, _ = crate
    stepper = kane.Stepper(dyn, q={"y": 0.1})
    stepper.step(0.1)
    assert stepper.q[:2] == pytest.approx([0.0, 0.1], abs=1e-14)
    stepper.delete("crate").wait()
    events = stepper.step(0.2)
    assert {event.cause for event in events} == {"deleted"}
    assert {event.name for event in events} == {c.name for c in dyn.equations.intermittents if c.name != "bearing"}
    assert stepper.q[:2] == pytest.approx([0.5 * 3.0 * 0.04, 0.1 - 0.5 * 10.0 * 0.04], rel=1e-9)


def test_what_sticks_and_what_slips_goes_on_so_where_something_else_is_imposed(crate):
    dyn, hinge = crate
    start = {"q": {"y": 0.1}, "u": {"x_dot": 1.0}}
    stepper, other = kane.Stepper(dyn, **start), kane.Stepper(dyn, **start)
    assert stepper.step(0.05)[0].cause == other.step(0.05)[0].cause
    stepper.impose(hinge.qdot, name="hold").wait()
    assert [event.name for event in stepper.step(0.05)] == ["hold"]
    other.step(0.05)
    assert state(stepper) == pytest.approx(state(other), rel=1e-9, abs=1e-12)


def test_laws_that_are_sampled_and_inputs_that_were_set_go_on_over_a_revision(free):
    dyn, (_, elbow) = free
    asked = []

    def law(t, q, u, k):
        asked.append(t)
        return 0.1 * k - 0.2 * u[0], k + 1

    sampled = kane.Sampled(law, period=0.1, delay=0.02, state=0)
    stepper = kane.Stepper(dyn, inputs={"tau": sampled}, **START)
    stepper.step(0.25)
    held = stepper.inputs
    stepper.impose(elbow.qdot, name="lock").wait()
    stepper.step(0.01)
    assert stepper.inputs == held
    stepper.step(0.24)
    assert asked == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    stepper = kane.Stepper(dyn, **START)
    stepper.inputs = [1.5]
    stepper.impose(elbow.qdot, name="lock").wait()
    stepper.step(0.01)
    assert stepper.inputs == [1.5]


def test_what_contradicts_is_refused_by_name_with_time_and_state_and_the_stepper_stands_where_it_was(free):
    dyn, (shoulder, elbow) = free
    stepper = kane.Stepper(dyn, **START)
    stepper.impose(shoulder.qdot - 1, name="drive")
    stepper.impose(elbow.qdot, name="lock").wait()
    assert [event.name for event in stepper.step(0.25)] == ["drive", "lock"]
    before = state(stepper)
    stepper.impose(shoulder.qdot + elbow.qdot, name="brake").wait()
    with pytest.raises(kane.SimulationError, match=r"from t = 0\.25 s, q1 = 0.55.*'drive: rate'.*'lock: rate'.*'brake"):
        stepper.step(0.25)
    assert stepper.time == 0.25
    assert (state(stepper) == before).all()
    assert stepper.step(0.25) == ()
    assert stepper.u == pytest.approx([1.0, 0.0], abs=1e-12)
    stepper.delete("drive")
    stepper.impose(shoulder.qdot + elbow.qdot, name="brake").wait()
    assert [event.cause for event in stepper.step(0.25)] == ["deleted", "imposed"]
    assert stepper.u == pytest.approx([0.0, 0.0], abs=1e-12)


def stepped_until_refused(stepper):
    for _ in range(10_000):
        stepper.step(1e-3)


def test_what_cannot_be_formulated_is_told_once_and_what_was_asked_behind_it_is_done(free):
    dyn, (shoulder, elbow) = free
    stepper = kane.Stepper(dyn, **START)
    bent, lock = stepper.impose(shoulder.qdot * elbow.qdot, name="bent"), stepper.impose(elbow.qdot, name="lock")
    with pytest.raises(kane.ModelError, match="'bent: rate' is not linear in the speeds"):
        bent.wait()
    while True:  # until the lock has been formulated without it
        found = stepper.step(0.01)
        if found:
            break
        lock.wait()
    assert [event.name for event in found] == ["lock"]
    stepper.impose(shoulder.qdot * elbow.qdot)
    with pytest.raises(kane.ModelError, match="'imposed: rate' is not linear"):
        stepped_until_refused(stepper)
    assert stepper.step(0.01) == ()


def test_what_is_withdrawn_before_a_step_began_with_it_has_no_error_and_no_events(free, held_back):
    """The second revision has nothing of the first, whether that was withdrawn or is refused later."""
    dyn, (shoulder, elbow) = free
    stepper, other = kane.Stepper(dyn, **START), kane.Stepper(dyn, **START)
    stepper.impose(shoulder.qdot * elbow.qdot, name="bent")
    assert stepper.delete("bent").wait()
    held_back.set()
    for _ in range(3):
        assert stepper.step(0.1) == other.step(0.1) == ()
    assert (state(stepper) == state(other)).all()
    stepper.impose(shoulder.qdot * elbow.qdot, name="bent")
    assert stepper.impose(elbow.qdot, name="lock").wait()
    with pytest.raises(kane.ModelError, match="'bent: rate' is not linear"):
        stepper.step(0.1)
    (event,) = stepper.step(0.1)
    assert event.name == "lock"


def test_what_cannot_be_asked_for_is_refused_at_once(free, crate):
    dyn, (_, elbow) = free
    stepper = kane.Stepper(dyn, **START)
    stepper.impose(elbow.qdot, name="lock")
    for wrong, message in (
        (lambda: stepper.impose(elbow.qdot, name="lock"), "already a constraint named 'lock'"),
        (lambda: stepper.impose(elbow.q), r"impose\(\) holds q2, which contains no velocity"),
        (lambda: stepper.impose([]), "got no equation"),
        (lambda: stepper.impose(3.0), "give a list of expressions"),
        (lambda: stepper.impose(crate[1].qdot), "expression lid. of another model"),
        (lambda: stepper.delete("locl"), "constraint 'locl' to be deleted; did you mean lock"),
        (lambda: stepper.delete(3), "3"),
        (lambda: stepper.delete([3]), r"\[3\]"),
        (lambda: stepper.impose(elbow.qdot, name="other").wait("long"), "the time to wait"),
    ):
        with pytest.raises(kane.ModelError, match=message):
            wrong()
    permanent, _ = arm(lambda m, joints: m.constrain(joints[1].qdot, name="weld"))
    with pytest.raises(kane.ModelError, match="'weld' is permanent"):
        kane.Stepper(permanent).delete("weld")
    ring = kane.Model("ring", gravity=(0, 0, 0))
    body = ring.body("B", mass=1, inertia=(1, 1, 1))
    ring.connect(ring.ground, body, kane.Gimbal("ring", sequence="zyx", speeds=kane.MeasureNumbers()))
    charted = kane.Stepper(kane.build(kane.formulate(ring)), charts=kane.Charts())
    with pytest.raises(kane.ModelError, match="a stepper with charts cannot take further constraints"):
        charted.impose(body.angular_velocity.dot(body.x))


def test_a_constraint_in_a_list_of_rates_says_what_a_list_may_hold():
    m = kane.Model("arm")
    A = m.body("A", mass=1.0, inertia=(0.1,) * 3, com=(0.3, 0, 0))
    hinge = m.connect(m.ground, A, kane.Revolute("q1"))
    pin = kane.Coincidence(A.point((1, 0, 0)), m.ground.point((1, 0, 0)))
    with pytest.raises(kane.ModelError, match=r"give only expressions of velocities in a list.*each constraint"):
        kane.Stepper(kane.build(kane.formulate(m))).impose([pin, hinge.qdot])
