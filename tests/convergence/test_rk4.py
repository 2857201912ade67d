"""RK4 has order four, drifts little, comes back, and agrees with scipy's integrators."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

import kane


def pendulum():
    """A point mass 1 m below a pin: q'' = -9.81 sin q."""
    model = kane.Model("pendulum")
    bob = model.body("bob", mass=1.0, com=(0, 0, -1))
    model.connect(model.ground, bob, kane.Revolute("q1", axis="y"))
    return kane.build(kane.formulate(model))


def swing(amplitude, t):
    """The pendulum released at rest: sin(q/2) = k sn(K - w t), k = sin(amplitude / 2), in closed form."""
    m = math.sin(amplitude / 2) ** 2
    sn = ellipj(ellipk(m) - math.sqrt(9.81) * t, m)[0]
    return 2 * np.arcsin(math.sqrt(m) * sn)


def oscillator():
    model = kane.Model("oscillator", gravity=(0, 0, 0))
    slide = model.connect(model.ground, model.body("block", mass=1.0), kane.Prismatic("q1", axis="x"))
    model.load(kane.Spring(slide, 4.0))
    return kane.build(kane.formulate(model))


def tumbler():
    """A free rigid body whose mass centre is not at its origin, so that all thirteen equations are coupled."""
    model = kane.Model("tumbler")
    body = model.body("body", mass=2.0, inertia=(1.0, 2.0, 2.5), com=(0.1, -0.2, 0.3))
    model.connect(model.ground, body, kane.Free("base"))
    return kane.build(kane.formulate(model))


THROWN = {"base_wx": 0.3, "base_wy": 2.0, "base_wz": -0.4, "base_vx": 1.0, "base_vz": 2.0}


def orders(errors):
    """log2 of the ratios of errors whose steps halve."""
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


# Halving the step halves the next term of the error too: at these steps it is below a tenth of the first one,
# log2(1.1 / 1.05) = 0.07 off; 0.15 allows for twice that and is far from the orders three and five.
NEARNESS = 0.15
STEPS = (0.01, 0.005, 0.0025)


def test_order_four_on_the_oscillator():
    dyn = oscillator()
    errors = []
    for dt in STEPS:
        errors.append(abs(kane.simulate(dyn, until=3.0, q=[1.0], dt=dt).final.q[0] - math.cos(6.0)))
    assert orders(errors) == pytest.approx(4.0, abs=NEARNESS)


def test_order_four_on_the_pendulum_against_elliptic_functions():
    dyn = pendulum()
    errors = [abs(kane.simulate(dyn, until=2.0, q=[2.0], dt=dt).final.q[0] - swing(2.0, 2.0)) for dt in STEPS]
    assert orders(errors) == pytest.approx(4.0, abs=NEARNESS)
    assert errors[-1] < 1e-9  # the leading term, (w h)^5 / 120 a step with w^2 = 9.81, is 2e-9 after 800 steps


def test_order_four_on_a_free_body_with_its_quaternion_renormalised():
    dyn = tumbler()
    x0 = np.concatenate([dyn.equations.neutral, [THROWN.get(u.name, 0.0) for u in dyn.equations.u]])
    reference = solve_ivp(dyn.rhs, (0, 2), x0, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    errors = []
    for dt in (0.02, 0.01, 0.005):
        final = kane.simulate(dyn, until=2.0, u=THROWN, dt=dt).final
        errors.append(np.abs(np.concatenate([final.q, final.u]) - reference).max())
    assert orders(errors) == pytest.approx(4.0, abs=NEARNESS)


def test_order_four_with_a_python_input_function_of_time_and_state():
    model = kane.Model("driven", gravity=(0, 0, 0))
    slide = model.connect(model.ground, model.body("block", mass=1.0), kane.Prismatic("q1", axis="x"))
    model.load(kane.Motor(slide, model.input("force")))
    dyn = kane.build(kane.formulate(model))

    def force(t, q, u):  # q = cos 2t + t solves q'' = -4 q + 4 t
        return [-4 * q[0] + 4 * t]

    errors = []
    for dt in STEPS:
        final = kane.simulate(dyn, until=3.0, q=[1.0], u=[1.0], inputs=force, dt=dt).final
        errors.append(abs(final.q[0] - math.cos(6.0) - 3.0))
    assert orders(errors) == pytest.approx(4.0, abs=NEARNESS)


def test_quaternions_stay_of_length_one():
    run = kane.simulate(tumbler(), until=5.0, dt=0.01, u=THROWN)
    # Four squares, a root and four quotients: two units in the last place.
    assert np.abs(np.linalg.norm(run.q[:, :4], axis=1) - 1).max() <= 4.5e-16


def test_energy_drifts_with_the_fifth_power_of_the_step():
    dyn = pendulum()
    drifts = []
    for dt in (0.02, 0.01, 0.005):
        energy = kane.simulate(dyn, until=20.0, q=[1.0], dt=dt).energy
        drifts.append(abs(energy[-1] - energy[0]))
    # RK4 damps a linear oscillation by (w h)^6 / 144 a step: fifth order in time, and so does the pendulum.
    assert orders(drifts) == pytest.approx(5.0, abs=NEARNESS)


def test_energy_and_momentum_of_a_thrown_body_are_kept():
    dyn = tumbler()
    run = kane.simulate(dyn, until=2.0, u=THROWN, dt=1e-3)
    momentum = dyn.momentum(run.q, run.u)
    assert np.ptp(run.energy) < 1e-10  # 2000 steps of (w h)^6 / 144 are 1e-16; what is seen is rounding, 1e-13
    fall = momentum.linear[:, 2] + 2.0 * 9.81 * run.time
    assert np.ptp(fall) < 1e-10


def test_scipy_integrates_the_same_equations():
    dyn = pendulum()
    exact = solve_ivp(dyn.rhs, (0, 2), [2.0, 0.0], method="DOP853", rtol=1e-12, atol=1e-12).y[0, -1]
    assert exact == pytest.approx(swing(2.0, 2.0), abs=1e-10)  # global error: some hundred times the tolerance
    assert kane.simulate(dyn, until=2.0, q=[2.0], dt=1e-3).final.q[0] == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("make", [pendulum, tumbler])
def test_a_run_and_its_reverse_come_back(make):
    dyn = make()
    start = {"q": [2.0]} if make is pendulum else {"u": THROWN}
    run = kane.simulate(dyn, until=2.0, dt=1e-3, **start)
    back = kane.simulate(dyn, start=2.0, until=0.0, dt=1e-3, q=run.final.q, u=run.final.u).final
    # Both ways err by less than 1e-10 at this step, as the order tests show.
    assert back.q == pytest.approx(run.q[0], abs=2e-10)
    assert back.u == pytest.approx(run.u[0], abs=2e-10)
