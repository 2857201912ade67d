"""What every integrator promises, tested once for all of them."""

import math
from inspect import isabstract

import numpy as np
import pytest
from oracles.order_conditions import density, trees, weights

import kane
from kane.deferred import exports
from kane.simulation import integrators
from kane.simulation.integrators import explicit
from kane.simulation.integrators.integrator import Integrator

EXPORTED = [x for x in exports(integrators) if isinstance(x, type)]
# Time steps are for models with contacts: test_moreau_jean.py.
KINDS = [x for x in EXPORTED if issubclass(x, Integrator) and not isabstract(x) and x is not kane.MoreauJean]
FIXED = [kind() for kind in KINDS if kind.fixed]
FREE = [kind() for kind in KINDS if not kind.fixed]
INTEGRATORS = FIXED + FREE
every_integrator = pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)


@pytest.fixture(scope="module")
def dyn():
    """A body thrown under a moment that depends on its spin, so that q, u and inputs are coupled."""
    model = kane.Model("thrown")
    body = model.body("body", mass=2.0, inertia=(1.0, 2.0, 2.5), com=(0.1, -0.2, 0.3))
    model.connect(model.ground, body, kane.Free("base"))
    arm = model.body("arm", mass=0.5, com=(0, 0, -0.4))
    hinge = model.connect(body, arm, kane.Revolute("q1", axis="x"))
    model.load(kane.Motor(hinge, model.input("torque") - 0.3 * hinge.qdot))
    return kane.build(kane.formulate(model))


START = {"base_wx": 0.3, "base_wy": 2.0, "base_wz": -0.4, "u1": 1.0}


def run(dyn, integrator, **options):
    step = {"dt": 0.01} if integrator.fixed else {}
    return kane.simulate(dyn, integrator=integrator, u=START, **{"until": 1.0, **step, **options})


def final(dyn, integrator, **options):
    end = run(dyn, integrator, **options).final
    return np.concatenate([end.q, end.u])


def concrete(kind):
    below = [k for k in kind.__subclasses__() if k.__module__.startswith("kane.")]  # other tests have some of their own
    return set().union(*map(concrete, below)) if below else {kind}


def test_every_integrator_is_tested_here():
    assert {type(i) for i in INTEGRATORS} == concrete(Integrator) - {kane.MoreauJean}


@every_integrator
def test_a_python_input_gives_what_a_constant_gives(dyn, integrator):
    native = final(dyn, integrator, inputs=[0.7])
    python = final(dyn, integrator, inputs=lambda t, q, u: [0.7])
    # The same calls in the same order; BDF's Jacobian does not depend on this input either.
    assert native == pytest.approx(python, abs=1e-13)


@every_integrator
def test_a_run_carries_the_name_of_its_integrator(dyn, integrator):
    assert run(dyn, integrator, until=0.02).to_xarray().attrs["integrator"] == integrator.name


@every_integrator
def test_chunks_do_not_change_a_bit(dyn, integrator, monkeypatch):
    whole = run(dyn, integrator, inputs={"torque": ([0, 0.4, 1], [0, 1, -1])})
    for size in (1, 7):
        monkeypatch.setattr("kane.simulation.driver.FIRST_CHUNK", size)
        monkeypatch.setattr("kane.simulation.driver.CHUNK_SECONDS", 1e-9)
        cut = run(dyn, integrator, inputs={"torque": ([0, 0.4, 1], [0, 1, -1])})
        assert (cut.q == whole.q).all()
        assert (cut.u == whole.u).all()


@every_integrator
def test_an_interrupted_run_is_the_beginning_of_the_whole_one(dyn, integrator, monkeypatch):
    monkeypatch.setattr("kane.simulation.driver.FIRST_CHUNK", 3)
    monkeypatch.setattr("kane.simulation.driver.CHUNK_SECONDS", 1e-9)

    def stop(done):
        if done > 0.3:
            raise KeyboardInterrupt

    whole = run(dyn, integrator)
    with pytest.warns(UserWarning, match="was interrupted"):
        part = run(dyn, integrator, progress=stop)
    assert 1 < len(part) < len(whole)
    assert (part.q[:-1] == whole.q[: len(part) - 1]).all()
    assert part.time[-2] <= part.time[-1] <= whole.time[len(part)], "the last record is the state reached"


@every_integrator
def test_records_at_given_times_do_not_move_the_steps(dyn, integrator):
    times = [0.1234, 0.5, 0.77777]
    sparse = run(dyn, integrator, times=times)
    steps = run(dyn, integrator, every=1)
    assert sparse.time.tolist() == [0.0, *times, 1.0]
    assert (sparse.final.q == steps.final.q).all()
    assert np.abs(np.linalg.norm(sparse.q[:, :4], axis=1) - 1).max() < 1e-15


@every_integrator
def test_a_run_backwards_comes_back(dyn, integrator):
    there = run(dyn, integrator).final
    step = {"dt": 0.01} if integrator.fixed else {}
    back = kane.simulate(dyn, integrator=integrator, start=1.0, until=0.0, q=there.q, u=there.u, **step).final
    # Symmetric methods come back to rounding; the others within the error of both ways: RK4 (w h)^5 / 120 a step with
    # w = 4, 1e-7 in all; RK5 and BDF tolerances of 1e-6 a step, amplified by less than a hundred.
    tolerance = {"Midpoint": 1e-11, "Gauss4": 1e-11, "RK4": 1e-6, "RK8": 1e-7}.get(integrator.name, 1e-4)
    assert back.q == pytest.approx(dyn.equations.neutral, abs=tolerance)


