"""Ensembles: every trajectory is the one that simulate makes of it alone; failures, threads, bad input."""

import signal
import threading

import numpy as np
import pytest
import xarray

import kane
from kane.library.stanford_arm import stanford_arm_feedback

COARSE = kane.RK8(rtol=1e-6, atol=1e-6)
N = 21  # more than two blocks of eight lanes, and not a whole number of them
TIMES = np.linspace(0.0, 1.0, 8)


@pytest.fixture(scope="module")
def arm():
    return kane.library.stanford_arm()


@pytest.fixture(scope="module")
def dyn(arm):
    return kane.build(kane.formulate(arm))


def pendulum(threads=None):
    """A pendulum of length L whose pivot has a motor."""
    model = kane.Model("pendulum")
    L = model.parameter("L", 1.0)
    bob = model.body("bob", mass=model.parameter("m", 1.0), com=(0, 0, -L))
    joint = model.connect(model.ground, bob, kane.Revolute("q1", axis="y"))
    model.load(kane.Motor(joint, model.input("tau")))
    return kane.build(kane.formulate(model), target=kane.LLVM(threads=threads))


def spinning_top():
    """A heavy body on a ball joint, whose coordinates are a quaternion."""
    model = kane.Model("top")
    body = model.body("body", mass=1.0, inertia=(0.02, 0.03, 0.01), com=(0, 0, 0.3))
    model.connect(model.ground, body, kane.Spherical("s"))
    return kane.build(kane.formulate(model))


def starts(n=N, nq=6):
    """States of the Stanford Arm away from q2 = 0."""
    random = np.random.default_rng(3)
    q, u = random.uniform(-0.5, 0.5, (2, n, nq))
    q[:, 1] += np.pi / 2
    return q, u


def assert_each_is_alone(ensemble, dyn, cases, **options):
    """The ensemble has, bit for bit, what simulate gives for each case alone: both promise the same operations."""
    for i, case in enumerate(cases):
        run = kane.simulate(dyn, **options, **case)
        np.testing.assert_array_equal(ensemble.time, run.time)
        np.testing.assert_array_equal(ensemble.q[i], run.q)
        np.testing.assert_array_equal(ensemble.u[i], run.u)


@pytest.mark.parametrize("integrator", [COARSE, kane.RK5(), kane.RK8(rtol=1e-9, max_step=0.05)])
def test_each_trajectory_has_the_bits_of_a_run_alone(dyn, integrator):
    q, u = starts()
    options = {"until": 1.0, "times": TIMES, "integrator": integrator}
    ensemble = kane.simulate_many(dyn, q=q, u=u, **options)
    assert ensemble.failures == {}
    assert len(set(ensemble.steps)) > 1 or integrator.max_step < 1.0  # each has steps of its own
    assert_each_is_alone(ensemble, dyn, [{"q": a, "u": b} for a, b in zip(q, u, strict=True)], **options)


def test_feedback_by_expressions_is_that_of_a_run_alone(arm, dyn):
    q, u = starts(9)
    options = {"until": 1.0, "times": TIMES, "integrator": COARSE, "inputs": stanford_arm_feedback(arm)}
    ensemble = kane.simulate_many(dyn, q=q, u=u, **options)
    assert ensemble.rejected.sum() > 0
    assert_each_is_alone(ensemble, dyn, [{"q": a, "u": b} for a, b in zip(q, u, strict=True)], **options)


