"""Brakes and clutches whose capacity depends on inputs; closed forms vouch for times, positions and speeds.

A force of 10 N pulls a block of 2 kg on a slope against a brake. With the capacity c = 5 N + 5 N/s |t - 2 s| it slips
at 1 s, where c is 10 N. The acceleration is then (10 N - c) / 2 kg, whose integral vanishes at 3 s + sqrt(2) s.
"""

from __future__ import annotations

import numpy as np
import pytest

import kane
from kane.errors import ModelError
from kane.haptics import Coupler, Session, Simulated

SLIPS, STICKS = 1.0, 3.0 + np.sqrt(2.0)
END = 2.5 / 6 + (1.25 + 2.5 / 3) + 2.5 * np.sqrt(2.0) * 2 / 3  # sums of the distances from 1, 2 and 3 s on


@pytest.fixture(scope="module")
def brake() -> kane.Model:
    m = kane.Model("block with a brake", gravity=(5.0, 0, 0))
    block = m.connect(m.ground, m.body("block", mass=2.0), kane.Prismatic("x", axis="x"))
    m.stick(block, static=m.input("capacity", default=15.0), name="brake")
    return m


@pytest.fixture(scope="module")
def dyn(brake) -> kane.Dynamics:
    return kane.build(kane.formulate(brake))


def _told(run):
    return [(event.cause, event.time) for event in run.events]


def _ramp(brake):
    return 5.0 + 5.0 * abs(brake.time - 2.0)


@pytest.mark.parametrize(
    ("integrator", "atol"), [(kane.RK8(), 1e-10), (kane.RK4(), 1e-10), (kane.Gauss4(), 1e-10), (kane.BDF(), 1e-5)]
)
def test_a_ramped_capacity_lets_the_block_slip_and_stops_it(brake, dyn, integrator, atol):
    run = kane.simulate(dyn, until=5.0, inputs={"capacity": _ramp(brake)}, integrator=integrator)
    (first, slips), (second, sticks) = _told(run)
    assert (first, second) == ("slips", "sticks")
    np.testing.assert_allclose([slips, sticks, run["x"][-1]], [SLIPS, STICKS, END], atol=atol)
    friction = np.where((run.time < SLIPS) | (run.time > STICKS), 10.0, 5.0 + 5.0 * abs(run.time - 2.0))
    np.testing.assert_allclose(run.reactions["brake"][:, 0], -friction, atol=1e-8)


def test_a_held_capacity_acts_at_its_jumps(dyn):
    run = kane.simulate(dyn, until=5.0, inputs={"capacity": kane.Held([0.0, 1.0, 2.0], [15.0, 5.0, 15.0])})
    assert _told(run) == [("slips", pytest.approx(1.0, abs=1e-12)), ("sticks", pytest.approx(3.0, abs=1e-10))]
    assert run["x"][-1] == pytest.approx(2.5, rel=1e-10)  # 2.5 m/s^2 for 1 s, then -2.5 m/s^2
    stepper, events = kane.Stepper(dyn), []
    for capacity in (15.0, 5.0, 15.0, 15.0):
        stepper.inputs = {"capacity": capacity}
        events += stepper.step(1.0)
    assert [(event.cause, event.time) for event in events] == [("slips", 1.0), ("sticks", pytest.approx(3.0))]
    assert stepper.q[0] == pytest.approx(2.5, rel=1e-10)


def test_time_steps_follow_the_capacity_within_the_order_of_the_step(brake, dyn):
    found = [
        kane.simulate(dyn, until=5.0, inputs={"capacity": _ramp(brake)}, integrator=kane.MoreauJean(), dt=dt)
        for dt in (0.01, 0.001)
    ]
    for run, dt in zip(found, (0.01, 0.001), strict=True):
        assert [cause for cause, _ in _told(run)] == ["slips", "sticks"]
        np.testing.assert_allclose([time for _, time in _told(run)], [SLIPS, STICKS], atol=2 * dt)
        assert run["x"][-1] == pytest.approx(END, abs=dt)


def test_a_capacity_below_zero_is_no_friction(dyn):
    for capacity in (0.0, -3.0):
        run = kane.simulate(dyn, until=2.0, inputs={"capacity": capacity})
        np.testing.assert_allclose([run["x"][-1], run.u[-1, 0]], [10.0, 10.0], rtol=1e-12)
        assert run.reactions["brake"][-1, 0] == 0.0


