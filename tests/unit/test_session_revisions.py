"""Constraints imposed on, and deleted from, a haptic session.

Who vouches: ``Stepper.impose`` with the recorded inputs to the last bit, plastic impacts in closed form, the energy
balance of passive steps, and the same session without the revision.
"""

import threading

import numpy as np
import pytest
from oracles.waiting import until

import kane
from kane.engine.realtime import loop_arrays as at
from kane.errors import ModelError, SimulationError
from kane.haptics import Arm, Coupler, PassiveMidpoint, RigidCoupler, Safety, Session, Simulated
from kane.haptics.loop import loop as session_loop
from kane.simulation.modes import revisions

T = 1e-3


@pytest.fixture(autouse=True)
def stalls(monkeypatch):
    """A machine that stalls for 10 ms ends the force, as it should. That is tried elsewhere, and not wanted here."""
    monkeypatch.setattr("kane.haptics.loop.circuit.MISSED", 1e6)


def carts(masses=(1.0, 3.0), name="carts"):
    """Two carts on one track, a motor input at the first, and their joints."""
    m = kane.Model(name)
    a, b = (
        m.connect(m.ground, m.body(word, mass=mass), kane.Prismatic(word, axis="x"))
        for word, mass in zip("ab", masses, strict=True)
    )
    m.load(kane.Motor(a, m.input("push")))
    return m, a, b


@pytest.fixture(scope="module")
def track():
    m, a, b = carts()
    return kane.build(kane.formulate(m)), a, b


@pytest.fixture(scope="module")
def crate():
    """A crate that stands on a rough floor, its slide along x, and a pendulum in it."""
    m = kane.Model("crate", gravity=(0, -9.81, 0))
    crate = m.body("crate", mass=0.5, inertia=(0.01,) * 3)
    weight = m.body("weight", mass=0.2, inertia=(1e-3,) * 3, com=(0, -0.1, 0))
    slide = m.connect(m.ground, crate, kane.Planar(("x", "y", "angle")))
    pendulum = m.connect(crate, weight, kane.Revolute("swing", axis="z"))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for side, word in ((-0.1, "left"), (0.1, "right")):
        m.contact(crate.point((side, -0.05, 0)), floor, friction=kane.Coulomb(0.5, 0.4), name=word)
    return kane.build(kane.formulate(m)), slide, pendulum, crate.point()


def coupler(joint, stiffness=60.0, damping=1.0):
    return Coupler(joint.child.point(), stiffness=stiffness, damping=damping, axes="x")


def mover():
    return Simulated(
        quantum=2e-5, arm=Arm(stiffness=250.0, damping=8.0, path=[(0, 0, 0, 0), (0.2, 0.05, 0, 0), (0.5, -0.03, 0, 0)])
    )


def stepped(session, dyn, start, times, revise):
    """States of a Stepper with the inputs of a session's log, revised at the given ticks."""
    log = session.log
    columns = np.hstack([log[name] for name in ("proxy", "rates", "stiffness", "damping")])
    stepper = kane.Stepper(dyn, integrator=kane.RK4(), **start)
    users = len(stepper.inputs) - columns.shape[1]
    states, events = [np.concatenate([[0.0], stepper.q, stepper.u])], []
    for k, row in enumerate(columns):
        stepper.inputs = np.concatenate([np.zeros(users), row])
        if k in times:
            revise(stepper, times.index(k)).wait()
        events += stepper.step(T)
        states.append(np.concatenate([[stepper.time], stepper.q, stepper.u]))
    return np.array(states), events


def told(events):
    return [(event.time, event.name, event.cause) for event in events]


