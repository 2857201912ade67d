"""Sweeps: tables of runs, results, statistics and failures.

What vouches: ``kane.simulate`` of each run, to the last bit; closed forms of a falling ball; NumPy's and SciPy's own
statistics of the results.
"""

import math
import warnings

import numpy as np
import pytest
from oracles.studies import ball, pendulum
from scipy import stats

import kane
from kane.sweeps.indicators import is_indicator
from kane.sweeps.tally import Tally

UNTIL = 0.5


def runs_of(table):
    """All rows of a table by name."""
    return dict(zip(table.names, table.rows(0, len(table)).T))


def test_a_grid_has_all_combinations_and_the_last_name_varies_fastest():
    found = runs_of(kane.grid(mass=[1.0, 2.0], q1=[0.1, 0.2, 0.3]))
    assert found["mass"].tolist() == [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    assert found["q1"].tolist() == [0.1, 0.2, 0.3] * 2


@pytest.mark.parametrize("method", ["random", "latin hypercube", "sobol"])
def test_a_sample_has_its_distributions_and_a_row_does_not_depend_on_the_rows_asked_for(method):
    table = kane.sample(4000, {"mass": stats.norm(2.0, 0.1)}, q1=(-1.0, 3.0), method=method).seeded(7)
    rows = table.rows(0, 4000)
    assert np.array_equal(rows[1500:2600], table.rows(1500, 2600))
    assert not np.array_equal(rows, kane.sample(4000, mass=(0, 1), q1=(0, 1), method=method).seeded(8).rows(0, 4000))
    # Kolmogorov-Smirnov rejects a right distribution once in 10,000 seeds, and these seeds are fixed.
    assert stats.kstest(rows[:, 0], stats.norm(2.0, 0.1).cdf).pvalue > 1e-4
    assert stats.kstest(rows[:, 1], stats.uniform(-1.0, 4.0).cdf).pvalue > 1e-4
    assert abs(stats.pearsonr(rows[:, 0], rows[:, 1]).statistic) < 0.06


def test_a_latin_hypercube_has_one_run_in_each_interval():
    q1 = runs_of(kane.sample(100, q1=(0.0, 100.0), method="latin hypercube").seeded(1))["q1"]
    assert sorted(np.floor(q1)) == list(range(100))


@pytest.mark.parametrize("method", ["random", "sobol"])
def test_a_longer_sample_begins_with_the_shorter_one(method):
    short, long = (kane.sample(n, mass=(1, 2), q1=(0, 1), method=method).seeded(3) for n in (1000, 3000))
    assert np.array_equal(short.rows(0, 1000), long.rows(0, 1000))


def test_each_run_equals_simulate_to_the_bit():
    dyn = pendulum()
    q1, (mass,) = dyn.equations.q[0], dyn.equations.parameters
    found = kane.sweep(
        dyn,
        until=UNTIL,
        runs=kane.sample(150, mass=(1.0, 3.0), q1=(-1.0, 1.0)),
        seed=5,
        inputs={"tau": 0.3},
        outputs={"angle": q1, "height": -mass * kane.cos(q1)},
    )
    assert len(found) == 150
    assert found.finished
    for k in (0, 63, 64, 149):
        start = {"q1": found["initial q1"][k]}
        run = kane.simulate(dyn, until=UNTIL, q=start, parameters={"mass": found["mass"][k]}, inputs={"tau": 0.3})
        assert found["angle"][k] == run["q1"][-1] == found.run(k)["q1"][-1]
    assert np.allclose(found["height"], -found["mass"] * np.cos(found["angle"]), rtol=1e-15)


def test_arrays_of_equal_length_are_a_table():
    dyn, q1 = pendulum(), np.linspace(0.1, 0.5, 5)
    one = kane.sweep(dyn, until=UNTIL, q={"q1": q1}, parameters={"mass": [1, 2, 3, 4, 5]})
    two = kane.sweep(dyn, until=UNTIL, q=q1[:, None], parameters=np.arange(1.0, 6.0)[:, None])
    three = kane.sweep(dyn, until=UNTIL, runs={"q1": q1, "mass": [1, 2, 3, 4, 5]})
    many = kane.simulate_many(dyn, until=UNTIL, q={"q1": q1}, parameters={"mass": np.arange(1.0, 6.0)})
    for found in (one, two, three):
        assert np.array_equal(found["q1"], many["q1"][:, -1])
        assert np.array_equal(found["u1"], many["u1"][:, -1])


@pytest.mark.parametrize("chunk", [1, 4])
def test_values_for_all_runs_and_chunks_of_one_run_equal_simulate(chunk):
    ask = dict(until=UNTIL, parameters={"mass": 1.5}, inputs={"tau": 0.3})
    found = kane.sweep(pendulum(), **ask, runs=kane.grid(q1=[0.1, 0.2, 0.3]), chunk=chunk)
    for k in range(3):
        assert found["q1"][k] == kane.simulate(pendulum(), **ask, q=[found["initial q1"][k]])["q1"][-1]


def test_a_falling_ball_meets_its_closed_form_and_a_terminal_event_ends_the_run():
    """z = h - g t^2 / 2 is 1 m at t = sqrt(2 (h - 1) / g), with the speed -g t."""
    dyn = ball()
    z = dyn.equations.q[0]
    passed = kane.Event(z - 1.0, name="passed", terminal=True)
    found = kane.sweep(
        dyn,
        until=2.0,
        runs=kane.grid(z=[0.5, 1.5, 2.0]),
        events=passed,
        outputs={"end": z, "speed": dyn.equations.u[0]},
    )
    t = np.sqrt(2.0 * np.array([0.5, 1.0]) / 9.81)
    assert np.isnan(found["passed"][0])
    assert np.allclose(found["passed"][1:], t, rtol=1e-9)
    assert np.allclose(found["speed"][1:], -9.81 * t, rtol=1e-9)
    assert np.allclose(found["end"][1:], 1.0, rtol=1e-9)
    again = found.run(1)
    assert again.time[-1] == found["passed"][1]
    assert again["z"][-1] == found["end"][1]


def test_contacts_are_swept_with_their_parameters():
    """After one bounce of restitution e the ball rises to e^2 h."""
    dyn, e, height = ball(), np.array([0.3, 0.6, 0.9]), 1.0
    top = (1.0 + e) * math.sqrt(2.0 * height / 9.81)
    for k in range(3):
        found = kane.sweep(dyn, until=top[k], q={"z": height}, runs={"e": e[[k]]}, outputs=["z"])
        assert found["z"][0] == pytest.approx(e[k] ** 2 * height, rel=1e-8)


def test_sampled_controllers_and_samples_are_swept():
    dyn = pendulum()
    q1 = dyn.equations.q[0]
    for law in (
        kane.Sampled(-2.0 * q1, period=0.01),
        kane.Sampled(lambda t, q, u: -2.0 * q[0], period=0.01),
        (np.array([0, 1]), np.array([0, 2])),
    ):
        found = kane.sweep(dyn, until=UNTIL, runs=kane.grid(q1=[0.1, 0.4]), inputs={"tau": law}, outputs=["q1", "tau"])
        run = kane.simulate(dyn, until=UNTIL, q=[0.4], inputs={"tau": law})
        assert found["q1"][1] == run["q1"][-1]
        assert found["tau"][1] == run["tau"][-1]
    closed = kane.sweep(
        dyn, until=UNTIL, runs=kane.grid(q1=[0.1, 0.4]), inputs={"tau": -2.0 * q1}, outputs=["q1", "tau"]
    )
    assert np.array_equal(closed["tau"], -2.0 * closed["q1"])


@pytest.mark.parametrize("events", [(), "late"])
def test_trajectories_are_recorded_at_the_times(events):
    dyn = pendulum()
    events = kane.Event(dyn.equations.t - 10.0, name="late") if events else ()
    found = kane.sweep(dyn, until=UNTIL, runs=kane.grid(q1=[0.1, 0.4]), times=[0.1, 0.3], events=events)
    run = kane.simulate(dyn, until=UNTIL, q=[0.4], times=[0.1, 0.3])
    assert found["q1"].shape == (2, 4)
    assert np.array_equal(found["q1"][1], run["q1"])
    assert np.array_equal(found["u1"][1], run["u1"])
    data = found.to_xarray()
    assert data.q1.sel(run=1, time=0.3) == run["q1"][2]
    assert data.q1.attrs["units"] == "rad"


def test_results_do_not_depend_on_the_chunks():
    ask = dict(until=UNTIL, runs=kane.sample(300, q1=(-1, 1), mass=(1, 2)), seed=2)
    one, other = (kane.sweep(pendulum(), **ask, chunk=chunk) for chunk in (7, 300))
    assert np.array_equal(one["q1"], other["q1"])
    assert np.array_equal(one["u1"], other["u1"])


def test_the_first_time_of_an_event_is_kept():
    dyn = pendulum()
    event = kane.Event(dyn.equations.q[0], name="low")
    found = kane.sweep(dyn, until=5.0, runs=kane.grid(q1=[0.1, 0.2]), events=event)
    occurrences = kane.simulate(dyn, until=5.0, q=[0.2], events=event).events
    assert len(occurrences) > 2
    assert found["low"][1] == occurrences[0].time


def test_runs_that_cannot_start_do_not_disturb_runs_with_events():
    rises = kane.Event(ball().equations.u[0], -1, name="top")
    found = kane.sweep(ball(), until=1.0, runs={"z": [-1.0, 1.0]}, events=rises)
    assert list(found.failures) == [0]
    assert "violated by" in found.failures[0]
    # It falls for sqrt(2 h / g), and rises with half of the speed for half of this time.
    assert found["top"][1] == pytest.approx(1.5 * math.sqrt(2.0 / 9.81), rel=1e-8)


def test_states_after_a_terminal_event_are_missing():
    dyn = pendulum()
    end = kane.Event(dyn.equations.t - 0.2, terminal=True, name="end")
    found = kane.sweep(
        dyn, until=UNTIL, runs=kane.grid(q1=[0.1, 0.4]), times=[0.1, 0.3], events=end, outputs={"last": "q1"}
    )
    assert np.isfinite(found["q1"]).tolist() == [[True, True, False, False]] * 2
    assert found["last"][0] == kane.simulate(dyn, until=0.5, q=[0.1], events=end)["q1"][-1]


@pytest.mark.parametrize("events", [False, True])
def test_failed_runs_have_their_reason_and_the_others_go_on(events):
    dyn = pendulum()
    found = kane.sweep(
        dyn,
        until=UNTIL,
        q={"q1": 0.3},
        runs=kane.grid(mass=[1.0, -2.0, 3.0]),
        outputs={"q1": "q1", "twice": 2.0 * dyn.equations.parameters[0]},
        events=kane.Event(dyn.equations.t - 10.0, name="late") if events else (),
    )
    assert list(found.failures) == [1]
    assert "the mass of body 'bob' is -2" in found.failures[1]
    assert found["status"].tolist() == [1.0, 2.0, 1.0]
    assert np.isnan(found["q1"]).tolist() == [False, True, False]
    assert np.isnan(found["twice"]).tolist() == [False, True, False]
    assert found.statistics("q1").n == 2
    assert "1 failed" in repr(found)


def test_a_chunk_in_which_no_run_can_start_fails_and_the_others_go_on():
    found = kane.sweep(ball(), until=0.1, runs={"z": [-1.0, -2.0, 1.0, 2.0]}, chunk=2)
    assert list(found.failures) == [0, 1]
    assert "violated by" in found.failures[1]
    assert np.allclose(found["z"][2:], np.array([1.0, 2.0]) - 0.5 * 9.81 * 0.01, rtol=1e-9)


def test_statistics_are_those_of_numpy_and_extremes_name_their_runs():
    found = kane.sweep(pendulum(), until=UNTIL, runs=kane.sample(500, q1=(-1, 1), mass=(1, 2)), seed=2, chunk=70)
    x, t = found["q1"], found.statistics("q1")
    assert t.n == 500
    assert t.mean == pytest.approx(x.mean(), abs=1e-14)
    assert t.deviation == pytest.approx(x.std(ddof=1), rel=1e-12)
    assert (t.minimum, t.minimum_run) == (x.min(), x.argmin())
    assert (t.maximum, t.maximum_run) == (x.max(), x.argmax())
    assert np.array_equal(found.quantile("q1", [0.1, 0.9]), np.quantile(x, [0.1, 0.9]))
    half = stats.norm.ppf(0.975) * x.std(ddof=1) / math.sqrt(500)
    assert t.interval == pytest.approx((x.mean() - half, x.mean() + half), rel=1e-10)
    assert f"{x.argmax()}" in str(found)


@pytest.mark.parametrize(("failed", "n"), [(0, 50), (3, 200), (50, 50)])
def test_the_interval_of_a_probability_is_wilsons(failed, n):
    values = np.zeros(n)
    values[:failed] = 1.0
    peer = stats.binomtest(failed, n).proportion_ci(0.95, method="wilson")
    parts = Tally.of(values[: n // 3], 0, indicator=True) + Tally.of(values[n // 3 :], n // 3, indicator=True)
    assert parts.interval == pytest.approx((peer.low, peer.high), abs=1e-12)


def test_values_that_happen_to_be_0_or_1_are_no_probabilities():
    zeros, mixed = Tally.of(np.zeros(50), 0), Tally.of(np.array([0.0, 1.0] * 25), 50)
    assert zeros.interval == (0.0, 0.0)
    assert (Tally.of(np.ones(50), 0) + Tally.of(np.ones(50), 50)).interval == (1.0, 1.0)
    peer = stats.binomtest(25, 100).proportion_ci(0.95, method="wilson")
    assert (zeros + mixed).interval == pytest.approx((peer.low, peer.high), abs=1e-12)


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (lambda x: x < 0.5, True),
        (lambda x: kane.maximum(kane.sign(x - 0.5), 0), True),
        (lambda x: 1 - (x <= 0.5), True),
        (lambda x: (x < 0.5) * (x > 0.1), True),
        (lambda x: kane.select(x < 0.5, 1, x > 0.7), True),
        (lambda x: kane.equal(x, 0.5), True),
        (lambda x: kane.absolute(kane.sign(x)), True),
        (lambda x: kane.sign(x), False),
        (lambda x: (x < 0.5) + (x > 0.1), False),
        (lambda x: kane.select(x < 0.5, 0, x), False),
        (lambda x: kane.maximum(x, 0), False),
        (lambda x: x, False),
    ],
)
def test_indicators_are_known_by_their_operations(made, wanted):
    x = made(pendulum().equations.q[0])
    assert is_indicator(x) is wanted


def test_a_probability_without_an_event_has_an_interval():
    q = pendulum().equations.q[0]
    ask = dict(until=UNTIL, runs=kane.sample(300, q1=(-1, 1)), seed=2, chunk=100)
    found = kane.sweep(
        pendulum(), **ask, outputs={"over": kane.absolute(q) > 9.0, "zero": 0 * q + kane.minimum(0, q * q)}
    )
    peer = stats.binomtest(0, 300).proportion_ci(0.95, method="wilson")
    assert found.statistics("over").interval == pytest.approx((peer.low, peer.high), abs=1e-12)
    assert found.statistics("zero").interval == (0.0, 0.0)


def test_intervals_cover_the_mean_at_their_rate():
    """400 means of 200 draws: the number inside is binomial, and five deviations from 0.95 * 400 are never seen."""
    draws = np.random.default_rng(4).exponential(size=(400, 200))
    inside = sum(low < 1.0 < high for low, high in (Tally.of(x, 0).interval for x in draws))
    assert abs(inside - 380) < 5 * math.sqrt(400 * 0.95 * 0.05)


def test_a_study_stops_when_its_interval_is_narrow():
    ask = dict(until=UNTIL, runs=kane.sample(2000, q1=(-1, 1)), seed=2, chunk=100)
    whole, found = kane.sweep(pendulum(), **ask), kane.sweep(pendulum(), **ask, precision={"q1": 0.04})
    assert 100 <= len(found) < 2000
    assert found.finished
    assert found.statistics("q1").half_width <= 0.04
    n = len(found) - 100
    assert Tally.of(whole["q1"][:n], 0).half_width > 0.04
    assert np.array_equal(found["q1"], whole["q1"][: len(found)])


BAD = {
    "no runs": (dict(), "number of runs is unknown"),
    "two tables": (dict(runs=kane.grid(q1=[1]), q={"q1": [1, 2]}), "'q1' has one value per run, and runs="),
    "no table": (dict(runs=5), "runs= takes kane.grid"),
    "unknown name": (
        dict(runs=kane.grid(mas=[1])),
        "no coordinate, speed, input or parameter 'mas'; did you mean mass",
    ),
    "unknown parameter": (dict(parameters={"mas": [1]}), "no parameter 'mas'; did you mean mass"),
    "twice": (dict(runs=kane.grid(mass=[1]), parameters={"mass": 2}), "'mass' is in the table of the runs"),
    "no seed": (dict(runs=kane.sample(5, mass=(1, 2))), "a sample needs a seed"),
    "bad seed": (dict(runs=kane.sample(5, mass=(1, 2)), seed=-1), "seed is -1"),
    "lengths": (dict(q={"q1": [1, 2]}, parameters={"mass": [1]}), "numbers of runs differ: 2 of 'q1', 1 of 'mass'"),
    "shape": (dict(q=np.zeros((3, 2))), r"coordinates have shape \(3, 2\)"),
    "output": (dict(runs=kane.grid(q1=[1]), outputs=["q2"]), "'q2'; known are q1, u1, tau, mass"),
    "output of no kind": (dict(runs=kane.grid(q1=[1]), outputs={"a": 1.0}), "output 'a' must be an expression"),
    "output twice": (dict(runs=kane.grid(mass=[1]), outputs=["mass"]), "two variables of the sweep are called 'mass'"),
    "output with a slash": (dict(runs=kane.grid(mass=[1]), outputs={"a/b": "q1"}), "'a/b' cannot be the name"),
    "output of another model": (
        dict(runs=kane.grid(mass=[1]), outputs={"a": ball().equations.q[0]}),
        "the output 'a' belongs to another model",
    ),
    "fixed steps": (dict(runs=kane.grid(mass=[1]), integrator=kane.RK4()), "needs step-size control"),
    "chunk": (dict(runs=kane.grid(mass=[1]), chunk=0), "chunk is 0"),
    "precision": (dict(runs=kane.grid(mass=[1]), precision={"q3": 1.0}), "no output 'q3'"),
    "width": (dict(runs=kane.grid(mass=[1]), precision={"q1": 0.0}), "precision of 'q1' is 0.0"),
    "times": (dict(runs=kane.grid(mass=[1]), times=[5.0]), "times must lie between"),
    "times of each run": (dict(runs=kane.grid(mass=[1]), times=[[0.1], [0.2]]), r"one-dimensional .* shape \(2, 1\)"),
    "samples that end": (
        dict(runs=kane.grid(mass=[1]), inputs={"tau": ([0, 0.1], [1, 1])}),
        "samples of the input 'tau'",
    ),
    "event": (dict(runs=kane.grid(mass=[1]), events=[3]), "events must be kane.Event"),
    "executor": (dict(runs=kane.grid(mass=[1]), executor=4), "executor= takes an executor"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_by_name(case):
    given, message = BAD[case]
    with pytest.raises(kane.ModelError, match=message):
        kane.sweep(pendulum(), until=UNTIL, **given)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: kane.grid(), "kane.grid has no names"),
        (lambda: kane.grid(q1=[]), "the values of 'q1' are"),
        (lambda: kane.grid(q1=[math.nan]), "the values of 'q1' are"),
        (lambda: kane.grid(q1=3.0), "the values of 'q1' are 3.0"),
        (lambda: kane.grid([1, 2]), "kane.grid takes a dict"),
        (lambda: kane.sample(0, q1=(0, 1)), "the number of runs is 0"),
        (lambda: kane.sample(5, q1=(1, 1)), "the interval of 'q1'"),
        (lambda: kane.sample(5, q1=3.0), "the distribution of 'q1' is 3.0"),
        (lambda: kane.sample(5, q1=(0, 1), method="sobl"), "method 'sobl' of a sample is unknown"),
        (lambda: kane.grid({f"p{k}": range(1000) for k in range(8)}), "has 1e.24 combinations"),
    ],
)
def test_bad_tables_are_refused(made, message):
    with pytest.raises(kane.ModelError, match=message):
        made()


