"""Chaplygin's sleigh against its closed form."""

import numpy as np
import pytest

import kane
from kane.library import chaplygin_sleigh

a, m, I = 0.3, 2.0, 0.1  # the defaults
ABOUT_P = I + m * a**2


@pytest.fixture(scope="module")
def sleigh():
    return kane.build(kane.formulate(chaplygin_sleigh()))


def states():
    random = np.random.default_rng(0)
    return zip(random.normal(size=(6, 3)), random.normal(size=(6, 2)), strict=True)


def test_accelerations_and_kinematics_are_those_of_the_closed_equations(sleigh):
    """Some ten operations on numbers of order one."""
    for q, u in states():
        np.testing.assert_allclose(sleigh.forward(q, u), [a * u[1] ** 2, -m * a * u[0] * u[1] / ABOUT_P], atol=1e-13)
        np.testing.assert_allclose(
            sleigh.kinematics(q, u), [u[0] * np.cos(q[2]), u[0] * np.sin(q[2]), u[1]], atol=1e-13
        )


def test_the_knife_edge_pushes_the_mass_centre_sideways(sleigh):
    """f = m (u1 u2 + a u2'), Newton's law along y."""
    revealed = kane.reveal_reactions(sleigh.equations, "knife edge")
    reactions = kane.RevealedReactions(sleigh, revealed)
    assert len(revealed.names) == 1
    for q, u in states():
        udot = sleigh.forward(q, u)
        np.testing.assert_allclose(reactions(q, u), [m * (u[0] * u[1] + a * udot[1])], rtol=0, atol=1e-12)


def test_it_turns_round_as_chaplygin_says(sleigh):
    """u1 = V tanh(lt), u2 = W / cosh(lt), with l = a W^2 / V; it turns by pi W / l in all. RK8 at 1e-9 over 8 / l."""
    V = 1.5
    W = V * np.sqrt(m / ABOUT_P)
    l = a * W**2 / V
    ends = 8.0 / l
    start = {"u1": -V * np.tanh(8.0), "u2": W / np.cosh(8.0)}
    run = kane.simulate(sleigh, start=-ends, until=ends, u=start)
    np.testing.assert_allclose(run["u1"], V * np.tanh(l * run.time), rtol=0, atol=1e-7)
    np.testing.assert_allclose(run["u2"], W / np.cosh(l * run.time), rtol=0, atol=1e-7)
    turned = W / l * 2.0 * (np.arctan(np.tanh(l * run.time / 2)) + np.arctan(np.tanh(4.0)))
    np.testing.assert_allclose(run["angle"], turned, rtol=0, atol=1e-6)
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-8)


def test_a_knife_edge_is_not_integrable():
    model = chaplygin_sleigh()
    model.speeds()  # the rates: the constraint stands among the equations
    found = kane.assemble(kane.formulate(model), q={"angle": 0.4})
    assert found.integrable == ()
    assert found.rank == 1
