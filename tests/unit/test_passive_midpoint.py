"""Who vouches: the balance of energy, closed forms of oscillation, ``simulate`` with steps that shrink."""

import math

import numpy as np
import pytest

import kane
from kane.dynamics.constraint_terms import ConstraintTerms
from kane.engine.memory.loop_arguments import Course
from kane.engine.realtime.passive_midpoint import march_passive
from kane.haptics import Arm, Coupler, PassiveMidpoint, Session, Simulated
from kane.haptics.scenes import ball_in_a_box, crank, pushed_cart


def free(model, handle, q, u, dt):
    """A session of the model that nobody touches, and what goes on from it alone: T [s] by so many steps."""
    dyn = kane.build(kane.formulate(model))
    session = Session(
        dyn, Simulated(rate=1 / dt), Coupler(handle, stiffness=1.0), q=q, u=u, integrator=PassiveMidpoint()
    )
    integration, passive = session._loop.integration, session._loop.passive.arrays

    def go(steps):
        integration.go(Course(0.0, steps * dt, dt, steps, 1, np.zeros(0), np.array([steps * dt])))
        integration.make_room(steps + 1, 2)
        given = integration.system, integration.tables, integration.course, integration.watch, integration.store
        assert march_passive(*given, passive, steps) == 0
        return integration.states()

    session.close()
    return session, go


def arms(dampers=0.0):
    """Three links in space, by hinges about axes that are not parallel, below a spring and under gravity."""
    m = kane.Model("arms", gravity=(0, 0, -9.81))
    last = m.ground
    for k, axis in enumerate("yxz"):
        body = m.body(f"B{k}", mass=0.5 + 0.2 * k, inertia=(4e-3, 6e-3, 5e-3), com=(0.1, 0.02, -0.15))
        joint = m.connect(last, body, kane.Revolute(f"q{k + 1}", axis=axis), at=(0.05, 0, -0.3 if k else 0.0))
        if k == 1:
            m.load(kane.Spring(joint, 3.0))
        if dampers:
            m.load(kane.Damper(joint, dampers))
        last = body
    return m, last.point((0, 0, -0.3))


def test_a_lossless_oscillation_neither_gains_nor_loses_in_a_million_ticks():
    """Energies as ``dyn.energy`` has them; 10^6 sums of some J, each rounded, walk by 1e-12 J."""
    m, handle = arms()
    session, go = free(m, handle, [0.8, -0.5, 0.6], [0.0, 1.0, 0.0], 1e-3)
    rows = go(1_000_000)
    looked = rows[::997]
    energy = session._loop.coupled.dyn.energy(looked[:, 1:4], looked[:, 4:7])
    total = np.sum(energy, axis=0)
    span = np.ptp(energy[0])
    assert span > 1.0
    # all is there at each of the thousand looks but those at turning points, where some of it is owed for a tick or two
    assert np.median(np.abs(total - total[0])) < 1e-10 * span
    assert np.abs(total - total[0]).max() < 1e-5 * span
    ledger = session.ledger
    assert ledger.kinetic + ledger.potential - ledger.owed == pytest.approx(total[0], abs=1e-10 * span)
    assert ledger.coupler == 0.0
    assert abs(ledger.other) < 1e-12


def test_the_period_of_a_harmonic_oscillation_is_that_of_the_midpoint_rule():
    """tan(w' T/2) = w T/2: closed form of the implicit midpoint rule, which this one shares to T^2."""
    m = kane.Model("oscillator")
    body = m.body("mass", mass=0.5)
    m.load(kane.Spring(m.connect(m.ground, body, kane.Prismatic("x", axis="x")), 200.0))
    _, go = free(m, body.point(), [0.1], [0.0], 1e-3)
    x = go(5000)[:, 1]
    w = math.sqrt(200.0 / 0.5)
    assert np.abs(x).max() == pytest.approx(0.1, rel=1e-3)
    assert x == pytest.approx(0.1 * np.cos(w * np.arange(5001) * 1e-3), abs=5e-4)


