"""Derivatives of motions, vouched for by closed forms and by differences of simulations of their own."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kane
from kane.errors import ModelError


def oscillator():
    """m x'' + c x' + k x = F."""
    model = kane.Model("oscillator")
    k, c, mass = model.parameter("k", 30.0), model.parameter("c", 0.0), model.parameter("m", 2.0)
    A = model.body("A", mass=mass, inertia=(1, 1, 1))
    joint = model.connect(model.ground, A, kane.Prismatic("x", axis="x"))
    model.load(kane.Spring(joint, k))
    model.load(kane.Damper(joint, c))
    model.load(kane.Motor(joint, model.input("F")))
    return model, joint


@pytest.fixture(scope="module")
def swinging():
    dyn = kane.build(kane.formulate(oscillator()[0]))
    return dyn, kane.simulate(dyn, until=2.0, q=[0.4], u=[0.3], inputs=[0.0], times=np.linspace(0.0, 2.0, 41))


def test_an_oscillator_has_the_derivatives_of_its_closed_form(swinging):
    """x = x0 cos(w t) + v0 / w sin(w t), w^2 = k / m, and F / k (1 - cos(w t)) more under a force."""
    _, run = swinging
    s = kane.sensitivities(run, wrt=["k", "x", "x_dot", "F", "m"])
    k, m, x0, v0, t = 30.0, 2.0, 0.4, 0.3, run.time
    w = math.sqrt(k / m)
    by_w = -x0 * t * np.sin(w * t) + v0 * (t * np.cos(w * t) / w - np.sin(w * t) / w**2)
    expected = {
        "k": by_w * w / (2 * k),
        "m": -by_w * w / (2 * m),
        "x": np.cos(w * t),
        "x_dot": np.sin(w * t) / w,
        "F": (1 - np.cos(w * t)) / k,
    }
    for name, course in expected.items():
        np.testing.assert_allclose(s[name][:, 0], course, rtol=0, atol=1e-8, err_msg=name)  # RK8's tolerance is 1e-9
    np.testing.assert_allclose(s.run[:, 0], run.q[:, 0], atol=1e-9)
    assert s.final["k"][0] == s["k"][-1, 0]


def test_the_gradient_of_a_cost_follows_by_the_chain_rule(swinging):
    dyn, run = swinging
    x, v = dyn.equations.q[0], dyn.equations.u[0]
    k = dyn.equations.parameters[0]
    s = kane.sensitivities(run, wrt=["k", "x"])
    found = s.gradient(k * x * x / 2 + v * v)
    X, V = run.q[-1, 0], run.u[-1, 0]
    by_k = X**2 / 2 + 30.0 * X * s.final["k"][0] + 2 * V * s.final["k"][1]
    assert found["k"] == pytest.approx(by_k, abs=1e-7)
    assert found["x"] == pytest.approx(30.0 * X * s.final["x"][0] + 2 * V * s.final["x"][1], abs=1e-7)


def test_a_spinning_body_has_the_derivatives_of_differences():
    """Over steps of 1e-5 in runs to 1e-12: quaternions stay on their sphere, and so do derivatives on its tangents."""
    m = kane.Model("body")
    B = m.body("B", mass=1.0, inertia=(1.0, m.parameter("I2", 1.6), 2.0))
    m.connect(m.ground, B, kane.Spherical("s"))
    dyn, fine = kane.build(kane.formulate(m)), kane.RK8(rtol=1e-12, atol=1e-12)
    u = np.array([0.4, 2.0, 0.1])

    def end(value, speeds):
        run = kane.simulate(dyn, until=3.0, u=speeds, parameters={"I2": value}, integrator=fine)
        return np.concatenate([run.q[-1], run.u[-1]])

    run = kane.simulate(dyn, until=3.0, u=u, integrator=fine)
    s = kane.sensitivities(run, wrt=["I2", "s_wy"], integrator=fine)
    h, step = 1e-5, np.array([0.0, 1e-5, 0.0])
    np.testing.assert_allclose(s.final["I2"], (end(1.6 + h, u) - end(1.6 - h, u)) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(s.final["s_wy"], (end(1.6, u + step) - end(1.6, u - step)) / (2 * h), atol=1e-7)
    assert abs(run.q[-1] @ s.final["I2"][:4]) < 1e-9


def test_laws_of_feedback_are_derived_with_the_motion():
    """F = -g x adds g to the stiffness."""
    model, joint = oscillator()
    g = model.parameter("g", 10.0)
    dyn = kane.build(kane.formulate(model))
    law = -g * joint.q
    run = kane.simulate(dyn, until=1.0, q=[0.4], inputs={"F": law})
    s = kane.sensitivities(run, wrt=["g", "k"], inputs={"F": law})
    np.testing.assert_allclose(s.final["g"], s.final["k"], atol=1e-8)
    with pytest.raises(ModelError, match="the inputs of this run vary"):
        kane.sensitivities(run, wrt=["g"])


def test_what_has_no_derivative_is_named(swinging):
    dyn, run = swinging
    with pytest.raises(ModelError, match="no parameter, coordinate, speed or input 'K'"):
        kane.sensitivities(run, wrt=["K"])
    with pytest.raises(ModelError, match="functions of Python"):
        kane.sensitivities(run, wrt=["k"], inputs=lambda t, q, u: [0.0])
    with pytest.raises(ModelError, match="sensitivities are those of a trajectory"):
        kane.sensitivities(dyn, wrt=["k"])
    with pytest.raises(ModelError, match="there is no derivative by 'm'"):
        kane.sensitivities(run, wrt=["k"])["m"]
    bar = kane.build(kane.formulate(kane.library.four_bar()))
    start = kane.assemble(bar)
    moved = kane.simulate(bar, until=0.1, q=start.q, u=start.u, inputs=[0.0])
    with pytest.raises(ModelError, match="has constraints"):
        kane.sensitivities(moved, wrt=["q1"])
    m = kane.Model("ball")
    m.connect(m.ground, m.body("B", mass=1.0, inertia=(1.0, 1.0, 1.0)), kane.Spherical("s"))
    ball = kane.simulate(kane.build(kane.formulate(m)), until=0.1)
    with pytest.raises(ModelError, match="part of a quaternion"):
        kane.sensitivities(ball, wrt=["s_qw"])
