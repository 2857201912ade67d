"""What every integrator promises, tested once for all of them."""

import numpy as np
import pytest

import kane
from kane.simulation.integrators.integrator import Integrator

INTEGRATORS = [kane.RK4()]


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


def final(dyn, integrator, **options):
    end = kane.simulate(dyn, integrator=integrator, u=START, **{"until": 1.0, **options}).final
    return np.concatenate([end.q, end.u])


def test_every_integrator_is_tested_here():
    assert {type(i) for i in INTEGRATORS} == set(Integrator.__subclasses__())


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_the_native_loop_takes_the_steps_that_the_definition_takes(dyn, integrator):
    native = final(dyn, integrator, dt=0.01, inputs=[0.7])
    python = final(dyn, integrator, dt=0.01, inputs=lambda t, q, u: [0.7])
    # 100 steps, sums taken in another order: some roundings each.
    assert native == pytest.approx(python, abs=1e-13)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_halving_the_step_divides_the_error_as_the_order_says(dyn, integrator):
    reference = final(dyn, integrator, dt=1e-3)
    coarse, fine = (np.abs(final(dyn, integrator, dt=dt) - reference).max() for dt in (0.02, 0.01))
    # The next term of the error is of the order of the step times some rate, here below a tenth.
    assert np.log2(coarse / fine) == pytest.approx(integrator.order, abs=0.15)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_a_step_leaves_the_state_it_starts_from_alone(integrator):
    x = np.array([1.0, 2.0])
    integrator.step(lambda t, x: -x, 0.0, x, 0.1)
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: i.name)
def test_a_run_carries_the_name_of_its_integrator(dyn, integrator):
    run = kane.simulate(dyn, until=0.01, integrator=integrator)
    assert run.to_xarray().attrs["integrator"] == integrator.name
