"""The double pendulum of the example under its digital controller, against the eigenvalues in discrete time."""

import runpy

import numpy as np
import pytest

import kane

SMALL = 1e-6  # rad: what is not linear is a millionth of the rest


@pytest.fixture(scope="module")
def example(root):
    return runpy.run_path(str(root / "examples" / "sampled_control.py"), run_name="example")


@pytest.mark.parametrize("delay", [0.0, 0.005, 0.01])
def test_small_motions_are_powers_of_the_closed_loop_in_discrete_time(example, delay):
    """Who vouches: the matrix exponential of the linear pendulum, put together over a period with its delay."""
    dyn, T = example["pendulum"](), example["PERIOD"]
    A, B = example["linear"](dyn)
    K = example["gains"](A, B)
    period = example["closed"](A, B, K, delay)
    ticks = np.arange(1, 41) * T
    method = kane.RK8(rtol=1e-11, atol=1e-18)
    inputs = example["law"](K, delay)
    run = kane.simulate(dyn, until=40 * T, q=[SMALL, -SMALL], inputs=inputs, times=ticks, integrator=method)
    x, expected = np.array([SMALL, -SMALL, 0.0, 0.0, 0.0, 0.0]), []
    for _ in ticks:
        x = period @ x
        expected.append(x[:4])
    found = np.hstack([run.q, run.u])[1:]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-5 * SMALL)


def test_the_pendulum_falls_without_its_controller(example):
    run = kane.simulate(example["pendulum"](), until=2.0, q=example["START"])
    assert abs(run["q1"]).max() > 1.0
