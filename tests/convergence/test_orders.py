"""Every integrator through one test of measured order; drift of energy, events, stiffness."""

import math
from functools import partial
from inspect import isabstract

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import kane
from kane.deferred import exports
from kane.simulation import integrators

# Tolerances that accept everything make an adaptive method take steps of max_step: its order can be seen.
LOOSE = {"rtol": 1e9, "atol": 1e9}


def with_steps(kind, h):
    """Options of a run by a kind of method with steps of h."""
    return {"integrator": kind(), "dt": h} if kind.fixed else {"integrator": kind(max_step=h, **LOOSE)}


# Every exported method that is a table of coefficients, with the order that it states.
METHODS = {
    kind.__name__: (partial(with_steps, kind), kind.order)
    for kind in exports(integrators)
    if isinstance(kind, type) and issubclass(kind, (kane.Explicit, kane.Implicit)) and not isabstract(kind)
}
# Below this the error is rounding and says nothing.
ROUNDING = 1e-12
TIGHT = kane.RK8(rtol=1e-13, atol=1e-13)


def damped():
    """Smooth: q'' = -0.5 q' - sin q, no more than a swing and a half in the time of the test."""
    model = kane.Model("damped", gravity=(0, 0, -1.0))
    hinge = model.connect(model.ground, model.body("bob", mass=1.0, com=(0, 0, -1)), kane.Revolute("q1", axis="y"))
    model.load(kane.Damper(hinge, 0.5))
    return kane.build(kane.formulate(model)), {"q": [1.0]}


def pendulum():
    """Oscillating: q'' = -9.81 sin q, with a large amplitude."""
    model = kane.Model("pendulum")
    model.connect(model.ground, model.body("bob", mass=1.0, com=(0, 0, -1)), kane.Revolute("q1", axis="y"))
    return kane.build(kane.formulate(model)), {"q": [2.0]}


def tumbler():
    """Quaternion: a free body whose mass centre is not at its origin."""
    model = kane.Model("tumbler")
    body = model.body("body", mass=2.0, inertia=(1.0, 2.0, 2.5), com=(0.1, -0.2, 0.3))
    model.connect(model.ground, body, kane.Free("base"))
    return kane.build(kane.formulate(model)), {"u": {"base_wx": 0.3, "base_wy": 2.0, "base_wz": -0.4, "base_vx": 1.0}}


@pytest.fixture(scope="module", params=[damped, pendulum, tumbler], ids=lambda f: f.__name__)
def problem(request):
    dyn, start = request.param()
    end = kane.simulate(dyn, until=2.0, integrator=TIGHT, **start).final
    return dyn, start, np.concatenate([end.q, end.u])


@pytest.mark.parametrize("method", METHODS)
def test_the_error_falls_with_the_order(problem, method):
    dyn, start, reference = problem
    options, order = METHODS[method]
    steps = 2.0 / 2 ** np.arange(9.0) if order == 8 else 0.05 / 2 ** np.arange(5.0)
    errors = []
    for h in steps:
        end = kane.simulate(dyn, until=2.0, **start, **options(h)).final
        errors.append(np.abs(np.concatenate([end.q, end.u]) - reference).max())
    seen = [e for e in errors if e > ROUNDING][-3:]
    measured = math.log2(seen[0] / seen[-1]) / (len(seen) - 1)
    # The next term of the error changes the slope by up to a third here; one order less is found out.
    assert order - 0.5 < measured < order + 1.5, errors


@pytest.mark.parametrize("method", [kane.RK5, kane.RK8, kane.BDF])
def test_the_error_follows_the_tolerance(problem, method):
    dyn, start, reference = problem
    errors = []
    for tolerance in (1e-5, 1e-7, 1e-9):
        end = kane.simulate(dyn, until=2.0, integrator=method(tolerance, tolerance), **start).final
        errors.append(np.abs(np.concatenate([end.q, end.u]) - reference).max())
    # Errors of steps add up, of BDF's many more than of others, and the motion amplifies them.
    bound = 1000 if method is kane.BDF else 50
    assert all(e < bound * tolerance for e, tolerance in zip(errors, (1e-5, 1e-7, 1e-9), strict=True)), errors
    assert errors[2] < errors[0] / 100


