"""Runs end or say why: chattering, divisors near zero, digits that are lost, and runs that are slow and healthy."""

import contextlib
import math
import re
import warnings

import numpy as np
import pytest
from oracles.formulated import built

import kane
from kane import progress
from kane.engine.memory.views import run_clock_at, run_clock_size, run_counts_at, run_counts_size
from kane.simulation.driver import advance_to_end, monitored_advance
from kane.simulation.events.zeno import ENDLESS_TRANSITIONS, TRANSITIONS_SPAN, first_of_many
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.integrator_state import Outcome, Status
from kane.simulation.monitors.failure import chattering
from kane.simulation.monitors.stall_detection import WINDOW_STEPS, StallDetector
from kane.simulation.schedule.course import free_course

FREE = [kane.RK8(), kane.RK5(rtol=1e-9, atol=1e-11), kane.BDF()]
# No run goes on for so many evaluations without progress: what the documentation of simulate promises.
MILLION = 1_000_000


def block(force):
    """A mass of 1 kg on a slide, with a force that depends on its coordinate and rate, and one that is an input."""
    model = kane.Model("block", gravity=(0, 0, 0))
    slide = model.connect(model.ground, model.body("block", mass=1.0), kane.Prismatic("q1", axis="x"))
    model.load(kane.Motor(slide, force(slide) + model.input("push")))
    return kane.build(kane.formulate(model))


@pytest.fixture(scope="module")
def rubbing():
    """5 N of dry friction: from 1 m/s it stops at 0.2 s, and stays."""
    return block(lambda slide: -5.0 * kane.sign(slide.qdot))


def outcome_of(dyn, method, until, start=0.0, inputs=None, **state):
    """How a run ends, and its march, which has the counts."""
    problem = InitialValueProblem.of(dyn, inputs, None, ())
    x = problem.initial_state(start, state.get("q"), state.get("u"))
    integration = problem.integration(free_course(start, until, None, None), x)
    return advance_to_end(integration, monitored_advance(problem, method), lambda _: None), integration


@pytest.mark.parametrize("method", FREE, ids=lambda m: m.name)
@pytest.mark.parametrize(("u", "push", "when"), [(1.0, 0.0, 0.2), (0.0, 3.0, 0.0)], ids=["stopping", "resting"])
def test_chattering_ends_in_an_error_that_names_the_expression_the_time_and_the_cure(rubbing, method, u, push, when):
    with pytest.raises(kane.SimulationError) as caught:
        kane.simulate(rubbing, until=0.21, u=[u], inputs=[push], integrator=method)
    said = str(caught.value)
    assert "chatters: the accelerations jump where the argument of sign(u1) changes its sign" in said
    assert "kane.tanh(x / width) in place of kane.sign(x)" in said
    assert "dt=" in said
    found = float(said.split("from t = ")[1].split(" s")[0])
    assert found == pytest.approx(when, abs=1e-4)
    outcome, integration = outcome_of(rubbing, method, 0.21, inputs=[push], u=[u])
    assert outcome is Outcome.STALLED
    assert integration.counts.evaluations[0] < MILLION


@pytest.mark.parametrize(
    ("friction", "shown"),
    [
        (lambda rate: kane.select(rate < 0.0, 5.0, -5.0), "u1 < 0"),
        (lambda rate: kane.select(rate >= 0.0, -5.0, 5.0), "0 <= u1"),
        (lambda rate: -5.0 * rate / abs(rate), None),
    ],
    ids=["less", "less or equal", "abs"],
)
def test_every_way_of_writing_a_jump_is_recognised(friction, shown):
    dyn = block(lambda slide: friction(slide.qdot))
    with pytest.raises(kane.SimulationError, match="chatters: the accelerations jump where the argument of") as caught:
        kane.simulate(dyn, until=0.21, u=[1.0])
    assert shown is None or shown in str(caught.value)


