"""Pulses of time are seen however short they are: of prescribed motions, stops, switches, events and forces."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import kane

AT, WIDTH, UNTIL = 9.3, 0.1, 20.0
METHODS = [
    {},
    {"integrator": kane.RK5()},
    {"times": np.linspace(0.0, UNTIL, 2001)},
    {"integrator": kane.BDF()},
    {"dt": 0.01},
    {"dt": 0.5},
    {"integrator": kane.Midpoint(), "dt": 0.3},
    {"integrator": kane.Gauss4(), "dt": 0.7},
]
FREE = METHODS[:4]


def pulse(t, width=WIDTH):
    return kane.exp(-(((t - AT) / width) ** 2))


def hammer(width=WIDTH):
    """A hammer whose motion is prescribed, and a box on a rough floor, 0.05 m in front of it."""
    m = kane.Model("hammer and box", gravity=(0, -9.81, 0))
    head, box = m.body("hammer", mass=1.0), m.body("box", mass=1.0, inertia=(0.01,) * 3)
    m.connect(m.ground, head, kane.Prismatic(0.1 * pulse(m.time, width), axis="x"), name="drive")
    m.connect(m.ground, box, kane.Planar(("x", "y", "angle")))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for side, x in (("left", -0.1), ("right", 0.1)):
        m.contact(box.point((x, 0, 0)), floor, friction=kane.Coulomb(0.5), name=side)
    m.contact(kane.Sphere(head.point(), 0.05), kane.Plane(box.point((-0.1, 0, 0)), -box.x), name="blow")
    return kane.build(kane.formulate(m))


def struck(width=WIDTH):
    """How far the box slides: pushed until the hammer slows down by mu g, then on with the speed that it had."""

    def x(t):
        return 0.1 * math.exp(-(((t - AT) / width) ** 2))

    def speed(t):
        return -2.0 * (t - AT) / width**2 * x(t)

    def slowing(t):
        return (4.0 * (t - AT) ** 2 / width**4 - 2.0 / width**2) * x(t) + 0.5 * 9.81

    left = brentq(slowing, AT - width, AT, xtol=1e-15)
    return x(left) - 0.05 + speed(left) ** 2 / (2.0 * 0.5 * 9.81)


@pytest.fixture(scope="module")
def struck_box():
    return hammer()


@pytest.mark.parametrize("how", METHODS, ids=str)
def test_a_hammer_that_moves_for_a_tenth_of_a_second_strikes_whatever_the_steps(struck_box, how):
    run = kane.simulate(struck_box, until=UNTIL, q={"x": 0.2}, **how)
    assert run["x"][-1] - 0.2 == pytest.approx(struck(), rel=1e-4)


@pytest.mark.parametrize("method", [None, kane.RK5(), kane.RK4()], ids=str)
def test_a_stepper_sees_the_hammer_too(struck_box, method):
    stepper = kane.Stepper(struck_box, q={"x": 0.2}, integrator=method)
    while stepper.time < UNTIL:
        stepper.step(0.5)
    assert stepper.q[0] - 0.2 == pytest.approx(struck(), rel=1e-4)


def test_a_hammer_of_a_tenth_of_a_millisecond_strikes():
    run = kane.simulate(hammer(1e-4), until=UNTIL, q={"x": 0.2})
    blow = next(event for event in run.events if event.name == "blow")
    assert blow.time == pytest.approx(AT - 1e-4 * math.sqrt(math.log(2.0)), abs=1e-12)


def rail(*, lower=None, switch=None, force=None):
    """A cart on a rail."""
    m = kane.Model("cart")
    cart = m.body("cart", mass=2.0)
    joint = m.connect(m.ground, cart, kane.Prismatic("x", axis="x"))
    if lower is not None:
        m.stop(joint, lower=lower(m), name="wall")
    if switch is not None:
        m.switch(joint.qdot, on=switch(m), off=m.time - 15.0, name="clamp")
    if force is not None:
        m.load(kane.Motor(joint, force(m)))
    return m


@pytest.mark.parametrize("how", METHODS, ids=str)
def test_a_stop_that_comes_and_goes_strikes_what_rests_before_it(how):
    dyn = kane.build(kane.formulate(rail(lower=lambda m: 0.1 * pulse(m.time) - 0.05)))
    run = kane.simulate(dyn, until=UNTIL, **how)
    fastest = 0.1 * math.sqrt(2.0) / WIDTH * math.exp(-0.5)
    assert run["x_dot"][-1] == pytest.approx(fastest, rel=1e-5)


@pytest.mark.parametrize("how", METHODS, ids=str)
@pytest.mark.parametrize(
    "on",
    [
        lambda t: kane.minimum(t - AT, AT + 1e-3 - t),
        lambda t: pulse(t, 1e-3) - 0.5,
        lambda t: (t > AT) * (t < AT + 1e-3) - 0.5,
    ],
    ids=["kinks", "pulse", "jumps"],
)
def test_a_switch_that_is_on_for_a_moment_is_imposed(how, on):
    dyn = kane.build(kane.formulate(rail(switch=lambda m: on(m.time))))
    run = kane.simulate(dyn, until=UNTIL, u={"x_dot": 0.3}, **how)
    assert [(event.name, event.cause) for event in run.events] == [("clamp", "imposed"), ("clamp", "deleted")]
    assert run.events[0].time == pytest.approx(AT, abs=1e-3)
    assert run["x"][-1] == pytest.approx(0.3 * run.events[0].time, rel=1e-9)


@pytest.mark.parametrize("how", FREE, ids=str)
def test_an_event_that_depends_on_time_is_found(how):
    m = rail()
    run = kane.simulate(
        kane.build(kane.formulate(m)), until=UNTIL, events=kane.Event(pulse(m.time, 1e-3) - 0.5 + 0 * m.time), **how
    )
    away = 1e-3 * math.sqrt(math.log(2.0))
    assert [event.time for event in run.events] == pytest.approx([AT - away, AT + away], abs=1e-12)


@pytest.mark.parametrize("how", FREE, ids=str)
@pytest.mark.parametrize("as_input", [False, True])
def test_a_force_of_a_moment_is_not_stepped_over(how, as_input):
    m = rail(force=lambda m: m.input("push") if as_input else 100.0 * pulse(m.time, 1e-3))
    inputs = {"push": 100.0 * pulse(m.time, 1e-3)} if as_input else {}
    run = kane.simulate(kane.build(kane.formulate(m)), until=UNTIL, inputs=inputs, **how)
    assert run["x_dot"][-1] == pytest.approx(100.0 * 1e-3 * math.sqrt(math.pi) / 2.0, rel=1e-4)


def at_times(m):
    return kane.exp(-(((m.time - m.parameter("at", AT)) / 1e-3) ** 2))


def test_trajectories_side_by_side_see_pulses_at_times_of_their_own():
    m = rail(force=lambda m: 100.0 * at_times(m))
    dyn, times = kane.build(kane.formulate(m)), np.linspace(3.0, 17.0, 11)
    many = kane.simulate_many(dyn, until=UNTIL, parameters={"at": times})
    assert many.u[:, -1, 0] == pytest.approx(100.0 * 1e-3 * math.sqrt(math.pi) / 2.0, rel=1e-6)
    for i in (0, 7):
        alone = kane.simulate(dyn, until=UNTIL, parameters={"at": times[i]})
        assert alone.q[-1, 0] == many.q[i, -1, 0]
        assert alone.u[-1, 0] == many.u[i, -1, 0]


@pytest.mark.parametrize("compiled", [False, True])
def test_trajectories_with_stops_that_come_and_go_side_by_side_see_them(compiled):
    m = rail(lower=lambda m: 0.1 * at_times(m) - 0.05)
    dyn, times = kane.build(kane.formulate(m)), np.array([4.0, 9.3, 15.1])
    if compiled:
        dyn = kane.compile_modes(dyn, "all")
    many = kane.simulate_many(dyn, until=UNTIL, parameters={"at": times}, q={"x": 0.0})
    assert not many.failures
    assert many.u[:, -1, 0] == pytest.approx(100.0 * math.sqrt(2.0) * math.exp(-0.5), rel=1e-5)


def test_a_constant_input_counts_as_constant():
    m = rail(force=lambda m: 100.0 * kane.exp(-(((m.time - m.input("at")) / 1e-3) ** 2)))
    run = kane.simulate(kane.build(kane.formulate(m)), until=UNTIL, inputs={"at": 12.0})
    assert run["x_dot"][-1] == pytest.approx(100.0 * 1e-3 * math.sqrt(math.pi) / 2.0, rel=1e-6)


def test_runs_whose_equations_do_not_depend_on_time_take_the_steps_that_they_took():
    m = kane.Model("pendulum", gravity=(0, -9.81, 0))
    m.connect(m.ground, m.body("bob", mass=1.0, com=(0, -1, 0)), kane.Revolute("q1", axis="z"))
    dyn = kane.build(kane.formulate(m))
    (stops,) = {
        tuple(
            kane.simulation.schedule.step_ends.Stops(
                kane.simulation.initial_value_problem.InitialValueProblem.of(dyn, None, None, ())
            ).bends(0, 9)
        )
    }
    assert stops == ()
