"""Parameters may take other values than their defaults: nothing is concluded from what happens to hold at these."""

import numpy as np
import pytest

import kane

# A dozen products and one solution of few equations.
ROUNDING = 1e-11


def crank(r):
    """A slider whose rate is r cos q1 that of a crank, r a parameter."""
    model = kane.Model("crank", gravity=(0.0, 0.0, 0.0))
    length = model.parameter("r", r)
    A, B, C = (model.body(name, mass=k + 1.0, inertia=(0.1, 0.1, 0.1)) for k, name in enumerate("ABC"))
    j1 = model.connect(model.ground, A, kane.Revolute("q1", axis="z"))
    j2 = model.connect(model.ground, B, kane.Prismatic("q2", axis="x"))
    j3 = model.connect(model.ground, C, kane.Prismatic("q3", axis="x"))
    model.load(kane.Motor(j2, model.input("F")))
    return model, length, (j1, j2, j3)


@pytest.mark.parametrize("default", [1.0, 0.7])
def test_speeds_along_axes_scaled_by_a_parameter_follow_it(default):
    """u1, u2 = r times q2dot, q3dot turned by q1: at r = 1 a rotation, elsewhere not."""
    model, r, (j1, j2, j3) = crank(default)
    c, s = kane.cos(j1.q), kane.sin(j1.q)
    model.speeds(u1=r * (c * j2.qdot + s * j3.qdot), u2=r * (c * j3.qdot - s * j2.qdot), u3=j1.qdot)
    dyn = kane.build(kane.formulate(model))
    q, u = np.array([0.4, 0.1, 0.2]), np.array([0.3, -0.5, 0.9])
    for value in (1.0, 2.5):
        rates = dyn.kinematics(q, u, parameters={"r": value})
        turned = np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]]) @ u[:2] / value
        np.testing.assert_allclose(rates, [0.9, *turned], rtol=ROUNDING)


def test_a_constraint_that_restricts_nothing_at_the_default_is_kept_for_other_values():
    """e q2dot = q1dot e: with e = 0 no constraint, with e = 2 the rates are equal."""
    model, e, (j1, j2, _) = crank(0.0)
    model.constrain(e * (j2.qdot - j1.qdot), name="link")
    dyn = kane.build(kane.formulate(model))
    assert [row.name for row in dyn.equations.constraints] == ["link"]
    udot = dyn.forward(np.zeros(3), np.zeros(3), [1.0], parameters={"r": 2.0})
    np.testing.assert_allclose(udot, [1.0 / 2.1, 1.0 / 2.1, 0.0], rtol=ROUNDING)


def test_constraints_that_agree_at_the_default_are_both_kept_for_other_values():
    """q1dot = q2dot, and q1dot = (1 + e) q2dot + e q3dot: one at e = 0, two elsewhere."""
    model, e, (j1, j2, j3) = crank(0.0)
    model.constrain(j1.qdot - j2.qdot, name="one")
    model.constrain(j1.qdot - (1.0 + e) * j2.qdot - e * j3.qdot, name="two")
    dyn = kane.build(kane.formulate(model))
    udot = dyn.forward(np.zeros(3), np.zeros(3), [1.0], parameters={"r": 0.5})
    # Then q3dot = -q2dot: (0.1 + 2 + 3) a = F.
    np.testing.assert_allclose(udot, np.array([1.0, 1.0, -1.0]) / 5.1, rtol=ROUNDING)


def test_a_constraint_that_has_no_value_at_some_parameters_is_kept():
    """x = sqrt(L^2 - r^2 sin(q)^2) of a slider whose rod, at its default, is longer than the crank."""
    model, r, (j1, j2, _) = crank(0.3)
    rod = model.parameter("L", 5.0)
    reach = kane.sqrt(rod * rod - 400.0 * r * r * kane.sin(j1.q) ** 2)
    model.constrain(j2.q - reach, name="rod")
    dyn = kane.build(kane.formulate(model))
    q = [0.2, np.sqrt(25.0 - 36.0 * np.sin(0.2) ** 2), 0.0]
    slope = -36.0 * np.sin(0.2) * np.cos(0.2) / q[1]
    udot = dyn.forward(q, np.zeros(3), [1.0])
    np.testing.assert_allclose(udot[0], slope / (0.1 + 2.0 * slope**2), rtol=ROUNDING)


def test_speeds_may_have_coefficients_without_a_value_at_some_states():
    """u1 = q2dot / sqrt(L^2 - q1^2), L = 0.1: real for small angles only."""
    model, L, (j1, j2, j3) = crank(0.1)
    model.speeds(u1=j2.qdot / kane.sqrt(L * L - j1.q**2), u2=j1.qdot, u3=j3.qdot)
    rates = kane.build(kane.formulate(model)).kinematics([0.06, 0.0, 0.0], [2.0, 0.5, 0.3])
    np.testing.assert_allclose(rates, [0.5, 2.0 * 0.08, 0.3], rtol=ROUNDING)
