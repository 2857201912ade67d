"""What cannot be run with constraints that come and go ends in an error that says when, and keeps what was computed."""

import math
import re
from itertools import accumulate, chain, cycle
from types import SimpleNamespace

import numpy as np
import pytest

import kane
from kane.engine.memory.loop_arguments import AT_ONCE
from kane.engine.memory.run_memory import clock_of, counts_of
from kane.engine.memory.views import run_clock_size, run_counts_size, transition_note_at, transition_note_size
from kane.engine.step.zeno import is_zeno
from kane.simulation.driver import CHUNK_SECONDS

G = 10.0


def ball(declare=lambda m, joint: None, **contact):
    """A ball that falls on the floor, and its joint."""
    m = kane.Model("ball", gravity=(0, -G, 0))
    body = m.body("ball", mass=2.0)
    joint = m.connect(m.ground, body, kane.Prismatic("y", axis="y"))
    m.contact(body.point(), kane.Plane(m.ground.point(), m.ground.y), name="floor", **contact)
    declare(m, joint)
    return m, joint


def built(model):
    return kane.build(kane.formulate(model))


def test_what_starts_inside_is_refused_and_assemble_moves_it_out():
    """Who vouches: the corners of a turned square, and loops that stay closed."""
    m = kane.Model("crate", gravity=(0, -G, 0))
    crate, arm = m.body("crate", mass=2, inertia=(0.02,) * 3), m.body("arm", mass=1, inertia=(0.01,) * 3)
    m.connect(m.ground, crate, kane.Planar(("x", "y", "angle")))
    hinge = m.connect(crate, arm, kane.Revolute("lid", axis="z"))
    m.constrain(hinge.q - 0.5 * m.time, name="drive")
    m.contact(kane.Box(0.2, 0.2, 0.2, crate.point()), kane.Plane(m.ground.point(), m.ground.y), name="floor")
    m.stop(hinge, upper=2.0)
    dyn, start = built(m), {"x": 0.3, "y": -0.1, "angle": 0.3}
    with pytest.raises(kane.ModelError, match=r"cannot start there: 'floor: ---' is violated by 0\.2250\d* m"):
        kane.simulate(dyn, until=1.0, q=start)
    state = kane.assemble(dyn, q=start, u={"angle_dot": 1.0}, fixed=["angle", "x"], t=0.0)
    reach = 0.1 * (np.cos(0.3) + np.sin(0.3))
    assert state.q == pytest.approx([0.3, reach, 0.3, 0.0], abs=1e-11)
    assert state.u[2:] == pytest.approx([1.0, 0.5])
    assert state.rank == 1
    run = kane.simulate(dyn, until=0.1, q=state.q, u=state.u)
    assert run.residuals.configuration_residual.max() < 1e-11
    with pytest.raises(kane.ModelError, match=r"x, y, angle held.*'gap of floor: ---' is left 0\.225 open"):
        kane.assemble(dyn, q=start, fixed=["x", "y", "angle"], t=0.0)
    free = kane.assemble(dyn, q={"y": 1.0, "angle": 0.3}, t=0.0)
    assert free.q[:3].tolist() == [0.0, 1.0, 0.3]  # what is outside stays where it is


def test_coefficients_that_parameters_make_impossible_are_refused_for_one_run_and_for_many():
    m = kane.Model("ball", gravity=(0, -G, 0))
    mu, e = m.parameter("mu", 0.5), m.parameter("e", 0.5)
    body = m.body("ball", mass=2.0, inertia=(0.1,) * 3)
    m.connect(m.ground, body, kane.Planar(("x", "y", "angle")))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(body.point(), floor, friction=kane.Coulomb(mu), restitution=e, name="floor")
    dyn = built(m)
    for wrong, words in (
        ({"mu": -0.1}, "static friction of 'floor' is -0.1"),
        ({"e": 1.1}, "restitution of 'floor' is 1.1"),
    ):
        with pytest.raises(kane.ModelError, match=words):
            kane.simulate(dyn, until=1.0, q={"y": 1.0}, parameters=wrong)
    many = kane.simulate_many(dyn, until=1.0, q={"y": 1.0}, parameters={"e": [0.5, 1.1]})
    assert many.finished.tolist() == [True, False]
    assert "the restitution of 'floor' is 1.1 with e = 1.1" in many.failures[1]