def test_python_functions_that_make_a_run_chatter_are_suspected():
    dyn = block(lambda slide: 0.0 * slide.qdot)
    with pytest.raises(kane.SimulationError, match=r"makes no progress .* an input that is a Python function may jump"):
        kane.simulate(dyn, until=0.21, u=[1.0], inputs=lambda t, q, u: [-5.0 * np.sign(u[0])])


@pytest.mark.parametrize("method", [kane.Midpoint(), kane.Gauss4()], ids=lambda m: m.name)
def test_implicit_methods_that_do_not_converge_at_a_jump_name_it(rubbing, method):
    with pytest.raises(kane.SimulationError, match=r"dt = 0\.0003 s is too large, or it chatters: .* sign\(u1\)"):
        kane.simulate(rubbing, until=0.21, u=[1.0], integrator=method, dt=3e-4)


@pytest.mark.parametrize(
    ("force", "chatters"),
    [
        (lambda slide: -5.0 * kane.sign(slide.qdot), True),
        (lambda slide: -5.0 * kane.sign(slide.qdot) - 1e3 * slide.qdot, True),
        (lambda slide: -1e6 * slide.qdot - abs(slide.qdot) * slide.qdot, False),
        (lambda slide: 1.0 - 0.5 * kane.sign(slide.qdot), False),
        (lambda slide: 5.0 * kane.sign(slide.qdot), False),
        (lambda slide: -1e6 * slide.q - 0.1 * kane.sign(slide.q - 1.0), False),
    ],
    ids=["friction", "friction and damping", "stiff and smooth", "passed", "driven away", "far away"],
)
def test_only_a_jump_that_attracts_from_both_sides_is_chattering(force, chatters):
    """At u = 1e-9 m/s; how fast the argument is driven back does not fade with its distance from the jump."""
    problem = InitialValueProblem.of(block(force), None, None, ())
    integration = problem.integration(free_course(0.0, 1.0, None, None), np.array([0.0, 1e-9]))
    assert (chattering(integration) is not None) is chatters


def test_fixed_steps_pass_where_others_chatter(rubbing):
    run = kane.simulate(rubbing, until=0.21, u=[1.0], dt=1e-4)
    assert run.final.q[0] == pytest.approx(0.1, abs=1e-4)  # v^2 / 2a; steps of 1e-4 s overshoot by less


def test_backwards_in_time_friction_drives_away_from_rest_and_does_not_chatter(rubbing):
    run = kane.simulate(rubbing, start=0.2, until=0.0, q=[0.1], u=[1e-6])
    assert run.final.u[0] == pytest.approx(1.0, abs=1e-5)


def test_a_jump_that_is_passed_and_not_stayed_at_is_no_chattering():
    """An oscillation with friction far below the spring force turns at rest again and again: 5 N against 400 N/m."""
    dyn = block(lambda slide: -400.0 * slide.q - 5.0 * kane.sign(slide.qdot))
    run = kane.simulate(dyn, until=0.5 * math.pi / 20.0 * 4, q=[1.0])
    # Each half period takes 2 F / k from the amplitude.
    assert run.final.q[0] == pytest.approx(1.0 - 4 * 5.0 / 400.0, abs=1e-6)


def test_a_constrained_mechanism_chatters_by_name():
    """The same friction in a joint of a closed loop, whose constraints are embedded in numbers."""
    model = kane.library.n_four_bar(1)
    model.load(kane.Motor(model.connections[0], -40.0 * kane.sign(model.connections[0].qdot)))
    dyn = kane.build(kane.formulate(model))
    with pytest.raises(kane.SimulationError, match=r"chatters: .* argument of sign\(.*a0_dot.*\) changes its sign"):
        kane.simulate(dyn, until=1.0, u={"a0_dot": 1.0, "a1_dot": 1.0, "b1_dot": -1.0})