@every_integrator
def test_held_samples_switch_exactly(integrator):
    model = kane.Model("block", gravity=(0, 0, 0))
    slide = model.connect(model.ground, model.body("block", mass=1.0), kane.Prismatic("q1", axis="x"))
    model.load(kane.Motor(slide, model.input("force")))
    block = kane.build(kane.formulate(model))
    step = {"dt": 0.01} if integrator.fixed else {}
    held = kane.Held([0.0, 0.25, 0.5], [1.0, -3.0, 0.5])
    end = kane.simulate(block, until=1.0, inputs={"force": held}, integrator=integrator, **step)
    # Piecewise parabolas, which every method here integrates without error but BDF, which is held to its tolerance.
    tolerance = 1e-5 if integrator.name == "BDF" else 1e-12
    assert end.final.u[0] == pytest.approx(0.25 - 0.75 + 0.25, abs=tolerance)
    assert end["force"][-1] == 0.5


@pytest.mark.parametrize("integrator", FREE, ids=lambda i: i.name)
def test_an_integrator_that_chooses_its_steps_takes_no_dt(dyn, integrator):
    with pytest.raises(kane.ModelError, match=rf"{integrator.name} chooses its steps; leave dt out"):
        kane.simulate(dyn, until=1.0, integrator=integrator, dt=1e-3)


@pytest.mark.parametrize("kind", [kane.RK5, kane.RK8, kane.BDF])
def test_tolerances_that_cannot_be_met_are_errors(kind):
    for wrong in ({"rtol": 0.0}, {"atol": -1.0}, {"rtol": math.nan}, {"max_step": 0.0}):
        with pytest.raises(kane.ModelError, match=r"give a (positive|finite) number"):
            kind(**wrong)
    with pytest.raises(kane.ModelError, match="below the rounding of double precision"):
        kind(rtol=1e-16, atol=1e-18)


@pytest.mark.parametrize("integrator", FREE, ids=lambda i: i.name)
def test_a_motion_that_runs_away_ends_with_time_and_state(integrator):
    model = kane.Model("slider", gravity=(0, 0, 0))
    slide = model.connect(model.ground, model.body("block", mass=1.0), kane.Prismatic("q1", axis="x"))
    model.load(kane.Motor(slide, slide.qdot * slide.qdot))  # u = 1 / (1 - t)
    runaway = kane.build(kane.formulate(model))
    with pytest.raises(kane.SimulationError, match=r"'slider' .* from t = (1|0\.99)\d*\.?\d* s, q1 = .*u1 = .*"):
        kane.simulate(runaway, until=2.0, u=[1.0], integrator=integrator)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"times": [0.1], "every": 2}, "both say when to record"),
        ({"times": [0.2, 0.1]}, "times must go from start to until"),
        ({"times": [0.2, 1.5]}, "must lie between start"),
        ({"times": [math.nan]}, "finite numbers"),
        ({"times": "often"}, "must be numbers"),
        ({"q": {"q1": math.nan}}, "'q1' is nan"),
    ],
)
def test_records_and_states_that_make_no_sense_are_errors(dyn, arguments, message):
    with pytest.raises(kane.ModelError, match=message):
        kane.simulate(dyn, until=1.0, **arguments)


def test_a_step_longer_than_the_run_is_the_run(dyn):
    assert len(kane.simulate(dyn, until=0.01, dt=5.0, u=START)) == 2


def test_no_step_is_longer_than_max_step(dyn):
    times = kane.simulate(dyn, until=1.0, integrator=kane.RK8(max_step=0.01), every=1).time
    assert np.diff(times).max() < 0.01 * (1 + 1e-12)


@pytest.mark.parametrize("integrator", [i for i in INTEGRATORS if hasattr(i, "tableau")], ids=lambda i: i.name)
def test_the_coefficients_satisfy_the_order_conditions(integrator):
    arrays = explicit.scheme(integrator)
    a, last = arrays.coefficients, arrays.last
    assert a.sum(axis=1) == pytest.approx(arrays.nodes, abs=1e-14)
    worst = 0.0
    for n, group in trees(integrator.order + 1).items():
        defects = [abs(a[last] @ weights(tree, a) - 1 / density(tree)) for tree in group]
        if n <= integrator.order:
            # Sums of up to 13 terms of size 50 with coefficients of 16 digits.
            assert max(defects) < 1e-13
        else:
            worst = max(defects)
    assert worst > 1e-7  # and no order more


@pytest.mark.parametrize(("integrator", "order"), [(kane.RK4(), 3), (kane.RK5(), 4), (kane.RK8(), 7)])
def test_the_interpolant_satisfies_its_order_conditions_all_along_the_step(integrator, order):
    arrays = explicit.scheme(integrator)
    a, dense = arrays.coefficients, arrays.dense
    for theta in (0.1, 0.37, 0.9, 1.0):
        b = dense @ theta ** np.arange(1, dense.shape[1] + 1)
        for n, group in trees(order).items():
            for tree in group:
                assert b @ weights(tree, a) == pytest.approx(theta**n / density(tree), abs=1e-12)
