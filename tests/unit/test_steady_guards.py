"""Guards that need not be looked at within a step: what the ends of the steps before say of them."""

import math

import numpy as np
import pytest

import kane
from kane.engine.memory.views import guard_history_size, run_clock_at, run_clock_size, run_counts_at, run_counts_size
from kane.engine.step.guards import accept_guards, is_steady


def after_steps(values, times):
    """The clock of a store that has passed steps with these values of one guard at their ends, and its next value."""
    clock = run_clock_at(np.zeros(run_clock_size() + guard_history_size(1)), 0)
    counts = run_counts_at(np.zeros(run_counts_size(), dtype=np.int64), 0)
    for value, t in zip(values[:-1], times[:-1], strict=True):
        accept_guards(clock, counts, np.array([value]), t)
    return clock, np.array([values[-1]]), (times[-2], times[-1] - times[-2], times[-1])


@pytest.mark.parametrize(
    ("values", "times", "steady"),
    [
        ([1.0, 1.01, 1.02, 1.03], [1, 2, 3, 4], True),
        ([1.0, 1.0, 1.0, 1.3], [1, 2, 3, 4], False),  # it varies by a third of itself
        ([9.0, 1.0, 1.01, 1.02], [1, 2, 3, 4], False),  # as it did two steps ago
        ([1.0, 1.0, 1.0, -1e-9], [1, 2, 3, 4], False),
        ([1.0, 1.0, 1.0, math.nan], [1, 2, 3, 4], False),
        ([0.0, 0.0, 0.0, 0.0], [1, 2, 3, 4], False),
        ([1.0, 1.0, 1.0, 1.0], [1, 1.1, 1.2, 4], False),  # too short a time is known
        ([1.0, 1.0, 1.0, 1.0], [math.nan, 2, 3, 4], False),  # another mode
        ([1.0, 1.0], [3, 4], False),
    ],
)
def test_a_guard_is_steady_where_it_is_far_larger_than_it_has_varied(values, times, steady):
    assert is_steady(*after_steps(values, times)) is steady


def test_a_step_that_does_not_begin_where_the_last_one_ended_is_looked_at():
    clock, ends, (t, h, end) = after_steps([1.0] * 4, [1, 2, 3, 4])
    assert not is_steady(clock, ends, (t + 1e-9, h, end))


@pytest.mark.parametrize("share", [0.07, 0.38, 0.63, 0.93])
def test_a_gap_that_closes_and_opens_again_between_two_looks_is_found(share):
    """A parabola whose lowest point lies 0.02 mm deep within a step; Runge and Kutta make no error in it."""
    m = kane.Model("dip")
    ball = m.body("ball", mass=1)
    m.connect(m.ground, ball, kane.Prismatic("y", axis="y"))
    m.load(kane.Force(ball.point(), (0, 2, 0)))
    m.contact(ball.point(), kane.Plane(m.ground.point(), m.ground.y), restitution=0.5, name="floor")
    lowest, depth = 0.1 * share, 2e-5
    start = {"q": {"y": lowest**2 - depth}, "u": [-2.0 * lowest]}
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.2, integrator=kane.RK4(), dt=0.1, **start)
    struck = [e for e in run.events if e.cause == "bounces"]
    assert struck[0].time == pytest.approx(lowest - math.sqrt(depth), abs=1e-12)


@pytest.mark.parametrize("second", [0.3, 0.62, 0.97])
def test_a_gap_that_dips_in_a_step_that_another_guard_ends_is_found(second):
    """The step is cut where the second ball strikes, long after the first one has been below its floor and back."""
    m = kane.Model("dips")
    for name in "ab":
        ball = m.body(name, mass=1)
        m.connect(m.ground, ball, kane.Prismatic(f"y{name}", axis="y"))
        m.contact(ball.point(), kane.Plane(m.ground.point(), m.ground.y), restitution=0.5, name=name)
        m.load(kane.Force(ball.point(), (0, 2, 0) if name == "a" else (0, 0, 0)))
    lowest, depth = 0.02, 2e-5
    start = {"q": {"ya": lowest**2 - depth, "yb": 1.0}, "u": [-2.0 * lowest, -1.0 / (0.1 * second)]}
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.2, integrator=kane.RK4(), dt=0.1, **start)
    struck = {e.name: e.time for e in reversed(run.events) if e.cause == "bounces"}
    assert struck["a"] == pytest.approx(lowest - math.sqrt(depth), abs=1e-12)
    assert struck["b"] == pytest.approx(0.1 * second, abs=1e-12)