def test_a_run_that_switches_charts_is_watched_as_well():
    model = kane.Model("gimballed", gravity=(0, 0, 0))
    body = model.body("body", mass=1.0, inertia=(2.0, 3.0, 4.0))
    model.connect(model.ground, body, kane.Gimbal(("a", "b", "c")))
    slide = model.connect(model.ground, model.body("block", mass=1.0), kane.Prismatic("x", axis="x"))
    model.load(kane.Motor(slide, -5.0 * kane.sign(slide.qdot)))
    dyn = kane.build(kane.formulate(model))
    with pytest.raises(kane.SimulationError, match="chatters"):
        kane.simulate(dyn, until=0.21, u={dyn.equations.u[-1].name: 1.0}, charts=kane.Charts())


def test_trajectories_that_chatter_side_by_side_are_failures_and_harm_no_other(rubbing):
    speeds = np.array([1.0, 0.9, 5.0, 0.5, 3.0, 1.0, 8.0, 2.0, 4.0, 1.04, 6.0])
    many = kane.simulate_many(rubbing, until=0.21, u=speeds[:, None])
    stops = speeds / 5.0 < 0.21
    assert sorted(many.failures) == np.flatnonzero(stops).tolist()
    for i, u in enumerate(speeds):
        if stops[i]:
            assert "chatters: the accelerations jump where the argument of sign(u1)" in many.failures[i]
            assert float(many.failures[i].split("from t = ")[1].split(" s")[0]) == pytest.approx(u / 5.0, abs=1e-4)
        else:
            alone = kane.simulate(rubbing, until=0.21, u=[u], times=[0.21])
            np.testing.assert_array_equal(many.q[i], alone.q)


@pytest.fixture(scope="module")
def bicycle():
    """Leaning and steered at 3 m/s: it falls, and comes to lie flat at 2.857 s."""
    dyn = built(kane.library.whipple_bicycle)
    guess = {"heave": -0.3, "roll": 0.1, "steer": 0.1}
    state = kane.assemble(dyn, q=guess, u={"rear_dot": -10.0}, fixed=["roll", "steer", "rear_dot"])
    return dyn, {"q": state.q, "u": state.u}


# The finest tolerance takes half as long as the coarsest, which may get past the place.
@pytest.mark.parametrize("rtol", [*(pytest.param(x, marks=pytest.mark.slow) for x in (1e-9, 1e-10, 1e-11)), 1e-12])
def test_a_wheel_that_comes_to_lie_flat_ends_the_run_by_the_name_of_its_constraint(bicycle, rtol):
    """A disk divides by the sine of its tilt, as its documentation says; no step follows the motion there.

    At the coarsest tolerance rounding decides whether a step gets past it, to the next one 1.2 s later.
    """
    dyn, start = bicycle
    method = kane.RK8(rtol=rtol, atol=rtol / 100)
    with pytest.raises(kane.SimulationError) as caught:
        kane.simulate(dyn, until=5.0, integrator=method, **start)
    said = str(caught.value)
    assert re.search(r"makes no progress from t = (2\.857|4\.07)" if rtol == 1e-9 else r"from t = 2\.857", said)
    assert "the constraint 'rear wheel on the road: no slip'" in said
    assert re.search(r"cannot be solved where cos\(roll\) = 0, and at t = (2\.85|4\.07)", said)
    outcome, integration = outcome_of(dyn, method, 5.0, **start)
    assert outcome is Outcome.STALLED
    assert integration.counts.evaluations[0] < (2 if rtol == 1e-9 else 1) * MILLION


def parallelograms(n):
    """Windows that move as parallelograms, through positions in which all rods lie along one line."""
    u = {f"a{i}_dot": 0.7 for i in range(n + 1)} | {f"b{i}_dot": -0.7 for i in range(1, n + 1)}
    return kane.library.n_four_bar(n), {"u": u}, 10.0


@pytest.mark.parametrize("rtol", [1e-12, 1e-13])
def test_flat_linkages_say_that_no_digits_are_left(rtol):
    model, start, until = parallelograms(2)
    dyn = kane.build(kane.formulate(model))
    method = kane.RK8(rtol=rtol, atol=max(1e-14, rtol / 100))
    with pytest.raises(kane.SimulationError, match=r"constraints are nearly dependent .* digits are left; relax rtol"):
        kane.simulate(dyn, until=until, integrator=method, **start)
    assert outcome_of(dyn, method, until, **start)[1].counts.evaluations[0] < MILLION


