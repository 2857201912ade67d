"""A quaternion that is none of a rotation is refused by whatever takes coordinates; scipy's own steps go on.

The exact rotation about a fixed axis vouches for the run of scipy: q = (cos(w t / 2), sin(w t / 2), 0, 0).
"""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kane


@pytest.fixture(scope="module")
def free():
    model = kane.Model(gravity=(0.0, 0.0, -9.81))
    body = model.body("B", mass=1.0, inertia=(1.0, 2.0, 3.0))
    model.connect(model.ground, body, kane.Free("b"))
    return kane.build(kane.formulate(model))


def coordinates(dyn, quaternion):
    q = np.array(dyn.equations.neutral)
    start = dyn.equations.quaternions[0]
    q[start : start + 4] = quaternion
    return q


CALLS = {
    "forward": lambda d, q: d.forward(q, np.zeros(6)),
    "inverse": lambda d, q: d.inverse(q, np.zeros(6), np.zeros(6)),
    "mass_matrix": lambda d, q: d.mass_matrix(q),
    "bias": lambda d, q: d.bias(q, np.zeros(6)),
    "kinematics": lambda d, q: d.kinematics(q, np.ones(6)),
    "energy": lambda d, q: d.energy(q, np.zeros(6)),
    "momentum": lambda d, q: d.momentum(q, np.zeros(6)),
    "poses": lambda d, q: d.poses(q),
    "jacobian": lambda d, q: d.jacobian("B", q),
    "evaluate": lambda d, q: d.evaluate(d.function("forward"), q, np.zeros(6)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("quaternion", [(0, 0, 0, 0), (2, 0, 0, 0), (1, 1, 1, 1), (1.00001, 0, 0, 0)])
def test_another_length_is_refused_with_the_cure(free, call, quaternion):
    length = math.hypot(*quaternion)
    with pytest.raises(kane.ModelError, match=rf"has length {length:.9g}; divide it by its length"):
        call(free, coordinates(free, quaternion))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_one_of_a_batch_is_named_by_its_place(free, call):
    q = np.tile(coordinates(free, (1, 0, 0, 0)), (2, 3, 1))
    call(free, q)
    q[1, 2] = coordinates(free, (0.5, 0, 0, 0))
    with pytest.raises(kane.ModelError, match=r"has length 0\.5 in state \[1, 2\] of the batch"):
        call(free, q)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_rounding_and_nan_pass(free, call):
    call(free, coordinates(free, np.array([0.5, 0.5, 0.5, 0.5]) * (1 + 5e-7)))
    call(free, coordinates(free, (np.nan, 0, 0, 0)))


def test_a_forgotten_quaternion_is_refused_by_rhs(free):
    with pytest.raises(kane.ModelError, match="has length 0; divide it by its length"):
        solve_ivp(free.rhs, (0.0, 1.0), np.zeros(13))


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_stages_of_integrators_of_ones_own_are_taken(free, method):
    w, nq = 10.0, len(free.equations.q)
    x = np.concatenate([coordinates(free, (1, 0, 0, 0)), np.zeros(6)])
    turning = int(np.argmax(np.abs(free.kinematics(x[:nq], np.eye(6))[:, free.equations.quaternions[0] + 1])))
    x[nq + turning] = w
    found = solve_ivp(free.rhs, (0.0, 1.0), x, method=method, rtol=1e-6, atol=1e-9, first_step=0.3)
    assert found.success
    start = free.equations.quaternions[0]
    expected = [math.cos(w / 2), math.sin(w / 2), 0.0, 0.0]
    np.testing.assert_allclose(found.y[start : start + 4, -1], expected, atol=1e-3)
