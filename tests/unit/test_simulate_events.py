"""Events: found, in order, once, in the right direction, and an end where that is wanted."""

import math
import pickle

import numpy as np
import pytest

import kane

METHODS = [
    ({"dt": 1e-3}, kane.RK4()),
    ({}, kane.RK5()),
    ({}, kane.RK8()),
    ({"dt": 1e-3}, kane.Gauss4()),
    ({}, kane.BDF()),
]
# Times of events err as the states do: tolerances of 1e-6 and the order-four interpolant of RK4 give some 1e-6.
CLOSE = 2e-5


def block():
    model = kane.Model("oscillator", gravity=(0, 0, 0))
    slide = model.connect(model.ground, model.body("block", mass=1.0), kane.Prismatic("q1", axis="x"))
    model.load(kane.Spring(slide, model.parameter("stiffness", 4.0)))
    model.load(kane.Motor(slide, model.input("force")))
    return kane.build(kane.formulate(model)), slide, model


@pytest.fixture(scope="module")
def oscillator():
    return block()


@pytest.mark.parametrize(("step", "method"), METHODS, ids=lambda m: getattr(m, "name", ""))
def test_zeros_of_an_oscillation_are_found_at_their_times(oscillator, step, method):
    dyn, slide, _ = oscillator
    run = kane.simulate(dyn, until=10.0, q=[1.0], integrator=method, events=[kane.Event(slide.q, name="zero")], **step)
    expected = math.pi / 4 + math.pi / 2 * np.arange(6)  # cos 2t = 0 before 10 s
    assert [e.time for e in run.events] == pytest.approx(expected, abs=CLOSE)
    assert [e.name for e in run.events] == ["zero"] * 6
    assert all(abs(e.q[0]) < 1e-12 for e in run.events)


@pytest.mark.parametrize(("direction", "first"), [(1, 0.75 * math.pi), (-1, 0.25 * math.pi)])
def test_a_direction_leaves_out_the_other_one(oscillator, direction, first):
    dyn, slide, _ = oscillator
    run = kane.simulate(dyn, until=10.0, q=[1.0], events=[kane.Event(slide.q, direction=direction)])
    assert [e.time for e in run.events] == pytest.approx(first + math.pi * np.arange(3), abs=1e-8)
    assert {math.copysign(1, e.u[0]) for e in run.events} == {direction}


@pytest.mark.parametrize(("step", "method"), METHODS, ids=lambda m: getattr(m, "name", ""))
def test_a_terminal_event_ends_the_run_there(oscillator, step, method):
    dyn, slide, _ = oscillator
    event = kane.Event(slide.q - 0.5, direction=-1, terminal=True)
    run = kane.simulate(dyn, until=10.0, q=[1.0], integrator=method, events=[event], **step)
    assert run.final.time == pytest.approx(math.pi / 6, abs=CLOSE)
    assert run.final.q[0] == pytest.approx(0.5, abs=1e-12)
    assert (run.events[-1].q == run.final.q).all()
    assert (np.diff(run.time) > 0).all()


def test_a_run_goes_on_from_a_terminal_event_without_finding_it_again(oscillator):
    dyn, slide, _ = oscillator
    event = kane.Event(slide.q, terminal=True)
    state, found = kane.simulate(dyn, until=10.0, q=[1.0], events=[event]).final, []
    for _ in range(4):
        found.append(state.time)
        state = kane.simulate(dyn, start=state.time, until=10.0, q=state.q, u=state.u, events=[event]).final
    assert found == pytest.approx(math.pi / 4 + math.pi / 2 * np.arange(4), abs=1e-8)


def test_rates_time_parameters_and_inputs_may_be_watched(oscillator):
    dyn, slide, model = oscillator
    stiffness, force = dyn.equations.parameters[0], dyn.equations.inputs[0]
    events = {
        "turn": slide.qdot,
        "clock": model.time - 1.25,
        "energy": stiffness * slide.q**2 - 2.0,
        "ramp": force - 0.5,
    }
    run = kane.simulate(
        dyn,
        until=2.0,
        q=[1.0],
        inputs={"force": ([0, 2], [0, 1e-9])},
        events=[kane.Event(e, name=name) for name, e in events.items() if name != "ramp"],
    )
    first = {}
    for e in run.events:
        first.setdefault(e.name, e.time)
    # The start at rest is no event; 4 cos^2(2t) = 2 at pi/8.
    assert first == pytest.approx({"turn": math.pi / 2, "clock": 1.25, "energy": math.pi / 8}, abs=1e-8)
    ramp = kane.simulate(dyn, until=2.0, inputs={"force": ([0, 2], [0, 1])}, events=[kane.Event(events["ramp"])])
    assert ramp.events[0].time == pytest.approx(1.0, abs=1e-12)


def test_a_controller_may_be_watched(oscillator):
    dyn, slide, _ = oscillator
    force = dyn.equations.inputs[0]
    run = kane.simulate(dyn, until=2.0, q=[1.0], inputs={"force": -5.0 * slide.q}, events=[kane.Event(force)])
    assert run.events[0].time == pytest.approx(math.pi / 6, abs=1e-8)  # k = 9: cos 3t = 0


def test_a_zero_that_is_touched_and_not_crossed_is_no_event(oscillator):
    dyn, slide, _ = oscillator
    assert kane.simulate(dyn, until=10.0, q=[1.0], events=[kane.Event(slide.q**2 + 1e-9)]).events == ()