def fallen(model):
    return model, {}, 5.0


# Library models without losses; the first four stay away from positions in which constraints are dependent.
REGULAR = {
    "pendulum": lambda: (kane.library.n_link_pendulum(3), {"q": {"q2": 1.0, "q3": 0.5}}, 5.0),
    "four_bar": lambda: fallen(kane.library.four_bar()),
    "slider_crank": lambda: fallen(kane.library.slider_crank()),
    "bricard": lambda: fallen(kane.library.bricard()),
}
PASSING = {"one window": lambda: parallelograms(1), "two windows": lambda: parallelograms(2)}
TOLERANCES = [10.0**-k for k in range(6, 14)]


@pytest.mark.parametrize("name", [*REGULAR, *PASSING])
def test_tighter_tolerances_give_better_runs_or_say_so(name):
    """Energy, which nothing takes away, vouches for every recorded state: it swings by less than a thousand tolerances
    of the largest kinetic energy (260 at most were measured; of a step each, some hundred steps add up), or the run
    says by an error or a warning that digits are lost. Where the mechanism is regular nothing is said."""
    model, start, until = (REGULAR | PASSING)[name]()
    dyn = kane.build(kane.formulate(model))
    if dyn.equations.constraints and not start:
        state = kane.assemble(dyn)
        start = {"q": state.q, "u": state.u}
    for rtol in TOLERANCES:
        said, swing = False, 0.0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                run = kane.simulate(dyn, until=until, integrator=kane.RK8(rtol, max(1e-14, rtol / 100)), **start)
            except kane.SimulationError as error:
                said = "digits are left" in str(error)
            else:
                said = any(re.search("may err by|rounding alone", str(w.message)) for w in caught)
                kinetic = run.to_xarray()["kinetic_energy"].to_numpy()
                swing = np.abs(run.energy - run.energy[0]).max() / kinetic.max()
        assert said or swing < 1e3 * rtol, (rtol, swing)
        assert not (said and name in REGULAR), rtol


def test_a_flat_position_between_two_records_is_warned_of_by_time_and_constraint():
    """Two records, at the start and at the end: what was lost between them is seen by looking at every step.

    How near to the flat position a run comes is up to rounding: some of these do not lose so much, some cannot go on.
    """
    model, start, until = parallelograms(1)
    dyn = kane.build(kane.formulate(model))

    def run_all():
        for rtol in (3e-11, 2e-11, 1.2e-11, 1e-11, 8e-12, 6e-12):
            method = kane.RK8(rtol, rtol / 100)
            with contextlib.suppress(kane.SimulationError):
                assert len(kane.simulate(dyn, until=until, times=[0.0, until], integrator=method, **start).time) == 2

    with pytest.warns(UserWarning, match=r"passed a state at t = \d.* where the constraint .* rounding alone") as said:
        run_all()
    where = float(re.search(r"at t = (\S+) s", str(said[0].message))[1])
    flat = kane.simulate(dyn, until=where, integrator=kane.RK8(1e-9, 1e-11), **start)
    assert abs(math.sin(flat.q[-1, 0])) > 1.0 - 1e-5 or abs(math.sin(flat.q[-1, 0])) < 1e-2, "the rods lie flat there"


def test_runs_of_many_short_steps_are_not_given_up():
    """Stiff and damped: stability holds the method to steps of some 7e-5 s, 70,000 of them, whatever the motion."""
    dyn = block(lambda slide: -1e6 * slide.q - 5e4 * slide.qdot)
    outcome, integration = outcome_of(dyn, kane.RK5(), 5.0, q=[1.0])
    assert outcome is Outcome.FINISHED
    assert integration.counts.steps[0] > 3 * WINDOW_STEPS