def test_a_weld_is_a_plastic_impact_and_its_deletion_gives_the_freedom_back(track):
    """m_a u_a = (m_a + m_b) u, half m_a m_b/(m_a + m_b) u_a^2 is lost; then F/(m_a + m_b), then F/m_a of one cart."""
    dyn, a, b = track
    with Session(dyn, Simulated(), coupler(b), u={"a_dot": 0.4}, inputs={"push": 0.8}) as s:
        s.rehearse(0.1)
        assert s.impose(a.qdot - b.qdot, name="weld").wait()
        assert s.snapshot().u == pytest.approx([0.48, 0.0], rel=1e-12)
        s.rehearse(0.1)
        common = 0.48 / 4 + 0.1 * 0.8 / 4
        assert s.snapshot().u == pytest.approx([common, common], rel=1e-12)
        s.delete("weld").wait()
        s.inputs = {"push": -0.8}
        s.rehearse(0.1)
        assert s.snapshot().u == pytest.approx([common - 0.08, common], rel=1e-12)
        first, welded, last = s.trajectories
        report, states = s.report, s.states
    (event,) = welded.events
    assert (event.name, event.cause, event.time) == ("weld", "imposed", pytest.approx(0.1, rel=1e-14))
    assert event.energy_lost == pytest.approx(0.5 * 0.75 * 0.48**2, rel=1e-12)
    assert abs(event.impulse[0]) == pytest.approx(0.75 * 0.48, rel=1e-12)
    assert report.events == (
        (pytest.approx(0.1, rel=1e-14), "weld", "imposed"),
        (pytest.approx(0.2, rel=1e-14), "weld", "deleted"),
    )
    assert [c.name for c in s.coupling.dyn.equations.intermittents] == []
    np.testing.assert_array_equal(states[:, 0], np.arange(301) * T)
    parts = [np.column_stack([run.time, run.q, run.u]) for run in (first, welded, last)]
    np.testing.assert_array_equal(states, np.vstack([parts[0], parts[1][1:], parts[2][1:]]))
    assert first.energy[-1] - welded.energy[1] == pytest.approx(
        0.5 * 0.75 * 0.48**2 - (0.8 * 0.12 * T + 0.5 * 0.8 * 0.2 * T**2), rel=1e-9
    )


@pytest.mark.parametrize("predict", [False, True])
def test_in_real_time_the_motion_is_that_of_a_stepper_with_the_same_revisions_to_the_last_bit(track, predict):
    dyn, a, b = track
    with Session(dyn, mover(), coupler(b), u={"a_dot": 0.2}, predict=predict) as s:
        s.arm()
        held = s._loop.coupled.dyn
        s.start(100.0)
        weld = s.impose(a.qdot - b.qdot, name="weld")
        until(lambda: weld.adopted)
        freed = s.delete("weld")
        until(lambda: freed.adopted)
        last = s.snapshot().tick
        until(lambda: s.snapshot().tick > last + 300)
        s.stop()
        events = s.report.events
    assert [event[1:] for event in events] == [("weld", "imposed"), ("weld", "deleted")]
    assert len(s.log) == len(s.states) - 1
    ticks = [round(event[0] / T) for event in events]

    def revise(stepper, k):
        return stepper.delete("weld") if k else stepper.impose(a.qdot - b.qdot, name="weld")

    states, found = stepped(s, held, {"u": {"a_dot": 0.2}}, ticks, revise)
    np.testing.assert_array_equal(s.states[:, 1:], states[:, 1:])
    assert s.states[:, 0] == pytest.approx(states[:, 0], rel=1e-15)  # a Stepper counts times from each revision
    assert told(found) == [(pytest.approx(event[0], rel=1e-15), *event[1:]) for event in events]
    assert np.abs(s.log["pull"]).max() > 0.1


def test_contacts_and_friction_go_on_as_in_a_stepper(crate):
    """The brake's impulse lifts a foot of the sliding crate, which rocks until it stands again, and then sticks."""
    dyn, _, pendulum, handle = crate
    start = {"q": {"y": 0.05}, "u": {"x_dot": 1.0, "swing_dot": 0.5}}
    pull = Coupler(handle, stiffness=120.0, damping=1.0, axes="x")
    with Session(dyn, mover(), pull, **start) as s:
        s.arm()
        s.rehearse(0.15)
        s.arm()
        s.impose(pendulum.qdot, name="brake").wait()
        s.rehearse(0.45)
        held, events = s.trajectories[0], s.report.events
        first = s._loops.whole[0].coupled.dyn
    assert ("brake", "imposed") in [event[1:] for event in events]
    assert "sticks" in [cause for time, _, cause in events if time > 0.16]  # it slides before
    assert held.active("left")[-1]
    states, found = stepped(s, first, start, [150], lambda stepper, _: stepper.impose(pendulum.qdot, name="brake"))
    np.testing.assert_allclose(s.states, states, rtol=1e-9, atol=1e-11)
    # both feet may change at once, and rounding decides which is first
    assert sorted((round(t, 6), *rest) for t, *rest in told(found)) == sorted(
        (round(t, 6), *rest) for t, *rest in events
    )
    assert s.snapshot().u[3] == pytest.approx(0.0, abs=1e-12)


