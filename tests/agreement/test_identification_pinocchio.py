"""Pinocchio vouches for regressors of inverse dynamics and for how many base parameters there are."""

import numpy as np
import pinocchio as pin
import pytest
from oracles.pinocchio_twin import PinocchioTwin
from oracles.robots import panda, ur5

import kane
from kane.analysis.identification.base_parameters import base_parameters_of
from kane.analysis.identification.measurements import Measurements
from kane.analysis.identification.regression import Regression

# Pinocchio's order is m, mx, my, mz, xx, xy, yy, xz, yz, zz.
OURS = [0, 1, 2, 3, 4, 6, 9, 5, 7, 8]
# Columns of theirs that are smaller are round-off of zero, in units of 1 kg, 1 kg m, 1 kg m^2.
ZERO = 1e-9


def with_parameters(model):
    model = kane.inertial_parameters(model)
    return model, kane.build(kane.formulate(model))


def regressors(name, model):
    """Ours and Pinocchio's at random states, (states, n, 10 bodies), and the columns of theirs by our names."""
    model, dyn = with_parameters(model)
    twin = PinocchioTwin(model, dyn.equations)
    n, random = len(dyn.equations.u), np.random.default_rng(0)
    q, u, udot = random.normal(size=(3, 200, n))
    names = tuple(leaf.name for leaf in dyn.equations.parameters)
    forces = np.zeros((200, n))
    data = Measurements(np.arange(200.0), q, u, udot, forces=forces)
    ours = Regression(dyn, names, data).at(dyn.parameters)[1]
    theirs = np.stack(
        [pin.computeJointTorqueRegressor(twin.model, twin.data, *x).copy() for x in zip(q, u, udot, strict=True)]
    )
    return names, ours, theirs


@pytest.mark.parametrize(("name", "model", "count"), [("UR5", ur5, 36), ("Panda", panda, 43)])
def test_robots_have_the_regressor_and_the_base_parameters_of_pinocchio(name, model, count):
    _, ours, theirs = regressors(name, model())
    n = ours.shape[1]
    theirs = theirs[..., [10 * body + k for body in range(n) for k in OURS]]
    # angles of the files that are right ones to ten digits are right in kane (1e-10 of entries of order ten)
    np.testing.assert_allclose(ours, theirs, atol=2e-9)
    flat = theirs.reshape(-1, theirs.shape[-1])
    sizes = np.linalg.svd(flat / np.maximum(np.linalg.norm(flat, axis=0), ZERO), compute_uv=False)
    assert (sizes > 1e-4).sum() == count
    assert len(base_parameters_of(ours.reshape(flat.shape)).independent) == count


def test_the_stanford_arm_has_as_many_base_parameters_as_pinocchio_says():
    names, ours, theirs = regressors("Stanford", kane.library.stanford_arm())
    flat = theirs.reshape(-1, theirs.shape[-1])
    sizes = np.linalg.svd(flat / np.maximum(np.linalg.norm(flat, axis=0), ZERO), compute_uv=False)
    base = base_parameters_of(ours.reshape(-1, len(names)))
    assert (sizes > 1e-4).sum() == len(base.independent)