def test_looking_at_the_pace_changes_no_bit():
    """The counts and states of a long run are those that the method alone makes of it."""
    dyn = block(lambda slide: -1e6 * slide.q - 5e4 * slide.qdot)
    _, watched = outcome_of(dyn, kane.RK5(), 2.0, q=[1.0])
    problem = InitialValueProblem.of(dyn, None, None, ())
    alone = problem.integration(free_course(0.0, 2.0, None, None), problem.initial_state(0.0, [1.0], None))
    assert kane.RK5().advance(alone, 10**6) is Status.GOING
    assert alone.finished
    np.testing.assert_array_equal(watched.states(), alone.states())
    np.testing.assert_array_equal(watched.store.counts, alone.store.counts)


def fresh():
    """Clock and counters of a run at its start."""
    return run_clock_at(np.zeros(run_clock_size()), 0), run_counts_at(np.zeros(run_counts_size(), np.int64), 0)


def looks(pace, clock, counts, covered, each, times, chatters=False):
    """So many windows of tried steps, each of which covers so much time: after how many the run is given up."""
    for k in range(times):
        counts.steps[0] += each
        clock.time[0] += covered
        if pace.is_lost(clock, counts, lambda: chatters):
            return k + 1
    return None


@pytest.mark.parametrize(
    ("until", "covered", "chatters", "given_up"),
    [
        (1.0, 1e-3, False, None),  # slow and sure
        (1.0, 1e-6, False, None),  # 1.5e10 steps to go, at a pace that was never another
        (1e4, 1e-6, False, 2),  # 1.5e14 steps to go
        (1.0, 1e-3, True, None),  # 1.5e7 steps to go, and it chatters
        (1.0, 0.0, False, 2),
    ],
)
def test_a_run_is_given_up_by_what_it_would_still_take(until, covered, chatters, given_up):
    clock, counts = fresh()
    pace = StallDetector(free_course(0.0, until, None, None), 0.0)
    assert looks(pace, clock, counts, covered, WINDOW_STEPS, 10, chatters) == (1 if chatters else given_up)


def test_a_run_whose_steps_collapse_is_given_up_after_two_whole_windows():
    clock, counts = fresh()
    pace = StallDetector(free_course(0.0, 1.0, None, None), 0.0)
    assert looks(pace, clock, counts, 0.1, WINDOW_STEPS, 1) is None
    assert looks(pace, clock, counts, 1e-9, WINDOW_STEPS, 10) == 2


def test_rejected_steps_count_as_tried():
    clock, counts = fresh()
    pace = StallDetector(free_course(0.0, 1.0, None, None), 0.0)
    counts.rejected[0] = 3 * WINDOW_STEPS
    assert not pace.is_lost(clock, counts, lambda: False)
    counts.rejected[0] += WINDOW_STEPS
    assert pace.is_lost(clock, counts, lambda: False)


@pytest.mark.parametrize("every", [1, 10_000])
def test_fixed_steps_past_a_wheel_that_lies_flat_warn_by_the_name_of_its_constraint(bicycle, every):
    """Their energy falls by a fifth there, and constraint forces do no work: the energy vouches."""
    dyn, start = bicycle
    with pytest.warns(
        UserWarning, match=r"passes near a state at t = 2\.\d+ s where .*wheel on the road.* cannot be"
    ) as said:
        run = kane.simulate(dyn, until=3.0, dt=1e-4, every=every, **start)
    assert len(said) == 1
    assert np.ptp(run.energy) > 100.0


def test_fixed_steps_far_from_singular_states_are_silent_and_looking_changes_no_bit(bicycle, monkeypatch):
    dyn, start = bicycle
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        looked = kane.simulate(dyn, until=2.0, dt=1e-3, **start)
    monkeypatch.setattr("kane.simulation.monitors.singularity_monitor.divisors", lambda equations: {})
    alone = kane.simulate(dyn, until=2.0, dt=1e-3, **start)
    np.testing.assert_array_equal(looked.q, alone.q)
    np.testing.assert_array_equal(looked.u, alone.u)