def test_a_switch_that_has_closed_stays_closed_and_keeps_its_configuration():
    """Its signal has passed, so that only the status tells; the locked cart stays where it was stopped."""
    m, a, b = carts(name="carts with a lock")
    m.switch(kane.Prescribed(a, 0.0), on=(m.time - 0.0505) * (0.0525 - m.time), name="lock")
    with Session(kane.build(kane.formulate(m)), Simulated(), coupler(b), u={"a_dot": 0.4}, inputs={"push": 2.0}) as s:
        s.rehearse(0.1)
        there = s.snapshot().q[0]
        s.impose(b.qdot, name="anchor").wait()
        s.rehearse(0.1)
        assert s.snapshot().u == pytest.approx([0.0, 0.0], abs=1e-12)
        assert s.snapshot().q[0] == pytest.approx(there, abs=1e-12)
    assert there == pytest.approx(0.4 * 0.0505 + 0.0505**2, rel=1e-9)
    assert [event[1:] for event in s.report.events] == [("lock", "imposed"), ("anchor", "imposed")]


@pytest.mark.filterwarnings("error")
def test_without_its_floor_a_ball_falls_freely():
    """y = -g t^2/2, exact for RK4; the session is left without intermittent constraints."""
    m = kane.Model("ball", gravity=(0, 0, -9.81))
    body = m.body("ball", mass=0.2)
    m.connect(m.ground, body, kane.Prismatic("z", axis="z"))
    m.contact(body.point(), kane.Plane(m.ground.point(), m.ground.z), name="floor")
    with Session(kane.build(kane.formulate(m)), Simulated(), Coupler(body.point(), stiffness=9.0, axes="z")) as s:
        s.rehearse(0.02)
        s.delete("floor").wait()
        s.rehearse(0.1)
        t, z = s.states[:, 0], s.states[:, 1]
        events = s.report.events
    assert z == pytest.approx(-9.81 * np.maximum(t - 0.02, 0.0) ** 2 / 2, abs=1e-14)
    assert events[-1] == (pytest.approx(0.02), "floor", "deleted")


def test_nothing_waits_for_python_between_two_loops(track, monkeypatch):
    """One call of native code has the ticks before and after; the tick of the revision is not left out."""
    dyn, a, b = track
    calls, native = [], session_loop.run_session

    def counted(circuit):
        before = int(circuit.counts.ticks[0])
        result = native(circuit)
        calls.append(int(circuit.counts.ticks[0]) - before)
        return result

    monkeypatch.setattr(session_loop, "run_session", counted)
    with Session(dyn, Simulated(), coupler(b), u={"a_dot": 0.4}) as s:
        weld = s.impose(a.qdot - b.qdot, name="weld")
        assert weld.wait()
        assert not weld.adopted
        s.rehearse(0.05)
        assert weld.adopted
    assert calls == [0, 50]
    np.testing.assert_array_equal(s.states[:2, 3:], [[0.4, 0.0], [0.1, 0.1]])
    assert (s.log["time"] == np.arange(50) * T).all()
    assert s.report.lost == 0


