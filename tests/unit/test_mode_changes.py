"""The automaton of modes by itself: a ball that bounces, whose guard and whose change are written here.

Closed forms vouch: between bounces the ball falls freely, and each bounce leaves half of the speed.
"""

import dataclasses
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

import kane
from kane.codegen.programs.program import Program
from kane.engine.memory.views import transition_note_at
from kane.engine.step import guards as modes
from kane.simulation.driver import advance_to_end, monitored_advance
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import Outcome
from kane.simulation.monitors.failure import failure_of
from kane.simulation.schedule.course import fixed_course, free_course

G, HEIGHT, KEPT = 10.0, 1.0, 0.5
UNTIL = 1.33  # bounces come to an end at 1.3416 s
METHODS = [kane.RK8(), kane.RK5(), kane.RK4(), kane.Midpoint(), kane.Gauss4()]
# BDF ends its steps on its interpolant, whose errors are those that its tolerances allow.
EXTERNAL = [kane.BDF(rtol=1e-10, atol=1e-12)]


def bounces():
    """Times of the bounces before UNTIL."""
    times, speed = [np.sqrt(2.0 * HEIGHT / G)], np.sqrt(2.0 * G * HEIGHT)
    while True:
        speed *= KEPT
        if times[-1] + 2.0 * speed / G > UNTIL:
            return np.array(times)
        times.append(times[-1] + 2.0 * speed / G)


@pytest.fixture(scope="module")
def dyn():
    model = kane.Model("ball", gravity=(0.0, -G, 0.0))
    model.connect(model.ground, model.body("ball", mass=1.0), kane.Prismatic("y", axis="y"))
    return kane.build(kane.formulate(model))


def problem(dyn, *, guard=None, speed=None, key=0.0, events=()):
    """The ball on the ground: the mode ends where it sinks while it comes down, and is then the same one."""
    e = dyn.equations
    (y,), (v,) = e.q, e.u
    comes_down = kane.select(v < 0.0, 1.0, 0.0)
    guard = kane.select(v < 0.0, y, abs(y)) if guard is None else guard(y, v)
    # At the start of a run the change is asked for as well: there the ball is in the air.
    speed = kane.select(comes_down * kane.select(y < 1e-9, 1.0, 0.0) > 0.5, -KEPT * v, v) if speed is None else speed(v)

    def compiled(name, outputs):
        arrays = {"state": (e.t, y, v), "rest": e.inputs, "parameters": e.parameters}
        return dyn.compile(Program(name, outputs, **arrays))

    posed = InitialValueProblem.of(dyn, None, None, events)
    return dataclasses.replace(
        posed, guards=compiled("guards", [guard]), transition=compiled("transition", [y, speed, v * 0.0 + key, v])
    )


def course(method, posed, until=UNTIL):
    if method.fixed:
        return fixed_course(0.0, until, 0.01, 1, None)
    return free_course(0.0, until, None, None)


def ended(posed, method, until=UNTIL, x=(HEIGHT, 0.0)):
    integration = posed.integration(course(method, posed, until), np.array(x))
    return integration, advance_to_end(integration, monitored_advance(posed, method), lambda fraction: None)


def changes(integration):
    """Without the first one, at the start, which leaves everything as it is."""
    return transition_note_at(
        integration.store.transitions[1 : integration.counts.transitions[0]], 0, len(integration.x)
    )


@pytest.mark.parametrize(("method", "within"), [(m, 1e-13) for m in METHODS] + [(m, 1e-8) for m in EXTERNAL], ids=repr)
def test_every_method_ends_its_steps_where_the_guard_does_and_begins_anew(dyn, method, within):
    integration, outcome = ended(problem(dyn), method)
    found = changes(integration)
    assert outcome is Outcome.FINISHED
    # A parabola is integrated without error, so that what is left is rounding.
    assert found.time[:, 0] == pytest.approx(bounces(), abs=within)
    (y, v), (y_after, v_after), (noted,) = found.before.T, found.after.T, found.notes.T
    assert np.abs(y).max() < 10 * within
    assert (v_after == -KEPT * v).all()
    assert (y_after == y).all()
    assert (noted == v).all()
    height = integration.states()[:, 1]
    assert height.min() > -10 * within


@pytest.mark.parametrize("method", [m for m in METHODS if m.fixed], ids=repr)
def test_fixed_steps_go_on_on_their_grid_behind_a_change(dyn, method):
    integration, _ = ended(problem(dyn), method)
    times = integration.states()[:, 0]
    assert integration.counts.steps[0] == 133
    assert (times[:-1] == np.arange(133) * 0.01).all()
    rows = changes(integration).rows[:, 0].astype(int)
    assert (times[rows - 1] <= bounces()).all()
    assert (times[rows] >= bounces()).all()


@pytest.mark.parametrize("method", [kane.RK8(), kane.RK4(), kane.Gauss4()], ids=repr)
def test_a_run_cut_into_single_steps_is_the_whole_run(dyn, method):
    posed = problem(dyn)
    whole, _ = ended(posed, method)
    integration = posed.integration(course(method, posed), np.array([HEIGHT, 0.0]))
    while not integration.finished:
        method.advance(integration, 1)
    assert (integration.states() == whole.states()).all()
    assert all((a == b).all() for a, b in zip(changes(integration)[:-1], changes(whole)[:-1], strict=True))