@pytest.mark.parametrize("dampers", [0.0, 0.05])
def test_it_agrees_with_simulate_as_the_step_shrinks(dampers):
    """To the first order: what is quadratic in the speeds is taken with one of them at the start of a step."""
    m, handle = arms(dampers)
    exact = kane.simulate(kane.build(kane.formulate(m)), until=0.5, q=[0.8, -0.5, 0.6], u=[0.0, 1.0, 0.0]).final.q
    errors = []
    for steps in (250, 500, 1000):
        _, go = free(m, handle, [0.8, -0.5, 0.6], [0.0, 1.0, 0.0], 0.5 / steps)
        errors.append(np.abs(go(steps)[-1, 1:4] - exact).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([1.0, 1.0], abs=0.1)
    assert errors[-1] < 1e-3


def test_a_body_that_turns_freely_keeps_its_energy_with_quaternions():
    m = kane.Model("spinner", gravity=(0, 0, 0))
    body = m.body("body", mass=1.0, inertia=(0.02, 0.03, 0.045))
    m.connect(m.ground, body, kane.Free("b"))
    u = np.array([0.3, 5.0, 0.2, 0.1, -0.2, 0.3])
    session, go = free(m, body.point((0.1, 0, 0)), None, u, 1e-3)
    rows = go(20_000)
    kinetic = session._loop.coupled.dyn.energy(rows[::100, 1:8], rows[::100, 8:]).kinetic
    assert kinetic == pytest.approx(np.full(len(kinetic), kinetic[0]), rel=1e-11)
    exact = kane.simulate(kane.build(kane.formulate(m)), until=1.0, u=u).final
    assert rows[1000, 1:8] == pytest.approx(exact.q, abs=1e-3)  # of the first order, by steps of 1e-3


@pytest.mark.parametrize("dampers", [0.0, 0.02])
def test_in_a_hand_the_change_of_energy_is_the_work_of_coupler_and_loads_to_rounding(dampers):
    m, handle = arms(dampers)
    dyn = kane.build(kane.formulate(m))
    arm = Arm(mass=0.5, damping=8.0, stiffness=250.0, path=[(0, 0, 0, 0), (0.5, 0.1, 0, 0.02), (1, -0.05, 0.08, 0)])
    with Session(
        dyn, Simulated(arm=arm), Coupler(handle, stiffness=400.0, damping=3.0), integrator=PassiveMidpoint()
    ) as s:
        before = sum(dyn.energy(s.snapshot().q, s.snapshot().u))
        s.arm()
        s.rehearse(2.0)
        now, ledger = s.snapshot(), s.ledger
    after = sum(dyn.energy(now.q, now.u))
    assert abs(ledger.coupler) > 0.02
    assert ledger.kinetic + ledger.potential == pytest.approx(after, abs=1e-12)
    assert after - before == pytest.approx(ledger.coupler + ledger.other + ledger.owed, abs=1e-11)
    assert (ledger.other < 0.0) == bool(dampers)


def test_a_coupler_that_an_explicit_step_cannot_bear_makes_no_energy_here():
    """A light mass on a stiff coupler, w T = 10: RK4 goes to infinity, this comes to rest with the hand."""
    m = kane.Model("light")
    body = m.body("mass", mass=1e-6)
    m.connect(m.ground, body, kane.Prismatic("x", axis="x"))
    dyn = kane.build(kane.formulate(m))
    arm = Arm(mass=0.5, damping=8.0, stiffness=250.0, path=[(0, 0, 0, 0), (0.5, 0.05, 0, 0)])
    faults = []
    for method in (kane.RK4(), PassiveMidpoint()):
        coupler = Coupler(body.point(), stiffness=100.0, damping=0.5)
        with Session(dyn, Simulated(arm=arm), coupler, integrator=method) as s:
            s.arm()
            s.rehearse(2.0)
            faults.append(len(s.report.faults))
            end = s.snapshot().q[0]
    assert faults == [1, 0]
    assert end == pytest.approx(0.05, abs=2e-3)


def test_it_is_replayed_bit_for_bit(tmp_path):
    m, handle = arms(0.01)
    dyn = kane.build(kane.formulate(m))
    with Session(
        dyn, Simulated(), Coupler(handle, stiffness=100.0, damping=1.0), q=[0.3, 0.2, 0.1], integrator=PassiveMidpoint()
    ) as s:
        s.arm()
        s.rehearse(0.3)
        s.save(tmp_path / "passive.session")
        q = s.states
    assert (kane.haptics.replay(tmp_path / "passive.session", dyn).states == q).all()


def linkage():
    m = kane.library.four_bar()
    (body,) = (body for body in m.bodies if body.name == "coupler")
    return m, body.point(), kane.assemble(kane.build(kane.formulate(m)))


def test_a_linkage_neither_gains_nor_loses_in_a_million_ticks_and_stays_closed():
    """A closed loop, embedded in numbers; energies by ``dyn.energy``, the loop by ``ConstraintTerms``."""
    m, handle, start = linkage()
    session, go = free(m, handle, start.q, start.u, 1e-3)
    looked = go(1_000_000)[::997]
    dyn = session._loop.coupled.dyn
    kinetic, potential = dyn.energy(looked[:, 1:4], looked[:, 4:7])
    total = kinetic + potential
    assert np.ptp(kinetic) > 1.0
    assert np.median(np.abs(total - total[0])) < 1e-10 * np.ptp(kinetic)
    assert np.abs(total - total[0]).max() < 1e-5 * np.ptp(kinetic)  # at turning points some is owed
    terms = ConstraintTerms.of(dyn, looked[-1, 1:4], looked[-1, 4:7])
    assert np.abs(terms.phi).max() < 1e-12
    assert np.abs(terms.motion).max() < 1e-12


def sleigh():
    """Chaplygin's sleigh with a damper: a constraint of the motion alone."""
    m = kane.Model("sleigh", gravity=(0, 0, 0))
    body = m.body("sleigh", mass=1.0, inertia=(0.1, 0.1, 0.2), com=(0.3, 0, 0))
    m.connect(m.ground, body, kane.Planar("s"))
    m.constrain(kane.NoSkid(body.point(), body.y, m.ground))
    return m, body.point((0.5, 0.1, 0)), None


@pytest.mark.parametrize("make", [linkage, sleigh])
def test_under_constraints_it_agrees_with_simulate_as_the_step_shrinks(make):
    """At least of the first order; of the second where nothing is taken at the start of a step."""
    m, handle, start = make()
    q, u = (start.q, start.u) if start else (None, [0.5, 0.0, 1.5])
    exact = kane.simulate(kane.build(kane.formulate(m)), until=0.5, q=q, u=u).final.q
    errors = []
    for steps in (250, 500, 1000):
        _, go = free(m, handle, q, u, 0.5 / steps)
        errors.append(np.abs(go(steps)[-1, 1:4] - exact).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 0.9).all()
    assert errors[-1] < 1e-3


def sliding_block():
    """A block that slides on a slope until it rests; its normal force is that of gravity."""
    m = kane.Model("block", gravity=(9.81 * math.sin(0.2), -9.81 * math.cos(0.2), 0))
    body = m.body("block", mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
    m.connect(m.ground, body, kane.Planar("b"))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for x in (-0.1, 0.1):
        m.contact(body.point((x, 0, 0)), floor, friction=kane.Coulomb(0.4, 0.3))
    return kane.build(kane.formulate(m)), body.point()


def test_dry_friction_takes_what_a_block_had_and_the_book_says_so():
    """v^2/2 = (mu g cos - g sin) x: closed form, to the error of a step of 1 ms."""
    dyn, handle = sliding_block()
    names = [leaf.name for leaf in dyn.equations.u]
    along = next(k for k, name in enumerate(names) if name.startswith("b_x"))
    v, u = 0.8, np.zeros(3)
    u[along] = v
    with Session(dyn, Simulated(), Coupler(handle, stiffness=1.0), u=u, integrator=PassiveMidpoint()) as s:
        before = sum(dyn.energy(s.snapshot().q, s.snapshot().u))
        s.rehearse(1.5)
        now, ledger, events = s.snapshot(), s.ledger, s.report.events
    way = 0.5 * v**2 / (9.81 * (0.3 * math.cos(0.2) - math.sin(0.2)))
    assert now.q[along] == pytest.approx(way, rel=2e-3)
    assert now.u == pytest.approx(np.zeros(3), abs=1e-12)
    assert "sticks" in [event[2] for event in events]
    normal = 0.5 * 9.81 * math.cos(0.2)
    assert ledger.other == pytest.approx(-0.3 * normal * now.q[along], rel=2e-3)
    assert sum(dyn.energy(now.q, now.u)) - before == pytest.approx(ledger.other - ledger.lost + ledger.owed, abs=1e-11)


@pytest.mark.parametrize("method", [PassiveMidpoint(), kane.RK4()], ids=["passive", "RK4"])
def test_the_report_of_a_session_has_the_energies_of_its_trajectory_at_both_ends(method):
    """A crank that falls against its damper in the last ticks; trajectories find energies by themselves."""
    scene = crank()
    with Session(scene.dyn, scene.hand, scene.coupler, q=scene.q, integrator=method) as s:
        assert s.report.energy == (0.0, 0.0)
        s.arm()
        s.rehearse(0.7)
        energy, report = s.trajectory.energy, s.report
    assert abs(energy[-1] - energy[-2]) > 1e-6
    assert report.energy == pytest.approx((energy[0], energy[-1]), rel=1e-15)


@pytest.mark.parametrize("make", [ball_in_a_box, crank, pushed_cart])
def test_through_impacts_and_changes_of_modes_the_books_balance_and_nothing_is_gained(make):
    """A ball between walls, a crank at its stop, the caster that sticks: what they meet is what RK4 meets."""
    scene = make()
    ends = {}
    for method in (PassiveMidpoint(), kane.RK4()):
        with Session(scene.dyn, scene.hand, scene.coupler, q=scene.q, integrator=method) as s:
            before = sum(scene.dyn.energy(s.snapshot().q, s.snapshot().u))
            taken = []
            for _ in range(10):
                s.arm()
                s.rehearse(scene.seconds / 10)
                if isinstance(method, PassiveMidpoint):
                    taken.append((s.ledger.lost, -s.ledger.other))
                    ledger = s.ledger
            ends[method.name] = s.snapshot(), s.report.events
    now, events = ends["PassiveMidpoint"]
    exact, met = ends["RK4"]
    assert sum(scene.dyn.energy(now.q, now.u)) - before == pytest.approx(
        ledger.coupler + ledger.other - ledger.lost + ledger.owed, abs=1e-12
    )
    assert abs(ledger.coupler) > 1e-3
    assert (np.diff(taken, axis=0) >= -1e-13).all()  # lost and other loads only take
    assert np.abs(now.q - exact.q).max() < 0.01 * max(1.0, np.abs(exact.q).max())
    firsts = [[event[:2] for event in told if event[2] in ("bounces", "slips")][:1] for told in (events, met)]
    assert firsts[0][0][1] == firsts[1][0][1]
    assert firsts[0][0][0] == pytest.approx(firsts[1][0][0], abs=1e-3)


def test_a_light_body_that_a_stiff_coupler_presses_against_a_stop_makes_no_energy():
    """w T = 10 on a stop: RK4 cannot; here the body rests at the stop, and the hand feels the stretch beyond it."""
    m = kane.Model("light")
    body = m.body("mass", mass=1e-6)
    joint = m.connect(m.ground, body, kane.Prismatic("x", axis="x"))
    m.stop(joint, upper=0.02, restitution=0.5)
    dyn = kane.build(kane.formulate(m))
    arm = Arm(mass=0.5, damping=8.0, stiffness=250.0, path=[(0, 0, 0, 0), (0.5, 0.04, 0, 0)])
    coupler = Coupler(body.point(), stiffness=100.0, damping=0.5)
    with Session(dyn, Simulated(arm=arm), coupler, integrator=PassiveMidpoint()) as s:
        s.arm()
        s.rehearse(2.0)
        row, ledger, report = s.log[-100], s.ledger, s.report
    hand = 250.0 * 0.04 + 100.0 * 0.02
    assert not report.faults
    assert row["handle"][0] == pytest.approx(0.02, abs=1e-9)
    assert row["force"][0] == pytest.approx(-100.0 * (hand / 350.0 - 0.02), rel=1e-3)
    assert ledger.lost > 0.0
    assert ledger.kinetic + ledger.potential == pytest.approx(
        ledger.coupler + ledger.other - ledger.lost + ledger.owed, abs=1e-14
    )


def test_what_it_is_not_for_is_refused():
    driven, belt, handle = kane.Model("driven"), kane.Model("belt"), {}
    for model in (driven, belt):
        cart, bob = model.body("cart", mass=1.0), model.body("bob", mass=1.0)
        place = kane.sin(model.time) if model is driven else "x"
        model.connect(model.ground, cart, kane.Prismatic(place, axis="x"))
        model.connect(cart, bob, kane.Prismatic("y", axis="y"))
        handle[model] = bob.point()
    belt.constrain(belt.rate("x") - 0.3)
    for model, message in ((driven, "prescribed in time"), (belt, "prescribes a motion")):
        dyn, coupler = kane.build(kane.formulate(model)), Coupler(handle[model], stiffness=10.0, damping=0.1)
        with pytest.raises(kane.errors.ModelError, match=message):
            Session(dyn, Simulated(), coupler, integrator=PassiveMidpoint())
    m, point = arms()
    session = Session(kane.build(kane.formulate(m)), Simulated(), Coupler(point, stiffness=10.0, damping=0.1))
    with session, pytest.raises(kane.errors.ModelError, match="PassiveMidpoint"):
        session.ledger  # noqa: B018


def test_a_loop_that_a_joint_closes_is_carried_as_by_rk4():
    """The frame at the cut has no inertia of its own. One tick errs by its third power, 100 of them by 1e-5 here."""
    m = kane.Model("bars", gravity=(0, -9.81, 0))
    a, b, c = (m.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.2, 0, 0)) for name in "abc")
    for parent, child, name, x in ((m.ground, a, "q1", 0.0), (a, b, "q2", 0.5), (m.ground, c, "q3", 1.0)):
        m.connect(parent, child, kane.Revolute(name, axis="z"), at=(x, 0, 0))
    m.close(b, c, kane.Revolute("q4", axis="z"), at=(0.8, 0, 0), child_at=(0.6, 0, 0))
    dyn = kane.build(kane.formulate(m))
    start = kane.assemble(dyn, q={"q1": 1.0, "q2": -1.0, "q3": 1.5})
    ends = []
    for integrator in (kane.RK4(), PassiveMidpoint()):
        coupler = Coupler(b.point((0.4, 0, 0)), stiffness=50.0, axes="xy")
        with Session(dyn, Simulated(), coupler, q=start.q, u=start.u, integrator=integrator) as session:
            session.rehearse(0.1)
            ends.append(session.trajectory)
    assert np.abs(ends[0].q[-1] - start.q).max() > 0.02
    assert np.abs(ends[0].q[-1] - ends[1].q[-1]).max() < 1e-5
    assert np.ptp(ends[1].energy) < 1e-9  # free of the hand; the residuals of settling are squared in it