def test_the_force_of_an_armed_session_does_not_jump_at_the_impulse(track):
    """Adopted while armed: B v of the coupler is beyond the slew rate within one tick, and the force is not."""
    dyn, _, b = track
    arm = Arm(stiffness=800.0, damping=20.0, path=[(0, 0, 0, 0), (0.05, 0, 0, 0), (3.0, 0.3, 0, 0)])
    safety = Safety(force=0.4, rise=40.0, soft=0.02)
    with Session(dyn, Simulated(arm=arm), coupler(b, stiffness=150.0, damping=8.0), safety=safety) as s:
        for revise in (lambda: s.impose(b.qdot, name="anchor"), lambda: s.delete("anchor")):
            revise().wait()  # compiles the equations, so that they are ready at once later
            s.rehearse(0.005)
        s.arm()
        s.start(100.0)
        until(lambda: s.snapshot().tick > 600)
        anchor = s.impose(b.qdot, name="anchor")
        until(lambda: anchor.adopted)
        last = s.snapshot().tick
        until(lambda: s.snapshot().tick > last + 10)
        s.stop()
        log = s.log
    when = s.report.events[-1][0]
    k = round(when / T)
    assert log["status"][k - 1] == log["status"][k + 1] == at.ARMED
    wanted = np.abs(np.diff(log["pull"][k - 1 : k + 2, 0]))
    assert wanted.max() > 2 * 40.0 * T
    change = np.linalg.norm(np.diff(log["force"], axis=0), axis=1)
    assert change.max() <= 40.0 * T * (1 + 1e-9)
    assert change[k] > 0.9 * 40.0 * T


def test_constraints_that_contradict_are_refused_and_the_session_continues_as_without_them(track):
    dyn, a, b = track
    sessions = []
    for contradicted in (False, True):
        with Session(dyn, mover(), coupler(b), u={"a_dot": 0.2}) as s:
            s.impose(a.qdot - 0.3, name="drive").wait()
            s.arm()
            s.rehearse(0.1)
            s.arm()
            if contradicted:
                wrong = s.impose(a.qdot - 0.1, name="wrong")
                assert wrong.wait()
                with pytest.warns(UserWarning, match=r"imposition of 'wrong': refused.*contradict"):
                    s.rehearse(0.3)
                assert not wrong.adopted
                assert "'wrong: rate' (off by 0.1); delete one before the other" in wrong.refusal
                assert repr(wrong) == "<imposition of 'wrong': refused>"
                s.arm()
                s.rehearse(0.1)
                assert s.impose(b.qdot, name="right").wait()  # another one may follow
                s.rehearse(0.03)
                assert s._loops.whole[-1].problem.dyn.equations.intermittents[-1].name == "right"
            else:
                s.rehearse(0.3)
                s.arm()
                s.rehearse(0.1)
            sessions.append(s)
    plain, tried = sessions
    n = len(plain.states)
    np.testing.assert_array_equal(plain.states, tried.states[:n])
    for name in ("force", "pull", "proxy", "status", "fault"):
        np.testing.assert_array_equal(plain.log[name], tried.log[name][: n - 1])
    assert plain.report.events == tried.report.events[:-1]


def test_the_balance_of_passive_steps_has_the_loss_of_the_impulse(track):
    dyn, a, b = track
    with Session(dyn, mover(), coupler(b), u={"a_dot": 0.3}, integrator=PassiveMidpoint()) as s:
        before = s.snapshot()
        s.arm()
        s.rehearse(0.2)
        s.arm()
        s.impose(a.qdot - b.qdot, name="weld").wait()
        s.rehearse(0.3)
        energies = [s.report.energy, s.ledger]
        u = s.trajectories[0].u[-1]
    assert before.tick == 0
    (first, last), ledger = energies
    lost = 0.5 * 0.75 * (u[0] - u[1]) ** 2
    assert lost > 1e-3
    assert ledger.lost == pytest.approx(lost, rel=1e-12)
    assert last - first == pytest.approx(ledger.coupler + ledger.other - ledger.lost + ledger.owed, abs=1e-14)
    assert abs(np.diff(s.snapshot().u)[0]) < 1e-14