def test_a_step_after_a_change_is_as_long_as_was_wanted_before_it_was_cut(dyn):
    posed = problem(dyn)
    integration, steps = posed.integration(course(kane.RK8(), posed), np.array([HEIGHT, 0.0])), []
    while integration.counts.transitions[0] < 3:
        kane.RK8().advance(integration, 1)
        steps.append(integration.clock.next_step[0])
    assert min(steps[len(steps) // 2 :]) > 1e-3


def test_events_and_changes_of_one_step_are_both_found(dyn):
    (v,) = dyn.equations.u
    integration, _ = ended(problem(dyn, events=[kane.Event(v, name="turns")]), kane.RK8())
    tops = (bounces()[1:] + bounces()[:-1]) / 2.0
    found = integration.located_events()[:, 1]
    # The speed changes its sign at each bounce, and at the top of each flight.
    assert found[0::2] == pytest.approx(bounces(), abs=1e-12)
    assert found[1::2][: len(tops)] == pytest.approx(tops, abs=1e-12)


@pytest.mark.parametrize("method", [kane.RK8(), kane.RK4(), kane.Gauss4(), *EXTERNAL], ids=repr)
@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ({"guard": lambda y, v: kane.sqrt(y - 0.5)}, Outcome.NO_GUARD),
        ({"guard": lambda y, v: y - 0.5, "speed": lambda v: v}, Outcome.ENDLESS),
        ({"key": -3.0}, Outcome.REFUSED),
    ],
    ids=["no number", "endless", "refused"],
)
def test_a_run_without_a_next_mode_says_so_and_keeps_what_it_has(dyn, method, options, outcome):
    posed = problem(dyn, **options)
    integration, found = ended(posed, method)
    assert found is outcome
    assert np.isfinite(integration.states()).all()
    assert integration.counts.rows[0] >= 1
    assert "cannot go on from t =" in str(failure_of(integration, found))


SLOWLY = [pytest.param(method, marks=pytest.mark.slow) for method in EXTERNAL]  # a step of theirs is one of Python


@pytest.mark.parametrize("method", [kane.RK8(), kane.RK4(), kane.Gauss4(), *SLOWLY], ids=repr)
def test_bounces_without_end_are_an_error_with_the_time(dyn, method):
    posed = problem(dyn)
    if method.fixed:
        with pytest.raises(kane.SimulationError, match=r"changes again and again at t = 1\.3416"):
            ended(posed, method, until=2.0)
        return
    integration, found = ended(posed, method, until=2.0)
    assert found in (Outcome.STALLED, Outcome.ENDLESS)  # steps that got nowhere, or changes that left no time for them
    assert re.search(r"from t = 1\.3416.*changes ever faster", str(failure_of(integration, found)))


def test_what_is_said_of_bounces_and_events_without_end_is_the_same_wherever_the_run_pauses(dyn):
    (v,) = dyn.equations.u
    method = kane.RK4()

    def said(steps, events):
        posed = problem(dyn, events=events)
        integration = posed.integration(course(method, posed, 2.0), np.array([HEIGHT, 0.0]))
        advance = monitored_advance(posed, method)

        def go_on():
            for _ in range(10**4):
                advance(integration, steps)

        with pytest.raises(kane.SimulationError) as caught:
            go_on()
        return str(caught.value)

    for events, words in (([], "changes again"), ([kane.Event(v, name="turns")], "'turns' of 'ball' happens again")):
        alone = said(1, events)
        assert words in alone
        assert {said(steps, events) for steps in (3, 64, 10**6)} == {alone}


def searched(monkeypatch, guard, low=0.0, high=0.25):
    """Where a search finds a guard negative between two parts of a step, and at which parts it has looked."""
    watch, looked = SimpleNamespace(out=np.zeros(1)), []

    def look(guards, context, store, dense, span, theta):
        looked.append(theta)
        guards.out[0] = guard(theta)

    monkeypatch.setattr(modes, "evaluate_on_interpolant", look)
    found = modes._search_negative(watch, None, None, None, None, (0, low, high, guard(low), guard(high)))
    return found, looked


def test_a_guard_that_varies_by_rounding_is_not_searched_for_a_dip(monkeypatch):
    """As recorded of a wall that carries nothing: 1.85e-11 with noise in the fourth digit."""
    noise = np.random.default_rng(0)
    found, looked = searched(monkeypatch, lambda theta: 1.85e-11 + 3e-14 * noise.standard_normal())
    assert found == modes.NO_ROOT
    assert len(looked) == 2


@pytest.mark.parametrize("at", [0.01, 0.1, 0.17, 0.249])
@pytest.mark.parametrize("depth", [1e-3, 1e-5, 1e-8])
@pytest.mark.parametrize("shape", [lambda x: 10.0 * x**2, lambda x: np.cosh(20.0 * x) - 1.0])
def test_a_dip_is_found_however_flat_it_is(monkeypatch, at, depth, shape):
    found, _ = searched(monkeypatch, lambda theta: shape(theta - at) - depth)
    assert shape(found - at) < depth


def test_a_dip_that_stays_above_zero_is_not_found(monkeypatch):
    for above in (1e-2, 1e-6, 1e-11):
        found, looked = searched(monkeypatch, lambda theta, above=above: 10.0 * (theta - 0.1) ** 2 + above)
        assert found == modes.NO_ROOT
        assert len(looked) <= 2 * math.log(0.25 / modes.GRAZING) / math.log(1.0 / (1.0 - modes.GOLDEN)) + 2
