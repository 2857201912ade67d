"""Effects and plots of sweeps.

What vouches: the indices of Ishigami's function in closed form, SciPy's regression,
and the scatter of the estimates over seeds for their errors.
"""

import math

import numpy as np
import pytest
from oracles.studies import pendulum
from scipy import stats

import kane
from kane.sweeps.effects import effects_of

A, B = 7.0, 0.1


def ishigami(n, seed):
    """Ishigami's function of three uniform angles."""
    x = np.random.default_rng(seed).uniform(-math.pi, math.pi, (3, n))
    return dict(zip("abc", x)), np.sin(x[0]) + A * np.sin(x[1]) ** 2 + B * x[2] ** 4 * np.sin(x[0])


def exact():
    """Its first-order indices."""
    variance = A**2 / 8 + B * math.pi**4 / 5 + B**2 * math.pi**8 / 18 + 0.5
    return np.array([0.5 * (1 + B * math.pi**4 / 5) ** 2, A**2 / 8, 0.0]) / variance


def test_indices_of_ishigamis_function_are_exact_to_their_errors():
    """200,000 runs and 32 knots: pieces of a sixteenth of a period leave less than 0.1 % of the variation."""
    found = effects_of(*ishigami(200_000, 1))
    for effect, index in zip(found.values(), exact(), strict=True):
        assert abs(effect.sobol - index) < 4 * effect.sobol_error + 0.004 * index
        assert effect.sobol_error < 0.005


def test_errors_of_indices_are_the_scatter_over_seeds():
    found = [[(e.sobol, e.sobol_error) for e in effects_of(*ishigami(2000, seed)).values()] for seed in range(60)]
    index, error = np.moveaxis(np.array(found), 2, 0)
    # A standard deviation of 60 estimates is known to 9 %; jackknife errors of 20 groups scatter by 16 % themselves.
    assert np.allclose(error.mean(axis=0), index.std(axis=0, ddof=1), rtol=0.4)
    # Without its adjustment the index of c would be 13 knots / 2000 too large, several times the error of this mean.
    assert abs(index.mean(axis=0)[2]) < 4 * index.std(axis=0)[2] / math.sqrt(60)


@pytest.mark.parametrize("n", [512, 2000])
def test_indices_of_a_linear_result_are_exact_to_their_errors(n):
    """y = 10 a + c has the indices 100 / 101 and 1 / 101; bins of x would take 1 % of the first one."""
    off = []
    for seed in range(40):
        a, c = np.random.default_rng(seed).uniform(-1.0, 1.0, (2, n))
        found = effects_of({"a": a, "c": c}, 10.0 * a + c)
        off.append([(found["a"].sobol - 100 / 101), (found["c"].sobol - 1 / 101)])
    mean, scatter = np.mean(off, axis=0), np.std(off, axis=0)
    assert (np.abs(mean) < 4.0 * scatter / math.sqrt(40) + 1.0 / n).all()
    assert abs(mean[0]) < 5e-4 + 1.0 / n  # ranks are nearly proportional to uniform values


def test_values_that_change_together_and_results_of_rounding_are_refused():
    t = np.linspace(0.0, 1.0, 300)
    with pytest.raises(kane.ModelError, match=r"a and b change together.*kane.sample"):
        effects_of({"a": t, "b": 2.0 * t}, t)
    with pytest.raises(kane.ModelError, match="the result does not vary"):
        effects_of({"a": t}, 0.2 + 1e-16 * np.sign(t - 0.5))


def test_slopes_are_those_of_scipy():
    rng = np.random.default_rng(3)
    x = rng.normal(2.0, 0.1, 500)
    y = 3.0 * x + rng.normal(0.0, 0.2, 500)
    peer, found = stats.linregress(x, y), effects_of({"x": x}, y)["x"]
    assert (found.slope, found.slope_error) == pytest.approx((peer.slope, peer.stderr), rel=1e-9)


def test_effects_and_plots_of_a_sweep(tmp_path):
    """The last angle of a short fall depends on the first angle; the mass moves it by the rod's own inertia alone."""
    asked = dict(until=0.1, runs=kane.sample(600, q1=(-1, 1), mass=(1, 2)), seed=1, outputs={"angle": "q1"})
    found = kane.sweep(pendulum(), **asked, store=tmp_path)
    effects = kane.Sweep.open(tmp_path).effects("angle")
    assert list(effects) == list(found.varied) == ["initial q1", "mass"]
    assert effects["initial q1"].sobol > 0.98
    assert abs(effects["mass"].sobol) < 5 * effects["mass"].sobol_error
    figure = found.plot()
    assert [ax.get_xlabel() for ax in figure.axes] == ["angle [rad]", "initial q1 [rad]", "mass [kg]"]
    assert len(figure.axes[1].lines[0].get_xdata()) == 600
    with pytest.raises(kane.ModelError, match="there is no result 'angel'; did you mean angle"):
        found.plot(["angel"])
    with pytest.raises(kane.ModelError, match="there is no result 'angel'; did you mean angle"):
        found.effects("angel")


def test_too_few_runs_and_constant_values_are_refused():
    x, y = ishigami(100, 1)
    with pytest.raises(kane.ModelError, match="effects need 200 runs with a finite result; 100 have one"):
        effects_of(x, y)
    x, y = ishigami(500, 1)
    with pytest.raises(kane.ModelError, match="the result does not vary"):
        effects_of(x, 0.0 * y)
    with pytest.raises(kane.ModelError, match="b does not vary"):
        effects_of(x | {"b": np.ones(500)}, y)
    none = kane.sweep(pendulum(), until=0.1, runs=kane.grid(q1=[1.0]), times=[0.05])
    with pytest.raises(kane.ModelError, match="has no results with one number per run"):
        none.plot()
