"""Quick steps of a Stepper: ``simulate`` vouches for their bits, and counters of Python's part for their use."""

import numpy as np
import pytest

import kane
from kane.simulation.quick_steps import QuickSteps

DT = 2.0**-7


def pendulum():
    m = kane.Model("pendulum")
    rod = m.body("rod", mass=1.0, inertia=(0.1, 0.1, 0.01), com=(0, 0, -0.5))
    joint = m.connect(m.ground, rod, kane.Revolute("a", axis="x"))
    m.load(kane.Motor(joint, m.input("torque")))
    return m, {"q": {"a": 0.5}}


def linkage():
    m = kane.library.four_bar()
    dyn = kane.build(kane.formulate(m))
    start = kane.assemble(dyn, q={"q1": 0.5}, u={"u1": 1.0}, fixed=["q1", "u1"])
    return m, {"q": start.q, "u": start.u}


def balls():
    """Two balls that land one after the other, slip, and roll."""
    m = kane.Model("balls")
    floor = kane.Plane(m.ground.point(), m.ground.z)
    for name in "ab":
        ball = m.body(name, mass=1.0, inertia=(0.01, 0.01, 0.01))
        m.connect(m.ground, ball, kane.Free(f"f{name}"))
        m.contact(kane.Sphere(ball.point(), 0.1), floor, friction=kane.Coulomb(0.3), name=name)
    return m, {"q": {"fa_z": 0.15, "fb_z": 0.2}, "u": {"fa_vx": 1.0, "fb_vx": 1.0}}


@pytest.fixture
def taken(monkeypatch):
    """The results of all quick steps: True if complete, False if begun, None if not begun."""
    found, take = [], QuickSteps.take

    def told(self, dt):
        found.append(take(self, dt))
        return found[-1]

    monkeypatch.setattr(QuickSteps, "take", told)
    return found


@pytest.mark.parametrize("method", [kane.RK4(), kane.RK5(), kane.RK8()], ids=lambda m: m.name)
@pytest.mark.parametrize("scene", [pendulum, linkage, balls])
def test_quick_steps_have_the_bits_events_and_modes_of_steps_with_python(scene, method, taken, monkeypatch):
    model, start = scene()
    dyn = kane.build(kane.formulate(model))
    quick = kane.Stepper(dyn, integrator=method, **start)
    dt = DT / 8 if scene is linkage else DT  # a larger residual before projection makes Python check the one after it
    found = [(quick.step(dt), quick.time, quick.mode, quick.q, quick.u, first(quick)) for _ in range(200)]
    assert taken.count(True) > 100  # else the next lines compare nothing
    assert (False in taken) == (scene is balls)  # a step with a transition begins as a quick one
    monkeypatch.setattr(QuickSteps, "take", lambda self, dt: None)
    slow = kane.Stepper(dyn, integrator=method, **start)
    for events, t, mode, q, u, record in found:
        expected = slow.step(dt)
        assert [(e.name, e.time, e.cause) for e in events] == [(e.name, e.time, e.cause) for e in expected]
        assert (t, mode) == (slow.time, slow.mode)
        assert (q == slow.q).all()
        assert (u == slow.u).all()
        assert (record == first(slow)).all()
    causes = [event.cause for events, *_ in found for event in events]
    assert sorted(causes) == (["imposed", "imposed", "sticks", "sticks"] if scene is balls else [])


def step_on(stepper, steps):
    for _ in range(steps):
        stepper.step(DT)


def first(stepper):
    """The first record of the last step, from which messages and logs are made."""
    return stepper._integration.states()[0]


def test_quick_steps_go_on_with_the_arrays_of_a_stepper_whose_constraints_change(taken):
    model, start = pendulum()
    rate = model.connections[0].qdot
    stepper = kane.Stepper(kane.build(kane.formulate(model)), integrator=kane.RK4(), **start)
    for _ in range(5):
        stepper.step(DT)
    stepper.impose(rate, name="held").wait()
    stepper.step(DT)
    angle = stepper.q
    for _ in range(5):
        stepper.step(DT)
    assert stepper.q == pytest.approx(angle, abs=1e-12)
    assert stepper.time == 11 * DT
    assert stepper.mode == "held held"
    stepper.delete("held").wait()
    for _ in range(5):
        stepper.step(DT)
    assert abs(stepper.q[0] - angle[0]) > 1e-3
    assert taken.count(True) >= 10