@pytest.mark.parametrize(("method", "order"), [("RK4", 4), ("RK5", 4), ("RK8", 7), ("Midpoint", 2), ("Gauss4", 4)])
def test_times_of_events_converge(method, order):
    model = kane.Model("pendulum")
    bob = model.body("bob", mass=1.0, com=(0, 0, -1))
    hinge = model.connect(model.ground, bob, kane.Revolute("q1", axis="y"))
    dyn = kane.build(kane.formulate(model))
    quarter = ellipk(math.sin(1.0) ** 2) / math.sqrt(9.81)  # the pendulum released at 2 rad passes its lowest point
    errors = []
    for h in (0.1, 0.05, 0.025) if method == "RK8" else (0.02, 0.01, 0.005):
        run = kane.simulate(dyn, until=1.0, q=[2.0], events=[kane.Event(hinge.q)], **METHODS[method][0](h))
        errors.append(abs(run.events[0].time - quarter))
    # Where in its step the event lies changes the error of the interpolant: the order is a trend.
    assert errors[-1] < max(errors[0] / 2 ** (2 * order - 1.5), ROUNDING), errors


def test_records_between_steps_are_as_good_as_the_interpolant():
    dyn, start = pendulum()
    times = np.linspace(0, 2, 201)
    m = math.sin(1.0) ** 2
    exact = 2 * np.arcsin(math.sin(1.0) * ellipj(ellipk(m) - math.sqrt(9.81) * times, m)[0])
    for method, bound in ((kane.RK5(1e-8, 1e-8), 1e-6), (kane.RK8(1e-10, 1e-10), 1e-8)):
        # Global error plus that of the interpolant, each some tens of tolerances.
        assert (
            np.abs(kane.simulate(dyn, until=2.0, times=times, integrator=method, **start)["q1"] - exact).max() < bound
        )


@pytest.mark.parametrize("integrator", [kane.Midpoint(), kane.Gauss4()], ids=lambda i: i.name)
def test_the_energy_of_a_pendulum_swings_and_does_not_drift_in_100000_steps(integrator):
    dyn, start = pendulum()
    energy = kane.simulate(dyn, until=2000.0, dt=0.02, every=1, integrator=integrator, **start).energy
    error = np.abs(energy - energy[0])
    # The error of the last tenth is that of the first; RK4's would be ten times as large.
    assert error[-10_000:].max() < 1.05 * error[:10_000].max() + 1e-11
    assert error.max() < (0.05 if integrator.order == 2 else 5e-5)


def test_the_energy_of_a_double_pendulum_stays_although_its_mass_matrix_changes():
    dyn = kane.build(kane.formulate(kane.library.chain(2)))
    energy = kane.simulate(dyn, until=500.0, dt=0.01, q=[math.pi + 0.3, 0.2], integrator=kane.Gauss4()).energy
    half = len(energy) // 2
    assert np.ptp(energy[half:]) < 1.5 * np.ptp(energy[:half]) + 1e-12


def stiff(n):
    """n blocks in a row, joined by dampers whose rates spread from 1 to 1e6 per second."""
    model = kane.Model("row", gravity=(0, 0, 0))
    for i in range(n):
        slide = model.connect(model.ground, model.body(f"b{i}", mass=1.0), kane.Prismatic(f"q{i + 1}", axis="x"))
        model.load(kane.Damper(slide, 10.0 ** (6 * i / (n - 1))))
        model.load(kane.Spring(slide, 10.0 ** (6 * i / (n - 1))))
    return kane.build(kane.formulate(model))


@pytest.mark.parametrize("n", [3, 20])  # dense and sparse Jacobian
def test_a_stiff_motion_takes_few_steps(n):
    dyn = stiff(n)
    run = kane.simulate(dyn, until=10.0, q=[1.0] * n, integrator=kane.BDF(1e-7, 1e-9), every=1)
    # q'' = -c (q' + q): roots of s^2 + c s + c = 0.
    rates = 10.0 ** (6 * np.arange(n) / (n - 1))
    roots = [np.roots([1, c, c]).astype(complex) for c in rates]
    exact = [((r[1] * np.exp(10 * r[0]) - r[0] * np.exp(10 * r[1])) / (r[1] - r[0])).real for r in roots]
    assert run.final.q == pytest.approx(exact, abs=1e-5)  # some hundred steps of 1e-7
    assert len(run) < 2000  # explicit methods need 1e6 / 3 times 10 s of them


def test_scipy_integrates_the_same_equations():
    from scipy.integrate import solve_ivp

    dyn, start = pendulum()
    end = solve_ivp(dyn.rhs, (0, 2), [2.0, 0.0], method="LSODA", rtol=1e-10, atol=1e-10).y[0, -1]
    assert kane.simulate(dyn, until=2.0, **start).final.q[0] == pytest.approx(end, abs=1e-7)
