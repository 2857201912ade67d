"""The native loops in short runs with known answers: steps, their control, inputs, events, records, constraints.

Short enough to be run as plain Python too, with one thing wrong at a time: test_march_mutants.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import kane
from kane.engine.memory.views import run_clock_at, run_clock_size, run_counts_at, run_counts_size
from kane.engine.step import event_location as events
from kane.engine.step import explicit
from kane.engine.step import state_equation as state
from kane.simulation.integrators.explicit import Explicit

FIXED = {"RK4": (kane.RK4(), 4), "Midpoint": (kane.Midpoint(), 2), "Gauss4": (kane.Gauss4(), 4)}
FREE = {"RK5": kane.RK5(1e-7, 1e-9), "RK8": kane.RK8(1e-10, 1e-12)}
_built = {}


def built(make):
    """Dynamics of a model, made once."""
    if make not in _built:
        _built[make] = kane.build(kane.formulate(make()))
    return _built[make]


def driven():
    """q'' = -q + sin(2 t)."""
    model = kane.Model("driven", gravity=(0.0, 0.0, 0.0))
    slide = model.connect(model.ground, model.body("block", mass=1.0), kane.Prismatic("q1", axis="x"))
    model.load(kane.Spring(slide, 1.0))
    model.load(kane.Motor(slide, kane.sin(2.0 * model.time)))
    return model


def motion(t):
    """q and u from q = 1, u = 0: cos t + (2 sin t - sin 2t) / 3."""
    q = np.cos(t) + (2.0 * np.sin(t) - np.sin(2.0 * t)) / 3.0
    return q, -np.sin(t) + (2.0 * np.cos(t) - 2.0 * np.cos(2.0 * t)) / 3.0


def pushed():
    """q'' = force + other."""
    model = kane.Model("pushed", gravity=(0.0, 0.0, 0.0))
    slide = model.connect(model.ground, model.body("block", mass=1.0), kane.Prismatic("q1", axis="x"))
    model.load(kane.Motor(slide, model.input("force") + model.input("other")))
    return model


def spinner():
    """A ball that turns at a constant rate."""
    model = kane.Model("spinner", gravity=(0.0, 0.0, 0.0))
    model.connect(model.ground, model.body("ball", mass=1.0, inertia=(1.0, 1.0, 1.0)), kane.Free("base"))
    return model


def off(run):
    """The largest error of the records of ``driven``."""
    q, u = motion(run.time)
    return max(np.abs(run.q[:, 0] - q).max(), np.abs(run.u[:, 0] - u).max())


@pytest.mark.parametrize("name", FIXED)
def test_fixed_steps_have_their_order_and_end_where_they_should(name):
    method, order = FIXED[name]
    runs = [kane.simulate(built(driven), until=0.67, q=[1.0], integrator=method, dt=h, every=1) for h in (0.1, 0.05)]
    assert [len(run) for run in runs] == [8, 15]
    assert runs[0].time[:-1] == pytest.approx(np.arange(7) * 0.1, abs=1e-15)
    assert runs[0].time[-1] == 0.67
    # The last step is cut: the ratio is that of the order to within the share of one step.
    assert order - 0.3 < math.log2(off(runs[0]) / off(runs[1])) < order + 0.5


# Error over rtol, and ceiling and floor of the records of three seconds: a tenth about the 34 and 24 that were counted.
COUNTS = {"RK5": (30.0, 30, 38), "RK8": (30.0, 21, 27)}


@pytest.mark.parametrize("name", FREE)
def test_steps_chosen_by_the_error_are_as_many_as_the_tolerance_needs(name):
    worst, fewest, most = COUNTS[name]
    run = kane.simulate(built(driven), until=3.0, q=[1.0], integrator=FREE[name], every=1)
    assert run.time[-1] == 3.0
    assert off(run) < worst * FREE[name].rtol
    assert fewest < len(run) < most
    back = kane.simulate(
        built(driven), start=3.0, until=0.0, q=run.final.q, u=run.final.u, integrator=FREE[name], every=1
    )
    assert off(back) < 3.0 * worst * FREE[name].rtol
    assert fewest < len(back) < most


@pytest.mark.parametrize("name", [*FIXED, *FREE])
def test_records_lie_on_the_motion_wherever_they_are_wanted(name):
    times = [0.0, 0.013, 0.2, 0.21, 0.333, 0.5]
    method = FREE.get(name) or FIXED[name][0]
    step = {} if name in FREE else {"dt": 0.05}
    run = kane.simulate(built(driven), until=0.5, times=times, q=[1.0], integrator=method, **step)
    assert run.time.tolist() == times
    # Of fixed methods the error of ten steps, of the others some tolerances; the interpolants are of an order less.
    assert off(run) < {"RK4": 2e-6, "Midpoint": 1e-3, "Gauss4": 2e-6, "RK5": 1e-6, "RK8": 1e-9}[name]
    some = kane.simulate(built(driven), until=0.5, q=[1.0], integrator=method, every=2, **step)
    every = kane.simulate(built(driven), until=0.5, q=[1.0], integrator=method, every=1, **step)
    kept = [*every.time[::2], *([every.time[-1]] if len(every) % 2 == 0 else [])]
    assert some.time.tolist() == kept


CROSSINGS = [math.pi / 2, math.pi * 3 / 2, math.pi * 5 / 2]


def swing():
    """q'' = -q: cos t."""
    model = kane.Model("swing", gravity=(0.0, 0.0, 0.0))
    slide = model.connect(model.ground, model.body("block", mass=1.0), kane.Prismatic("q1", axis="x"))
    model.load(kane.Spring(slide, 1.0))
    return model


def watched(until, *events, start=(1.0, 0.0), begin=0.0, method=None, **options):
    dyn = built(swing)
    slide = dyn.equations.model.connections[0]
    found = [kane.Event(make(slide.q, slide.qdot, dyn.equations.t), **how) for make, how in events]
    method = method or FREE["RK8"]
    return kane.simulate(
        dyn, start=begin, until=until, q=[start[0]], u=[start[1]], events=found, integrator=method, **options
    )


@pytest.mark.parametrize("name", ["RK4", "Gauss4", "RK5", "RK8"])
def test_sign_changes_are_found_where_they_are_and_the_way_they_go(name):
    method = FREE.get(name) or FIXED[name][0]
    step = {} if name in FREE else {"dt": 0.05}
    # Cubic interpolation over steps of 0.05, or tolerances.
    close = {"RK4": 2e-6, "Gauss4": 2e-6, "RK5": 1e-6, "RK8": 1e-9}[name]
    run = watched(8.0, (lambda q, u, t: q, {}), method=method, **step)
    assert [e.time for e in run.events] == pytest.approx(CROSSINGS, abs=close)
    for event, speed in zip(run.events, (-1.0, 1.0, -1.0), strict=True):
        assert abs(event.q[0]) < close
        assert event.u[0] == pytest.approx(speed, abs=close)
        # What comes after the root, so that a run from there does not find it again.
        assert event.q[0] * speed >= -1e-16
    for direction, times in ((1, CROSSINGS[1:2]), (-1, CROSSINGS[::2])):
        run = watched(8.0, (lambda q, u, t: q, {"direction": direction}), method=method, **step)
        assert [e.time for e in run.events] == pytest.approx(times, abs=close)


def test_an_event_of_an_interpolated_input_is_where_the_input_changes_its_sign():
    """The samples go through zero at 0.37 s; within a step the input is that of the time looked at."""
    model = pushed()
    dyn = kane.build(kane.formulate(model))
    ends = np.array([0.0, 1.0])
    samples = kane.Interpolated(ends, np.column_stack([ends - 0.37, [0.0, 0.0]]))
    (force,) = (leaf for leaf in dyn.equations.inputs if leaf.name == "force")
    run = kane.simulate(dyn, until=1.0, inputs=samples, events=kane.Event(force), integrator=kane.RK4(), dt=0.25)
    # An event is located in time to rounding; the input is linear there.
    assert [e.time for e in run.events] == pytest.approx([0.37], abs=1e-14)


def test_a_terminal_event_ends_the_run_and_what_would_come_later_is_not_seen():
    ends = (lambda q, u, t: q - 0.5, {"terminal": True})
    later, sooner = (lambda q, u, t: t - 1.06, {}), (lambda q, u, t: t - 1.04, {})
    at = math.pi / 3
    for order in ((ends, later, sooner), (later, sooner, ends)):
        run = watched(8.0, *order, method=kane.RK4(), dt=0.1)
        # Cubic interpolation over a step of 0.1.
        assert run.time[-1] == pytest.approx(at, abs=1e-5)
        assert sorted(e.time for e in run.events) == pytest.approx([1.04, at], abs=1e-5)
        assert run.final.q[0] == pytest.approx(0.5, abs=1e-12)
        assert run.final.u[0] == pytest.approx(-math.sin(at), abs=1e-5)
    first, second = (lambda q, u, t: t - 0.52, {"terminal": True}), (lambda q, u, t: t - 0.53, {"terminal": True})
    for order in ((first, second), (second, first)):
        run = watched(8.0, *order)
        assert run.time[-1] == pytest.approx(0.52, abs=1e-14)
        assert len(run.events) == 1


def test_what_is_zero_at_the_start_is_no_event_and_a_touch_is_none():
    run = watched(1.0, (lambda q, u, t: u, {}), (lambda q, u, t: q * q, {}))
    assert run.events == () or len(run.events) == 0
    back = watched(0.0, (lambda q, u, t: t - 0.3, {}), begin=1.0)
    assert [e.time for e in back.events] == pytest.approx([0.3], abs=1e-14)
    assert back.events[0].q[0] == pytest.approx(math.cos(0.7), abs=1e-9)


@pytest.mark.parametrize("name", ["RK4", "Gauss4"])
def test_a_change_right_after_the_start_is_found(name):
    """Changes count from the signs at the start, not from those somewhere in the first step."""
    for n in (1, 2):
        run = watched(0.3, *[(lambda q, u, t: t - 0.003, {})] * n, method=FIXED[name][0], dt=0.1)
        assert [e.time for e in run.events] == pytest.approx([0.003] * n, abs=1e-14)


def test_a_run_that_is_cut_at_an_event_goes_on_without_finding_it_again():
    first = watched(8.0, (lambda q, u, t: q, {"terminal": True}))
    rest = watched(8.0, (lambda q, u, t: q, {}), start=(first.final.q[0], first.final.u[0]), begin=first.time[-1])
    assert [e.time for e in rest.events] == pytest.approx(CROSSINGS[1:], abs=1e-9)


@pytest.mark.parametrize("name", ["RK4", "Midpoint", "RK5", "RK8"])
def test_samples_drive_inputs_linearly_or_held(name):
    """Forces of straight pieces: u is their area."""
    method = FREE.get(name) or FIXED[name][0]
    step = {} if name in FREE else {"dt": 0.125}
    times = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5]
    inputs = {"force": (times, [1.0, 1.0, 3.0, -1.0, 2.0, 2.0]), "other": kane.Held([0.0, 0.5, 1.25], [2.0, -1.0, 4.0])}
    run = kane.simulate(built(pushed), until=1.5, inputs=inputs, integrator=method, times=[0.0, 0.5, 1.0, 1.5], **step)
    linear = [0.0, 0.25 + 0.5, 0.75 + 0.25 + 0.125, 1.125 + 1.0]
    held = [0.0, 1.0, 0.5, 0.5 - 0.25 + 1.0]
    # Corners lie on steps: pieces of first degree, which all methods here integrate without error.
    assert run.u[:, 0] == pytest.approx(np.add(linear, held), abs=1e-12)
    assert run["force"].tolist() == [1.0, 3.0, 2.0, 2.0]
    assert run["other"].tolist() == [2.0, -1.0, -1.0, 4.0]
    back = kane.simulate(
        built(pushed), start=1.5, until=0.0, inputs=inputs, q=run.final.q, u=run.final.u, integrator=method, **step
    )
    assert back.final.u[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", ["RK4", "Midpoint", "RK5", "RK8"])
def test_quaternions_turn_as_they_should_and_keep_their_length(name):
    method = FREE.get(name) or FIXED[name][0]
    step = {} if name in FREE else {"dt": 0.02}
    rate = np.array([0.3, -1.0, 2.0])
    start = {"base_wx": rate[0], "base_wy": rate[1], "base_wz": rate[2], "base_vx": 0.5}
    run = kane.simulate(built(spinner), until=0.5, u=start, integrator=method, times=[0.0, 0.111, 0.5], **step)
    assert np.abs(np.linalg.norm(run.q[:, :4], axis=1) - 1.0).max() < 4e-16
    x, y, z, w = Rotation.from_rotvec(0.5 * rate).as_quat()
    # A midpoint rule errs by (w h)^2 / 24 a radian, RK4 by (w h / 2)^4 / 120; the others by some tolerances.
    close = {"Midpoint": 1e-4, "RK4": 1e-8, "RK5": 1e-6, "RK8": 1e-9}[name]
    assert run.final.q[:4] == pytest.approx([w, x, y, z], abs=close)


def test_the_error_of_a_quaternion_counts_as_angles():
    """A body of unit speed in x and in turning: both are integrated in some steps of the same length."""
    runs = [
        kane.simulate(built(spinner), until=4.0, u=u, integrator=kane.RK5(rtol, 1e-9), every=1)
        for rtol in (1e-9, 1e-5)
        for u in ({"base_wx": 1.0}, {"base_wz": 1.0}, {"base_wy": 1.0})
    ]
    lengths = [len(run) for run in runs]
    # Of order five: a tolerance of 2e-9 or of 1e-5 is a factor of 5.5 in the number of steps.
    assert lengths[0] == lengths[1] == lengths[2]
    assert lengths[3] == lengths[4] == lengths[5]
    assert 2.5 < lengths[0] / lengths[3] < 8.0


def fourbar():
    return kane.library.four_bar()


def test_states_are_put_onto_the_constraints_at_steps_between_and_at_events():
    dyn = built(fourbar)
    state = kane.assemble(dyn, q=dyn.equations.neutral, u={dyn.equations.u[0].name: 2.0})
    free = kane.simulate(dyn, until=0.5, q=state.q, u=state.u, integrator=kane.RK4(), dt=0.02, every=1)
    # Halfway between two steps, at first.
    event = kane.Event(dyn.equations.q[0] - 0.5 * (free.q[5, 0] + free.q[6, 0]), terminal=True)
    for options in ({"every": 1}, {"times": np.linspace(0.0, 0.5, 11)}):
        run = kane.simulate(
            dyn, until=0.5, q=state.q, u=state.u, events=[event], integrator=kane.RK4(), dt=0.02, **options
        )
        assert len(run.events) == 1
        configuration, motion = (np.asarray(dyn_residual) for dyn_residual in residuals(dyn, run))
        # What settling leaves is rounding.
        assert np.abs(configuration).max() < 1e-13
        assert np.abs(motion).max() < 1e-13


def residuals(dyn, run):
    rows, closing = dyn.function("constraints"), dyn.function("configuration")
    states = np.column_stack([run.time, run.q, run.u])
    n, m = len(dyn.equations.u), len(dyn.equations.constraints)
    values = rows(states, np.zeros((len(states), rows.n_rest)), rows.stage(dyn.parameters))
    closed = closing(states, np.zeros((len(states), closing.n_rest)), closing.stage(dyn.parameters))
    return closed, values[:, m * n :]


def test_a_run_that_cannot_go_on_says_so():
    model = kane.Model("runaway", gravity=(0.0, 0.0, 0.0))
    slide = model.connect(model.ground, model.body("block", mass=1.0), kane.Prismatic("q1", axis="x"))
    model.load(kane.Motor(slide, slide.qdot * slide.qdot))  # u = 1 / (1 - t)
    dyn = kane.build(kane.formulate(model))
    for method, step in ((kane.RK5(1e-4, 1e-6), {}), (kane.RK4(), {"dt": 0.05}), (kane.Midpoint(), {"dt": 0.1})):
        with pytest.raises(kane.SimulationError):
            kane.simulate(dyn, until=3.0, u=[1.0], integrator=method, **step)


def test_steps_keep_to_max_step_and_to_the_end():
    run = kane.simulate(built(driven), until=0.5, q=[1.0], integrator=kane.RK8(max_step=0.04), every=1)
    assert np.diff(run.time).max() <= 0.04 * (1 + 1e-12)
    assert len(run) <= 16
    assert len(kane.simulate(built(driven), until=1e-9, q=[1.0], integrator=kane.RK8(), every=1)) <= 3


# The control of steps by its formulas, as documented.


def control(h=0.1, uncut=0.1, last=0.5):
    clock = run_clock_at(np.zeros(run_clock_size()), 0)
    counts = run_counts_at(np.zeros(run_counts_size(), dtype=np.int64), 0)
    clock.time[0], clock.next_step[0], clock.uncut_step[0], clock.last_error[0] = 1.0, h, uncut, last
    return clock, counts


SCHEME = SimpleNamespace(exponent=0.2, memory=0.3, largest=math.inf)


@pytest.mark.parametrize("error", [0.9, 0.3, 1e-2, 1e-6, 1e-30])
@pytest.mark.parametrize("last", [1.0, 1e-4])
@pytest.mark.parametrize("k", [1 / 5, 1 / 8])
def test_an_accepted_step_is_followed_by_one_of_pi_control(error, last, k):
    """h 0.9 e^-(k - 0.75 0.3 k) e_last^0.3 k, between a fifth and eight times h [Hairer & Wanner II, IV.2]."""
    clock, counts = control(last=last)
    explicit.accept_step(clock, counts, SimpleNamespace(exponent=k, memory=0.3), 0.1, error, False)
    factor = 0.9 * max(error, 1e-10) ** (-k + 0.75 * 0.3 * k) * last ** (0.3 * k)
    assert clock.next_step[0] == pytest.approx(0.1 * min(8.0, max(0.2, factor)), rel=1e-14)
    assert clock.last_error[0] == max(error, 1e-4)
    assert counts.stop[0] == 0


def test_a_step_cut_short_by_a_stop_does_not_shorten_those_after_it():
    for h, error, wanted in ((0.01, 0.5, 0.1), (0.01, 1e-10, 0.1), (0.05, 1e-10, 0.4), (-0.01, 0.5, -0.1)):
        clock, counts = control(uncut=math.copysign(0.1, h), last=1.0)
        explicit.accept_step(clock, counts, SCHEME, h, error, True)
        assert clock.next_step[0] == pytest.approx(wanted, rel=1e-14)
        assert counts.stop[0] == 1


@pytest.mark.parametrize(("error", "factor"), [(2.0, 0.9 * 2.0**-0.2), (1e9, 0.2), (math.inf, 0.2)])
def test_a_rejected_step_is_tried_again_shorter(error, factor):
    clock, counts = control()
    clock.cut_step[0] = 0.1
    course = SimpleNamespace(start=0.0, until=2.0)
    assert explicit.reject_step(course, clock, counts, SCHEME, 0.1, error)
    assert clock.cut_step[0] == 0.0
    assert clock.next_step[0] == clock.uncut_step[0] == pytest.approx(0.1 * factor, rel=1e-14)
    assert clock.last_error[0] == 1.0
    assert counts.rejected[0] == 1


def test_steps_shorter_than_four_roundings_of_the_time_are_given_up():
    for start, until in ((0.0, 2.0), (-2.0, 0.0)):
        course = SimpleNamespace(start=start, until=until)
        for h, going in ((2.1 * 4.0 * 2.0**-52, True), (1.9 * 4.0 * 2.0**-52, False)):
            assert explicit.reject_step(course, *control(), SCHEME, 5.0 * h, math.inf) == going


@pytest.mark.parametrize(
    ("wanted", "stop", "h", "end"),
    [
        (0.1, 5.0, 0.1, 1.1),  # far from the stop
        (0.1, 1.1, 0.1, 1.1),  # exactly there
        (0.1, 1.05, 0.05, 1.05),  # cut
        (0.1, 1.15, 0.075, 1.075),  # two halves
        (0.1, 1.25, 0.1, 1.1),  # more than two steps away
        (0.1, 1.1 + 5e-9, 0.1 + 5e-9, 1.1 + 5e-9),  # no crumbs
        (-0.1, 0.95, -0.05, 0.95),
        (-0.1, 0.85, -0.075, 0.925),
        (0.7, 5.0, 0.3, 1.3),  # no longer than allowed
        (-0.7, -5.0, -0.3, 0.7),
    ],
)
def test_a_step_ends_at_the_next_stop_or_well_before_it(wanted, stop, h, end):
    clock, _ = control(h=wanted)
    found = explicit.free_step(stop, clock, 0.3)
    assert found == pytest.approx((h, end), rel=1e-14)
    assert clock.uncut_step[0] == math.copysign(min(abs(wanted), 0.3), wanted)
    clock.cut_step[0] = -0.02  # where a guard is known to be negative, it ends there
    assert explicit.free_step(stop, clock, 0.3) == pytest.approx((-0.02, 0.98), rel=1e-14)


def test_two_estimates_combine_as_in_dop853():
    assert explicit.combined_error(3.0, 40.0) == pytest.approx(9.0 / 5.0, rel=1e-15)
    assert explicit.combined_error(3.0, 0.0) == 3.0
    assert explicit.combined_error(0.0, 1.0) == 0.0
    assert explicit.combined_error(1e-170, 1e-170) == 0.0  # whose squares are lost, at rest
    assert explicit.combined_error(1.0, 0.0) == 1.0
    assert explicit.combined_error(math.nan, 1.0) == math.inf
    assert explicit.combined_error(math.inf, 1.0) == math.inf


def sized(x, y, slopes, errors, quaternions=(), rtol=1e-3, atol=1e-5):
    store = SimpleNamespace(x=np.array(x), y=np.array(y), z=np.full(len(x), 7.0), slopes=np.array(slopes))
    scheme = SimpleNamespace(errors=np.array(errors), last=len(slopes) - 1, rtol=rtol, atol=atol)
    return explicit._error_norm(store, scheme, 0.1, np.array(quaternions, dtype=np.int64), 0)


def test_the_error_of_a_step_is_the_largest_over_atol_and_rtol_of_the_larger_state():
    x, y = [1.0, -4.0, 0.0], [2.0, 3.0, 0.0]
    slopes = [[1.0, 2.0, 0.5], [3.0, -1.0, 1.0]]
    e = 0.1 * (0.5 * np.array(slopes[0]) - 0.25 * np.array(slopes[1]))
    expected = np.abs(e) / (1e-5 + 1e-3 * np.array([2.0, 4.0, 0.0]))
    assert sized(x, y, slopes, [[0.5, -0.25]]) == pytest.approx(expected.max(), rel=1e-14)
    assert sized(x[:2], y[:2], np.array(slopes)[:, :2], [[0.5, -0.25]]) == pytest.approx(expected[:2].max(), rel=1e-14)
    assert sized(x, y, slopes, [[10.0, 0.0]]) == pytest.approx(0.5 / 1e-5, rel=1e-14)  # a weight of one
    assert sized(x, [math.nan, 3.0, 0.0], slopes, [[0.5, -0.25]]) == math.inf
    assert sized(x, y, [[math.inf, 0.0, 0.0], slopes[1]], [[0.5, -0.25]]) == math.inf


def test_the_error_of_a_quaternion_is_the_rotation_vector_that_it_stands_for():
    """2 Im(conj(p) e) for e = p (c + v / 2) is v, whatever c."""
    source = np.random.default_rng(0)
    for axis in range(3):
        p = source.normal(size=4)
        p /= np.linalg.norm(p)
        v = np.zeros(3)
        v[axis] = 1e-4
        w, a = p[0], p[1:]
        half = v / 2
        e = np.array([-(a @ half), *(w * half + np.cross(a, half))]) + 0.3 * p
        found = sized([*p, 1.0], [*p, 1.0], [[*(10.0 * e), 0.0], [0.0] * 5], [[1.0, 0.0]], [0])
        assert found == pytest.approx(1e-4 / (1e-5 + 1e-3), rel=1e-9)


def test_lengths_states_and_numbers():
    x = np.array([9.0, 3.0, 0.0, 4.0, 0.0, 9.0])
    state.normalise(x, np.array([1]))
    assert x == pytest.approx([9.0, 0.6, 0.0, 0.8, 0.0, 9.0], rel=1e-15)
    assert state.is_finite(x)
    for wrong in (math.nan, math.inf, -math.inf):
        assert not state.is_finite(np.array([0.0, wrong]))


def test_the_next_place_to_look_for_a_root_is_where_the_inverse_parabola_has_it():
    """Of x = 0.3 + y / 2 + y^2 / 20 the root of y is at 0.3; at first two values say what a straight line says."""
    values = (-1.0, 2.0, -2.0)
    a, b, _ = places = tuple(0.3 + y / 2 + y * y / 20 for y in values)
    assert events._ratio_of_root(1, places, values) == pytest.approx((0.3 - a) / (b - a), rel=1e-14)
    assert events._ratio_of_root(0, places, values) == pytest.approx(1 / 3, rel=1e-14)


def test_the_first_step_is_limited_by_the_first_and_second_derivatives_of_the_state():
    """At q = 1, u = 0.1 the second derivative of u counts most, 2 - u. Source: Hairer, Norsett & Wanner, II.4."""
    method, x = kane.RK5(1e-3, 1e-6), np.array([1.0, 0.1])
    scale, slope = 1e-6 + 1e-3 * x, np.array([0.1, -1.0])
    h = 0.01 * (x / scale).max() / np.abs(slope / scale).max()
    ahead = x + h * slope
    second = np.abs((np.array([ahead[1], math.sin(2.0 * h) - ahead[0]]) - slope) / scale).max() / h
    assert second > np.abs(slope / scale).max()
    run = kane.simulate(built(driven), until=1.0, q=x[:1], u=x[1:], integrator=method, every=1)
    assert run.time[1] == pytest.approx(min(100.0 * h, (0.01 / second) ** 0.2), rel=1e-12)


@pytest.mark.parametrize("name", ["RK4", "RK8"])
def test_evaluations_are_counted(name):
    """A slope at the start, and as many a step as the method has: the last one is the first of the next step."""
    counts, advance = [], Explicit.advance

    def counted(self, integration, steps):
        status = advance(self, integration, steps)
        counts.append((int(integration.counts.evaluations[0]), int(integration.counts.rejected[0])))
        return status

    method, step = (kane.RK4(), {"dt": 0.1}) if name == "RK4" else (FREE["RK8"], {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Explicit, "advance", counted)
        run = kane.simulate(built(driven), until=1.0, q=[1.0], integrator=method, every=1, **step)
    (evaluations, rejected), steps = counts[-1], len(run) - 1
    # The first step of RK8 is chosen by one slope more.
    assert evaluations == (1 + 4 * steps if name == "RK4" else 2 + 12 * (steps + rejected))