def test_changes_of_the_mode_are_too_many_wherever_in_the_run_they_are():
    """Scene 375 in space of those by lot changed its mode 100,000 times within 0.1 ms; another way 38,002 in 1.5 s."""
    few = np.linspace(0.0, 0.99 * TRANSITIONS_SPAN, ENDLESS_TRANSITIONS)
    many = np.linspace(0.0, 0.99 * TRANSITIONS_SPAN, ENDLESS_TRANSITIONS + 1)
    assert first_of_many(few, ENDLESS_TRANSITIONS, TRANSITIONS_SPAN) is None
    assert first_of_many(many, ENDLESS_TRANSITIONS, TRANSITIONS_SPAN) == ENDLESS_TRANSITIONS
    crowd = -np.array([*few - 1.0, *many, *np.linspace(0.5, 1.0, 100)])
    assert first_of_many(crowd, ENDLESS_TRANSITIONS, TRANSITIONS_SPAN) == 2 * ENDLESS_TRANSITIONS
    assert first_of_many(1.02 * many, ENDLESS_TRANSITIONS, TRANSITIONS_SPAN) is None


def test_chunks_that_end_early_do_not_make_those_behind_them_longer():
    """A loop that leaves after each step, in no time: chunks that grow eightfold would want room for 2^40 steps."""
    dyn = block(lambda slide: -slide.q)
    problem = InitialValueProblem.of(dyn, None, None, ())
    integration = problem.integration(free_course(0.0, 1.0, None, None), problem.initial_state(0.0, None, {"u1": 1.0}))
    step, asked = monitored_advance(problem, kane.RK8(max_step=0.02)), []

    def one_step(integration, steps):
        asked.append(steps)
        return step(integration, 1)

    assert advance_to_end(integration, one_step, lambda _: None) is Outcome.FINISHED
    assert len(asked) >= 50
    assert max(asked[1:]) <= 8  # once more eightfold what one step took


def test_chunks_grow_while_their_steps_are_tried():
    dyn = block(lambda slide: -slide.q)
    problem = InitialValueProblem.of(dyn, None, None, ())
    integration = problem.integration(free_course(0.0, 40.0, None, None), problem.initial_state(0.0, None, {"u1": 1.0}))
    step, asked = monitored_advance(problem, kane.RK8(max_step=0.002)), []

    def counted(integration, steps):
        asked.append(steps)
        return step(integration, steps)

    assert advance_to_end(integration, counted, lambda _: None) is Outcome.FINISHED
    assert integration.tried >= 20_000
    assert len(asked) < 200  # 64 steps at first, and so many more than that as fit into 50 ms


def test_a_long_run_reports_to_the_log_where_there_is_no_terminal(monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: False)
    with progress.ProgressBar("model") as bar:
        bar.detail = lambda: "(t = 3 s)"
        for k in range(1, 101):  # a call every half second
            now[0] += 0.5
            bar(k / 100)
    assert [record.name for record in caplog.records] == ["kane"] * 3
    assert [record.message for record in caplog.records] == [
        "model: 20 % after 10 s (t = 3 s)",
        "model: 40 % after 20 s (t = 3 s)",
        "model: 80 % after 40 s (t = 3 s)",
    ]


def test_a_report_of_a_run_has_its_time_steps_and_events(monkeypatch, caplog):
    monkeypatch.setattr(progress.Log, "delay", 0.0)  # seconds: each call reports
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: False)
    model = kane.Model("ball", gravity=(0, -9.81, 0))
    slide = model.connect(model.ground, model.body("ball", mass=1.0), kane.Prismatic("y", axis="y"))
    model.stop(slide, lower=0.0, restitution=0.5)
    kane.simulate(kane.build(kane.formulate(model)), until=1.0, q={"y": 1.0})
    report = r"ball: 100 % after \d+ s \(t = 1 s of 1 s, \d+ steps, \d+ events\)"
    assert re.fullmatch(report, caplog.messages[-1])