def test_static_friction_is_never_below_the_kinetic_one():
    m = kane.Model("block", gravity=(5.0, 0, 0))
    block = m.connect(m.ground, m.body("block", mass=2.0), kane.Prismatic("x", axis="x"))
    m.stick(block, static=m.input("static"), kinetic=6.0, name="brake")
    dyn = kane.build(kane.formulate(m))
    run = kane.simulate(dyn, until=4.0, inputs={"static": m.time - 2.0}, u={"x_dot": -4.0})
    # Deceleration by 16 N / 2 kg until 0.5 s; static friction, 6 N, does not hold the block, which turns.
    np.testing.assert_allclose([run["x"][-1], run.u[-1, 0]], [-1.0 + 3.5**2, 7.0], rtol=1e-10)
    assert _told(run)[1:] == [("reverses", pytest.approx(0.5, abs=1e-12))]  # after "slips" at 0 s


def test_a_clutch_of_two_rotors_transmits_its_capacity():
    m = kane.Model("clutch")
    motor, load = (
        m.body(name, mass=1.0, inertia=(1.0, 1.0, inertia)) for name, inertia in (("motor", 2.0), ("load", 1.0))
    )
    m.connect(m.ground, motor, kane.Revolute("a", axis="z"))
    slip = m.connect(motor, load, kane.Revolute("slip", axis="z"))
    pressure, radius = m.input("pressure"), m.parameter("radius", 0.5)
    m.stick(slip, static=pressure * radius, name="clutch")
    dyn = kane.build(kane.formulate(m))
    u = {"a_dot": 6.0, "slip_dot": -6.0}
    run = kane.simulate(dyn, until=4.0, u=u, inputs={"pressure": 2.0 * m.time})
    # The torque t changes the slip at t (1/2 + 1/1) = 1.5 t; 6 = 0.75 t^2 at sqrt(8) s. L = 12 is shared by 3 kg m^2.
    assert _told(run)[1:] == [("sticks", pytest.approx(np.sqrt(8.0), rel=1e-10))]
    np.testing.assert_allclose(run.u[-1], [4.0, 0.0], atol=1e-10)


def test_many_runs_and_compiled_modes_each_read_their_capacity(brake, dyn):
    for each in (dyn, kane.compile_modes(dyn, "all")):
        runs = kane.simulate_many(each, until=5.0, u={"x_dot": [0.0, 0.0]}, inputs={"capacity": _ramp(brake)})
        np.testing.assert_allclose(runs["x"][:, -1], END, rtol=1e-10)
        runs = kane.simulate_many(each, until=5.0, u={"x_dot": [0.0, 0.0]}, inputs={"capacity": [5.0, 20.0]})
        np.testing.assert_allclose(runs.u[:, -1, 0], [12.5, 0.0], rtol=1e-12)


def test_a_substituted_capacity_acts_as_the_same_input(brake):
    closed = kane.substitute(kane.formulate(brake), capacity=_ramp(brake))
    assert kane.simulate(kane.build(closed), until=5.0)["x"][-1] == pytest.approx(END, rel=1e-10)


def test_a_saved_model_has_the_same_capacity(brake, tmp_path):
    kane.save_model(brake, tmp_path / "brake.json")
    read = kane.load_model(tmp_path / "brake.json")
    run = kane.simulate(kane.build(kane.formulate(read)), until=5.0, inputs={"capacity": _ramp(read)})
    assert run["x"][-1] == pytest.approx(END, rel=1e-10)
    assert "static capacity" in read._repr_html_()


