"""Searches for a motion: where they start, what they return, and that each of them ends.

Motions are made by simulation with known parameters; what is found is compared with these.
"""

import numpy as np
import pytest

import kane
from kane.errors import ModelError, SimulationError

TIME = np.arange(0.0, 4.0, 0.02)
TORQUE = 0.8 * np.sin(3.0 * TIME)
TRUTH = {"M": 1.7, "c": 0.05}


@pytest.fixture(scope="module")
def pendulum():
    """A driven pendulum with a damper, and a run of it."""
    m = kane.Model("pendulum", gravity=(0, -9.81, 0))
    M, c = m.parameter("M", 1.0), m.parameter("c", 0.1)
    hinge = m.connect(m.ground, m.body("bob", mass=M, com=(0, -0.5, 0)), kane.Revolute("q1", axis="z"))
    m.load(kane.Damper(hinge, c))
    m.load(kane.Motor(hinge, m.input("tau", default=0.0)))
    dyn = kane.build(kane.formulate(m))
    held = kane.Held(TIME, TORQUE[:, None])
    return dyn, kane.simulate(dyn, until=TIME[-1], times=TIME, q={"q1": 0.5}, inputs=held, parameters=TRUTH), held


def test_a_run_and_columns_of_a_table_are_measurements(pendulum):
    dyn, run, held = pendulum
    table = np.column_stack([TIME, run.q, run.u])[:60]
    for time, q, u in (
        (run.time[:60], run.q[:60], run.u[:60]),
        (table[:, 0], table[:, 1], table[:, 2:]),
        (TIME[:60].astype(">f8"), np.asfortranarray(table[:, 1:2]), table[:, 2]),
    ):
        fit = kane.identify(dyn, kane.Measurements(time, q, u, inputs=held), ["M", "c"])
        assert fit.values == pytest.approx(TRUTH, rel=1e-6)  # a run to 1e-9 a step, over 60 states


def test_columns_of_a_table_are_numbers_wherever_numbers_are_taken(pendulum):
    dyn, run, _ = pendulum
    table = np.column_stack([TIME, TORQUE])
    again = kane.simulate(
        dyn,
        until=TIME[-1],
        times=table[:, 0],
        q=np.array([[0.5, 0.0]])[:, 0],
        inputs=kane.Held(table[:, 0], table[:, 1:]),
        parameters=TRUTH,
    )
    assert np.array_equal(again.q, run.q)
    assert np.array_equal(
        dyn.forward(run.q, run.u, table[:, 1:]), dyn.forward(run.q.copy(), run.u.copy(), TORQUE[:, None])
    )


def test_a_far_start_is_followed_home(pendulum):
    dyn, run, held = pendulum
    data = kane.Measurements(TIME, run.q, run.u, inputs=held)
    for M in (1e-3, 50.0):
        assert kane.identify(dyn, data, ["M", "c"], start={"M": M}).values == pytest.approx(TRUTH, rel=1e-6)


@pytest.mark.parametrize(
    ("M", "driven"),
    [pytest.param(1e-3, "in lines", marks=pytest.mark.slow)],
)
def test_a_search_that_ends_away_from_the_data_is_an_error(pendulum, M, driven):
    dyn, run, held = pendulum
    data = kane.Measurements(TIME, run.q, run.u, inputs=held if driven == "as held" else TORQUE)
    with pytest.raises(ModelError, match=rf"the search from M = {M:g}, c = 0.05 found no motion .* start nearer"):
        kane.identify(dyn, data, ["M", "c"], start={"M": M, "c": 0.05})


@pytest.mark.parametrize("noise", [0.0, pytest.param(0.05, marks=pytest.mark.slow)])
def test_angles_in_degrees_are_no_motion(pendulum, noise):
    dyn, run, held = pendulum
    q = np.degrees(run.q) + noise * np.random.default_rng(1).normal(size=run.q.shape)
    with pytest.raises((ModelError, SimulationError), match="rad"):
        kane.identify(dyn, kane.Measurements(TIME, q, run.u, inputs=held), ["M", "c"])


@pytest.mark.parametrize(
    ("M", "words"),
    [(-1.0, "the mass of body 'bob' is -1 with M = -1"), (0.0, "neither mass nor inertia with M = 0")],
)
def test_a_start_with_an_impossible_mass_names_the_parameters(pendulum, M, words):
    dyn, run, held = pendulum
    data = kane.Measurements(TIME, run.q, run.u, inputs=held)
    with pytest.raises(ModelError, match=words):
        kane.identify(dyn, data, ["M", "c"], start={"M": M})


def test_noise_beside_a_joint_that_stands_still_is_no_failed_search():
    m = kane.Model("two", gravity=(0, -9.81, 0))
    for k in (1, 2):
        body = m.body(f"B{k}", mass=m.parameter(f"m{k}", 1.0), com=(0, -0.5, 0), inertia=(0.1, 0.1, 0.1))
        hinge = m.connect(m.ground, body, kane.Revolute(f"q{k}", axis="z"))
        m.load(kane.Damper(hinge, m.parameter(f"c{k}", 0.1)))
    dyn = kane.build(kane.formulate(m))
    run = kane.simulate(dyn, until=TIME[-1], times=TIME, q={"q1": 0.8}, parameters={"c1": 0.2})
    random = np.random.default_rng(0)
    q, u = (x + 1e-3 * random.normal(size=x.shape) for x in (run.q, run.u))
    fit = kane.identify(dyn, kane.Measurements(TIME, q, u), ["c1"])
    assert abs(fit.values["c1"] - 0.2) < 5.0 * fit.standard_errors["c1"]