def test_samples_of_an_input_continue_through_a_revision(track):
    """Constant forces for 50 ms each, exact for RK4."""
    dyn, a, b = track
    push = kane.Held([0.0, 0.05, 0.1], [1.0, 2.0, 4.0])
    with Session(dyn, Simulated(), coupler(b), inputs={"push": push}) as s:
        s.rehearse(0.06)
        s.impose(b.qdot - 0.0 * a.qdot, name="anchor").wait()
        s.rehearse(0.1)
        assert s.snapshot().u == pytest.approx([0.05 + 0.1 + 0.06 * 4.0, 0.0], abs=1e-12)


@pytest.mark.parametrize("integrator", [None, kane.Gauss4(), PassiveMidpoint()], ids=["RK4", "Gauss4", "passive"])
def test_a_linkage_stops_by_its_crank_and_stays_closed(integrator):
    """All bars rest, because the linkage has one freedom; the loop keeps its residual through impulse and deletion."""
    m = kane.library.four_bar()
    crank = next(c for c in m.connections if c.name == "q1")["q1"]
    dyn = kane.build(kane.formulate(m))
    start = kane.assemble(dyn, q={"q1": 0.5}, u={"u1": 7.0}, fixed=["q1", "u1"])
    pull = Coupler(m.bodies[1].point((0.1, 0, 0)), stiffness=20.0, damping=0.2, axes="xy")
    with Session(dyn, mover(), pull, q=start.q, u=start.u, integrator=integrator) as s:
        s.rehearse(0.1)
        s.impose(crank.qdot, name="stop").wait()
        s.arm()
        s.rehearse(0.1)
        assert np.abs(s.snapshot().u).max() < 1e-12
        s.delete("stop").wait()
        s.rehearse(0.1)
        runs = s.trajectories
    assert np.abs(runs[0].u[-1]).min() > 0.1
    assert np.abs(s.snapshot().u).min() > 0.1
    assert max(run["configuration_residual"].max() for run in runs) < 1e-10


def test_ticks_continue_while_equations_are_formulated_and_a_later_run_adopts_them(track, monkeypatch):
    gate, formulate = threading.Event(), revisions.with_other_intermittent
    monkeypatch.setattr(revisions, "with_other_intermittent", lambda *args: gate.wait(60) and formulate(*args))
    dyn, a, b = track
    with Session(dyn, Simulated(), coupler(b), u={"a_dot": 0.4}) as s:
        weld = s.impose(a.qdot - b.qdot, name="weld")
        s.rehearse(0.1)
        assert not weld.ready
        assert not weld.wait(1e-3)
        assert repr(weld) == "<imposition of 'weld': not adopted yet>"
        assert s.snapshot().u.tolist() == [0.4, 0.0]
        gate.set()
        assert weld.wait()
        s.rehearse(0.1)
        assert weld.adopted
        assert weld.refusal == ""
        assert s.snapshot().u == pytest.approx([0.1, 0.1], rel=1e-14)
    assert s.report.events == ((pytest.approx(0.1), "weld", "imposed"),)


def test_a_failure_after_a_revision_is_told_with_the_constraints_of_then(track):
    """The drive of a later time contradicts the first: switches decide within a tick."""
    m, a, b = carts(name="carts with drives")
    m.switch(a.qdot - 0.2, on=m.time - 0.1505, name="fast")
    with Session(kane.build(kane.formulate(m)), Simulated(), coupler(b)) as s:
        s.rehearse(0.1)
        s.impose(a.qdot - 0.1, name="slow").wait()
        with pytest.raises(SimulationError, match=r"t = 0\.1505.*'slow: rate'"):
            s.rehearse(0.1)
    assert s.report.events == ((pytest.approx(0.1), "slow", "imposed"),)


def test_results_that_a_revised_session_does_not_have_are_named(track, tmp_path):
    dyn, a, b = track
    with Session(dyn, Simulated(), coupler(b)) as s:
        s.rehearse(0.01)
        assert len(s.trajectories) == 1
        s.impose(a.qdot - b.qdot, name="weld").wait()
        s.rehearse(0.01)
        for result in (lambda: s.trajectory, s.page, lambda: s.save(tmp_path / "it.session")):
            with pytest.raises(ModelError, match=r"imposed or deleted in this session.*session\.trajectories"):
                result()
    assert not (tmp_path / "it.session").exists()