def test_inputs_other_lengths_and_bad_lengths_between_quick_steps(taken):
    model, start = pendulum()
    dyn = kane.build(kane.formulate(model))
    stepper, t = kane.Stepper(dyn, integrator=kane.RK4(), **start), 0.0
    for k in range(60):
        dt = DT if k % 20 else DT / 2
        stepper.inputs = np.array([0.3 * k])
        before = stepper.q, stepper.u
        stepper.step(dt)
        whole = kane.simulate(
            dyn,
            q=before[0],
            u=before[1],
            inputs={"torque": 0.3 * k},
            until=t + dt,
            start=t,
            dt=dt,
            integrator=kane.RK4(),
        )
        assert stepper.q == pytest.approx(whole.q[-1], rel=1e-14)  # times of the stages round differently
        t = stepper.time
    assert taken.count(True) > 40
    for bad in (0.0, -DT, float("nan"), 1e-30, "1", True, float("inf")):
        with pytest.raises(kane.errors.ModelError, match="dt"):
            stepper.step(bad)
    assert stepper.time == t


def test_a_quick_step_that_fails_says_so_and_keeps_the_last_state(taken):
    m = kane.Model("runaway")
    body = m.body("body", mass=1.0)
    m.connect(m.ground, body, kane.Prismatic("x", axis="x"))
    stepper = kane.Stepper(kane.build(kane.formulate(m)), integrator=kane.RK4(), u={"x_dot": 0.5e308})
    for _ in range(3):
        stepper.step(1.0)
    for _ in range(2):
        with pytest.raises(kane.errors.SimulationError, match="stops being finite"):
            stepper.step(1.0)
    assert stepper.time == 3.0
    assert stepper.q[0] == pytest.approx(1.5e308)
    assert taken == [True, True, False, False]


def test_quick_time_steps_have_the_bits_and_events_of_steps_with_python_and_warn_of_long_turns(taken, monkeypatch):
    model, start = balls()
    dyn = kane.build(kane.formulate(model))
    quick = kane.Stepper(dyn, integrator=kane.MoreauJean(), **start)
    found = [([e.cause for e in quick.step(DT)], quick.mode, quick.q, quick.u) for _ in range(200)]
    assert taken.count(True) > 150
    monkeypatch.setattr(QuickSteps, "take", lambda self, dt: None)
    slow = kane.Stepper(dyn, integrator=kane.MoreauJean(), **start)
    for causes, mode, q, u in found:
        assert [e.cause for e in slow.step(DT)] == causes
        assert slow.mode == mode
        assert (slow.q == q).all()
        assert (slow.u == u).all()


def test_quick_time_steps_of_a_wheel_that_spins_up_warn_of_long_turns(taken):
    model, start = balls()
    body = model.body("wheel", mass=1.0, inertia=(1, 1, 1))
    wheel = model.connect(model.ground, body, kane.Revolute("spin", axis="z"))
    model.load(kane.Motor(wheel, 300.0))
    stepper = kane.Stepper(kane.build(kane.formulate(model)), integrator=kane.MoreauJean(), **start)
    with pytest.warns(UserWarning, match="'spin' of 'balls' by up to 0.5"):
        step_on(stepper, 40)
    assert taken.count(True) > 3  # as long as it turns by less than 0.1 rad in a step


def test_python_checks_the_constraints_after_a_quick_step_from_which_projection_has_moved_far(taken, monkeypatch):
    model, start = linkage()
    for limit in (1e-8, 0.0):
        monkeypatch.setattr("kane.simulation.quick_steps.UNPROJECTED", limit)
        stepper = kane.Stepper(kane.build(kane.formulate(model)), integrator=kane.RK4(), **start)
        stepper.step(1e-3)
        stepper.step(1e-3)
    assert taken == [True, False]


def test_a_quick_step_with_an_event_is_completed_by_python(taken):
    model, start = pendulum()
    dyn = kane.build(kane.formulate(model))
    stepper = kane.Stepper(dyn, events=kane.Event(model.connections[0].coordinates[0], terminal=True), **start)
    told = [(event.name, stepper.time) for _ in range(100) for event in stepper.step(DT)]
    assert len(told) == 1
    assert taken.count(False) == len(told)
    run = kane.simulate(dyn, until=100 * DT, events=stepper._problem.events, **start)
    assert told[0][1] == pytest.approx(run.events[0].time, abs=1e-9)  # both are as accurate as RK8


@pytest.mark.parametrize("what", ["python", "sampled", "time"])
def test_steps_that_need_python_are_not_quick(what, taken):
    model, start = pendulum()
    inputs = {
        "python": lambda t, q, u: np.array([0.1 * t]),
        "sampled": {"torque": kane.Sampled(lambda t, q, u: -q[0], period=0.01)},
        "time": {"torque": kane.select(model.time < 0.1, 0.0, 1.0)},
    }.get(what)
    stepper = kane.Stepper(kane.build(kane.formulate(model)), inputs=inputs, **start)
    step_on(stepper, 100)
    assert set(taken) == {None}