def test_constraints_that_contradict_when_they_are_imposed_are_named_with_time_and_state():
    def declare(m, joint):
        m.switch(joint.qdot + 1, on=m.time - 0.1, name="lower")
        m.switch(joint.qdot - 1, on=m.time - 0.2, name="lift")

    with pytest.raises(
        kane.SimulationError, match=r"from t = 0\.2 s, y = 0\.85, .*'lower: rate' .*'lift: rate'"
    ) as caught:
        kane.simulate(built(ball(declare)[0]), until=1.0, q={"y": 1.0})
    run = caught.value.trajectory
    assert run.time[-1] == pytest.approx(0.2, abs=2e-3)
    assert [event.name for event in run.events] == ["lower"]


def test_constraints_that_contradict_as_time_goes_on_are_found_by_runs_and_by_steppers():
    """Two rates that agree when the second one is imposed, with their derivatives, and then no more."""

    def declare(m, joint):
        m.switch(joint.qdot + 1, on=m.time - 0.1, name="steady")
        m.switch(joint.qdot + 1 + (m.time - 0.5) ** 2, on=m.time - 0.5, name="faster")

    dyn, lost = built(ball(declare)[0]), r"lost at t = 0\.\d+ s, y = .* is off by"
    with pytest.raises(kane.SimulationError, match=lost) as caught:
        kane.simulate(dyn, until=0.8, q={"y": 1.5})
    assert caught.value.trajectory.time[-1] == pytest.approx(0.5, abs=1e-2)
    assert caught.value.trajectory.events[0].name == "steady"
    stepper = kane.Stepper(dyn, q={"y": 1.5})
    stepper.step(0.45)
    with pytest.raises(kane.SimulationError, match=lost):
        stepper.step(0.1)


def test_constraints_that_no_forces_keep_are_refused_when_the_second_one_is_imposed():
    """Two rates that agree there, of which one grows at once."""

    def declare(m, joint):
        m.switch(joint.qdot + 1, on=m.time - 0.1, name="steady")
        m.switch(joint.qdot + 0.5 + m.time, on=m.time - 0.5, name="faster")

    message = r"from t = 0\.5 s, y = .*: 'faster' contradicts other .* 'steady':"
    with pytest.raises(kane.SimulationError, match=message) as caught:
        kane.simulate(built(ball(declare)[0]), until=0.8, q={"y": 1.5})
    assert [event.name for event in caught.value.trajectory.events] == ["steady"]


@pytest.mark.parametrize("under_the_root", [lambda q: 1.4 - q, lambda q: q - 2.0])
def test_what_is_imposed_with_rows_that_are_no_numbers_is_named_and_friction_is_not_blamed(under_the_root):
    def declare(m, joint):
        m.switch(joint.qdot * kane.sqrt(under_the_root(joint.q)), on=m.time - 0.1, name="rooted")

    message = r"from t = 0\.1 s, y = .*: what constrains the speeds in 'rooted' is not finite at this state"
    with pytest.raises(kane.SimulationError, match=message) as caught:
        kane.simulate(built(ball(declare)[0]), until=0.8, q={"y": 1.5})
    assert caught.value.trajectory.time[-1] == pytest.approx(0.1, abs=2e-3)
    assert "friction" not in str(caught.value)


def test_a_gap_that_becomes_no_number_ends_the_run_with_time_and_state():
    def declare(m, joint):
        m.latch(kane.sqrt(joint.q - 0.5) + 1.0, name="catch")

    with pytest.raises(kane.SimulationError, match=r"from t = 0\.2.* s, y = .* of 'catch' is no number") as caught:
        kane.simulate(built(ball(declare)[0]), until=1.0, q={"y": 1.0})
    assert caught.value.trajectory["y"].min() < 0.75


# What a clock says that the parts of a run took: after a fast one the next is 8 times as long, after a slow one half as
# long, so that parts of 1 to 32 steps follow each other; or all were fast.
MANY_PAUSES, FEW_PAUSES = [CHUNK_SECONDS / 8] * 2 + [CHUNK_SECONDS * 2] * 6, [1e-9]