@pytest.mark.parametrize(("step", "method"), METHODS, ids=lambda m: getattr(m, "name", ""))
@pytest.mark.parametrize("until", [1.0, -1.0], ids=["forwards", "backwards"])
def test_a_zero_exactly_at_the_last_time_is_an_event(oscillator, step, method, until):
    """Of t - until, which is zero there without rounding."""
    dyn, _, model = oscillator
    up = 1 if until > 0 else -1
    events = [
        kane.Event(model.time - until, name="end"),
        kane.Event(model.time - until, name="that way", direction=up, terminal=True),
        kane.Event(model.time - until, name="other way", direction=-up),
    ]
    run = kane.simulate(dyn, until=until, q=[1.0], integrator=method, events=events, **step)
    assert [(e.name, e.time) for e in run.events] == [("end", until), ("that way", until)]
    assert run.final.time == until
    assert (run.events[0].q == run.final.q).all()


def test_a_zero_within_the_run_at_the_end_of_a_step_is_found_once(oscillator):
    dyn, _, model = oscillator
    run = kane.simulate(dyn, until=1.0, q=[1.0], dt=0.125, events=[kane.Event(model.time - 0.5)])
    assert [e.time for e in run.events] == pytest.approx([0.5], abs=1e-15)


def test_fast_events_are_missed_in_long_steps_and_found_with_max_step(oscillator):
    """As the documentation of Event says: here two changes lie pi / 300 s apart."""
    dyn, slide, model = oscillator
    times, short = (math.pi * np.arange(1, 96) - 1.0) / 300.0, kane.RK8(max_step=3 * math.pi / 300)
    fast = [kane.Event(kane.sin(300.0 * model.time + 1.0 + 0.01 * slide.q))]
    found = kane.simulate(dyn, until=1.0, q=[1.0], integrator=short, events=fast).events
    assert [e.time for e in found] == pytest.approx(times, abs=0.011 / 300.0)
    assert len(kane.simulate(dyn, until=1.0, q=[1.0], events=fast).events) < 95


def test_fast_events_of_time_alone_are_found_in_long_steps(oscillator):
    dyn, _, model = oscillator
    found = kane.simulate(dyn, until=1.0, q=[1.0], events=[kane.Event(kane.sin(300.0 * model.time + 1.0))]).events
    assert [e.time for e in found] == pytest.approx((math.pi * np.arange(1, 96) - 1.0) / 300.0, abs=1e-12)


def test_events_are_found_when_time_runs_backwards(oscillator):
    dyn, slide, _ = oscillator
    run = kane.simulate(dyn, start=0.0, until=-3.0, q=[1.0], events=[kane.Event(slide.q)])
    assert [e.time for e in run.events] == pytest.approx([-math.pi / 4, -3 * math.pi / 4], abs=1e-8)


def test_events_are_saved_with_the_run(oscillator, tmp_path):
    dyn, slide, _ = oscillator
    run = kane.simulate(dyn, until=3.0, q=[1.0], events=[kane.Event(slide.q, name="zero")])
    run.save(tmp_path / "run.nc")
    back = kane.Trajectory.load(tmp_path / "run.nc")
    assert [(e.name, e.time, *e.q, *e.u) for e in back.events] == [(e.name, e.time, *e.q, *e.u) for e in run.events]


def test_an_event_that_never_ends_is_an_error(oscillator):
    dyn, _, model = oscillator
    with pytest.raises(kane.SimulationError, match=r"event 'chatter' of 'oscillator' happens again and again at t = "):
        kane.simulate(
            dyn,
            until=1.0,
            dt=1e-12,
            events=[kane.Event(kane.sin(1e12 * model.time + 0.5), name="chatter")],
        )


def test_events_that_make_no_sense_are_errors(oscillator):
    dyn, slide, _ = oscillator
    with pytest.raises(kane.ModelError, match="needs an expression"):
        kane.Event(1.0)
    with pytest.raises(kane.ModelError, match=r"direction of an event is 2; give \+1, -1 or 0"):
        kane.Event(slide.q, direction=2)
    with pytest.raises(kane.ModelError, match="two events are called 'a'"):
        kane.simulate(dyn, until=1.0, events=[kane.Event(slide.q, name="a"), kane.Event(slide.qdot, name="a")])
    with pytest.raises(kane.ModelError, match=r"events must be kane\.Event"):
        kane.simulate(dyn, until=1.0, events=[slide.q])
    with pytest.raises(kane.ModelError, match="'event 1' belongs to another model"):
        kane.simulate(dyn, until=1.0, events=[kane.Event(kane.Model("other").time - 1)])
    event = kane.Event(dyn.equations.inputs[0])
    with pytest.raises(kane.ModelError, match="depends on the input 'force', which native code cannot compute"):
        kane.simulate(dyn, until=1.0, inputs=lambda t, q, u: [0.0], events=[event])


def test_occurrences_are_equal_where_their_values_are():
    dyn, slide, _ = block()
    events = kane.simulate(dyn, until=4.0, q=[1.0], events=[kane.Event(slide.q, name="zero")]).events
    first, second = events[:2]
    again = pickle.loads(pickle.dumps(first))
    assert (first == again, first != again, hash(first) == hash(again)) == (True, False, True)
    assert (first == second, first != second, first == tuple(first)) == (False, True, False)
    assert again in events
    assert events.index(pickle.loads(pickle.dumps(second))) == 1