def test_a_study_larger_than_memory_is_refused_with_its_size():
    with pytest.raises(kane.FileError, match=r"need 16 TB, and memory has .* free; give store="):
        kane.sweep(pendulum(), until=UNTIL, runs=kane.grid(q1=np.arange(1e6), mass=np.arange(4e5)))


def test_modes_compiled_while_runs_go_on_are_refused_because_results_would_depend_on_time():
    with pytest.raises(kane.ModelError, match="results depend on the order"):
        kane.sweep(kane.compile_modes(ball()), until=0.1, runs=kane.grid(z=[1.0]))


def test_compiled_modes_are_swept():
    fast, e = kane.compile_modes(ball(), "all"), np.linspace(0.2, 0.8, 20)
    found = kane.sweep(fast, until=0.6, q={"z": 1.0}, runs={"e": e})
    many = kane.simulate_many(fast, until=0.6, q={"z": 1.0}, parameters={"e": e})
    assert np.array_equal(found["z"], many["z"][:, -1])


def test_ctrl_c_ends_a_study_with_a_warning_and_the_finished_chunks(monkeypatch):
    from kane.sweeps.study import Study

    compute = Study.compute

    def stopped(self, first, *rest):
        if first >= 200:
            raise KeyboardInterrupt
        return compute(self, first, *rest)

    monkeypatch.setattr(Study, "compute", stopped)
    with pytest.warns(UserWarning, match="interrupted after 200 of 1000 runs"):
        found = kane.sweep(pendulum(), until=UNTIL, runs=kane.sample(1000, q1=(-1, 1)), seed=2, chunk=100)
    assert found.computed == 200
    assert not found.finished
    assert np.isfinite(found["q1"]).sum() == 200


def test_progress_is_told():
    told = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kane.sweep(pendulum(), until=UNTIL, runs=kane.sample(300, q1=(-1, 1)), seed=2, chunk=100, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