@pytest.mark.parametrize("took", [pytest.param(MANY_PAUSES, marks=pytest.mark.slow), FEW_PAUSES], ids=["many", "few"])
def test_impacts_without_end_are_given_up_wherever_the_run_pauses_and_what_came_before_is_kept(took, monkeypatch):
    """A ball thrown about between two walls that come together: ever more impacts, ever faster, until t = 1.

    From the upper wall at height L, left with speed v, it is back at L (v - 1)/(v + 1) and leaves with v + 2. So
    L (v - 1) stays what it was, 0.875 times 4, and 3.5/L impacts have been when the wall is at L. 50,000 lie within a
    ten-thousandth d of the run, for the first time, where 3.5/L - 3.5/(L + d) = 50,000.
    """
    m = kane.Model("between walls", gravity=(0, 0, 0))
    joint = m.connect(m.ground, m.body("ball", mass=1.0), kane.Prismatic("x", axis="x"))
    m.stop(joint, lower=0.0, upper=1.0 - m.time, restitution=1.0)
    readings = accumulate(chain.from_iterable((0.0, seconds) for seconds in cycle(took)))
    monkeypatch.setattr("kane.simulation.driver.FIRST_CHUNK", 2_000)
    monkeypatch.setattr("kane.simulation.driver.time", SimpleNamespace(perf_counter=readings.__next__))
    said = (
        r"changes again and again at t = (0\.9999\d+) s.*50,000 times.*; most of these changes are of 'stop of x: \w+',"
    )
    with pytest.raises(kane.SimulationError, match=said) as caught:
        kane.simulate(built(m), until=2.0, q={"x": 0.5}, u={"x_dot": 3.0})
    within = 2e-4
    height = -within / 2 + np.sqrt(within**2 / 4 + 3.5 * within / 50_000)
    found = float(re.search(said, str(caught.value))[1])
    assert 1.0 - found == pytest.approx(height, rel=1e-4)  # one impact more or less is 2e-5 of it
    assert len(caught.value.trajectory.events) > 100


def test_a_sampled_law_that_raises_gives_its_time_and_keeps_what_was_computed():
    def law(t, q, u):
        if t > 0.55:
            raise ZeroDivisionError("no more")
        return 0.0

    m, _ = ball(lambda m, joint: m.load(kane.Motor(joint, m.input("lift"))), restitution=0.5)
    sampled = kane.Sampled(law, period=0.1)
    with pytest.raises(
        kane.SimulationError, match=r"'lift' failed at t = 0\.6 s: ZeroDivisionError: no more"
    ) as caught:
        kane.simulate(built(m), until=1.0, q={"y": 1.0}, inputs={"lift": sampled})
    assert caught.value.trajectory.time[-1] == pytest.approx(0.6, abs=2e-3)
    assert [event.cause for event in caught.value.trajectory.events] == ["bounces"]


def test_a_joint_that_moves_at_the_start_is_not_stopped_by_the_friction_that_would_hold_it_at_rest():
    """Beside a permanent constraint the first state was put onto what sticks: the velocity was lost in silence."""
    m = kane.Model("arm", gravity=(0, 0, 0))
    one, two = (m.body(name, mass=1, inertia=(0.1,) * 3) for name in ("one", "two"))
    joint = m.connect(m.ground, one, kane.Revolute("q1", axis="z"))
    m.constrain(m.connect(one, two, kane.Revolute("q2", axis="z")).qdot, name="weld")
    m.stick(joint, static=0.5, kinetic=0.1)
    run = kane.simulate(built(m), until=0.5, u={"u1": 2.0})
    assert run["u1"] == pytest.approx(2.0 - 0.1 / 0.2 * run.time, rel=1e-12)


def test_residuals_of_a_run_are_those_of_what_was_in_force_too():
    run = kane.simulate(built(ball(restitution=0.5)[0]), until=2.0, q={"y": 1.0})
    rests = run.active("floor")
    assert rests.any()
    residuals = run.residuals
    assert residuals.configuration_residual.to_numpy() == pytest.approx(
        np.where(rests, np.abs(run["y"]), 0.0), abs=1e-18
    )
    assert residuals.motion_residual.to_numpy() == pytest.approx(np.where(rests, np.abs(run["y_dot"]), 0.0), abs=1e-18)
    assert residuals.configuration_residual.max() < 1e-11