def test_impositions_that_cannot_be_are_refused_at_once(track, crate):
    dyn, a, b = track
    with Session(dyn, Simulated(), coupler(b)) as s:
        for wrong, message in (
            (3, "impose"),
            (a.q - b.q, "contains no velocity"),
            (crate[2].qdot, "model"),
            ([], "no equation"),
        ):
            with pytest.raises(ModelError, match=message):
                s.impose(wrong)
        with pytest.raises(ModelError, match="no contact, stop, stick, latch, switch or imposed constraint 'weld'"):
            s.delete("weld")
        s.impose(a.qdot - b.qdot, name="weld")
        for second in (lambda: s.impose(b.qdot), lambda: s.delete("weld")):
            with pytest.raises(ModelError, match="<imposition of 'weld': not adopted yet> comes first"):
                second()
        s._loops._waiting.wait()
        s.rehearse(0.01)
        with pytest.raises(ModelError, match="'weld'"):
            s.impose(b.qdot, name="weld")
        s.delete("weld").wait()
    for call in (lambda: s.impose(b.qdot), lambda: s.delete("weld")):
        with pytest.raises(ModelError, match="closed"):
            call()
    m = kane.Model("slider")
    slide = m.connect(m.ground, m.body("slider", mass=0.2), kane.Prismatic("x", axis="x"))
    rigid = RigidCoupler(slide.child.point(), axes="x")
    held = Session(kane.build(kane.formulate(m)), Simulated(), rigid)
    with held, pytest.raises(ModelError, match="RigidCoupler keeps its constraints"):
        held.impose(slide.qdot)


def test_a_constraint_that_cannot_be_formulated_is_told_by_wait_or_by_the_next_run(track):
    dyn, a, b = track
    with Session(dyn, Simulated(), coupler(b)) as s:
        bent = s.impose(a.qdot * b.qdot, name="bent")
        with pytest.raises(ModelError, match="bent"):
            bent.wait()
        assert "bent" in bent.refusal
        s.rehearse(0.01)
        s.impose(a.qdot * b.qdot, name="bent")
        until(lambda: s._loops._waiting is None)
        with pytest.raises(ModelError, match="bent"):
            s.rehearse(0.01)
        s.rehearse(0.01)
    assert len(s.states) == 21
    with Session(dyn, Simulated(), coupler(b), integrator=PassiveMidpoint()) as s:
        with pytest.raises(ModelError, match="PassiveMidpoint is for constraints that do no work"):
            s.impose(a.qdot - 0.1, name="drive").wait()
        s.rehearse(0.01)
    assert s.report.events == ()


def test_a_session_whose_mechanism_has_failed_takes_no_revisions():
    """A cart that is driven into its stop: one of the two is wrong, and the motion ends there."""
    m, a, _ = carts(name="driven")
    m.stop(a, lower=-0.05, upper=0.05)
    dyn = kane.build(kane.formulate(m))
    with Session(dyn, Simulated(), coupler(a), u={"a_dot": 0.2}) as s:
        s.impose(a.qdot - 0.3, name="drive").wait()
        with pytest.raises(SimulationError, match="contradicts"):
            s.rehearse(0.5)
        for revise in (lambda: s.delete("drive"), lambda: s.impose(a.qdot, name="brake")):
            with pytest.raises(ModelError, match="cannot continue, and takes no revisions; make another session"):
                revise()


def test_the_next_revision_warns_of_a_refusal_that_nobody_has_read(track):
    dyn, a, b = track
    with Session(dyn, Simulated(), coupler(a)) as s:
        s.impose(a.qdot, name="brake").wait()
        s.rehearse(5 * T)
        s.impose(a.qdot - 1.0, name="drive").wait()
        s.start(60.0)
        until(lambda: s.snapshot().tick > 20)
        with pytest.warns(UserWarning, match="did not adopt.*'drive'"):
            s.impose(b.qdot, name="other").wait()
        s.stop()