def test_sensitivities_agree_with_differences():
    m = kane.Model("block with a brake", gravity=(5.0, 0, 0))
    block = m.connect(m.ground, m.body("block", mass=2.0), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(block, m.input("pull")))
    capacity, p = m.input("capacity"), m.parameter("p", 5.0)
    m.stick(block, static=capacity, kinetic=0.9 * capacity, name="brake")
    dyn = kane.build(kane.formulate(m))
    given = {"capacity": p * (0.5 + (m.time - 2.0) ** 2), "pull": 0.1}

    def end(p, pull):
        run = kane.simulate(dyn, until=3.0, inputs=given | {"pull": pull}, parameters={"p": p})
        return np.array([run["x"][-1], run.u[-1, 0]])

    found = kane.sensitivities(kane.simulate(dyn, until=3.0, inputs=given), wrt=["p", "pull"], inputs=given).final
    # Central differences over h have errors of h^2; the solution is smooth, because the order of events stays.
    h = 1e-4
    np.testing.assert_allclose(found["p"], (end(5.0 + h, 0.1) - end(5.0 - h, 0.1)) / (2 * h), rtol=1e-6)
    np.testing.assert_allclose(found["pull"], (end(5.0, 0.1 + h) - end(5.0, 0.1 - h)) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("links", [3, pytest.param(12, marks=pytest.mark.slow)])
def test_an_input_acts_as_the_parameter_of_the_same_value_in_loops_and_long_chains(links):
    def run(commanded):
        m = kane.Model("chain", gravity=(0, -9.81, 0))
        body, capacity = m.ground, m.input("capacity", 0.1) if commanded else m.parameter("capacity", 0.1)
        for k in range(links):
            link = m.body(f"link {k}", mass=0.5, inertia=(0.01, 0.01, 0.01), com=(0.15, 0, 0))
            joint = m.connect(body, link, kane.Revolute(f"q{k}", axis="z"), at=(0.3 if k else 0.0, 0, 0))
            m.stick(joint, static=(1 + k) * capacity, kinetic=(0.8 + k) * capacity, name=f"friction {k}")
            body = link
        if links == 3:
            m.constrain(
                kane.Coincidence(body.point((0.3, 0, 0)), m.ground.point((0.5, 0, 0)), along=[m.ground.x, m.ground.y])
            )
        dyn = kane.build(kane.formulate(m))
        start = kane.assemble(dyn, q={f"q{k}": 0.3 * (-1) ** k + 0.1 * k for k in range(links)})
        return kane.simulate(dyn, until=2.0, q=start.q)

    one, two = run(True), run(False)
    assert [(e.name, e.cause) for e in one.events] == [(e.name, e.cause) for e in two.events]
    assert len(one.events) > links  # more than the first slips
    np.testing.assert_allclose(one.q[-1], two.q[-1], rtol=1e-9)


def test_an_energy_balance_certifies_the_model(brake):
    certificate = kane.certify(brake, states=3)
    assert certificate.holds, str(certificate)


def test_a_session_releases_a_brake_when_its_input_is_set(brake, dyn):
    with Session(dyn, Simulated(), Coupler(brake.bodies[-1].point(), stiffness=50.0)) as session:
        session.rehearse(0.1)
        session.inputs = {"capacity": 5.0}
        session.rehearse(0.1)
        run = session.trajectory
    (cause, time), *_ = _told(run)
    assert cause == "slips"
    assert time == pytest.approx(0.1, abs=1.5e-3)  # one tick
    assert run.u[-1, 0] == pytest.approx(2.5 * (run.time[-1] - time), rel=1e-6)  # nobody has armed the coupler


def test_wrong_bounds_are_refused_by_name(brake, dyn):
    with pytest.raises(
        ModelError, match="the friction of 'brake' depends on the input 'capacity', which is a function"
    ):
        kane.simulate(dyn, until=1.0, inputs={"capacity": lambda t, q, u: 1.0})
    m = kane.Model("block")
    block = m.connect(m.ground, m.body("block", mass=2.0), kane.Prismatic("x", axis="x"))
    capacity = m.input("capacity")
    with pytest.raises(ModelError, match=r"the static friction of 'brake' depends on x; .*parameters and inputs only"):
        m.stick(block, static=capacity + block.q, name="brake")
    with pytest.raises(ModelError, match="the kinetic friction of 'brake' depends on t"):
        m.stick(block, static=capacity, kinetic=m.time, name="brake")
    with pytest.raises(ModelError, match=r"reaction .*which this friction changes; let it depend on parameters"):
        m.stick(block, static=capacity, kinetic=m.reaction("brake"), name="brake")
    with pytest.raises(ModelError, match="the kinetic friction of 'brake' is -1"):
        m.stick(block, static=capacity, kinetic=-1.0, name="brake")
    with pytest.raises(ModelError, match="may depend on parameters only"):
        kane.Model.contact(
            m,
            m.bodies[-1].point(),
            kane.Plane(m.ground.point(), m.ground.x),
            friction=kane.Coulomb(capacity),
        )
    for law in ("stronge", kane.Stronge):
        with pytest.raises(ModelError, match=r"the restitution is .*; give a number or a law, such as kane\.Stronge"):
            kane.Model.contact(m, m.bodies[-1].point(), kane.Plane(m.ground.point(), m.ground.x), restitution=law)
    assert m.intermittents == []