def switched(condition):
    """A cart that 1 N moves, and whose speed is imposed while a condition is below zero."""
    m = kane.Model("cart")
    slide = m.connect(m.ground, m.body("cart", mass=2.0), kane.Prismatic("x", axis="x"))
    m.load(kane.Motor(slide, 1.0))
    fast = condition(m)
    m.switch(slide.qdot, on=fast, off=-fast, name="gate")
    return built(m)


def oscillation(m):
    """cos(pi 1e9 t), as the coordinate of an oscillator."""
    spring = m.connect(m.ground, m.body("weight", mass=1.0), kane.Prismatic("y", axis="y"))
    m.load(kane.Motor(spring, -((math.pi * 1e9) ** 2) * spring.q))
    return spring.q


@pytest.mark.parametrize("until", [1.0, pytest.param(10.0, marks=pytest.mark.slow)])
def test_a_switch_that_changes_a_thousand_million_times_a_second_with_the_state_is_named(until):
    said = r"^'gate' of 'cart' changes again and again at t = \S+ s.*: 20,000 times within .* more; let its conditions"
    with pytest.raises(kane.SimulationError, match=said):
        kane.simulate(switched(oscillation), until=until, q={"y": 1.0})


@pytest.mark.parametrize(
    "settings",
    [{}, *(pytest.param(x, marks=pytest.mark.slow) for x in ({"dt": 1e-3}, {"integrator": kane.BDF()}))],
    ids=["RK8", "RK4", "BDF"],
)
def test_a_switch_that_changes_a_thousand_million_times_a_second_with_time_is_refused(settings):
    dyn = switched(lambda m: kane.sin(math.pi * 1e9 * m.time))
    said = r"^-?sin\(3141592653\S*\*t\) has more than 65,536 bends during the run, and steps may miss changes of modes"
    with pytest.raises(kane.ModelError, match=said):
        kane.simulate(dyn, until=10.0, **settings)


@pytest.mark.parametrize("integrator", [kane.RK8(), kane.RK5()], ids=["RK8", "RK5"])
def test_a_switch_that_changes_as_often_as_times_are_told_apart_is_given_up_as_at_one_instant(integrator):
    """A rate of -1 m/s is imposed from x = 0 upwards; below, 1e15 m/s^2 bring the cart back in 2 / 1e15 s."""
    m = kane.Model("cart")
    slide = m.connect(m.ground, m.body("cart", mass=2.0), kane.Prismatic("x", axis="x"))
    m.switch(slide.qdot + 1, on=slide.q, off=-slide.q, name="gate")
    m.load(kane.Motor(slide, 2e15))
    said = r"^'cart' cannot go on from t = \S+ s, .*: its mode changes again and again at one state: .*'gate'"
    with pytest.raises(kane.SimulationError, match=said):
        kane.simulate(built(m), until=1.0, q={"x": -1e-3}, integrator=integrator)


@pytest.mark.parametrize(("apart", "creeping"), [(4.0, True), (100.0, False)])
def test_changes_creep_where_rounding_of_the_time_is_all_that_lies_between_them(apart, creeping):
    """Of a run of 2 s from 1 s on: the shortest step is 4 * 2**-52 * 3 s long."""
    guards, shortest = 6, 12.0 * 2.0**-52
    course, counts = SimpleNamespace(start=1.0, until=3.0), np.zeros(run_counts_size(), np.int64)
    changes = np.zeros((AT_ONCE + guards, transition_note_size(0)))
    times = transition_note_at(changes, 0, 0).time
    times[:, 0] = 2.0 + shortest * apart * np.arange(len(changes))
    store = SimpleNamespace(transitions=changes, counts=counts, clock=np.zeros(run_clock_size()))
    clock_of(store).time[0] = times[-1, 0] + shortest * apart
    counts = counts_of(store)
    counts.transitions[0] = len(changes)
    assert is_zeno(course, store, guards) is creeping
    counts.transitions[0] -= 1  # one less than AT_ONCE and one for each guard
    assert not is_zeno(course, store, guards)


def test_a_switch_that_changes_often_comes_to_the_end_of_its_run():
    m = kane.Model("cart")
    slide = m.connect(m.ground, m.body("cart", mass=2.0), kane.Prismatic("x", axis="x"))
    often = kane.sin(math.pi * 2e3 * m.time)
    m.switch(slide.qdot, on=often, off=-often, name="gate")
    m.load(kane.Motor(slide, 1.0))
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.5)
    assert len(run.events) == pytest.approx(1_000, abs=2)
