"""Equations from SymPy's matrices: accelerations and derivatives equal those that SymPy's own matrices give."""

import numpy as np
import pytest
import sympy as sm
import sympy_models
from sympy.physics.mechanics import LagrangesMethod

import kane

MODELS = {
    "cart pendulum": sympy_models.cart_pendulum,
    "chain of 4": lambda: sympy_models.chain(4),
    "double pendulum by Lagrange": sympy_models.double_pendulum,
    "rolling disc": sympy_models.rolling_disc,
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]()


def read(model):
    method = model.method
    given = {"inputs": model.inputs, "parameters": model.values}
    if isinstance(method, LagrangesMethod):
        return kane.from_sympy(method.mass_matrix, method.forcing, q=method.q, **given)
    kinematics = method.kindiffdict()
    return kane.from_sympy(method.mass_matrix, method.forcing, q=method.q, u=method.u, kinematics=kinematics, **given)


def leaves(model):
    """SymPy's symbols of coordinates, speeds and inputs."""
    method = model.method
    u = list(method.u) if hasattr(method, "u") else [x.diff() for x in method.q]
    return list(method.q), u, model.inputs


def states(model, count, seed=1):
    random = np.random.default_rng(seed)
    return [[random.normal(size=len(x)) for x in leaves(model)] for _ in range(count)]


def values(model, expressions, state):
    """SymPy's values of expressions at a state, with 30 digits."""
    pairs = [(s, sm.Float(x, 30)) for group, row in zip(leaves(model), state, strict=True) for s, x in zip(group, row)]
    at = dict(pairs[::-1]) | {s: sm.Float(x, 30) for s, x in model.values.items()}
    rates = {s: x for s, x in at.items() if isinstance(s, sm.Derivative)}
    found = expressions.xreplace(rates).xreplace(at)
    return sm.Matrix(found).evalf(30)


def test_accelerations_are_those_of_sympys_matrices(model):
    """1e-10 is the bound of the project; udot is of order 1 to 100 at these states."""
    dyn = kane.build(read(model))
    for state in states(model, 3):
        M, f = (values(model, x, state) for x in (model.method.mass_matrix, model.method.forcing))
        expected = np.array(M.LUsolve(f), float).ravel()
        found = dyn.forward(*state)
        assert np.allclose(found, expected, rtol=1e-10, atol=1e-10)
        q, u, inputs = state
        assert np.allclose(dyn.mass_matrix(q), np.array(M, float), rtol=1e-13, atol=1e-13)
        assert np.allclose(dyn.inverse(q, u, expected), np.array(M, float) @ expected + dyn.bias(q, u), atol=1e-9)
        assert dyn.rhs(0.0, [*q, *u], inputs)[len(q) :] == pytest.approx(found, rel=1e-14)


def test_derivatives_are_those_of_sympys_accelerations(model):
    """SymPy differentiates M udot = f: M d udot = df - dM udot, with exact derivatives of its matrices.

    Derivatives by u hold for q as functions of u alone where q moves with the speeds, so that they are compared by u
    and by the inputs.
    """
    dyn, (_, u, inputs) = kane.build(read(model)), leaves(model)
    derived = dyn.derivatives("forward", wrt=("u", "inputs"))
    (state,) = states(model, 1, seed=3)
    found = derived(*state)
    M = np.array(values(model, model.method.mass_matrix, state), float)
    for word, symbols in (("u", u), ("inputs", inputs)):
        names = [sm.Dummy() for _ in symbols]
        slopes = model.method.forcing.xreplace(dict(zip(symbols, names, strict=True))).jacobian(names or [sm.Dummy()])
        slopes = slopes.xreplace(dict(zip(names, symbols, strict=True)))
        expected = np.linalg.solve(M, np.array(values(model, slopes, state), float))[:, : len(symbols)]
        assert np.allclose(found[word], expected, rtol=1e-9, atol=1e-9)


def test_linearization_at_rest_is_sympys():
    """KanesMethod.to_linearizer, and q'' = -A q of the hanging cart pendulum."""
    model = sympy_models.cart_pendulum()
    at = dict.fromkeys([*model.method.q, *model.method.u, *model.inputs], 0)
    A, B, _ = model.method.linearize(A_and_B=True, op_point=at, new_method=True)
    found = kane.linearize(kane.build(read(model)))
    assert np.allclose(found.A, np.array(A.subs(model.values), float), rtol=1e-12, atol=1e-12)
    assert np.allclose(found.B, np.array(B.subs(model.values), float), rtol=1e-12, atol=1e-12)


def test_rolling_disc_keeps_rolling():
    """The dependent speeds, which are states of their own, remain zero, and its energy (by hand) is constant."""
    model = sympy_models.rolling_disc()
    run = kane.simulate(kane.build(read(model)), until=2.0, q={"q2": 0.3}, u={"u1": 0.2, "u2": 6.0, "u3": 0.4})
    m, r, g = model.values.values()
    w, lean = run.u[:, :3], run.q[:, 1]
    energy = 0.5 * m * r**2 * (w**2 @ [1.25, 1.5, 0.25]) + m * g * r * np.cos(lean)
    assert np.abs(run.u[:, 3:]).max() < 1e-9
    assert np.ptp(energy) < 1e-7 * energy[0]