def test_quaternions_keep_their_length_and_the_bits_of_a_run_alone():
    top, random = spinning_top(), np.random.default_rng(4)
    q = random.normal(size=(N, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    u = random.uniform(-5, 5, (N, 3))
    options = {"until": 1.0, "times": TIMES, "integrator": COARSE}
    ensemble = kane.simulate_many(top, q=q, u=u, **options)
    assert np.abs(np.linalg.norm(ensemble.q, axis=2) - 1.0).max() < 1e-15 * 4  # rounding of a norm
    assert_each_is_alone(ensemble, top, [{"q": a, "u": b} for a, b in zip(q, u, strict=True)], **options)


def test_inputs_and_parameters_may_differ_from_trajectory_to_trajectory():
    dyn, L, tau = pendulum(), np.linspace(0.5, 2.0, N), np.linspace(-1.0, 1.0, N)
    options = {"until": 1.0, "times": TIMES, "q": {"q1": 0.4}}
    ensemble = kane.simulate_many(dyn, parameters={"L": L, "m": 2.0}, inputs={"tau": tau}, **options)
    cases = [{"parameters": {"L": a, "m": 2.0}, "inputs": {"tau": b}} for a, b in zip(L, tau, strict=True)]
    assert_each_is_alone(ensemble, dyn, cases, **options)
    rows = kane.simulate_many(dyn, parameters=np.column_stack([L, np.full(N, 2.0)]), inputs=tau[:, None], **options)
    np.testing.assert_array_equal(rows.q, ensemble.q)


def test_time_runs_backwards_too():
    dyn, q = pendulum(), np.linspace(0.1, 1.0, N)[:, None]
    there = kane.simulate_many(dyn, until=1.0, q=q)
    back = kane.simulate_many(dyn, start=1.0, until=0.0, q=there.q[:, -1], u=there.u[:, -1])
    np.testing.assert_allclose(back.q[:, -1], q, atol=1e-7)  # some hundred steps of relative error 1e-9, twice


def test_energy_is_kept_in_every_trajectory(dyn):
    q, u = starts()
    ensemble = kane.simulate_many(dyn, until=1.0, q=q, u=u, times=TIMES)
    energy = dyn.energy(ensemble.q, ensemble.u).total
    # Nature vouches: no motor works. Steps of relative error 1e-9, some hundred of them, against tens of joules.
    assert np.abs(energy - energy[:, :1]).max() < 1e-5


def test_threads_change_no_bit():
    q = np.random.default_rng(5).uniform(-3, 3, (100, 1))
    runs = [kane.simulate_many(pendulum(threads), until=2.0, q=q, times=[0.3, 1.1]) for threads in (1, 2, 5)]
    for run in runs[1:]:
        for word in ("q", "u", "steps", "rejected"):
            np.testing.assert_array_equal(getattr(run, word), getattr(runs[0], word))


def test_a_machine_without_lanes_gets_the_same_bits(arm, dyn):
    q, u = starts(5)
    plain = kane.build(dyn.equations, target=kane.LLVM(lanes=False))
    runs = [kane.simulate_many(d, until=0.5, q=q, u=u, integrator=COARSE) for d in (dyn, plain)]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    np.testing.assert_array_equal(runs[0].steps, runs[1].steps)


def test_order_of_the_trajectories_does_not_matter(dyn):
    q, u = starts()
    order = np.random.default_rng(6).permutation(N)
    runs = [kane.simulate_many(dyn, until=1.0, q=a, u=b, integrator=COARSE) for a, b in ((q, u), (q[order], u[order]))]
    np.testing.assert_array_equal(runs[0].q[order], runs[1].q)


@pytest.mark.parametrize("n", [1, 3, N])
def test_one_row_of_parameters_holds_for_all_trajectories(n):
    """Lanes that share their parameters took the declared defaults instead."""
    dyn, q = pendulum(), np.linspace(0.1, 1.0, n)[:, None]
    for given in ({"L": 0.4, "m": 3.0}, np.array([0.4, 3.0])):
        ensemble = kane.simulate_many(dyn, until=1.0, q=q, parameters=given, times=TIMES)
        cases = [{"q": row, "parameters": {"L": 0.4, "m": 3.0}} for row in q]
        assert_each_is_alone(ensemble, dyn, cases, until=1.0, times=TIMES)


def test_a_state_that_is_no_number_fails_alone_and_with_the_words_of_simulate():
    dyn, q = pendulum(), np.linspace(0.1, 1.0, N)[:, None]
    whole = kane.simulate_many(dyn, until=1.0, q=q)
    q[5] = np.nan
    L = np.ones(N)
    L[7] = np.inf
    ensemble = kane.simulate_many(dyn, until=1.0, q=q, parameters={"L": L})
    with pytest.raises(kane.ModelError) as alone:
        kane.simulate(dyn, until=1.0, q=q[5])
    assert ensemble.failures[5] == str(alone.value)
    assert "the parameter 'L' is inf" in ensemble.failures[7]
    assert list(ensemble.failures) == [5, 7]
    assert np.isnan(ensemble.q[[5, 7]]).all()
    others = ensemble.finished
    assert others.sum() == N - 2
    np.testing.assert_array_equal(ensemble.q[others], whole.q[others])


def test_a_motion_that_runs_away_fails_alone_and_with_the_words_of_simulate():
    model = kane.Model("runaway")
    cart = model.body("cart", mass=1.0)
    joint = model.connect(model.ground, cart, kane.Prismatic("x", axis="x"))
    force = model.input("force")
    model.load(kane.Motor(joint, force))
    dyn = kane.build(kane.formulate(model))
    law = {"force": 6.0 * joint.q**2}  # x'' = 6 x^2: x = 1 / (1 - t)^2 from x = 1, x' = 2
    x = np.full((N, 1), -1.0)
    x[3], u = 1.0, np.zeros((N, 1))
    u[3] = 2.0
    ensemble = kane.simulate_many(dyn, until=1.5, q=x, u=u, inputs=law, times=[0.5])
    assert list(ensemble.failures) == [3]
    with pytest.raises(kane.SimulationError) as alone:
        kane.simulate(dyn, until=1.5, q=x[3], u=u[3], inputs=law, times=[0.5])
    assert ensemble.failures[3] == str(alone.value)
    assert ensemble.q[3, 1, 0] == pytest.approx(4.0, rel=1e-7)  # what came before is kept; 1e-9 a step
    assert np.isnan(ensemble.q[3, 2])
    assert np.isfinite(ensemble.q[ensemble.finished]).all()


def test_a_start_with_infinite_acceleration_fails_alone_and_with_the_words_of_simulate():
    model = kane.Model("attraction")
    mass = model.body("mass", mass=1.0)
    joint = model.connect(model.ground, mass, kane.Prismatic("x", axis="x"))
    model.load(kane.Motor(joint, model.input("force")))
    dyn, law = kane.build(kane.formulate(model)), {"force": -1.0 / joint.q**2}
    ensemble = kane.simulate_many(dyn, until=0.1, q=[[1.0], [0.0], [2.0]], inputs=law)
    with pytest.raises(kane.SimulationError, match="is infinite") as alone:
        kane.simulate(dyn, until=0.1, q=[0.0], inputs=law)
    assert ensemble.failures == {1: str(alone.value)}
    assert np.isfinite(ensemble.q[[0, 2]]).all()


def test_a_quaternion_that_is_too_long_is_told_for_its_trajectory():
    q = np.tile([1.0, 0, 0, 0], (3, 1))
    q[1] = 2.0, 0, 0, 0
    ensemble = kane.simulate_many(spinning_top(), until=0.1, q=q)
    assert "has length 2" in ensemble.failures[1]
    assert list(ensemble.finished) == [True, False, True]


def test_results_carry_names_and_go_to_a_file(tmp_path):
    ensemble = kane.simulate_many(pendulum(), until=1.0, q=[[0.1], [np.nan]], times=[0.5])
    np.testing.assert_array_equal(ensemble["q1"], ensemble.q[:, :, 0])
    with pytest.raises(kane.ModelError, match="there is no coordinate or speed 'q7'"):
        ensemble["q7"]
    with pytest.raises(kane.ModelError, match=r"read by name, ensemble\['q1'\], not by 0; .*ensemble.q\[i\]"):
        list(ensemble)
    data = ensemble.to_xarray()
    assert dict(data.sizes) == {"trajectory": 2, "time": 3, "coordinate": 1, "speed": 1, "input": 1, "parameter": 2}
    assert "1 failed" in repr(ensemble)
    ensemble.save(tmp_path / "many.nc")
    with xarray.open_dataset(tmp_path / "many.nc", engine="h5netcdf") as read:
        np.testing.assert_array_equal(read["q"], ensemble.q)
        assert read["failure"].to_numpy()[1] == ensemble.failures[1]


def test_no_time_and_no_trajectories_are_no_failure():
    dyn = pendulum()
    assert kane.simulate_many(dyn, until=0.0, q=[[0.3], [0.4]])["q1"].tolist() == [[0.3], [0.4]]
    assert kane.simulate_many(dyn, until=1.0, q=np.zeros((0, 1))).q.shape == (0, 2, 1)


@pytest.mark.usefixtures("ctrl_c_raises")
def test_ctrl_c_returns_what_was_computed(dyn):
    """The whole would take minutes: that it comes back at all shows that nobody waits for the trajectories."""
    q, u = starts(20_000)
    main, pressed = threading.main_thread().ident, []

    def press(_fraction):
        if not pressed:
            pressed.append(True)
            signal.pthread_kill(main, signal.SIGINT)

    with pytest.warns(UserWarning, match="interrupted after"):
        ensemble = kane.simulate_many(dyn, until=3000.0, q=q, u=u, progress=press)
    assert ensemble.interrupted
    assert np.count_nonzero(ensemble.finished) < 10_000
    assert set(ensemble.failures.values()) >= {"interrupted"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "the number of trajectories is unknown"),
        ({"q": [0.1]}, "the number of trajectories is unknown"),
        ({"q": np.zeros((3, 2))}, r"the coordinates have shape \(3, 2\)"),
        ({"q": np.zeros((3, 1)), "u": np.zeros((4, 1))}, "3 of q, 4 of u"),
        ({"q": {"q1": np.zeros((3, 1))}}, "one per trajectory"),
        ({"q": {"q2": np.zeros(3)}}, "there is no coordinate 'q2'"),
        ({"q": {"q1": "three"}}, "the coordinate 'q1' must be numbers"),
        ({"parameters": {"L": np.ones(3), "m": np.ones(4)}}, "3 of 'L', 4 of 'm'"),
        ({"q": np.zeros((3, 1)), "inputs": lambda t, q, u: [0.0]}, "numbers or expressions"),
        ({"q": np.zeros((3, 1)), "inputs": {"tau": ([0.0, 1.0], [0.0, 1.0])}}, "kane.spline"),
        ({"q": np.zeros((3, 1)), "inputs": {"tau": kane.Sampled(lambda t, q, u: 0.0, 0.1)}}, "or use kane.simulate"),
        ({"q": np.zeros((3, 1)), "integrator": kane.RK4()}, "needs an integrator with step-size control"),
        ({"q": np.zeros((3, 1)), "times": [2.0]}, "between start"),
        ({"q": np.zeros((3, 1)), "until": np.inf}, "until is inf"),
    ],
)
def test_what_is_meaningless_for_all_is_refused(arguments, message):
    with pytest.raises(kane.ModelError, match=message):
        kane.simulate_many(pendulum(), **{"until": 1.0, **arguments})


def test_something_that_is_no_dynamics_is_refused():
    with pytest.raises(kane.ModelError, match="simulate_many needs Dynamics"):
        kane.simulate_many(kane.Model("m"), until=1.0, q=np.zeros((3, 1)))
