"""Who vouches: the balance of energy, closed forms of oscillation, ``simulate`` with steps that shrink."""

import math

import numpy as np
import pytest

import kane
from kane.haptics import Arm, Coupler, PassiveMidpoint, Session, Simulated
from kane.native.arrays import Course
from kane.native.haptics.passive import march_passive


def free(model, handle, q, u, dt):
    """A session of the model that nobody touches, and what goes on from it alone: T [s] by so many steps."""
    dyn = kane.build(kane.formulate(model))
    session = Session(
        dyn, Simulated(rate=1 / dt), Coupler(handle, stiffness=1.0), q=q, u=u, integrator=PassiveMidpoint()
    )
    march, passive = session._loop.march, session._loop.passive.arrays

    def go(steps):
        march.go(Course(0.0, steps * dt, dt, steps, 1, np.zeros(0), np.array([steps * dt])))
        march.make_room(steps + 1, 0)
        assert march_passive(march.system, march.course, march.store, passive, steps) == 0
        return march.states()

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


def test_what_it_is_not_for_is_refused():
    linkage = kane.library.four_bar()
    driven = kane.Model("driven")
    cart, bob = driven.body("cart", mass=1.0), driven.body("bob", mass=1.0)
    driven.connect(driven.ground, cart, kane.Prismatic(kane.sin(driven.time), axis="x"))
    driven.connect(cart, bob, kane.Prismatic("y", axis="y"))
    for model, message in ((linkage, "has constraints"), (driven, "prescribed in time")):
        dyn = kane.build(kane.formulate(model))
        start = kane.assemble(dyn) if model is linkage else None
        with pytest.raises(kane.errors.ModelError, match=message):
            Session(
                dyn,
                Simulated(),
                Coupler(model.bodies[2].point(), stiffness=10.0, damping=0.1),
                q=start.q if start else None,
                u=start.u if start else None,
                integrator=PassiveMidpoint(),
            )
    m, handle = arms()
    session = Session(kane.build(kane.formulate(m)), Simulated(), Coupler(handle, stiffness=10.0, damping=0.1))
    with session, pytest.raises(kane.errors.ModelError, match="PassiveMidpoint"):
        session.ledger  # noqa: B018
